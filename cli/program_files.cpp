#include "program_files.h"

namespace kvrm::cli {

std::optional<ProgramFiles::Identity> ProgramFiles::identity_of(const struct stat& facts) {
  return Identity{facts.st_dev, facts.st_ino, facts.st_size, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec};
}

void ProgramFiles::remember(const std::string& path) {
  const auto [found, is_new] = known_.try_emplace(path);
  struct stat facts{};
  if (is_new && ::stat(path.c_str(), &facts) == 0) found->second = identity_of(facts);
}

Result<ProgramFilePointer> ProgramFiles::open(const std::string& path) {
  if (const auto found = open_.find(path); found != open_.end()) return found->second;
  auto file = ProgramFile::open(path);
  if (!file) return file.error();
  // After the bytes were read: they are the ones from then.
  struct stat facts{};
  const auto known = known_.find(path);
  if (known != known_.end() && (::fstat((*file)->descriptor(), &facts) != 0 || identity_of(facts) != known->second)) {
    return Error{path + ": is not the file it was when the fleet began"};
  }
  bytes_ += (*file)->bytes().size();
  open_.emplace(path, *file);
  return file;
}

void ProgramFiles::close_all() {
  open_.clear();
  bytes_ = 0;
}

}  // namespace kvrm::cli
