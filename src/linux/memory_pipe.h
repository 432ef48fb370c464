// A pipe whose other end is KVRM itself: what a guest's standard files are when they lead into memory. Input was all
// written before the program started and its writer is gone; output has a reader that takes everything at once.
//
// Every question but reading, writing and readiness is answered by the host about a real pipe (OpenFile::host_fd, one
// for the whole program, never read or written), so a guest sees what it would see between two shell commands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/types.h"
#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {

// Takes bytes the guest has written. Called by the thread that serves the guest's system call.
using OutputSink = std::function<void(std::span<const u8>)>;

struct OpenFile;

struct MemoryPipe {
  u64 number = 0;  // the guest's descriptor it began as: 0, 1 or 2
  std::shared_ptr<const std::string> input;
  u64 position = 0;
  OutputSink output;

  u64 unread() const { return input ? input->size() - position : 0; }
  // Bytes moved or -errno.
  i64 read(std::span<u8> to, bool at_offset);
  i64 write(std::span<const u8> from, bool at_offset) const;
  // What poll reports of the events asked for.
  short ready(short events) const;
  // Sets the parts of a stat that would depend on the host: they are the same in every run.
  void settle(GuestStat& stat, u32 uid, u32 gid) const;
  void settle(GuestStatx& stat, u32 uid, u32 gid) const;
};

std::shared_ptr<OpenFile> make_memory_input(std::shared_ptr<const std::string> bytes);
std::shared_ptr<OpenFile> make_memory_output(u64 number, OutputSink sink);

}  // namespace kvrm::linux_abi
