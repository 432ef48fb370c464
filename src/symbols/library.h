// Static libraries and object files with symbols: what an index is made of.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvrm/result.h"
#include "symbols/image.h"

namespace kvrm::symbols {

// Gathers object files as a linker would and resolves the calls between them.
class Linker {
 public:
  // An archive (.a) or one relocatable ELF file. `library` becomes Routine::library.
  Result<void> add(std::span<const u8> bytes, u32 library);
  // All routines so far. Call it once.
  Image link();

 private:
  struct Call {
    u32 routine;  // kByName: by its name
    bool is_call;  // or the routine's address is used
    std::string name;
  };
  static constexpr u32 kByName = ~u32{0};

  Result<void> add_object(std::span<const u8> bytes, u32 library);

  Image image_;
  std::vector<std::vector<Call>> calls_;  // of each routine
  std::map<std::pair<u32, std::string>, u32> globals_;  // of each library
  std::map<std::string, u32> any_;  // of the first library that has the name
  u32 units_ = 0;
};

}  // namespace kvrm::symbols
