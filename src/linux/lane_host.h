// The host's side of what lanes answer by themselves: the same functions, over GuestMemory and the process's clock.
#pragma once

#include "linux/clock.h"
#include "linux/freestanding/lane_context.h"
#include "linux/kernel_state.h"
#include "memory/freestanding/areas.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

// GuestMemory as the functions of lane_*.h want it.
class HostMemory {
 public:
  explicit HostMemory(memory::GuestMemory& memory) : memory_(memory) {}

  bool read(u64 address, void* to, u64 size) { return memory_.read(address, to, size); }
  bool write(u64 address, const void* from, u64 size) { return memory_.write(address, from, size); }
  bool peek(u64 address, void* to, u64 size) { return memory_.peek(address, to, size); }
  bool poke(u64 address, const void* from, u64 size) { return memory_.poke(address, from, size); }
  u64 accessible(u64 address, u64 size, u32 protection) {
    return memory_.accessible(address, size, static_cast<memory::Protection>(protection));
  }
  bool map(u64 address, u64 size, u32 protection) { return memory_.map(address, size, protection); }
  bool map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing) {
    return memory_.map_backed(address, size, protection, backing);
  }
  bool unmap(u64 address, u64 size) { return memory_.unmap(address, size); }
  bool protect(u64 address, u64 size, u32 protection) { return memory_.protect(address, size, protection); }
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) { return memory_.move(from, from_size, to, to_size); }
  bool discard(u64 address, u64 size) { return memory_.discard(address, size); }
  bool is_free(u64 address, u64 size) { return memory_.is_free(address, size); }
  bool is_mapped(u64 address, u64 size) { return memory_.is_mapped(address, size); }
  u64 find_free(u64 size, u64 floor, u64 limit) {
    return memory_.find_free(size, floor, limit).value_or(memory::kNoRoom);
  }
  u64 set_page_limit(u64 pages) { return memory_.set_limit(pages * memory::kPageSize) / memory::kPageSize; }
  u32 area_count() { return static_cast<u32>(memory_.areas().size()); }
  memory::Area area(u32 index) { return memory_.areas()[index]; }
  bool next_area(u64 address, memory::Area& area) {
    const auto found = memory_.next_area(address);
    if (found) area = *found;
    return found.has_value();
  }
  bool is_hosts(u64 address, u64 size) {
    memory::Area area;
    for (u64 at = address; next_area(at, area) && (area.start < address || area.start - address < size); at = area.end)
      if (area.flags & memory::kAreaBacked) return true;
    return false;
  }
  u32 protection_at(u64 address) {
    const auto area = memory_.next_area(address);
    return area && area->start <= address ? area->protection : u32{memory::kNoAccess};
  }

 protected:
  memory::GuestMemory& memory_;
};

// Memory of a call that the process answers. The process knows the files and segments that mappings are made from, so
// no part of the map belongs to another side. Pages that leave the map are saved in their segment; discarded pages and
// pages that a mapping grows by are read from their file.
class ProcessMemory : public HostMemory {
 public:
  ProcessMemory(Kernel& kernel, Call& call) : HostMemory(call.memory), kernel_(kernel), cpu_(call.cpu) {}

  bool is_hosts(u64, u64) { return false; }
  bool map(u64 address, u64 size, u32 protection) { return map_backed(address, size, protection, {}); }
  bool map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing);
  bool unmap(u64 address, u64 size);
  bool discard(u64 address, u64 size);

 private:
  bool fill(u64 address, u64 size, u64 id, u64 offset);
  bool fill_segments(u64 address, u64 size);
  bool give_back(u64 address, u64 size);

  Kernel& kernel_;
  Cpu& cpu_;
};

struct HostClock {
  const Clock& clock;
  const Cpu& cpu;
  u64 realtime_ns() const { return clock.realtime_ns(cpu); }
  u64 monotonic_ns() const { return clock.monotonic_ns(cpu); }
  u64 cpu_ns() const { return clock.cpu_ns(cpu); }
};

inline LaneCall<ProcessMemory, HostClock> lane_side(Kernel& kernel, const Call& call, ProcessMemory& memory) {
  return {kernel, memory, {kernel.clock, call.cpu}, {call.a[0], call.a[1], call.a[2], call.a[3], call.a[4], call.a[5]}};
}

// What lanes may do with the standard files, found out at the start.
void know_standard_files(Kernel& kernel, const std::array<std::shared_ptr<OpenFile>, 3>& files);

// The process as its lane gets to see it, and back.
LaneProcess lane_view(const Kernel& kernel, u64 deadline);
void take_lane_view(Kernel& kernel, const LaneProcess& process);

// sys_stat.cpp: 0 or -errno. memory: set if the file is a pipe into KVRM.
i64 stat_file(const Kernel& kernel, int host_fd, const MemoryPipe* memory, GuestStat& stat);

}  // namespace kvrm::linux_abi
