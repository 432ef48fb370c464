// The machine code of stencils: a module is compiled to an object file, and each function's bytes and relocations are
// taken from there.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "translator/stencils/format.h"

namespace kvrm::translator::stencils {

struct Code {
  std::vector<u8> hot, cold, data;
  std::vector<Relocation> relocations;
  std::vector<Access> accesses;
  bool is_usable = true;   // nothing but holes, functions and constants of its own
  bool is_too_bold = false;  // a biased hole is used as if it were an address: ask for opaque ones
};

// The processor that stencils are for; null: see `error`.
std::unique_ptr<llvm::TargetMachine> make_target(std::string& error);

// The functions of the module by name. Only those whose names begin with `prefix` are taken.
class Symbols {
 public:
  u32 number(const std::string& name) {
    const auto [found, is_new] = numbers_.emplace(name, static_cast<u32>(names_.size()));
    if (is_new) names_.push_back(name);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, u32> numbers_;
  std::vector<std::string> names_;
};
std::map<std::string, Code> compile(llvm::Module& module, llvm::TargetMachine& target, const std::string& prefix,
                                    Symbols& symbols, std::string& error);

}  // namespace kvrm::translator::stencils
