// Known routines, and for each token the routines that have it. An index is one file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kvrm/result.h"
#include "symbols/features.h"
#include "symbols/image.h"

namespace kvrm::symbols {

struct Library {
  std::string name;  // openssl
  std::string version;  // 3.0.20-1 (Debian 12)
};

struct Entry {
  std::vector<std::string> names;  // the main one first
  u32 library = 0;
  u32 unit = 0;  // entries of an object file are neighbors
  u32 length = 0;  // in ops
  u32 exact = 0;  // of Features::exact
  std::vector<u32> calls;  // name hashes of what it calls, sorted
  std::vector<std::string> callees;  // their names
};

struct Posting {
  u32 entry;
  float weight;  // of the token in that entry
};

// How much a token says: the rarer, the more.
struct Word {
  u32 hash = 0;
  u32 entries = 0;  // that have it, those whose posting was left out included
  float weight = 0;
  u32 first = 0, count = 0;  // postings
};

struct Weighted {
  u32 token;  // hash
  float weight;
};

// One routine's tokens, by their number in the vocabulary.
struct Occurrence {
  u32 word;
  u32 count;
};

class Index {
 public:
  // Of the routines of an image, whose libraries are these.
  static Index build(const Image& image, std::vector<Library> libraries);
  // A damaged file, or one of another version, is an error.
  static Result<Index> parse(std::span<const u8> bytes);
  std::vector<u8> serialize() const;

  const std::vector<Library>& libraries() const { return libraries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // Null for a token that no entry has.
  const Word* find(u32 token) const;
  std::span<const Posting> postings(const Word& word) const {
    return std::span(postings_).subspan(word.first, word.count);
  }
  std::span<const Weighted> weighted(u32 entry) const {
    return std::span(weighted_).subspan(first_weighted_[entry], first_weighted_[entry + 1] - first_weighted_[entry]);
  }
  float unknown_weight(TokenKind kind) const;
  float norm(u32 entry) const { return norms_[entry]; }

  float name_weight(u32 name) const;  // of a callee: the fewer call it, the more
  std::span<const u32> named(u32 name) const;  // entries with this main name
  std::span<const u32> callers(u32 name) const;  // entries that call it

 private:
  struct ByName {
    u32 name;
    u32 entry;
  };
  struct Names {
    std::vector<u32> names, first, entries;  // sorted names, and where the entries of each begin
    void fill(std::vector<ByName> pairs);
    std::span<const u32> of(u32 name) const;
  };

  Index() = default;
  void count(const std::vector<std::vector<Token>>& tokens);  // makes the vocabulary
  void weigh();
  // From libraries, entries, vocabulary and occurrences everything else follows.
  void finish();

  std::vector<Library> libraries_;
  std::vector<Entry> entries_;
  std::vector<Word> vocabulary_;  // by hash
  std::vector<std::vector<Occurrence>> occurrences_;  // of each entry, by word
  std::vector<Posting> postings_;
  std::vector<Weighted> weighted_;  // of each entry, by token
  std::vector<std::size_t> first_weighted_;
  std::vector<float> norms_;
  Names named_, callers_;
};

// Of a token that occurs so often in a routine.
float count_weight(u32 count);

}  // namespace kvrm::symbols
