// Confines the kvrm process itself while guests run: a second barrier after the sandbox, should a guest break that.
// Only the program does this; a library must not restrict the process it is loaded into.
#pragma once

#include <string>

#include "kvrm/result.h"
#include "landlock.h"
#include "machine_options.h"

namespace kvrm::cli {

// What this kernel offers: Landlock's version, seccomp; or why not.
struct ConfinementFacts {
  Result<int> landlock;
  Result<void> seccomp;
};
ConfinementFacts confinement();

enum class Surroundings { kAlone, kMpi };

// When the machine is made and its program loaded, before guests and threads run. `device` is the machine's; `more` is
// what the command opens later, beside the program, the root and the cache. What the kernel cannot do is left out.
void confine(const MachineArguments& arguments, const Settings& settings, const std::string& device,
             ReachableFiles more = {}, Surroundings around = Surroundings::kAlone);

}  // namespace kvrm::cli
