// Our machine in the place of QEMU: the same world, the same cases, the same form of outcome.
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

  // Null and an error text if the machine cannot be made.
  static std::unique_ptr<Subject> create(const Options& options, const Memory& memory, std::string& error);

  void place(const std::vector<uint32_t>& words);
  // Runs the words in place until something stops them, at most one instruction more than there are words.
  Ran run(const OracleState& input);

 private:
  Subject(Machine machine, const Memory& memory) : machine_(std::move(machine)), memory_(memory) {}
  std::string make_world();
  uint64_t run_helper(unsigned index);
  std::vector<OracleBlock> mend_memory();

  Machine machine_;
  const Memory& memory_;
  std::size_t words_in_place_ = 0;
  bool touches_ssbs_ = false;
};

}  // namespace kvrm::oracle
