// Cases with QEMU's outcomes in a file, for machines that have no QEMU. Little-endian; states are seeds and
// overrides, outcomes are what differs from the input.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "source.h"

namespace kvrm::oracle {

// A unit with outcomes as bytes; rows are written by name, so the file outlives changes of the table.
std::string pack(const Table& table, const Unit& unit);

// An error text if the file cannot be written.
std::string write_corpus(const std::string& path, uint64_t memory_seed, const std::vector<std::string>& units);

// Null and an error text if the file is not a corpus.
std::unique_ptr<Source> read_corpus(const std::string& path, const Table& table, uint64_t& memory_seed,
                                    std::string& error);

}  // namespace kvrm::oracle
