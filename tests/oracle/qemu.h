// Runs a batch of groups under qemu-aarch64 and returns one result a case.
#pragma once

#include <string>
#include <vector>

#include "case.h"

namespace kvrm::oracle {

// What a case ended with; from QEMU or from one of our engines.
struct Outcome {
  int32_t signal = 0;
  int32_t code = 0;
  uint64_t fault_address = 0;
  OracleState state = {};
  std::vector<OracleBlock> blocks;  // changed data memory, ascending
};

struct Qemu {
  std::string program = "qemu-aarch64";
  std::string guest;  // path of the guest program
  std::string folder;  // for the batch files; a memory file system if there is one
  unsigned timeout_seconds = 120;

  // The outcomes in case order; an error text if QEMU failed or hung.
  struct Batch {
    std::vector<Outcome> outcomes;
    std::string error;
    uint64_t finished = 0;  // cases with an outcome: if QEMU failed, it failed in the next one
  };
  Batch run(const std::vector<Group>& groups, const Memory& memory) const;
};

// /dev/shm where it exists, else the folder for temporary files.
std::string batch_folder();

}  // namespace kvrm::oracle
