// Text with the C++ library: strings, maps, sets, streams, sorting, algorithms with lambdas. words LINES.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../bench.h"

namespace {

std::uint64_t state = 5;

unsigned random_below(unsigned limit) { return random_next(&state) % limit; }

std::string make_word() {
  static const std::string syllables[] = {"ka", "lo", "mi", "ne", "ru", "sto", "ti", "ven", "quo", "dra"};
  std::string word;
  for (unsigned i = 0, count = 1 + random_below(4); i < count; i++) word += syllables[random_below(10)];
  if (random_below(8) == 0) word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

std::string make_line() {
  std::ostringstream line;
  for (unsigned i = 0; i < 12; i++) {
    if (i) line << (random_below(9) == 0 ? ", " : " ");
    if (random_below(7) == 0)
      line << std::setw(4) << std::setfill('0') << random_below(3000);
    else
      line << make_word();
  }
  line << '.';
  return line.str();
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from < line.size();) {
    std::size_t to = std::min(line.find_first_of(" ,.", from), line.size());
    if (to > from) words.push_back(line.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

struct Entry {
  unsigned count = 0;
  std::vector<unsigned> lines;
};

class Index {
 public:
  void add(unsigned number, const std::string& line) {
    std::string previous;
    for (std::string_view word : split(line)) {
      std::string key(word);
      std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
      Entry& entry = entries_[key];
      entry.count++;
      if (entry.lines.empty() || entry.lines.back() != number) entry.lines.push_back(number);
      pairs_[previous + '/' + key]++;
      by_length_[key.size()].insert(key);
      previous = std::move(key);
    }
  }

  void report(std::ostream& out) const {
    std::vector<std::pair<std::string_view, const Entry*>> order;
    for (const auto& [word, entry] : entries_) order.emplace_back(word, &entry);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
    for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); i++)
      out << std::left << std::setw(10) << order[i].first << std::right << std::setw(6) << order[i].second->count
          << '\n';
    std::uint64_t sum = 0;
    for (const auto& [word, entry] : order)
      sum = std::accumulate(entry->lines.begin(), entry->lines.end(), fold(sum, word.size()), fold);
    for (const auto& [length, words] : by_length_)
      sum = fold(sum, length * 1000 + words.size() + words.begin()->front());
    std::vector<std::pair<unsigned, std::string>> frequent;
    for (const auto& [pair, count] : pairs_) frequent.emplace_back(count, pair);
    std::sort(frequent.rbegin(), frequent.rend());
    for (std::size_t i = 0; i < frequent.size(); i += 10)
      sum = fold(sum, frequent[i].first + frequent[i].second.size());
    out << std::hex << sum << std::dec << '\n';
  }

 private:
  std::map<std::string, Entry> entries_;
  std::unordered_map<std::string, unsigned> pairs_;
  std::map<std::size_t, std::set<std::string>> by_length_;
};

// Numbers and words out of the lines again, with streams; a queue of the last ones.
std::uint64_t parse(const std::vector<std::string>& lines) {
  std::uint64_t sum = 0;
  std::deque<double> last;
  for (const std::string& line : lines) {
    std::istringstream in(line);
    for (std::string word; in >> word;) {
      if (!std::isdigit(static_cast<unsigned char>(word[0]))) continue;
      last.push_back(std::stod(word) / 8);
      if (last.size() > 30) last.pop_front();
    }
    sum = fold(sum, static_cast<std::uint64_t>(std::accumulate(last.begin(), last.end(), 0.0)));
    std::string changed = line;
    for (std::size_t at = 0; (at = changed.find("ka", at)) != std::string::npos; at += 3) changed.replace(at, 2, "xyz");
    sum = fold(sum, changed.size() + static_cast<std::size_t>(std::count(changed.begin(), changed.end(), 'z')));
  }
  return sum;
}

void run(unsigned count) {
  std::vector<std::string> lines;
  auto index = std::make_unique<Index>();
  for (unsigned i = 0; i < count; i++) {
    lines.push_back(make_line());
    index->add(i, lines.back());
  }
  index->report(std::cout);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::cout << "words " << lines.size() << ' ' << parse(lines) << '\n';
}

}  // namespace

#ifndef KVRM_JOB
int main(int argc, char** argv) { run(static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 100)); }
#endif
