// The routines of a program or of a library, as the recognizer sees them: code, strings and calls, with or without
// names.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/types.h"

namespace kvrm::symbols {

struct Routine {
  u64 address = 0;  // in an object file: of no meaning
  u64 size = 0;  // bytes, as found
  std::vector<std::string> names;  // aliases; empty: unknown
  std::vector<u32> words;
  std::vector<u32> calls;  // routines of the same image, in the order of the code, each once
  std::vector<std::string> calls_outside;  // names that the image has no routine for
  std::vector<u64> strings;  // hashes of the texts that it refers to
  u32 unit = 0;  // object file; routines of a unit stay together when it is linked
  u32 library = 0;
};

struct Image {
  std::vector<Routine> routines;  // in the order of addresses, or of object files
};

// The name that people know: without leading underscores if there is one, then the shortest.
const std::string& main_name(const std::vector<std::string>& names);
// A name without what the compiler adds to copies of a function (.isra.0, .constprop.0), but with .part and .cold.
std::string source_name(std::string name);

u64 hash_of(const void* bytes, std::size_t size);
inline u64 hash_of(const std::string& text) { return hash_of(text.data(), text.size()); }
// Of the name of a callee: what two indexes of different programs have in common.
inline u32 name_hash(const std::string& name) { return static_cast<u32>(hash_of(name)); }

// The text that a routine may refer to: up to the zero byte, printable, of at least four bytes. Its hash; 0: none.
u64 text_hash(const u8* begin, const u8* end);

}  // namespace kvrm::symbols
