// Landlock: the kernel refuses this process every file that is not named here, whatever code runs in it.
#pragma once

#include <string>
#include <vector>

#include "kvrm/result.h"

namespace kvrm::cli {

// What stays reachable by name; descriptors that are open already stay usable. A name that does not exist is left out.
struct ReachableFiles {
  std::vector<std::string> readable;  // files and folders
  std::vector<std::string> devices;   // files, to read and write
  std::vector<std::string> stores;    // folders whose files are made, written, read, renamed and removed
  std::vector<std::string> roots;     // folders in which a guest does what guests may
};

// The version of Landlock's interface, or why there is none that can be used.
Result<int> landlock_version();
// Restricts the calling thread and those it starts later, for good: files as given; no TCP and no signals to processes
// outside, where the kernel's version knows these. An error, and nothing changed, where other threads run already:
// they would stay free. Sets no_new_privs.
Result<void> restrict_files(const ReachableFiles& files);

}  // namespace kvrm::cli
