// Sums, products, bounds and counts of sums, products, bounds and counts: sums PASSES. See reductions.h.
#include <algorithm>
#include <type_traits>

#include "reductions.h"

namespace {

using namespace reductions;

struct Sum {
  template <typename Wide>
  static constexpr Wide start = 0;
  template <typename Wide>
  static Wide join(Wide a, Wide b) {
    return a + b;
  }
};

struct Product {
  template <typename Wide>
  static constexpr Wide start = 1;
  template <typename Wide>
  static Wide join(Wide a, Wide b) {
    if constexpr (std::is_floating_point_v<Wide>)
      return a * (1 + b / 128);
    else
      return a * (b | 1);
  }
};

struct Least {
  template <typename Wide>
  static constexpr Wide start = std::numeric_limits<Wide>::max();
  template <typename Wide>
  static Wide join(Wide a, Wide b) {
    return std::min(a, b);
  }
};

struct Greatest {
  template <typename Wide>
  static constexpr Wide start = std::numeric_limits<Wide>::lowest();
  template <typename Wide>
  static Wide join(Wide a, Wide b) {
    return std::max(a, b);
  }
};

struct Count {
  template <typename Wide>
  static constexpr Wide start = 0;
  template <typename Wide>
  static Wide join(Wide a, Wide b) {
    return b > 49 ? a + 1 : a;
  }
};

using Kinds = std::tuple<Sum, Product, Least, Greatest, Count>;

// Integers are reduced in an unsigned type of 32 or 64 bits, where they wrap.
template <typename Element>
using WideOf = std::conditional_t<std::is_floating_point_v<Element>, Element,
                                  std::conditional_t<sizeof(Element) < 8, std::uint32_t, std::uint64_t>>;

template <typename Inner, typename Outer, typename Element>
__attribute__((noinline)) WideOf<Element> rows(const Table<Element>& table, std::size_t columns) {
  using Wide = WideOf<Element>;
  Wide all = Outer::template start<Wide>;
  for (const auto& row : table.cells) {
    Wide one = Inner::template start<Wide>;
    for (std::size_t x = 0; x < columns; x++) one = Inner::join(one, static_cast<Wide>(row[x]));
    all = Outer::join(all, one);
  }
  return all;
}

template <typename Wide>
std::uint64_t bits_of(Wide value) {
  if constexpr (std::is_floating_point_v<Wide>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::clamp<Wide>(value, -1e15f, 1e15f)));
  else
    return value;
}

template <typename Element>
std::uint64_t all(const Tables& tables, std::size_t columns, std::uint64_t sum) {
  ForEach<Kinds>::run([&]<typename Outer>() {
    ForEach<Kinds>::run(
        [&]<typename Inner>() { sum = fold(sum, bits_of(rows<Inner, Outer>(tables.of<Element>(), columns))); });
  });
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  return run("sums", argc, argv, [](const Tables& tables, std::size_t columns, std::uint64_t sum) {
    ForEach<Elements>::run([&]<typename Element>() { sum = all<Element>(tables, columns, sum); });
    return sum;
  });
}
