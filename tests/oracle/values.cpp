#include "values.h"

namespace kvrm::oracle {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};

constexpr uint64_t low_bits(unsigned count) { return count >= 64 ? kAllOnes : (uint64_t{1} << count) - 1; }

struct FloatFormat {
  unsigned bits, exponent_bits, fraction_bits;
  constexpr uint64_t sign() const { return uint64_t{1} << (bits - 1); }
  constexpr uint64_t exponent_max() const { return low_bits(exponent_bits); }
  constexpr uint64_t bias() const { return low_bits(exponent_bits - 1); }
  constexpr uint64_t make(uint64_t exponent, uint64_t fraction) const {
    return (exponent & exponent_max()) << fraction_bits | (fraction & low_bits(fraction_bits));
  }
};

constexpr FloatFormat format_of(unsigned bits) {
  if (bits == 16) return {16, 5, 10};
  if (bits == 32) return {32, 8, 23};
  return {64, 11, 52};
}

uint64_t edge_fraction(Random& random, const FloatFormat& format) {
  const uint64_t all = low_bits(format.fraction_bits);
  switch (random.below(6)) {
    case 0: return 0;
    case 1: return all;
    case 2: return uint64_t{1} << random.below(format.fraction_bits);
    case 3: return all ^ low_bits(random.below(format.fraction_bits));  // a run of ones, then zeros: halfway cases
    case 4: return 1;
    default: return random.next() & all;
  }
}

// Numbers near one, near an integer's limit, near a narrower format's limits: where rounding decides.
uint64_t edge_exponent(Random& random, const FloatFormat& format) {
  const uint64_t bias = format.bias();
  switch (random.below(8)) {
    case 0: return bias + random.below(3) - 1;
    case 1: return bias + format.fraction_bits + random.below(3) - 1;
    case 2: return random.chance(50) ? 1 : format.exponent_max() - 1;
    case 3: return bias + (random.chance(50) ? 31 : 63) - random.below(3);
    case 4: return bias + 15 - random.below(40);
    case 5: return bias + bias / 2 + random.below(4) - 1;  // the product of two such overflows, or just does not
    case 6: return bias - (bias + random.below(format.fraction_bits + 3)) / 2;  // and of these is denormal
    default: return random.next() & format.exponent_max();
  }
}

}  // namespace

uint64_t interesting_integer(Random& random) {
  switch (random.below(13)) {
    case 0: return 0;
    case 1: return kAllOnes;
    case 2: return uint64_t{1} << 31 | (random.chance(50) ? 0 : low_bits(31) << 33 | uint64_t{1} << 32);
    case 3: return low_bits(31);
    case 4: return uint64_t{1} << 63;
    case 5: return low_bits(63);
    case 6: return uint64_t{1} << random.below(64);
    case 7: return low_bits(random.below(65));
    case 8: return ~low_bits(random.below(64));
    case 9: return random.below(256);
    case 10: return uint64_t{0} - random.below(256);
    case 11: return random.next() >> random.below(64);
    default: return random.next();
  }
}

uint64_t interesting_float(Random& random, unsigned bits) {
  const FloatFormat format = format_of(bits);
  const uint64_t sign = random.chance(50) ? format.sign() : 0;
  const uint64_t quiet = uint64_t{1} << (format.fraction_bits - 1);
  switch (random.below(10)) {
    case 0: return sign;
    case 1: return sign | format.make(0, edge_fraction(random, format));
    case 2: return sign | format.make(format.exponent_max(), 0);
    case 3: return sign | format.make(format.exponent_max(), quiet | edge_fraction(random, format));
    case 4: return sign | format.make(format.exponent_max(), (edge_fraction(random, format) & ~quiet) | 1);
    case 5: return sign | format.make(format.bias(), 0);
    case 6: return random.next() & low_bits(bits);
    default: return sign | format.make(edge_exponent(random, format), edge_fraction(random, format));
  }
}

uint64_t interesting_float_lanes(Random& random, unsigned bits) {
  uint64_t lanes = 0;
  for (unsigned at = 0; at < 64; at += bits) lanes |= interesting_float(random, bits) << at;
  return lanes;
}

uint64_t interesting_lanes(Random& random) {
  const uint32_t style = random.below(8);
  if (style == 0) return random.next();
  if (style == 1) return interesting_integer(random);
  const unsigned bits = 8u << random.below(4);
  if (bits > 8 && style < 6) return interesting_float_lanes(random, bits);
  uint64_t lanes = 0;
  for (unsigned at = 0; at < 64; at += bits) lanes |= (interesting_integer(random) & low_bits(bits)) << at;
  return lanes;
}

uint32_t interesting_fpcr(Random& random) {
  if (random.chance(40)) return 0;
  // AHP 26, DN 25, FZ 24, RMode 23:22, FZ16 19.
  return static_cast<uint32_t>(random.next()) & 0x07c80000u;
}

uint32_t interesting_fpsr(Random& random) {
  if (random.chance(45)) return 0;
  if (random.chance(30)) return 0x10;  // inexact is sticky: hardware may do the arithmetic
  // QC 27, IDC 7, IXC 4, UFC 3, OFC 2, DZC 1, IOC 0.
  return static_cast<uint32_t>(random.next()) & 0x0800009fu;
}

}  // namespace kvrm::oracle
