#include "translator/host/window_accesses.h"

#include <llvm/Object/ELFObjectFile.h>

#include <iterator>
#include <map>
#include <optional>

namespace kvrm::translator {
namespace {

using llvm::object::ELFRelocationRef;
using llvm::object::SectionRef;

// A damaged object file has none; the linker refuses it.
template <class T>
std::optional<T> value_of(llvm::Expected<T> found) {
  if (found) return *found;
  llvm::consumeError(found.takeError());
  return std::nullopt;
}

// The relocations of __ex_table by their offset: each word is the distance to a byte of the code, whose offset in its
// section is the addend.
std::map<u64, u64> code_offsets(const llvm::object::ObjectFile& file) {
  std::map<u64, u64> offsets;
  for (const SectionRef& section : file.sections()) {
    const auto target = value_of(section.getRelocatedSection());
    if (!target || *target == file.section_end()) continue;
    const auto name = value_of((*target)->getName());
    if (!name || *name != "__ex_table") continue;
    for (const llvm::object::RelocationRef& relocation : section.relocations()) {
      const auto addend = value_of(ELFRelocationRef(relocation).getAddend());
      if (addend) offsets.emplace(relocation.getOffset(), static_cast<u64>(*addend));
    }
  }
  return offsets;
}

// The offset of the one function in its section.
u64 function_offset(const llvm::object::ObjectFile& file) {
  for (const llvm::object::SymbolRef& symbol : file.symbols()) {
    const auto type = value_of(symbol.getType());
    const auto value = value_of(symbol.getValue());
    if (type && value && *type == llvm::object::SymbolRef::ST_Function) return *value;
  }
  return 0;
}

}  // namespace

std::vector<const void*> WindowAccesses::add(std::span<const char> object, const u8* code) {
  std::vector<const void*> accesses;
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "region"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return accesses;
  }
  const u8* const start = code - function_offset(**file);
  const std::map<u64, u64> offsets = code_offsets(**file);
  // Two words each: the access, the landing.
  for (auto at = offsets.begin(); at != offsets.end() && std::next(at) != offsets.end(); at = std::next(at, 2)) {
    const u8* const access = start + at->second;
    table_.insert(access, start + std::next(at)->second);
    accesses.push_back(access);
  }
  return accesses;
}

void WindowAccesses::remove(std::span<const void* const> accesses) {
  for (const void* const access : accesses) table_.erase(access);
}

}  // namespace kvrm::translator
