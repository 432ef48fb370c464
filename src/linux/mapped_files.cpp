#include "linux/mapped_files.h"

#include <algorithm>

namespace kvrm::linux_abi {

u64 MappedFiles::add(const std::shared_ptr<OpenFile>& file, const memory::GuestMemory& memory) {
  auto slot = std::find(files_.begin(), files_.end(), file);
  if (slot == files_.end()) slot = std::find(files_.begin(), files_.end(), nullptr);
  if (slot == files_.end()) {
    drop_unmapped(memory);
    slot = std::find(files_.begin(), files_.end(), nullptr);
  }
  if (slot == files_.end()) {
    if (files_.size() >= kMostFiles) return 0;
    // Twice as many, so that the table is searched rarely.
    const std::size_t before = files_.size();
    files_.resize(std::min<std::size_t>(kMostFiles, 2 * before + 8));
    slot = files_.begin() + std::ptrdiff_t(before);
  }
  *slot = file;
  return u64(slot - files_.begin()) + 1;
}

std::shared_ptr<OpenFile> MappedFiles::find(u64 id) const {
  return id != 0 && id <= files_.size() ? files_[id - 1] : nullptr;
}

u64 MappedFiles::kept() const {
  return u64(std::count_if(files_.begin(), files_.end(), [](const auto& file) { return file != nullptr; }));
}

void MappedFiles::drop_unmapped(const memory::GuestMemory& memory) {
  std::vector<bool> mapped(files_.size() + 1);
  for (const auto& area : memory.areas())
    if ((area.flags & memory::kAreaBacked) && area.image < mapped.size()) mapped[area.image] = true;
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (!mapped[i + 1]) files_[i] = nullptr;
}

}  // namespace kvrm::linux_abi
