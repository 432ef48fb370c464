// The processes that work on one fleet: this one alone, or the ranks that mpirun started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kvrm/result.h"
#include "records.h"

namespace kvrm::cli {

class Ranks {
 public:
  virtual ~Ranks() = default;

  unsigned rank() const { return rank_; }
  unsigned size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  bool uses_mpi() const { return uses_mpi_; }

  // Whether all ranks are ready; every rank must ask.
  virtual bool agree(bool ready) = 0;
  // Gives rank 0's list to all.
  virtual void share(std::vector<std::uint64_t>& list) = 0;

  // Runs `work` on every rank. The records it puts, from any thread but one at a time, go to `write` on rank 0, one at
  // a time. Returns when all ranks are done.
  using Put = std::function<void(Record&&)>;
  virtual void collect(const std::function<void(const Put&)>& work, const Put& write) = 0;

 protected:
  unsigned rank_ = 0, size_ = 1;
  bool uses_mpi_ = false;
};

// The ranks this process belongs to. MPI lives in a module of its own, kvrm-mpi.so beside the program or in
// ../lib/kvrm, and only mpirun makes it load: programs started alone do not pay for it.
Result<std::unique_ptr<Ranks>> join_ranks();

// What the module gives out.
inline constexpr const char* kMakeRanksName = "kvrm_make_ranks";
using MakeRanks = Ranks* (*)();

}  // namespace kvrm::cli
