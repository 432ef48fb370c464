#include "machine/program_file.h"

#include <new>
#include <optional>
#include <utility>

#include "machine/host_file.h"

namespace kvrm {

Result<ProgramFilePointer> ProgramFile::open(const std::string& path) try {
  auto file = HostFile::open(path);
  if (!file) return file.error();
  std::optional<Error> error;
  auto image = std::make_shared<const memory::Image>(file->size(), [&](u8* to) { error = file->read(to); });
  if (error) return *error;
  auto exe = linux_abi::make_exe_file(std::move(*file).release());
  auto parts = std::make_unique<const Parts>(path, std::move(image), std::move(exe));
  return ProgramFilePointer(new ProgramFile(std::move(parts)));
} catch (const std::bad_alloc&) {
  return Error{path + ": the host has no memory left for the program"};
}

ProgramFile::ProgramFile(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
ProgramFile::~ProgramFile() = default;

const std::string& ProgramFile::path() const { return parts_->path; }
std::span<const std::uint8_t> ProgramFile::bytes() const { return parts_->image->bytes(); }
int ProgramFile::descriptor() const { return parts_->exe->file.get(); }

}  // namespace kvrm
