// A program's file, opened and read once. Whatever its name comes to mean later, runs that are given it start these
// bytes, and a guest that opens /proc/self/exe gets the file they came from.
#pragma once

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
  // Holds one host descriptor for as long as it lives. Anything but a regular file is an error.
  static Result<ProgramFilePointer> open(const std::string& path);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  const std::string& path() const;  // as it was given
  std::span<const std::uint8_t> bytes() const;
  int descriptor() const;  // of the file the bytes came from, to ask about it

  struct Parts;
  const Parts& parts() const { return *parts_; }

 private:
  explicit ProgramFile(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace kvrm
