// Faults of translated code in windows (memory/window.h).
//
// An access to a page that is hidden, read-only or outside the guest's map raises SIGSEGV. The handler looks for the
// faulting instruction in the tables of the code generators, sets the saved pc to the landing they name, and returns:
// nothing else. Landing code leaves with the registers as they were before the guest's instruction, and the interpreter
// runs that instruction on the paged path. So it resolves the page, reports the precise fault, or drops decoded code.
//
// The handler is installed once, when the first code is registered. Every signal that is not ours goes to the handler
// that was there before. It takes no lock and allocates nothing. SIGBUS is never ours: it is an error of the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "base/types.h"

namespace kvrm::memory {

// Where code that faults at `pc` continues; null: this access is not known. Called in a signal handler.
using FindLanding = const void* (*)(const void* owner, const void* pc);

// Code of one generator, for as long as this lives. The destructor waits for handlers that use `owner`.
class RegisteredCode {
 public:
  // [begin, end): where its code may be. Installs the handler if that has not been done.
  RegisteredCode(const void* begin, const void* end, FindLanding find, const void* owner);
  ~RegisteredCode();
  RegisteredCode(const RegisteredCode&) = delete;
  RegisteredCode& operator=(const RegisteredCode&) = delete;
  // False: there was no room; code in this range must not access windows.
  bool is_registered() const { return slot_ != nullptr; }

 private:
  void* slot_ = nullptr;
};

// Landings by the host address of the accessing instruction. Readers take no lock.
class LandingTable {
 public:
  LandingTable();
  ~LandingTable();
  LandingTable(const LandingTable&) = delete;
  LandingTable& operator=(const LandingTable&) = delete;

  void insert(const void* pc, const void* landing);
  void erase(const void* pc);
  const void* find(const void* pc) const;
  static const void* find_landing(const void* owner, const void* pc) {
    return static_cast<const LandingTable*>(owner)->find(pc);
  }

 private:
  struct Table;
  void grow();

  std::mutex mutex_;  // of writers
  std::size_t used_ = 0;  // slots that are not empty, erased ones included
  std::unique_ptr<Table> table_;
  std::atomic<const Table*> current_;
  mutable std::atomic<u32> readers_ = 0;  // the older table is freed when there are none
};

// Whether faults of this thread in windows reach our handler now: it is installed, no other one was installed after it,
// and SIGSEGV is not blocked.
bool window_faults_arrive();

// The thread may run code that accesses windows: SIGSEGV is not blocked meanwhile.
class WindowFaultScope {
 public:
  WindowFaultScope();
  ~WindowFaultScope();
  WindowFaultScope(const WindowFaultScope&) = delete;
  WindowFaultScope& operator=(const WindowFaultScope&) = delete;

 private:
  bool was_blocked_;
};

// For windows: addresses whose faults are ours. False: there are too many.
bool add_window(const u8* begin, const u8* end);
void remove_window(const u8* begin);

}  // namespace kvrm::memory
