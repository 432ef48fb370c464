#include "machine/program_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace kvrm {
namespace {

// A sealed file in memory that holds the bytes, which a guest can open as /proc/self/exe; none if the host refuses.
linux_abi::HostFd file_in_memory(std::span<const u8> bytes) {
  linux_abi::HostFd file(::memfd_create("kvrm-program", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return file;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    done += static_cast<std::size_t>(count);
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) return {};
  return file;
}

}  // namespace

Result<HostFile> HostFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  HostFile opened(path, linux_abi::HostFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
  if (!opened.file_) return Error{path + ": " + std::strerror(errno)};
  struct stat facts{};
  if (::fstat(opened.file_.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Error{path + (S_ISDIR(facts.st_mode) ? ": is a folder, not a file" : ": is not a regular file")};
  }
  opened.size_ = static_cast<u64>(facts.st_size);
  return opened;
}

std::optional<Error> HostFile::read(u8* to) const {
  u64 done = 0;
  while (done < size_) {
    const ssize_t count = ::read(file_.get(), to + done, size_ - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{path_ + ": " + std::strerror(errno)};
    if (count == 0) return Error{path_ + ": became shorter while it was read"};
    done += static_cast<u64>(count);
  }
  return std::nullopt;
}

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

Result<ProgramFilePointer> ProgramFile::from_bytes(std::span<const std::byte> elf, std::string name) try {
  if (name.empty()) return Error{"a program from memory needs a name"};
  auto image = std::make_shared<const memory::Image>(std::span(reinterpret_cast<const u8*>(elf.data()), elf.size()));
  auto exe = linux_abi::make_exe_file(file_in_memory(image->bytes()));
  if (!exe) return Error{name + ": the host gives no file in memory for the program: " + std::strerror(errno)};
  auto parts = std::make_unique<const Parts>(std::move(name), std::move(image), std::move(exe));
  return ProgramFilePointer(new ProgramFile(std::move(parts)));
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left for a program of " + std::to_string(elf.size()) + " bytes"};
}

Result<Program> Program::from_bytes(std::span<const std::byte> elf, std::string name) {
  auto file = ProgramFile::from_bytes(elf, std::move(name));
  if (!file) return file.error();
  Program program;
  program.path = (*file)->path();
  program.file = std::move(*file);
  return program;
}

ProgramFile::ProgramFile(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
ProgramFile::~ProgramFile() = default;

const std::string& ProgramFile::path() const { return parts_->path; }
std::span<const std::uint8_t> ProgramFile::bytes() const { return parts_->image->bytes(); }
int ProgramFile::descriptor() const { return parts_->exe->file.get(); }

}  // namespace kvrm
