// Code that cannot be shared, because the lane can write it or has written it: decoded for this lane alone, stretch by
// stretch, each word when it first runs. The lane's memory watches the words that are decoded (memory/lane_watch.h), so
// that whatever was written last counts. A stretch lies within a page; entries that are not decoded have straight == 1.
// Freestanding.
#pragma once

#include "device/lanes/lane.h"
#include "interpreter/lane_loop.h"

namespace kvrm::device::lanes {

inline interpreter::WordEntry decode_word(const Launch& launch, u32 word, u64 pc) {
  if (launch.dispatch_every)
    return {word, interpreter::kHandleUndecoded, interpreter::kTooStraight, 0};  // decoded whenever it runs
  return interpreter::make_word_entry(word, launch.router.row(word, pc));
}

class OwnCode {
 public:
  // A run begins with nothing decoded: the host may have written since. `seat` is the lane's place among those that run
  // at the same time.
  KVRM_INLINE OwnCode(const Launch& launch, Lane& lane, Cpu& cpu, memory::LaneMemory& memory, u32 seat)
      : launch_(launch),
        lane_(lane),
        cpu_(cpu),
        memory_(memory),
        words_(launch.own_words + u64{seat} * launch.own_stretches * kOwnEntries) {
    lane.space.watch = {launch.watched + u64{seat} * launch.own_stretches, launch.own_stretches, 0, true};
    lane.space.watch.forget();
  }
  // Writes are nobody's concern any more.
  void end() { lane_.space.watch = {}; }

  // The stretch at pc, if it is there.
  KVRM_INLINE bool find(interpreter::CodeWindow& window) const {
    const memory::LaneWatch& watch = lane_.space.watch;
    const u32 slot = watch.slot_of(cpu_.pc);
    memory::WatchedStretch& stretch = watch.stretches[slot];
    if (stretch.start != (cpu_.pc & ~(memory::kStretchBytes - 1))) return false;
    window = {stretch.start, memory::kStretchWords, words_ + u64{slot} * kOwnEntries, &launch_.router, &stretch};
    if (stretch.written != 0) drop_written(window);
    return true;
  }

  // Makes room for the stretch at pc, or fetches one word of common memory: nobody watches what other lanes write.
  KVRM_COLD Trap fetch(interpreter::CodeWindow& window) {
    const auto page = find_page();
    if (page.trap != Trap::kNone) return page.trap;
    if (page.entry & memory::kEntryCommon) {
      const u32 word = sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const u32*>(bytes(page)));
      if (lane_.word[0].word != word || lane_.word[0].handler == interpreter::kHandleUndecoded)
        interpreter::store_entry(&lane_.word[0], decode_word(launch_, word, cpu_.pc));
      window = {cpu_.pc, 1, lane_.word, &launch_.router};
      return Trap::kNone;
    }
    memory_.watch(cpu_.pc);
    (void)find(window);
    for (u32 i = 0; i < kOwnEntries; ++i) forget_word(window, i);
    return Trap::kNone;
  }

  // The word at pc is about to run. Decodes it, unless that is done.
  KVRM_COLD Trap take_word(const interpreter::CodeWindow& window) {
    const u32 index = static_cast<u32>((cpu_.pc - window.start) / 4);
    if (interpreter::load_entry(window.entries + index).handler != interpreter::kHandleUndecoded) return Trap::kNone;
    const auto page = find_page();
    if (page.trap != Trap::kNone) return page.trap;
    interpreter::store_entry(window.entries + index,
                             decode_word(launch_, memory::load_global<u32>(bytes(page)), cpu_.pc));
    renew_straight(window.entries, index);
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
    interpreter::store_entry(window.entries + index, {0, interpreter::kHandleUndecoded, 1, 0});
  }
  KVRM_COLD static void drop_written(const interpreter::CodeWindow& window) {
    memory::WatchedStretch& stretch = *window.watched;
    for (; stretch.written != 0; stretch.written &= stretch.written - 1) {
      const u32 index = static_cast<u32>(__builtin_ctzll(stretch.written));
      forget_word(window, index);
      renew_straight(window.entries, index);
      stretch.taken &= ~(u64{1} << index);
    }
  }
  // An entry has changed: how far do it and those that run into it run on? The stretch's last word is the end for all.
  static void renew_straight(interpreter::WordEntry* entries, u32 index) {
    const auto runs_on = [&](u32 i) { return entries[i].handler >= interpreter::kFirstStraightHandler; };
    const bool goes_on = runs_on(index) && index + 1 < memory::kStretchWords;
    u32 straight = goes_on ? entries[index + 1].straight + 1u : 1u;
    entries[index].straight = static_cast<u16>(straight);
    for (u32 i = index; i != 0 && runs_on(i - 1); --i) entries[i - 1].straight = static_cast<u16>(++straight);
  }

  const Launch& launch_;
  Lane& lane_;
  Cpu& cpu_;
  memory::LaneMemory& memory_;
  interpreter::WordEntry* const words_;
};

}  // namespace kvrm::device::lanes
