// The semantics as LLVM bitcode: a function per row, read from the embedded module when a region first needs it.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "isa/decode.h"

namespace kvrm::translator {

class Library {
 public:
  // Null, and why, if the bitcode cannot be read.
  static std::unique_ptr<Library> create(llvm::StringRef bitcode, std::string& error);

  llvm::LLVMContext& context() { return *context_; }
  llvm::Module& module() { return *module_; }
  // Null if the library has no such row.
  llvm::Function* row(isa::Row row);

 private:
  Library() = default;

  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
};

// A word's operands as the rows' functions take them.
u64 pack_row_operands(isa::Row row, u32 word);

// Defines in a module the functions it calls, from the library's bitcode. False if that failed.
bool define_called(llvm::Module& module, llvm::StringRef bitcode);

}  // namespace kvrm::translator
