// Which general registers are addresses in the lane's window, or near it: code has asked for them already.
#pragma once

#include <array>

#include "base/cpu.h"
#include "memory/window.h"

namespace kvrm::translator::stencils {

// Registers by the offsets of their slots.
class KnownBases {
 public:
  static constexpr u64 bit(u64 slot) { return u64{1} << slot / sizeof(u64); }
  static_assert(sizeof(Cpu::x) / sizeof(u64) <= 64);

  bool has(u64 slot) const { return (known_ & bit(slot)) != 0; }
  void clear() { known_ = 0; }
  void forget(u64 slot) { known_ &= ~bit(slot); }
  // The register is in the window.
  void add(u64 slot) {
    known_ |= bit(slot);
    farthest_[slot / sizeof(u64)] = 0;
  }
  // The register has the value that the register of `source` had in `before`, and so much more.
  void derive(u64 slot, u64 source, i64 distance, const KnownBases& before) {
    if (!before.has(source) || distance > kMost || distance < -kMost) return forget(slot);
    const i64 farthest = before.farthest_[source / sizeof(u64)] + (distance < 0 ? -distance : distance);
    if (farthest > kMost) return forget(slot);
    known_ |= bit(slot);
    farthest_[slot / sizeof(u64)] = farthest;
  }

 private:
  // An access adds at most 2^31 - 1 to it, so guard space covers both.
  static constexpr i64 kMost = i64{1} << 30;
  static_assert(memory::Window::kGuardBytes >= u64{1} << 32);
  u64 known_ = 0;
  std::array<i64, sizeof(Cpu::x) / sizeof(u64)> farthest_{};
};

}  // namespace kvrm::translator::stencils
