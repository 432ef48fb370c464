// Dot products: four products of bytes added to each 32-bit element.
#pragma once

#include "semantics/element_operations.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

template <bool kSigned>
KVRM_INLINE U128 dot_product(const U128& d, const U128& n, const U128& m) {
  const auto sum_of_products = [](u32 sum, u32 a, u32 b) KVRM_LAMBDA {
#pragma GCC unroll 4
    for (u32 shift = 0; shift < 32; shift += 8) {
      const u16 product = multiply_long<kSigned>(static_cast<u8>(a >> shift), static_cast<u8>(b >> shift));
      sum = add(sum, extend_element<kSigned>(product));
    }
    return sum;
  };
  return map<u32>(sum_of_products, Elements<u32>(d), Elements<u32>(n), Elements<u32>(m));
}

}  // namespace kvrm::semantics
