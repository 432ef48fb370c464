// The ELF file of a program, opened and read once, or an ELF image from memory. Runs that use it start these bytes,
// even if the name on disk is reused later, and a guest that opens /proc/self/exe gets the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kvrm/api.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

class KVRM_API ProgramFile {
 public:
  // Holds one host descriptor as long as it lives. Anything but a regular file is an error.
  static Result<ProgramFilePointer> open(const std::string& path);
  // Copies the bytes. `name` is the path that the program sees as its own.
  static Result<ProgramFilePointer> from_bytes(std::span<const std::byte> elf, std::string name);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  const std::string& path() const;  // as given
  std::span<const std::uint8_t> bytes() const;
  int descriptor() const;  // of the file the bytes came from

  struct Parts;
  const Parts& parts() const { return *parts_; }

 private:
  explicit ProgramFile(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace kvrm
