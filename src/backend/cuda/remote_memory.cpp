#include "backend/cuda/remote_memory.h"

#include <algorithm>
#include <cstring>

namespace kvrm::backend::cuda {

using kernel::Command;
using kernel::kDataBytes;
using kernel::Operation;

namespace {

// The most that one accessible() checks in one step of the lane, so that a wide range does not delay its group.
constexpr u64 kAccessibleBytes = 256 * memory::kPageSize;

}  // namespace

// One command: body, then flag with release; the answer's flag with acquire, then body.
u64 RemoteMemory::ask(const Command& command) const {
  ++commands_;
  slot_.command = command;
  sync::store<sync::kRelease, sync::kSystem>(flag_, u32{kernel::kCommand});
  for (Backoff backoff; sync::load<sync::kAcquire, sync::kSystem>(flag_) != kernel::kAnswer; backoff.wait()) {
    if (gone_.load(std::memory_order_relaxed)) throw LaneGone();
  }
  return slot_.command.result;
}

bool RemoteMemory::copy_in(Operation operation, u64 address, void* to, std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    const u64 count = std::min<u64>(size - done, kDataBytes);
    if (!ask({operation, 0, address + done, count, 0, 0, 0})) return false;
    std::memcpy(static_cast<u8*>(to) + done, slot_.data, count);
    done += count;
  }
  return true;
}

// All or nothing, as far as permissions go: a range that needs several commands is checked before the first.
bool RemoteMemory::copy_out(Operation operation, u64 address, const void* from, std::size_t size, u32 needed) {
  if (size > kDataBytes && accessible(address, size, memory::Protection{needed}) < size) return false;
  for (std::size_t done = 0; done < size;) {
    const u64 count = std::min<u64>(size - done, kDataBytes);
    std::memcpy(slot_.data, static_cast<const u8*>(from) + done, count);
    if (!ask({operation, 0, address + done, count, 0, 0, 0})) return false;
    done += count;
  }
  return true;
}

bool RemoteMemory::read(u64 address, void* to, std::size_t size) const {
  return copy_in(Operation::kRead, address, to, size);
}
bool RemoteMemory::write(u64 address, const void* from, std::size_t size) {
  return copy_out(Operation::kWrite, address, from, size, memory::kWrite);
}
bool RemoteMemory::peek(u64 address, void* to, std::size_t size) const {
  return copy_in(Operation::kPeek, address, to, size);
}
bool RemoteMemory::poke(u64 address, const void* from, std::size_t size) {
  return copy_out(Operation::kPoke, address, from, size, memory::kNoAccess);
}

std::size_t RemoteMemory::accessible(u64 address, std::size_t size, memory::Protection how) const {
  std::size_t done = 0;
  while (done < size) {
    const u64 count = std::min<u64>(size - done, kAccessibleBytes);
    const u64 found = ask({Operation::kAccessible, how, address + done, count, 0, 0, 0});
    done += found;
    if (found < count) break;
  }
  return done;
}

bool RemoteMemory::map(u64 address, u64 size, u32 protection) {
  return ask({Operation::kMap, protection, address, size, 0, 0, 0});
}
bool RemoteMemory::map_backed(u64 address, u64 size, u32 protection, const memory::Backing& backing) {
  return ask({Operation::kMapBacked, protection | backing.flags << kernel::kBackingShift, address, size, backing.id,
              backing.offset, 0});
}
bool RemoteMemory::map_image(u64, u64, u32, std::shared_ptr<const memory::Image>, u64) { return false; }
bool RemoteMemory::unmap(u64 address, u64 size) { return ask({Operation::kUnmap, 0, address, size, 0, 0, 0}); }
bool RemoteMemory::protect(u64 address, u64 size, u32 protection) {
  return ask({Operation::kProtect, protection, address, size, 0, 0, 0});
}
bool RemoteMemory::move(u64 from, u64 from_size, u64 to, u64 to_size) {
  return ask({Operation::kMove, 0, from, from_size, to, to_size, 0});
}
bool RemoteMemory::discard(u64 address, u64 size) { return ask({Operation::kDiscard, 0, address, size, 0, 0, 0}); }
bool RemoteMemory::is_free(u64 address, u64 size) const { return ask({Operation::kIsFree, 0, address, size, 0, 0, 0}); }
bool RemoteMemory::is_mapped(u64 address, u64 size) const {
  return ask({Operation::kIsMapped, 0, address, size, 0, 0, 0});
}

std::optional<u64> RemoteMemory::find_free(u64 size, u64 floor, u64 limit) const {
  const u64 found = ask({Operation::kFindFree, 0, floor, size, limit, 0, 0});
  return found == kernel::kNoRoom ? std::nullopt : std::optional(found);
}

u64 RemoteMemory::set_limit(u64 bytes) {
  const u64 pages = std::min<u64>(bytes / memory::kPageSize, ~u32{0});
  return ask({Operation::kSetPageLimit, 0, 0, pages, 0, 0, 0}) * memory::kPageSize;
}

// The areas a command has left in the slot.
memory::Area RemoteMemory::area_in_slot(u64 index) const {
  kernel::AreaRecord record;
  std::memcpy(&record, slot_.data + index * sizeof record, sizeof record);
  return {record.start, record.end, record.protection, record.flags, record.source, record.image};
}

std::optional<memory::GuestMemory::Area> RemoteMemory::next_area(u64 address) const {
  return ask({Operation::kNextArea, 0, address, 0, 0, 0, 0}) ? std::optional(area_in_slot(0)) : std::nullopt;
}

std::vector<memory::GuestMemory::Area> RemoteMemory::areas() const {
  std::vector<Area> found;
  for (u64 total = 1; found.size() < total;) {
    const u64 first = found.size();
    total = ask({Operation::kAreas, 0, first, 0, 0, 0, 0});
    const u64 count = std::min<u64>(total - std::min(first, total), kernel::kAreasPerCommand);
    for (u64 i = 0; i < count; ++i) found.push_back(area_in_slot(i));
  }
  return found;
}

}  // namespace kvrm::backend::cuda
