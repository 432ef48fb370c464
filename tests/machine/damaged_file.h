// Damage for tests of what is kept on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace kvrm::test {

inline void flip_a_bit(const std::filesystem::path& file, std::uintmax_t at) {
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekg(static_cast<std::streamoff>(at));
  const int byte = damaged.get();
  damaged.seekp(static_cast<std::streamoff>(at));
  damaged.put(static_cast<char>(byte ^ 0x40));
}

}  // namespace kvrm::test
