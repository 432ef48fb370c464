// Randomness that is the same on every machine and for every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace kvrm::oracle {

// The finaliser of SplitMix64: a cheap bijection that scatters its input.
constexpr uint64_t scramble(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

constexpr uint64_t combine(uint64_t a, uint64_t b) { return scramble(a ^ scramble(b)); }

class Random {
 public:
  explicit constexpr Random(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    const uint64_t value = scramble(state_);
    state_ += 0x9e3779b97f4a7c15;
    return value;
  }
  constexpr uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  constexpr bool chance(uint32_t percent) { return below(100) < percent; }
  template <class Container>
  constexpr const auto& pick(const Container& from) {
    return *(std::begin(from) + static_cast<std::ptrdiff_t>(below(static_cast<uint32_t>(std::size(from)))));
  }

 private:
  uint64_t state_;
};

}  // namespace kvrm::oracle
