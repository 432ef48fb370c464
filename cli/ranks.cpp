#include "ranks.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace kvrm::cli {
namespace {

// One process has nothing to agree on.
class Alone final : public Ranks {
 public:
  bool agree(bool ready) override { return ready; }
  void share(std::vector<std::uint64_t>&) override {}
  void collect(const std::function<void(const Put&)>& work, const Put& write) override { work(write); }
};

bool started_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name)) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Ranks>> join_ranks() {
  if (!started_by_mpirun()) return std::unique_ptr<Ranks>(std::make_unique<Alone>());
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::string why = "no kvrm-mpi.so";
  for (const auto& path : {folder / "kvrm-mpi.so", folder / "../lib/kvrm/kvrm-mpi.so"}) {
    if (!std::filesystem::exists(path, error)) continue;
    // It stays loaded: MPI does not like to be unloaded.
    void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    void* make = module ? ::dlsym(module, kMakeRanksName) : nullptr;
    if (make) return std::unique_ptr<Ranks>(reinterpret_cast<MakeRanks>(make)());
    why = ::dlerror();
  }
  return Error{"started by mpirun, but MPI is not there: " + why};
}

}  // namespace kvrm::cli
