// Every system call a lane answers by itself, instantiated over the simplest memory there can be: a compiler without a
// standard library must take them all, and ptxas what comes of it.
#include "linux/freestanding/lane_calls.h"
#include "memory/freestanding/areas.h"

namespace kvrm::linux_abi {
namespace {

// One window of bytes; the areas alone say what is mapped where.
struct Window {
  u8* bytes;
  u64 size;
  memory::Areas areas;

  bool inside(u64 address, u64 count) const { return address < size && count <= size - address; }
  bool read(u64 address, void* to, u64 count) { return peek(address, to, count); }
  bool write(u64 address, const void* from, u64 count) { return poke(address, from, count); }
  bool peek(u64 address, void* to, u64 count) {
    if (!inside(address, count)) return false;
    for (u64 i = 0; i < count; ++i) static_cast<u8*>(to)[i] = bytes[address + i];
    return true;
  }
  bool poke(u64 address, const void* from, u64 count) {
    if (!inside(address, count)) return false;
    for (u64 i = 0; i < count; ++i) bytes[address + i] = static_cast<const u8*>(from)[i];
    return true;
  }
  u64 accessible(u64 address, u64 count, u32) { return address < size ? least(count, size - address) : 0; }
  bool map(u64 address, u64 count, u32 protection) { return areas.map(address, count, protection); }
  bool map_backed(u64 address, u64 count, u32 protection, const memory::Backing& backing) {
    return areas.map_backed(address, count, protection, backing);
  }
  bool is_hosts(u64 address, u64 count) { return areas.has_flag(address, count, memory::kAreaBacked); }
  bool next_area(u64 address, memory::Area& area) {
    const memory::Area* found = areas.next(address);
    if (found) area = *found;
    return found != nullptr;
  }
  bool unmap(u64 address, u64 count) { return areas.unmap(address, count); }
  bool protect(u64 address, u64 count, u32 protection) { return areas.protect(address, count, protection); }
  bool move(u64 from, u64 from_size, u64 to, u64 to_size) {
    if (!areas.may_move(from, from_size, to, to_size) || !areas.has_room()) return false;
    areas.move(from, from_size, to, to_size);
    return true;
  }
  bool discard(u64 address, u64 count) { return areas.is_mapped(address, count); }
  bool is_free(u64 address, u64 count) { return areas.is_free(address, count); }
  bool is_mapped(u64 address, u64 count) { return areas.is_mapped(address, count); }
  u64 find_free(u64 count, u64 floor, u64 limit) { return areas.find_free(count, floor, limit); }
  u32 protection_at(u64 address) {
    const memory::Area* area = areas.find(address);
    return area ? area->protection : u32{memory::kNoAccess};
  }
};

struct Words {
  u64* to;
  u64 capacity;

  template <class Fill>
  Transfer write(u32, u64 size, Fill& fill) {
    if (size > capacity) return Transfer::kWait;
    for (u64 at = 0; at < size; at += 8) to[at / 8] = fill(at);
    return Transfer::kDone;
  }
  const GuestStat* stat(u32) { return nullptr; }
  const char* program(u64& size) {
    size = 0;
    return nullptr;
  }
};

}  // namespace

CallOutcome call_in_a_window(LaneProcess& process, Cpu& cpu, u8* bytes, u64 size, memory::Area* areas, u64* output) {
  Window window{bytes, size, {areas, 0, 64}};
  Words words{output, 4096};
  return lane_call(process, cpu, window, words);
}

}  // namespace kvrm::linux_abi
