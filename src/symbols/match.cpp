#include "symbols/match.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace kvrm::symbols {
namespace {

// What the surroundings may add to a cosine; set by hand (docs/symbols.md).
constexpr float kExact = 0.1f, kCallees = 0.4f, kCallers = 0.2f, kLibrary = 0.05f;
constexpr float kAdjacent = 0.15f, kNear = 0.1f, kSameUnit = 0.05f;
constexpr float kClaimed = 0.2f;  // less for an entry that another routine has a better claim on
constexpr std::size_t kCandidates = 32, kMostCandidates = 128;
constexpr u32 kRounds = 5;
constexpr std::size_t kFew = 24, kFewCallers = 8, kMostCallers = 32;
constexpr float kTrusted = 0.3f;
constexpr i64 kLibraryReach = 4;

struct Candidate {
  u32 entry;
  float content;
  float score;
};

struct Query {
  Features features;
  std::vector<Weighted> weighted;  // its tokens, as far as the index has them
  float norm = 1;
  std::vector<Candidate> candidates;
  std::vector<u32> callers;
};

// The two best claims on an entry: a program has a routine once.
struct Claims {
  float best = 0, second = 0;
  u32 owner = kNoEntry;
};

bool share_name(const Entry& a, const Entry& b) {
  return std::ranges::find_first_of(a.names, b.names) != a.names.end();
}

// A logistic regression on libraries that are neither indexed nor evaluated (training/symbols_confidence.py).
float confidence_of(const Match& match, u32 length) {
  const float size = std::min(8.0f, std::log2(static_cast<float>(std::max<u32>(1, length))));
  const float content = std::min(1.0f, match.content - (match.exact ? kExact : 0));
  const float sum = -0.484f - 1.374f * content + 5.475f * (match.score - match.content) +
                    1.727f * std::min(match.margin, 0.6f) + 0.605f * std::log(std::max(match.margin, 1e-3f)) -
                    0.293f * size + (match.exact ? 1.607f : 0) + 0.884f * size * content;
  return 1 / (1 + std::exp(-sum));
}

class Matcher {
 public:
  Matcher(const Index& index, const Image& image)
      : index_(index), image_(image), queries_(image.routines.size()), scores_(index.entries().size()) {
    for (u32 i = 0; i < image.routines.size(); ++i) {
      queries_[i].features = features_of(image.routines[i]);
      find_candidates(queries_[i]);
      for (const u32 callee : image.routines[i].calls) queries_[callee].callers.push_back(i);
    }
  }

  std::vector<Match> run() {
    matches_.resize(queries_.size());
    for (u32 i = 0; i < queries_.size(); ++i) matches_[i] = choose(queries_[i]);
    for (u32 round = 0; round < kRounds; ++round) {
      claim();
      std::vector<Match> better(queries_.size());
      for (u32 i = 0; i < queries_.size(); ++i) {
        add_from_context(i);
        rescore(i);
        better[i] = choose(queries_[i]);
      }
      matches_ = std::move(better);
    }
    for (u32 i = 0; i < queries_.size(); ++i) {
      if (matches_[i].entry != kNoEntry) {
        matches_[i].confidence = confidence_of(matches_[i], queries_[i].features.length);
      }
    }
    return std::move(matches_);
  }

 private:
  const Entry& entry(u32 number) const { return index_.entries()[number]; }
  u32 main_hash(const Match& match) const { return name_hash(entry(match.entry).names.front()); }
  // The match of a routine near another one; null beyond the image's ends, or where there is none.
  const Match* match_at(i64 number) const {
    if (number < 0 || number >= static_cast<i64>(matches_.size())) return nullptr;
    const Match& match = matches_[static_cast<std::size_t>(number)];
    return match.entry == kNoEntry ? nullptr : &match;
  }

  void find_candidates(Query& query) {
    std::vector<u32> touched;
    float sum = 0;
    for (const Token& token : query.features.tokens) {
      const Word* word = index_.find(token.hash);
      const float weight = count_weight(token.count) * (word ? word->weight : index_.unknown_weight(token.kind()));
      sum += weight * weight;
      if (!word) continue;
      query.weighted.push_back({token.hash, weight});
      for (const Posting& posting : index_.postings(*word)) {
        if (scores_[posting.entry] == 0) touched.push_back(posting.entry);
        scores_[posting.entry] += weight * posting.weight + 1e-9f;
      }
    }
    query.norm = std::sqrt(std::max(sum, 1e-6f));
    for (const u32 number : touched) {
      const float score = content(query, number, std::exchange(scores_[number], 0.0f));
      query.candidates.push_back({number, score, score});
    }
    const std::size_t kept = std::min(query.candidates.size(), kCandidates);
    const auto key = [](const Candidate& one) { return std::pair(-one.content, one.entry); };
    std::ranges::partial_sort(query.candidates, query.candidates.begin() + static_cast<std::ptrdiff_t>(kept), {}, key);
    query.candidates.resize(kept);
    query.candidates.shrink_to_fit();
  }

  float content(const Query& query, u32 number, float product) const {
    const bool exact = entry(number).exact == static_cast<u32>(query.features.exact);
    return product / (query.norm * index_.norm(number)) + (exact ? kExact : 0);
  }

  void add_candidate(Query& query, u32 number) const {
    if (query.candidates.size() >= kMostCandidates) return;
    if (std::ranges::find(query.candidates, number, &Candidate::entry) != query.candidates.end()) return;
    float product = 0;
    auto own = query.weighted.begin();
    for (const Weighted& other : index_.weighted(number)) {
      while (own != query.weighted.end() && own->token < other.token) ++own;
      if (own == query.weighted.end()) break;
      if (own->token == other.token) product += own->weight * other.weight;
    }
    const float score = content(query, number, product);
    query.candidates.push_back({number, score, score});
  }

  // What the matches around a routine suggest: neighbors in an object file, callers of what it calls, and what its
  // callers call.
  void add_from_context(u32 number) {
    Query& query = queries_[number];
    for (const i64 step : {-2, -1, 1, 2}) {
      const Match* match = match_at(static_cast<i64>(number) + step);
      if (!match || match->trust < kTrusted) continue;
      const i64 other = static_cast<i64>(match->entry) - step;
      if (other < 0 || other >= static_cast<i64>(index_.entries().size())) continue;
      if (entry(static_cast<u32>(other)).unit == entry(match->entry).unit) {
        add_candidate(query, static_cast<u32>(other));
      }
    }
    for (const u32 callee : image_.routines[number].calls) {
      const Match* match = match_at(callee);
      if (!match || match->trust < kTrusted) continue;
      const auto callers = index_.callers(main_hash(*match));
      if (callers.size() > kFew) continue;
      for (const u32 caller : callers) add_candidate(query, caller);
    }
    for (std::size_t i = 0; i < std::min(query.callers.size(), kFewCallers); ++i) {
      const Match* match = match_at(query.callers[i]);
      if (!match || match->trust < kTrusted || entry(match->entry).calls.size() > kFew) continue;
      for (const u32 name : entry(match->entry).calls) {
        const auto named = index_.named(name);
        if (named.size() > kFew) continue;
        for (const u32 callee : named) add_candidate(query, callee);
      }
    }
  }

  // How much of what the routine calls is what the entry calls.
  float callee_score(const Routine& routine, const Entry& known) const {
    float both = 0, either = 0;
    std::vector<u32> seen;
    for (const u32 callee : routine.calls) {
      const Match* match = match_at(callee);
      if (!match) continue;
      const u32 name = main_hash(*match);
      const float weight = index_.name_weight(name) * match->trust;
      either += weight;
      if (!std::ranges::binary_search(known.calls, name)) continue;
      both += weight;
      seen.push_back(name);
    }
    for (const u32 name : known.calls) {
      if (std::ranges::find(seen, name) == seen.end()) either += index_.name_weight(name);
    }
    return either == 0 ? 0 : both / either;
  }

  // How many of the routine's callers are known to call this entry.
  float caller_score(const Query& query, const Entry& known) const {
    const u32 name = name_hash(known.names.front());
    float yes = 0, all = 0.5f;
    for (std::size_t i = 0; i < std::min(query.callers.size(), kMostCallers); ++i) {
      const Match* match = match_at(query.callers[i]);
      if (!match) continue;
      all += match->trust;
      if (std::ranges::binary_search(entry(match->entry).calls, name)) yes += match->trust;
    }
    return yes / all;
  }

  // Routines of one object file stay together and in order.
  float neighbor_score(u32 number, u32 known) const {
    float score = 0;
    for (const i64 step : {-1, 1}) {
      const Match* match = match_at(static_cast<i64>(number) + step);
      if (!match || match->entry == known || entry(match->entry).unit != entry(known).unit) continue;
      const i64 distance = (static_cast<i64>(match->entry) - static_cast<i64>(known)) * step;
      score += match->trust * (distance == 1 ? kAdjacent : distance > 1 && distance < 5 ? kNear : kSameUnit);
    }
    return score;
  }

  // Libraries stay together, too.
  float library_score(u32 number, const Entry& known) const {
    float yes = 0, all = 1e-3f;
    const std::string& library = index_.libraries()[known.library].name;
    for (i64 step = -kLibraryReach; step <= kLibraryReach; ++step) {
      const Match* match = step == 0 ? nullptr : match_at(static_cast<i64>(number) + step);
      if (!match) continue;
      all += match->trust;
      if (index_.libraries()[entry(match->entry).library].name == library) yes += match->trust;
    }
    return yes / all;
  }

  void claim() {
    claims_.assign(index_.entries().size(), {});
    for (u32 i = 0; i < matches_.size(); ++i) {
      if (matches_[i].entry == kNoEntry) continue;
      Claims& claims = claims_[matches_[i].entry];
      const float score = matches_[i].score;
      claims.second = std::max(claims.second, std::min(claims.best, score));
      if (score > claims.best) {
        claims.best = score;
        claims.owner = i;
      }
    }
  }

  void rescore(u32 number) {
    Query& query = queries_[number];
    for (Candidate& candidate : query.candidates) {
      const Entry& known = entry(candidate.entry);
      candidate.score = candidate.content + kCallees * callee_score(image_.routines[number], known) +
                        kCallers * caller_score(query, known) + neighbor_score(number, candidate.entry) +
                        kLibrary * library_score(number, known);
      const Claims& claims = claims_[candidate.entry];
      if ((claims.owner == number ? claims.second : claims.best) > candidate.score) candidate.score -= kClaimed;
    }
  }

  Match choose(const Query& query) const {
    Match best;
    if (query.candidates.empty()) return best;
    const auto first = std::ranges::max_element(query.candidates, {}, &Candidate::score);
    best.entry = first->entry;
    best.content = first->content;
    best.score = first->score;
    best.exact = entry(first->entry).exact == static_cast<u32>(query.features.exact);
    float second = 0;
    for (const Candidate& other : query.candidates) {
      if (other.score > second && !share_name(entry(other.entry), entry(first->entry))) second = other.score;
    }
    best.margin = best.score - second;
    best.trust = std::clamp(best.score * (1 - std::exp(-10 * best.margin)), 0.0f, 1.0f);
    return best;
  }

  const Index& index_;
  const Image& image_;
  std::vector<Query> queries_;
  std::vector<Match> matches_;
  std::vector<Claims> claims_;
  std::vector<float> scores_;  // of each entry, zeros between queries
};

}  // namespace

std::vector<Match> match(const Index& index, const Image& image) { return Matcher(index, image).run(); }

}  // namespace kvrm::symbols
