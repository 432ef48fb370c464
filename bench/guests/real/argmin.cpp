// The place of the least and the greatest element, of rows, columns and whole tables: argmin PASSES. See reductions.h.
#include <functional>

#include "reductions.h"

namespace {

using namespace reductions;

// Which of equal elements is taken: the first with a strict comparison, the last with the other.
template <typename Compare, typename Index, typename Element>
__attribute__((noinline)) Index best_of_row(const Element* row, std::size_t count) {
  Compare better;
  Element best = row[0];
  Index at = 0;
  for (std::size_t i = 1; i < count; i++) {
    if (better(row[i], best)) {
      best = row[i];
      at = static_cast<Index>(i);
    }
  }
  return at;
}

// The best of the rows' bests, with the place within its row.
template <typename Compare, typename Index, typename Element>
__attribute__((noinline)) std::pair<Index, Index> best_of_table(const Table<Element>& table, std::size_t columns) {
  Compare better;
  Index row = 0, column = best_of_row<Compare, Index>(table.cells[0], columns);
  for (std::size_t y = 1; y < kRows; y++) {
    Index x = best_of_row<Compare, Index>(table.cells[y], columns);
    if (better(table.cells[y][x], table.cells[row][column])) {
      row = static_cast<Index>(y);
      column = x;
    }
  }
  return {row, column};
}

// Among the columns: the one whose best element is worst.
template <typename Compare, typename Index, typename Element>
__attribute__((noinline)) Index worst_best_column(const Table<Element>& table, std::size_t columns) {
  Compare better;
  Index at = 0;
  Element worst{};
  for (std::size_t x = 0; x < columns; x++) {
    Element best = table.cells[0][x];
    for (std::size_t y = 1; y < kRows; y++)
      if (better(table.cells[y][x], best)) best = table.cells[y][x];
    if (x == 0 || better(worst, best)) {
      worst = best;
      at = static_cast<Index>(x);
    }
  }
  return at;
}

template <typename Compare, typename Index, typename Element>
std::uint64_t reduce(const Tables& tables, std::size_t columns, std::uint64_t sum) {
  const Table<Element>& table = tables.of<Element>();
  auto [row, column] = best_of_table<Compare, Index>(table, columns);
  sum = fold(sum, static_cast<std::uint64_t>(row) * 100 + static_cast<std::uint64_t>(column));
  return fold(sum, static_cast<std::uint64_t>(worst_best_column<Compare, Index>(table, columns)));
}

template <template <typename> typename Compare>
std::uint64_t all(const Tables& tables, std::size_t columns, std::uint64_t sum) {
  ForEach<Indexes>::run([&]<typename Index>() {
    ForEach<Elements>::run(
        [&]<typename Element>() { sum = reduce<Compare<Element>, Index, Element>(tables, columns, sum); });
  });
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  return run("argmin", argc, argv, [](const Tables& tables, std::size_t columns, std::uint64_t sum) {
    sum = all<std::less>(tables, columns, sum);
    sum = all<std::less_equal>(tables, columns, sum);
    sum = all<std::greater>(tables, columns, sum);
    return all<std::greater_equal>(tables, columns, sum);
  });
}
