// Many distinct instances of one nested reduction, as the unit tests of a vectorizer have them: every kind of reduction
// over every type of element, alone and nested in another, each run over short arrays many times. The profile is flat
// by intention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

#include "../bench.h"

namespace reductions {

inline constexpr std::size_t kRows = 9;
inline constexpr std::size_t kColumns = 23;

template <typename Element>
struct Table {
  Element cells[kRows][kColumns];

  // Small numbers, so that equal ones occur and the first or the last of them must be chosen.
  void fill(std::uint64_t& random) {
    for (auto& row : cells)
      for (Element& cell : row) cell = static_cast<Element>(random_next(&random) % 100);
  }
};

using Elements = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                            std::int64_t, std::uint64_t, float, double>;
using Indexes = std::tuple<std::uint32_t, std::int64_t>;

// One table of each type, filled once a pass.
struct Tables {
  std::tuple<Table<std::int8_t>, Table<std::uint8_t>, Table<std::int16_t>, Table<std::uint16_t>, Table<std::int32_t>,
             Table<std::uint32_t>, Table<std::int64_t>, Table<std::uint64_t>, Table<float>, Table<double>>
      all;

  void fill(std::uint64_t seed) {
    std::apply([&](auto&... table) { (table.fill(seed), ...); }, all);
  }

  template <typename Element>
  const Table<Element>& of() const {
    return std::get<Table<Element>>(all);
  }
};

// Calls visit.template operator()<Types...>() for each type of a tuple.
template <typename Tuple>
struct ForEach;

template <typename... Types>
struct ForEach<std::tuple<Types...>> {
  template <typename Visit>
  static void run(Visit&& visit) {
    (visit.template operator()<Types>(), ...);
  }
};

// The whole program: so many passes over tables and lengths that change; reduce(tables, columns, sum) does one.
template <typename Reduce>
int run(const char* name, int argc, char** argv, Reduce&& reduce) {
  static Tables tables;
  std::uint64_t sum = 0;
  for (int pass = 0, count = argc > 1 ? std::atoi(argv[1]) : 1; pass < count; pass++) {
    if (pass % 16 == 0) tables.fill(static_cast<std::uint64_t>(pass));
    sum = reduce(tables, kColumns - static_cast<std::size_t>(pass) % 16, sum);
  }
  return report(name, sum);
}

}  // namespace reductions
