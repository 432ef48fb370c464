// Our machine instead of QEMU: the same world, the same cases, the same form of outcome.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "case.h"
#include "kvrm/machine.h"
#include "qemu.h"

namespace kvrm::oracle {

class Subject {
 public:
  struct Ran {
    Outcome outcome;
    uint64_t retired = 0;  // instructions
    Stop stop;
  };

  // Null and an error text if the machine cannot be made. With more than one lane (options.lanes), so many cases run
  // at a time, each on a lane of its own.
  static std::unique_ptr<Subject> create(const Options& options, const Memory& memory, std::string& error);
  virtual ~Subject() = default;

  // Runs every case until something stops it, at most one instruction more than it has words. In case order.
  virtual std::vector<Ran> run(const std::vector<Group>& groups) = 0;
  virtual uint64_t regions() const = 0;  // that were translated so far
};

// The two kinds, on a machine that has been made; they give an error text, or nothing.
std::unique_ptr<Subject> one_lane(Machine machine, const Memory& memory, std::string& error);
std::unique_ptr<Subject> many_lanes(Machine machine, const Options& options, const Memory& memory, std::string& error);

}  // namespace kvrm::oracle
