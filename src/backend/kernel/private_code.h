// Private code: the lane can write it or has written it, so it cannot be shared. It is decoded for this lane alone,
// line by line, each word when it first runs. The lane's memory watches the decoded words
// (memory/freestanding/lane_watch.h), so self-modifying code sees its own writes. A line lies within a page; entries
// that are not decoded have block_length == 1. Freestanding.
#pragma once

#include "backend/kernel/lane.h"
#include "interpreter/freestanding/lane_loop.h"

namespace kvrm::backend::kernel {

inline interpreter::WordEntry decode_word(const Launch& launch, u32 word, u64 pc) {
  // Decoded each time it runs.
  if (launch.dispatch_every)
    return {word, interpreter::kHandleUndecoded, interpreter::kLoneUndecoded, interpreter::kMaxBlockLength, 0};
  return interpreter::make_word_entry(word, launch.router.row(word, pc));
}

class PrivateCode {
 public:
  // A run starts with nothing decoded: the host may have written since the last one. `seat` is the number of the lane
  // among those that run at the same time.
  KVRM_INLINE PrivateCode(const Launch& launch, Lane& lane, Cpu& cpu, memory::LaneMemory& memory, u32 seat)
      : launch_(launch),
        lane_(lane),
        cpu_(cpu),
        memory_(memory),
        words_(launch.private_words + u64{seat} * launch.private_lines * kPrivateEntries) {
    lane.space.watch = {launch.watched + u64{seat} * launch.private_lines, launch.private_lines, 0, true};
    lane.space.watch.forget();
  }
  // Writes need no watch any more.
  void end() { lane_.space.watch = {}; }

  // The line at pc, if it is decoded.
  KVRM_INLINE bool find(interpreter::CodeWindow& window) const {
    const memory::LaneWatch& watch = lane_.space.watch;
    const u32 slot = watch.slot_of(cpu_.pc);
    memory::WatchedLine& line = watch.lines[slot];
    if (line.start != (cpu_.pc & ~(memory::kCodeLineBytes - 1))) return false;
    window = {line.start, memory::kCodeLineWords, words_ + u64{slot} * kPrivateEntries, &launch_.router, &line};
    if (line.written != 0) drop_written(window);
    return true;
  }

  // Starts an empty line at pc. Of shared memory it fetches one word only: no lane watches the writes of others.
  KVRM_COLD Trap fetch(interpreter::CodeWindow& window) {
    const auto page = find_page();
    if (page.trap != Trap::kNone) return page.trap;
    if (page.entry & memory::kEntryShared) {
      const u32 word = sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const u32*>(bytes(page)));
      if (lane_.word[0].word != word || lane_.word[0].handler == interpreter::kHandleUndecoded)
        interpreter::store_entry(&lane_.word[0], decode_word(launch_, word, cpu_.pc));
      window = {cpu_.pc, 1, lane_.word, &launch_.router};
      return Trap::kNone;
    }
    memory_.watch(cpu_.pc);
    (void)find(window);
    for (u32 i = 0; i < kPrivateEntries; ++i) forget_word(window, i);
    return Trap::kNone;
  }

  // Decodes the word at pc, which runs next, unless it is decoded.
  KVRM_COLD Trap decode_at_pc(const interpreter::CodeWindow& window) {
    const u32 index = static_cast<u32>((cpu_.pc - window.start) / 4);
    if (interpreter::load_entry(window.entries + index).handler != interpreter::kHandleUndecoded) return Trap::kNone;
    const auto page = find_page();
    if (page.trap != Trap::kNone) return page.trap;
    interpreter::store_entry(window.entries + index,
                             decode_word(launch_, memory::load_global<u32>(bytes(page)), cpu_.pc));
    renew_block_lengths(window.entries, index);
    window.watched->taken |= u64{1} << index;
    return Trap::kNone;
  }

 private:
  memory::LaneMemory::Resolved find_page() {
    memory::LaneMemory::Resolved page{Trap::kNone, 0, 0};
    if (cpu_.pc % 4 != 0) {
      page.trap = Trap::kPcAlignment;
    } else if (cpu_.pc >= memory::kAddressLimit) {
      page.trap = Trap::kUnmapped;
    } else {
      page = memory_.resolve(cpu_.pc, Access::kExecute);
    }
    if (page.trap != Trap::kNone) {
      cpu_.fault_address = cpu_.pc;
      cpu_.fault_access = static_cast<u32>(Access::kExecute);
    }
    return page;
  }
  const u8* bytes(const memory::LaneMemory::Resolved& page) const {
    return memory::lane_byte(page.page, cpu_.pc & (memory::kPageSize - 1));
  }

  static void forget_word(const interpreter::CodeWindow& window, u32 index) {
    interpreter::store_entry(window.entries + index,
                             {0, interpreter::kHandleUndecoded, interpreter::kLoneUndecoded, 1, 0});
  }
  KVRM_COLD static void drop_written(const interpreter::CodeWindow& window) {
    memory::WatchedLine& line = *window.watched;
    for (; line.written != 0; line.written &= line.written - 1) {
      const u32 index = static_cast<u32>(__builtin_ctzll(line.written));
      forget_word(window, index);
      renew_block_lengths(window.entries, index);
      line.taken &= ~(u64{1} << index);
    }
  }
  // An entry has changed: renews its block length and those of the words that run into it. Blocks end with the line.
  static void renew_block_lengths(interpreter::WordEntry* entries, u32 index) {
    const auto falls_through = [&](u32 i) { return interpreter::falls_through(entries[i]); };
    const bool continues = falls_through(index) && index + 1 < memory::kCodeLineWords;
    u32 length = continues ? entries[index + 1].block_length + 1u : 1u;
    entries[index].block_length = static_cast<u16>(length);
    for (u32 i = index; i != 0 && falls_through(i - 1); --i) entries[i - 1].block_length = static_cast<u16>(++length);
  }

  const Launch& launch_;
  Lane& lane_;
  Cpu& cpu_;
  memory::LaneMemory& memory_;
  interpreter::WordEntry* const words_;
};

}  // namespace kvrm::backend::kernel
