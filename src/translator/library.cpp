#include "translator/library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>
#include <set>

#include "isa/a64_names.h"
#include "semantics/meaning.h"

namespace kvrm::translator {

std::unique_ptr<Library> Library::create(llvm::StringRef bitcode, std::string& error) {
  std::unique_ptr<Library> library(new Library);
  library->context_ = std::make_unique<llvm::LLVMContext>();
  auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "rows"), *library->context_);
  if (!module) {
    error = llvm::toString(module.takeError());
    return nullptr;
  }
  library->module_ = std::move(*module);
  return library;
}

llvm::Function* Library::row(isa::Row row) {
  llvm::Function* function = module_->getFunction(std::string("kvrm_row_") + isa::kRowNames[static_cast<u32>(row)]);
  if (!function || !function->isMaterializable()) return function;
  if (llvm::Error failed = function->materialize()) {
    llvm::consumeError(std::move(failed));
    return nullptr;
  }
  return function;
}

bool define_called(llvm::Module& module, llvm::StringRef bitcode) {
  std::set<const llvm::Function*> own;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) own.insert(&function);
  }
  auto rows = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "rows"), module.getContext());
  if (!rows) {
    llvm::consumeError(rows.takeError());
    return false;
  }
  if (llvm::Linker::linkModules(module, std::move(*rows), llvm::Linker::LinkOnlyNeeded)) return false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || own.contains(&function)) continue;
    function.setComdat(nullptr);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return true;
}

u64 pack_row_operands(isa::Row row, u32 word) {
  u64 bits = 0;
  switch (row) {
#define KVRM_PACK_CASE(name)                      \
  case isa::Row::name: {                          \
    const isa::name op = isa::name::decode(word); \
    static_assert(sizeof(op) <= sizeof(bits));    \
    std::memcpy(&bits, &op, sizeof(op));          \
    break;                                        \
  }
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_PACK_CASE)
#undef KVRM_PACK_CASE
    default: break;
  }
  return bits;
}

}  // namespace kvrm::translator
