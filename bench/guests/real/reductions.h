// Many distinct instances of one nested reduction, as the unit tests of a vectorizer have them: every kind of reduction
// over every type of element, alone and nested in another, each run over short arrays many times. The profile is flat
// by intention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

namespace reductions {

inline constexpr std::size_t kRows = 9;
inline constexpr std::size_t kColumns = 23;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }

 private:
  std::uint64_t state_;
};

template <typename Element>
struct Table {
  Element cells[kRows][kColumns];

  // Small numbers, so that equal ones occur and the first or the last of them must be chosen.
  void fill(Random& random) {
    for (auto& row : cells)
      for (Element& cell : row) cell = static_cast<Element>(random.next() % 100);
  }
};

inline std::uint64_t fold(std::uint64_t sum, std::uint64_t word) { return (sum ^ word) * 1099511628211u; }

using Elements = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                            std::int64_t, std::uint64_t, float, double>;
using Indexes = std::tuple<std::uint32_t, std::int64_t>;

// One table of each type, filled once a pass.
struct Tables {
  std::tuple<Table<std::int8_t>, Table<std::uint8_t>, Table<std::int16_t>, Table<std::uint16_t>, Table<std::int32_t>,
             Table<std::uint32_t>, Table<std::int64_t>, Table<std::uint64_t>, Table<float>, Table<double>>
      all;

  void fill(std::uint64_t seed) {
    Random random(seed);
    std::apply([&](auto&... table) { (table.fill(random), ...); }, all);
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

inline int passes(int argc, char** argv) { return argc > 1 ? std::atoi(argv[1]) : 1; }

inline int report(const char* name, std::uint64_t sum) {
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(sum));
  return 0;
}

}  // namespace reductions
