// What a ProgramFile is made of.
#pragma once

#include "kvrm/program_file.h"
#include "linux/exe_file.h"
#include "memory/image.h"

namespace kvrm {

struct __attribute__((visibility("hidden"))) ProgramFile::Parts {
  std::string path;
  std::shared_ptr<const memory::Image> image;
  linux_abi::ExePointer exe;
};

}  // namespace kvrm
