// Facts about the host and about programs, without running them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/result.h"

namespace kvrm {

// The assembler text of one instruction word at an address; ".inst 0x..." if the word is no instruction.
KVRM_API std::string disassemble(std::uint32_t word, std::uint64_t address);

// The whole of a regular file, as load_program() reads programs; anything else (a folder, a pipe) is an error.
KVRM_API Result<std::vector<std::uint8_t>> read_file(const std::string& path);

// The code of an AArch64 ELF file at its link addresses: its executable sections, or without sections its executable
// segments less the ELF headers.
struct CodeSymbol {
  std::uint64_t address;
  std::string name;
};
struct CodeSegment {
  std::string name;  // of the section; empty: a segment
  std::uint64_t address;
  std::vector<std::uint8_t> bytes;
  std::vector<CodeSymbol> symbols;  // in the order of their addresses
};
KVRM_API Result<std::vector<CodeSegment>> executable_segments(std::span<const std::uint8_t> elf);

struct GpuInformation {
  std::string name;
  unsigned compute_major = 0, compute_minor = 0;
  std::uint64_t memory = 0;  // bytes
  unsigned multiprocessors = 0;
  unsigned clock_mhz = 0;
  bool limits_kernel_time = false;  // the driver ends long kernels: the GPU also drives a display
  bool has_code = false;            // this build has machine code for it; else the first start compiles it
  std::string problem;              // why it cannot be used; empty if it can
  std::string translator_problem;   // why engine=jit cannot be used on it; empty if it can
};

struct Information {
  std::uint64_t hwcap;
  unsigned rows;              // encodings in the table
  unsigned implemented_rows;  // rows with semantics
  unsigned host_threads;
  std::string translator_problem;  // why engine=jit cannot be used on the CPU; empty if it can
  std::vector<GpuInformation> gpus;  // by number
  std::string gpu_driver;            // the CUDA version of the driver, "13.0"; empty without one
  std::string gpu_problem;           // why no GPU can be used, in one line; empty if one can
};
// Queries the GPU driver too, which takes a moment.
KVRM_API Information information();

// The version of the library, "0.1.0".
KVRM_API std::string_view version();

}  // namespace kvrm
