// From a row's function to the function of a stencil.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/decode.h"
#include "translator/stencils/expressions.h"

namespace kvrm::translator::stencils {

// Names in the object file. A hole's symbol is its prefix and the number of its expression; a biased hole's value has
// kBias added, so that LLVM may take it for an address.
inline constexpr const char* kHolePrefix = "kvrm_hole_";
inline constexpr const char* kBiasedPrefix = "kvrm_biased_";
inline constexpr i64 kBias = i64{1} << 30;
inline constexpr const char* kNextName = "kvrm_next";
inline constexpr const char* kWordPrefix = "kvrm_word_";  // and the number of the expression of its address
inline constexpr const char* kBailName = "kvrm_bail";

// What happens with writes of general registers.
enum class Writes {
  kNotZero,  // the words for this stencil do not write the zero register
  kOnlyZero,  // they write that one alone
  kAny,
};

struct Request {
  std::string name;  // of the stencil's function
  llvm::Function* meaning = nullptr;  // the row's function, of one variant
  llvm::Function* second = nullptr;   // that of the second word of a pair, which `flow` and `form` are about
  isa::Flow flow = isa::Flow::kNext;
  Form form = kNear;
  Writes writes = Writes::kNotZero;
  bool opaque = false;  // holes that may be negative are loaded by instructions of their own
  // The expression of the slot of the register that is cached and read; none: the cache is not read.
  std::optional<u32> cached = {};
  bool is_unchecked = false;  // the base of its access is known to be in the window
};

// What is known of a stencil beside its code.
struct Registers {
  std::vector<u32> written;  // the expressions of the slots that it writes
  std::vector<u32> read;  // of those that it could take from the cache
  u32 cached_after = kNothingCached;
  std::vector<Written> effects;
  u32 checked = kNone;
  bool goes_on = false;
};

class Specializer {
 public:
  Specializer(llvm::Module& module, llvm::TargetMachine& target) : module_(module), target_(target) {}

  // Adds the function to the module. Null if the row is not for stencils.
  llvm::Function* make(const Request& request, Registers& registers);
  // The stubs: see Header.
  llvm::Function* make_plain(const std::string& name);
  llvm::Function* make_go_on(const std::string& name);
  llvm::Function* make_load_cached(const std::string& name);
  llvm::Function* make_check(const std::string& name);

  const Expressions& expressions() const { return expressions_; }

 private:
  static llvm::Value* register_of_operands(class Draft& draft);

  llvm::Module& module_;
  llvm::TargetMachine& target_;
  Expressions expressions_;
};

}  // namespace kvrm::translator::stencils
