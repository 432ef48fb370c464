// How a lane sends a request to the host: through slots in pinned memory, fewer than there are lanes.
//
// A slot is a flag, which says which side owns the slot, and a body, which only that side accesses:
//
//   lane: claim() a slot, post() a request       flag kRequest      host: accepts it, flag kServing
//   host: a command on the lane's memory         flag kCommand      lane: serve() executes it
//   lane: the answer is in the body              flag kAnswer       host: another command, or
//   host: the outcome and what changed           flag kReply        lane: serve() applies it and releases the slot
//
// Ordering: the owner writes the body with plain stores, then the flag with release at system scope; the other side
// loads the flag with acquire at system scope before it accesses the body. Nothing here blocks: claim() may find no
// slot and serve() may find that the host owns the slot; then the lane tries again later.
//
// A bitmap in device memory says which slots are free; only lanes access it: claim acquires, release() releases.
#pragma once

#include "base/atomics.h"
#include "base/cpu.h"
#include "base/types.h"
#include "memory/freestanding/areas.h"

namespace kvrm::backend::kernel {

enum SlotState : u32 { kIdle, kRequest, kServing, kCommand, kAnswer, kReply };

enum class RequestKind : u32 {
  kSystemCall,  // pc is after the SVC
  kFault,  // pc is at the instruction, Request::trap says why, the fault fields of Cpu are set
  kTick,  // the deadline of the last reply is reached
  kEnd,  // the lane's job is over; the host may forget its process
};

struct Request {
  RequestKind kind;
  Trap trap;
  u32 lane;
  u32 job;
  u64 output_end = 0;  // OutputProgress::end: the host drains the lane's output up to there first
  u64 private_pages = 0;  // that the lane has
};

enum class OutcomeKind : u32 {  // those of linux_abi::Outcome, and one more
  kContinue,
  kExit,  // code: the exit status
  kSignal,  // code: the signal that killed the process
  kDeadlock,
  kCancelled,  // pc is at the SVC again, the call had no effect
  kStopped,  // a raw lane stops after its SVC
  kFailed,  // the host could not serve the call; its service knows why
};

inline constexpr u64 kNoDeadline = ~u64{0};

struct Outcome {
  OutcomeKind kind = OutcomeKind::kContinue;
  i32 code = 0;
  u64 deadline_ns = kNoDeadline;  // when clock_ns reaches it, the lane posts kTick
};

// What a reply changes besides x0 and clock_ns.
enum Change : u32 { kChangedCpu = 1, kChangedProcess = 2 };

struct Reply {
  Outcome outcome;
  u64 changed;  // of Change
  u64 x0;
  u64 clock_ns;
};

// The calls of memory::GuestMemory.
enum class Operation : u32 {
  kRead,  // address, size -> data, result: worked
  kWrite,  // address, size, data -> result
  kPeek,
  kPoke,
  kAccessible,  // address, size, protection -> result: bytes
  kMap,  // address, size, protection -> result
  kMapBacked,  // the same; protection in the low byte and Backing::flags above, to: its id, to_size: its offset
  kUnmap,  // address, size -> result
  kProtect,  // address, size, protection -> result
  kMove,  // address, size, to, to_size -> result
  kDiscard,  // address, size -> result
  kIsFree,
  kIsMapped,
  kFindFree,  // size, address: floor, to: limit -> result: address or kNoRoom
  kNextArea,  // address -> data: AreaRecord, result: there is one
  kAreas,  // address: index of the first -> data: AreaRecord each, result: how many areas there are
  kSetPageLimit,  // size: pages the lane may have from now on -> result: how many it has
};

inline constexpr u64 kNoRoom = ~u64{0};

struct Command {
  Operation operation;
  u32 protection;
  u64 address, size;
  u64 to, to_size;
  u64 result;
};

inline constexpr u64 kDataBytes = 4096;

struct AreaRecord {
  u64 start, end;
  u32 protection, flags;
  u64 source, image;
};
inline constexpr u32 kBackingShift = 8;
inline constexpr u32 kAreasPerCommand = kDataBytes / sizeof(AreaRecord);

// Room for what the system calls inside the kernel know of a process (linux/freestanding/lane_process.h); opaque here.
inline constexpr u32 kMostProcessWords = 128;

struct alignas(128) Slot {
  Request request;
  Command command;
  Reply reply;
  WholeCpu cpu;
  u64 process[kMostProcessWords];
  alignas(16) u8 data[kDataBytes];
};

// One side's view of the mailbox. At the start flags are zero and the bits of all slots in `free` are set.
struct Mailbox {
  u32* flags;  // pinned, one after the other, so that the host polls many at once
  Slot* slots;  // pinned
  u32* free;  // device memory, (count + 31) / 32 words: bit i of word w is slot 32 w + i
  u32 count;
};

inline constexpr u32 kNoSlot = ~u32{0};

// What travels with a request: the registers and the lane's part of its process.
template <class State>
struct BasicLaneState {
  State* cpu;
  u64* process;
  u32 process_words;  // at most kMostProcessWords
};
using LaneState = BasicLaneState<Cpu>;

namespace detail {

template <class State>
KVRM_COLD void put_state(Slot& slot, const BasicLaneState<State>& state) {
  copy_registers(*state.cpu, slot.cpu);
  for (u32 i = 0; i < state.process_words; ++i) slot.process[i] = state.process[i];
}

template <class State>
KVRM_COLD void apply_reply(const Slot& slot, const BasicLaneState<State>& state) {
  const Reply reply = slot.reply;
  if (reply.changed & kChangedCpu) copy_registers(slot.cpu, *state.cpu);
  if (reply.changed & kChangedProcess) {
    for (u32 i = 0; i < state.process_words; ++i) state.process[i] = slot.process[i];
  }
  state.cpu->x[0] = reply.x0;
  state.cpu->clock_ns = reply.clock_ns;
}

template <class M>
KVRM_INLINE u64 put_areas(Slot& slot, u64 first, M& memory) {
  const u64 total = memory.area_count();
  AreaRecord* records = reinterpret_cast<AreaRecord*>(slot.data);
  for (u64 i = 0; i < kAreasPerCommand && first + i < total; ++i) {
    const auto area = memory.area(static_cast<u32>(first + i));
    records[i] = {area.start, area.end, area.protection, area.flags, area.source, area.image};
  }
  return total;
}

template <class M>
KVRM_INLINE bool put_next_area(Slot& slot, u64 address, M& memory) {
  memory::Area area;
  if (!memory.next_area(address, area)) return false;
  *reinterpret_cast<AreaRecord*>(slot.data) = {area.start, area.end,    area.protection,
                                               area.flags, area.source, area.image};
  return true;
}

// Executes the host's command on the lane's memory.
template <class M>
KVRM_COLD void execute(Slot& slot, M& memory) {
  const Command command = slot.command;
  const u64 address = command.address, size = command.size;
  u64 result = 0;
  switch (command.operation) {
    case Operation::kRead: result = memory.read(address, slot.data, size); break;
    case Operation::kWrite: result = memory.write(address, slot.data, size); break;
    case Operation::kPeek: result = memory.peek(address, slot.data, size); break;
    case Operation::kPoke: result = memory.poke(address, slot.data, size); break;
    case Operation::kAccessible: result = memory.accessible(address, size, command.protection); break;
    case Operation::kMap: result = memory.map(address, size, command.protection); break;
    case Operation::kMapBacked:
      result = memory.map_backed(address, size, command.protection & ((1u << kBackingShift) - 1),
                                 {command.protection >> kBackingShift, command.to, command.to_size});
      break;
    case Operation::kUnmap: result = memory.unmap(address, size); break;
    case Operation::kProtect: result = memory.protect(address, size, command.protection); break;
    case Operation::kMove: result = memory.move(address, size, command.to, command.to_size); break;
    case Operation::kDiscard: result = memory.discard(address, size); break;
    case Operation::kIsFree: result = memory.is_free(address, size); break;
    case Operation::kIsMapped: result = memory.is_mapped(address, size); break;
    case Operation::kFindFree: result = memory.find_free(size, address, command.to); break;
    case Operation::kNextArea: result = put_next_area(slot, address, memory); break;
    case Operation::kAreas: result = put_areas(slot, address, memory); break;
    case Operation::kSetPageLimit: result = memory.set_page_limit(size); break;
  }
  slot.command.result = result;
}

}  // namespace detail

// A free slot, or kNoSlot. Different hints start the search at different words.
KVRM_INLINE u32 claim(const Mailbox& mailbox, u32 hint) {
  const u32 words = (mailbox.count + 31) / 32;
  for (u32 i = 0; i < words; ++i) {
    const u32 word = (hint % words + i) % words;
    u32 seen = sync::load<sync::kRelaxed, sync::kDevice>(&mailbox.free[word]);
    while (seen != 0) {
      const u32 bit = seen & (~seen + 1);
      const u32 found = sync::fetch_and<sync::kAcquire, sync::kDevice>(&mailbox.free[word], ~bit);
      if (found & bit) return word * 32 + static_cast<u32>(__builtin_ctz(bit));
      seen = found & (seen ^ bit);
    }
  }
  return kNoSlot;
}

KVRM_INLINE void release(const Mailbox& mailbox, u32 slot) {
  sync::fetch_or<sync::kRelease, sync::kDevice>(&mailbox.free[slot / 32], u32{1} << (slot % 32));
}

// Posts the request with the lane's state. From now on the lane waits: it calls serve() until the request is done.
template <class State>
KVRM_INLINE void post(const Mailbox& mailbox, u32 slot, const Request& request, const BasicLaneState<State>& state) {
  mailbox.slots[slot].request = request;
  detail::put_state(mailbox.slots[slot], state);
  sync::store<sync::kRelease, sync::kSystem>(&mailbox.flags[slot], u32{kRequest});
}

enum class Poll : u32 {
  kWaiting,  // the host owns the slot
  kServed,  // executed a command; the request is still in progress
  kDone,  // state and outcome are the reply's, the slot is released
};

// One step of a lane that waits for its request.
template <class M, class State>
KVRM_INLINE Poll serve(const Mailbox& mailbox, u32 slot, M& memory, const BasicLaneState<State>& state,
                       Outcome& outcome) {
  const u32 slot_state = sync::load<sync::kAcquire, sync::kSystem>(&mailbox.flags[slot]);
  Slot& body = mailbox.slots[slot];
  if (slot_state == kCommand) {
    detail::execute(body, memory);
    sync::store<sync::kRelease, sync::kSystem>(&mailbox.flags[slot], u32{kAnswer});
    return Poll::kServed;
  }
  if (slot_state != kReply) return Poll::kWaiting;
  detail::apply_reply(body, state);
  outcome = body.reply.outcome;
  sync::store<sync::kRelaxed, sync::kSystem>(&mailbox.flags[slot], u32{kIdle});
  release(mailbox, slot);
  return Poll::kDone;
}

}  // namespace kvrm::backend::kernel
