// The processes that work on one fleet: this one alone, or the ranks that mpirun started.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "records.h"

namespace kvrm::cli {

class Ranks {
 public:
  Ranks();  // joins the other ranks, where mpirun started this process and the build knows MPI
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  unsigned rank() const { return rank_; }
  unsigned size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  // Whether all ranks are ready; every rank must ask.
  bool agree(bool ready);
  // Gives rank 0's list to all.
  void share(std::vector<std::uint64_t>& list);

  // Runs `work` on every rank. The records it puts, from any thread but one at a time, go to `write` on rank 0, one at
  // a time. Returns when all ranks are done.
  using Put = std::function<void(Record&&)>;
  void collect(const std::function<void(const Put&)>& work, const Put& write);

 private:
  unsigned rank_ = 0, size_ = 1;
};

}  // namespace kvrm::cli
