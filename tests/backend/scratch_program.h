// A Linux program of a few words, with a range of memory that it may write.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>

#include "../machine/words.h"
#include "backend/cuda/start_set.h"

namespace kvrm::backend::test {

constexpr u64 kProgram = 0x400000, kScratch = 0x500000;

// It reads its input and writes to both outputs.
inline cuda::StartSet::Contents scratch_program(const kvrm::test::Words& words, memory::AddressSpace& space,
                                                u64 scratch_bytes) {
  const auto image = std::make_shared<memory::Image>(
      std::span(reinterpret_cast<const u8*>(words.data()), words.size() * sizeof(words[0])));
  EXPECT_TRUE(space.map_image(kProgram, image->padded_size(), memory::kRead | memory::kExecute, image, 0));
  EXPECT_TRUE(space.map(kScratch, scratch_bytes, memory::kRead | memory::kWrite));
  cuda::StartSet::Contents contents;
  contents.cpu.pc = kProgram;
  contents.is_process = true;
  contents.areas = space.source_areas();
  contents.process.standard[0] = linux_abi::kStandardOpen | linux_abi::kStandardReads;
  contents.process.standard[1] = contents.process.standard[2] = linux_abi::kStandardOpen | linux_abi::kStandardWrites;
  return contents;
}

}  // namespace kvrm::backend::test
