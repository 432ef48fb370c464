// A lane's memory as the system-call layer sees it while the lane waits in the mailbox: every call becomes commands in
// the lane's slot, and the lane executes them on its own memory. No state lasts between calls.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "backend/kernel/mailbox.h"
#include "memory/guest_memory.h"

namespace kvrm::backend::cuda {

// Thrown by a memory call when no answer can come any more: the device is lost or the run was aborted. Not a
// std::exception: the system-call layer takes those for a host without memory, and this must reach the service.
class LaneGone {};

// How a thread polls for a lane: at once for a while, since an answer takes microseconds, then with short sleeps.
class Backoff {
 public:
  // After each poll that found nothing.
  void wait() {
    if (++polls_ < kSpins) {
      sync::pause(0);
    } else if (polls_ < kSpins + kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }

 private:
  static constexpr unsigned kSpins = 500, kYields = 200;
  static constexpr std::chrono::microseconds kSleep{50};
  unsigned polls_ = 0;
};

class RemoteMemory final : public memory::GuestMemory {
 public:
  // While the slot belongs to the host. Calls poll `gone` while they wait.
  RemoteMemory(const kernel::Mailbox& mailbox, u32 slot, const std::atomic<bool>& gone)
      : flag_(mailbox.flags + slot), slot_(mailbox.slots[slot]), gone_(gone) {}

  bool read(u64 address, void* to, std::size_t size) const override;
  bool write(u64 address, const void* from, std::size_t size) override;
  std::size_t accessible(u64 address, std::size_t size, memory::Protection how) const override;
  bool poke(u64 address, const void* from, std::size_t size) override;
  bool peek(u64 address, void* to, std::size_t size) const override;
  bool map(u64 address, u64 size, u32 protection) override;
  bool map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing) override;
  // Always false: programs are loaded before a launch, and no system call maps an image.
  bool map_image(u64 address, u64 size, u32 protection, std::shared_ptr<const memory::Image> image,
                 u64 offset) override;
  bool unmap(u64 address, u64 size) override;
  bool protect(u64 address, u64 size, u32 protection) override;
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) override;
  bool discard(u64 address, u64 size) override;
  bool is_free(u64 address, u64 size) const override;
  bool is_mapped(u64 address, u64 size) const override;
  std::optional<u64> find_free(u64 size, u64 floor, u64 limit) const override;
  std::optional<Area> next_area(u64 address) const override;
  std::vector<Area> areas() const override;
  u64 set_limit(u64 bytes) override;

  u64 commands() const { return commands_; }

 private:
  u64 ask(const kernel::Command& command) const;
  Area area_in_slot(u64 index) const;
  bool copy_in(kernel::Operation operation, u64 address, void* to, std::size_t size) const;
  bool copy_out(kernel::Operation operation, u64 address, const void* from, std::size_t size, u32 needed);

  u32* flag_;
  kernel::Slot& slot_;
  const std::atomic<bool>& gone_;
  mutable u64 commands_ = 0;
};

}  // namespace kvrm::backend::cuda
