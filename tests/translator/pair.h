// A machine that interprets and one that translates, side by side on the same machine code.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "../machine/words.h"
#include "kvrm/machine.h"

namespace kvrm::test {

inline constexpr std::uint64_t kData = 0x40000;

inline constexpr std::uint32_t ldr_post(unsigned rt, unsigned rn) { return 0xf8408400 | rn << 5 | rt; }
inline constexpr std::uint32_t str_post(unsigned rt, unsigned rn) { return 0xf8008400 | rn << 5 | rt; }
inline constexpr std::uint32_t ldr_at(unsigned rt, unsigned rn, unsigned slot) {
  return 0xf9400000 | slot << 10 | rn << 5 | rt;
}
inline constexpr std::uint32_t str_at(unsigned rt, unsigned rn, unsigned slot) {
  return 0xf9000000 | slot << 10 | rn << 5 | rt;
}
inline constexpr std::uint32_t bl(int words) { return 0x94000000 | (static_cast<std::uint32_t>(words) & 0x3ffffff); }
inline constexpr std::uint32_t add_reg(unsigned rd, unsigned rn, unsigned rm) {
  return 0x8b000000 | rm << 16 | rn << 5 | rd;
}
inline constexpr std::uint32_t eor_reg(unsigned rd, unsigned rn, unsigned rm) {
  return 0xca000000 | rm << 16 | rn << 5 | rd;
}

inline Machine make(Engine engine, const Words& words, bool shares_memory = false, unsigned threshold = 0) {
  Options options;
  options.device = Device::kCpu;
  options.engine = engine;
  options.jit_threshold = threshold;
  options.shared_memory = shares_memory;
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine.ok());
  EXPECT_TRUE(machine->load(bytes_of(words), kCode).ok());
  EXPECT_TRUE(machine->map(kData, 0x2000, kProtectRead | kProtectWrite).ok());
  machine->set_pc(kCode);
  return std::move(*machine);
}

class Pair {
 public:
  explicit Pair(const Words& words, unsigned threshold = 0)
      : interp_(make(Engine::kInterpreter, words)), jit_(make(Engine::kJit, words, false, threshold)) {}

  template <class Change>
  void both(Change change) {
    change(interp_);
    change(jit_);
  }

  // Runs both and compares the whole state.
  Stop run(std::uint64_t budget = Machine::kNoLimit) {
    const Stop expected = interp_.run(budget), stop = jit_.run(budget);
    EXPECT_EQ(to_string(stop.reason), std::string(to_string(expected.reason)));
    EXPECT_EQ(stop.pc, expected.pc);
    EXPECT_EQ(stop.instructions, expected.instructions);
    EXPECT_EQ(stop.fault, expected.fault);
    EXPECT_EQ(stop.fault_is_write, expected.fault_is_write);
    EXPECT_EQ(stop.address, expected.address);
    EXPECT_TRUE(jit_.registers() == interp_.registers());
    EXPECT_EQ(memory(jit_), memory(interp_));
    return stop;
  }
  Machine& jit() { return jit_; }

 private:
  static std::vector<std::byte> memory(const Machine& machine) {
    std::vector<std::byte> bytes(0x2000);
    EXPECT_TRUE(machine.read(kData, bytes).ok());
    return bytes;
  }
  Machine interp_, jit_;
};

// Code that becomes regions when traces have reached it, with a cache folder of its own.
class SampledCode : public testing::Test {
 protected:
  SampledCode() {
    std::string name = testing::TempDir() + "kvrm-engine-XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~SampledCode() override { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_;
};

}  // namespace kvrm::test
