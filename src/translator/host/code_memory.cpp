#include "translator/host/code_memory.h"

#include <sys/mman.h>

#include <cstring>

namespace kvrm::translator {

std::unique_ptr<const CodeMemory> CodeMemory::make(std::span<const u8> code) {
  void* memory = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memcpy(memory, code.data(), code.size());
  std::unique_ptr<const CodeMemory> made(new CodeMemory(static_cast<u8*>(memory), code.size()));
  return ::mprotect(memory, code.size(), PROT_READ | PROT_EXEC) == 0 ? std::move(made) : nullptr;
}

CodeMemory::~CodeMemory() { ::munmap(begin_, size_); }

}  // namespace kvrm::translator
