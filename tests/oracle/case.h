// A case: words, and an input state written as a seed and the slots that differ from what the seed gives.
// Small enough to print, to replay and to keep a million of in a file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format.h"

namespace kvrm::oracle {

// Slots of an input state: x0..x30, then the others, then the halves of v0..v31.
enum Slot : uint8_t {
  kSlotSp = 31,
  kSlotNzcv,
  kSlotFpcr,
  kSlotFpsr,
  kSlotTpidr,
  kSlotSsbs,
  kSlotV,
  kSlotCount = kSlotV + 64
};

struct Override {
  uint8_t slot = 0;
  uint64_t value = 0;
  friend bool operator==(const Override&, const Override&) = default;
};

struct Input {
  uint64_t seed = 0;
  std::vector<Override> overrides;

  void set(unsigned slot, uint64_t value);
};

struct Group {
  uint32_t row = 0;  // an index into the table; kNoRow for words that are no single row
  bool allocation_only = false;  // compare only whether the word is an instruction
  std::vector<uint32_t> words;
  std::vector<Input> inputs;
};
inline constexpr uint32_t kNoRow = ~uint32_t{0};

// The initial contents of data memory: one image a run, edge values in it.
using Memory = std::array<std::byte, ORACLE_DATA_SIZE>;
Memory make_memory(uint64_t seed);

// The state a seed stands for. With kPointerSeed set every general register points into the data area, so
// that random words cannot reach the harness.
inline constexpr uint64_t kPointerSeed = uint64_t{1} << 63;
OracleState background(uint64_t seed);
OracleState expand(const Input& input);

uint64_t slot_value(const OracleState& state, unsigned slot);
void set_slot(OracleState& state, unsigned slot, uint64_t value);
std::string slot_name(unsigned slot);

// "WORD-WORD:memory seed:state seed:x1=..,sp=..", all in hexadecimal.
struct Replay {
  uint64_t memory_seed = 0;
  std::vector<uint32_t> words;
  Input input;
};
std::string encode(const Replay& replay);
std::optional<Replay> decode_replay(std::string_view text);

}  // namespace kvrm::oracle
