// Where the cases of a run come from: rows, hand-written and random sequences, the whole encoding space, or a file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "case.h"
#include "qemu.h"
#include "table.h"

namespace kvrm::oracle {

// A share of the work: small enough to balance two threads, large enough to be worth a QEMU process.
struct Unit {
  std::vector<Group> groups;
  std::vector<Outcome> outcomes;  // in case order; empty: QEMU has to be asked
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::size_t units() const = 0;
  virtual Unit unit(std::size_t index) const = 0;  // may be called from several threads
};

struct Plan {
  uint64_t seed = 1;
  unsigned words = 50;       // a row
  unsigned states = 40;      // a word
  unsigned sequences = 2000;
  unsigned samples = 240000;  // words of the encoding space
  std::vector<std::string> rows;  // only these; empty: all that are implemented
};

std::unique_ptr<Source> row_source(const Table& table, const Memory& memory, const Plan& plan);
std::unique_ptr<Source> sequence_source(const Table& table, const Plan& plan);
std::unique_ptr<Source> sigill_source(const Table& table, const Plan& plan);

// Another source's units put together, so that each has about so many cases. Outlived by the other.
std::unique_ptr<Source> merged_source(const Source& source, std::size_t cases);

// Sequences of random rows: registers and addresses arranged so that most words complete.
Group random_sequence(const Table& table, const std::vector<uint32_t>& rows, unsigned length, unsigned states,
                      uint64_t seed);
// Exclusive loads and stores with everything that can come between, and flag chains.
std::vector<Group> written_sequences(const Table& table, unsigned states, uint64_t seed);

}  // namespace kvrm::oracle
