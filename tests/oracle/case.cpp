#include "case.h"

#include <charconv>
#include <cstdio>
#include <cstring>

#include "random.h"
#include "values.h"

namespace kvrm::oracle {

void Input::set(unsigned slot, uint64_t value) {
  for (Override& existing : overrides) {
    if (existing.slot == slot) {
      existing.value = value;
      return;
    }
  }
  overrides.push_back({static_cast<uint8_t>(slot), value});
}

Memory make_memory(uint64_t seed) {
  Memory memory;
  Random random(combine(seed, 0x6d656d6f7279));
  for (std::size_t at = 0; at < memory.size(); at += 8) {
    const uint64_t value = random.chance(50) ? random.next() : interesting_lanes(random);
    std::memcpy(&memory[at], &value, 8);
  }
  return memory;
}

OracleState background(uint64_t seed) {
  Random random(seed);
  OracleState state = {};
  // A quarter of the states draw their registers from few values, so that operands are often equal or close.
  const bool few = random.chance(25);
  const uint64_t pool[3] = {interesting_integer(random), interesting_integer(random), interesting_lanes(random)};
  for (unsigned slot = 0; slot <= kSlotSp; ++slot) {
    uint64_t value = few ? random.pick(pool) + random.below(3) - 1 : interesting_integer(random);
    if (seed & kPointerSeed) value = ORACLE_DATA_BASE + 0x400 + 16 * random.below(0x180);
    set_slot(state, slot, value);
  }
  // Half of the states hold numbers of one format in all vector registers, so that both operands are special at once.
  const unsigned float_bits = 16u << random.below(6);
  for (unsigned half = 0; half < 64; ++half) {
    uint64_t value = float_bits <= 64 ? interesting_float_lanes(random, float_bits) : interesting_lanes(random);
    if (few) value = random.pick(pool);
    set_slot(state, kSlotV + half, random.chance(10) ? 0 : value);
  }
  state.nzcv = random.below(16) << 28;
  state.fpcr = interesting_fpcr(random);
  state.fpsr = interesting_fpsr(random);
  state.tpidr = random.next();
  state.ssbs = random.below(2);
  state.pc = ORACLE_CODE_ENTRY;
  return state;
}

OracleState expand(const Input& input) {
  OracleState state = background(input.seed);
  for (const Override& change : input.overrides) set_slot(state, change.slot, change.value);
  return state;
}

uint64_t slot_value(const OracleState& state, unsigned slot) {
  if (slot < kSlotSp) return state.x[slot];
  if (slot >= kSlotV) return state.v[(slot - kSlotV) / 2][(slot - kSlotV) % 2];
  switch (slot) {
    case kSlotSp: return state.sp;
    case kSlotNzcv: return state.nzcv;
    case kSlotFpcr: return state.fpcr;
    case kSlotFpsr: return state.fpsr;
    case kSlotSsbs: return state.ssbs;
    default: return state.tpidr;
  }
}

void set_slot(OracleState& state, unsigned slot, uint64_t value) {
  if (slot < kSlotSp) {
    state.x[slot] = value;
  } else if (slot >= kSlotV) {
    state.v[(slot - kSlotV) / 2][(slot - kSlotV) % 2] = value;
  } else if (slot == kSlotSp) {
    state.sp = value;
  } else if (slot == kSlotNzcv) {
    state.nzcv = static_cast<uint32_t>(value);
  } else if (slot == kSlotFpcr) {
    state.fpcr = static_cast<uint32_t>(value);
  } else if (slot == kSlotFpsr) {
    state.fpsr = static_cast<uint32_t>(value);
  } else if (slot == kSlotSsbs) {
    state.ssbs = static_cast<uint32_t>(value);
  } else {
    state.tpidr = value;
  }
}

std::string slot_name(unsigned slot) {
  static constexpr const char* kNames[] = {"sp", "nzcv", "fpcr", "fpsr", "tpidr", "ssbs"};
  if (slot < kSlotSp) return "x" + std::to_string(slot);
  if (slot < kSlotV) return kNames[slot - kSlotSp];
  return "v" + std::to_string((slot - kSlotV) / 2) + ((slot - kSlotV) % 2 ? "h" : "l");
}

namespace {

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

bool parse_hex(std::string_view text, uint64_t& value) {
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, 16);
  return result.ec == std::errc{} && result.ptr == end;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<unsigned> slot_of(std::string_view name) {
  for (unsigned slot = 0; slot < kSlotCount; ++slot) {
    if (slot_name(slot) == name) return slot;
  }
  return std::nullopt;
}

}  // namespace

std::string encode(const Replay& replay) {
  std::string text;
  for (const uint32_t word : replay.words) text += (text.empty() ? "" : "-") + hex(word);
  text += ":" + hex(replay.memory_seed) + ":" + hex(replay.input.seed) + ":";
  bool first = true;
  for (const Override& change : replay.input.overrides) {
    text += (first ? "" : ",") + slot_name(change.slot) + "=" + hex(change.value);
    first = false;
  }
  return text;
}

std::optional<Replay> decode_replay(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 4) return std::nullopt;
  Replay replay;
  for (const std::string_view part : split(parts[0], '-')) {
    uint64_t word = 0;
    if (!parse_hex(part, word) || word >> 32) return std::nullopt;
    replay.words.push_back(static_cast<uint32_t>(word));
  }
  if (replay.words.size() > ORACLE_MAX_WORDS) return std::nullopt;
  if (!parse_hex(parts[1], replay.memory_seed) || !parse_hex(parts[2], replay.input.seed)) return std::nullopt;
  if (parts[3].empty()) return replay;
  for (const std::string_view part : split(parts[3], ',')) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto slot = slot_of(part.substr(0, equals));
    uint64_t value = 0;
    if (!slot || !parse_hex(part.substr(equals + 1), value)) return std::nullopt;
    replay.input.set(*slot, value);
  }
  return replay;
}

}  // namespace kvrm::oracle
