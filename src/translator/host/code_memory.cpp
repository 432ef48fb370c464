#include "translator/host/code_memory.h"

#include <sys/mman.h>

#include <cstring>

namespace kvrm::translator {
namespace {

constexpr std::size_t whole_blocks(std::size_t size) {
  return (size + CodeMemory::kBlockBytes - 1) / CodeMemory::kBlockBytes * CodeMemory::kBlockBytes;
}

}  // namespace

// The host aligns to its pages only: a block more is reserved, and what lies before and after is given back.
std::unique_ptr<const CodeMemory> CodeMemory::make(std::span<const u8> code) {
  const std::size_t size = whole_blocks(code.size());
  void* memory = ::mmap(nullptr, size + kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const first = static_cast<u8*>(memory);
  u8* const begin = first + (kBlockBytes - reinterpret_cast<u64>(first) % kBlockBytes) % kBlockBytes;
  if (begin != first) ::munmap(first, static_cast<std::size_t>(begin - first));
  const auto after = static_cast<std::size_t>(first + kBlockBytes - begin);
  if (after != 0) ::munmap(begin + size, after);
  std::memcpy(begin, code.data(), code.size());
  std::unique_ptr<const CodeMemory> made(new CodeMemory(begin, size));
  return ::mprotect(begin, size, PROT_READ | PROT_EXEC) == 0 ? std::move(made) : nullptr;
}

std::vector<const u8*> CodeMemory::blocks() const {
  std::vector<const u8*> result;
  for (std::size_t at = 0; at < size_; at += kBlockBytes) result.push_back(begin_ + at);
  return result;
}

CodeMemory::~CodeMemory() { ::munmap(begin_, size_); }

}  // namespace kvrm::translator
