// Statistics as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "endings.h"
#include "kvrm/machine.h"

namespace kvrm::cli {

// What a command knows beside the machine's own statistics. What is not set is not printed.
struct RunFacts {
  struct Fleet {
    std::uint64_t inputs = 0, inputs_before = 0;
    std::size_t devices = 0;
    unsigned ranks = 1;
  };
  std::uint64_t lanes = 1;
  const Stop* stop = nullptr;
  std::optional<Fleet> fleet = {};
  const Endings* endings = nullptr;
  const std::map<std::uint64_t, DispatchStatistics>* lane_dispatch = nullptr;  // by lane
};

// On stderr: one JSON object as the last line, or groups of lines with units for people.
void print_statistics(const Statistics& statistics, const RunFacts& facts, bool as_json);

}  // namespace kvrm::cli
