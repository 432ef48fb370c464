// One process: nothing to agree on. ranks_mpi.cpp is for builds that know MPI.
#include "ranks.h"

namespace kvrm::cli {

Ranks::Ranks() = default;
Ranks::~Ranks() = default;
bool Ranks::agree(bool ready) { return ready; }
void Ranks::share(std::vector<std::uint64_t>&) {}
void Ranks::collect(const std::function<void(const Put&)>& work, const Put& write) { work(write); }

}  // namespace kvrm::cli
