#include "confine.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "kvrm/cache.h"
#include "seccomp.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

namespace fs = std::filesystem;

// A rule needs a folder that exists, and what the first run finds out is worth keeping too. A cache that is not used,
// as one in a guest's reach, gets no rule of its own.
void allow_cache(const Settings& settings, ReachableFiles& files) {
  const fs::path folder = cache_folder();
  if (folder.empty() || !settings.options.code_cache || settings.options.engine == Engine::kInterpreter) return;
  std::error_code problem;
  const mode_t before = ::umask(077);  // there is one thread yet
  fs::create_directories(folder.parent_path(), problem);
  (void)::umask(before);
  (void)::mkdir(folder.c_str(), 0700);
  files.stores.push_back(folder.string());
}

ReachableFiles reachable(const MachineArguments& arguments, const Settings& settings, ReachableFiles files) {
  files.readable.push_back(settings.program.path);
  files.readable.emplace_back("/sys/devices/system/cpu/online");  // the C library, when threads start to allocate
  files.devices = {"/dev/null", "/dev/zero", "/dev/full"};        // a guest has them without a root
  if (!settings.program.root.empty()) files.roots.push_back(settings.program.root);
  if (arguments.perf_map) files.stores.emplace_back("/tmp");
  allow_cache(settings, files);
  return files;
}

std::string outcome(const Result<void>& result) { return result ? "on" : "off: " + result.error().message; }

}  // namespace

ConfinementFacts confinement() { return {landlock_version(), seccomp_available()}; }

void confine(const MachineArguments& arguments, const Settings& settings, const std::string& device,
             ReachableFiles more, Surroundings around) {
  if (arguments.no_confine) return;
  // Drivers and MPI have started threads, and open files and sockets of their own whenever they like.
  const bool on_gpu = device != "cpu", with_mpi = around == Surroundings::kMpi;
  const Result<void> files = on_gpu     ? Error{"the GPU's driver needs files of its own"}
                             : with_mpi ? Error{"MPI needs files of its own"}
                                        : restrict_files(reachable(arguments, settings, std::move(more)));
  const Result<void> calls = refuse_system_calls(on_gpu || with_mpi ? Peers::kAllowed : Peers::kNone);
  if (arguments.verbose) say("kvrm: confinement: landlock {}; seccomp {}\n", outcome(files), outcome(calls));
}

}  // namespace kvrm::cli
