// Decoded code that all lanes share: the words of the images, the regions that replace some of them, and the samples
// that say which of them are hot. Freestanding.
#pragma once

#include "backend/kernel/private_code.h"
#include "backend/kernel/reconvergence.h"

namespace kvrm::backend::kernel {

// Whether the host has written to shared code that no lane can write: the decoded words may be stale.
inline bool shared_code_written(const Launch& launch) {
  return launch.world->shares_memory &&
         sync::load<sync::kRelaxed, sync::kDevice>(&launch.world->shared_code_written) != 0;
}

// The window of shared decoded code around pc, if there is one: code of an image that this lane cannot write and has
// not replaced, or code in shared memory that no lane can write and the host has not written.
inline bool find_window(const Launch& launch, const memory::LaneSpace& space, u64 pc, interpreter::CodeWindow& window) {
  const memory::Area* area = space.areas.find(pc);
  if (!area || (area->flags & (memory::kAreaSource | memory::kAreaTouched)) != memory::kAreaSource) return false;
  if ((area->flags & memory::kAreaLaneShared) && shared_code_written(launch)) return false;
  if (!memory::is_fixed_code(area->protection)) return false;
  const u64 offset = area->source - reinterpret_cast<u64>(launch.images);
  if (offset >= launch.image_bytes) return false;
  window = {area->start, static_cast<u32>((area->end - area->start) / 4), launch.decoded + offset / 4, &launch.router};
  return true;
}

// Passes over the words of the images, before a launch: while lanes run, decoded code must not change.

inline void decode_image_word(const Launch& launch, u64 index) {
  const u32 word = memory::load_global<u32>(launch.images + index * 4);
  // The router may ask for pc: an image is mapped at page boundaries, so its low bits are those of the index.
  interpreter::store_entry(&launch.decoded[index], decode_word(launch, word, index * 4));
}

// After the word is decoded, and before regions replace words.
inline void copy_plain_word(const Launch& launch, u64 index) {
  if (launch.regions || launch.loop_count != 0)
    interpreter::store_entry(&launch.plain[index], interpreter::load_entry(&launch.decoded[index]));
}

// After all words are decoded: the region replaces the word at its entry.
inline void install_region(const Launch& launch, u32 number) {
  interpreter::WordEntry& entry = launch.decoded[launch.regions[number].entry];
  entry.handler = interpreter::kHandleRegion;
  entry.lone = interpreter::kLoneRegion;
  entry.operands = number;
}

// After all regions: the loop stands before the region at its head, or before the word.
inline void install_loop(const Launch& launch, u32 number) {
  LaneLoop& loop = launch.loops[number];
  interpreter::WordEntry& entry = launch.decoded[loop.entry];
  const bool has_region = entry.handler == interpreter::kHandleRegion;
  loop.region = has_region ? static_cast<u32>(entry.operands) : LaneLoop::kNoRegion;
  entry.handler = interpreter::kHandleRegion;
  entry.lone = interpreter::kLoneRegion;
  entry.operands = kLoopEntry | number;
}

inline void count_block_lengths(const Launch& launch, u64 index) {
  const u64 words = launch.image_bytes / 4;
  launch.decoded[index].block_length = interpreter::block_length_at(launch.decoded, index, words);
  if (launch.regions || launch.loop_count != 0)
    launch.plain[index].block_length = interpreter::block_length_at(launch.plain, index, words);
}

inline bool is_region_entry(const interpreter::WordEntry* entry) {
  return interpreter::load_entry(entry).handler == interpreter::kHandleRegion;
}

// The region of an entry, if these lanes may run it. It must have been translated for this window. Lanes do not stop
// inside a region, so where lanes reconverge it must not reach past a lane that waits.
inline const interpreter::LaneRegion* find_region(const Launch& launch, const interpreter::CodeWindow& window,
                                                  const interpreter::WordEntry* entry, const Choice& choice) {
  u64 number = interpreter::load_entry(entry).operands;
  if (number & kLoopEntry) number = launch.loops[static_cast<u32>(number)].region;
  if (number == LaneLoop::kNoRegion) return nullptr;
  const interpreter::LaneRegion& region = launch.regions[number];
  if (region.start != window.start || region.words != window.words) return nullptr;
  return launch.reconverge == 0 || (region.from >= choice.from && region.until <= choice.until) ? &region : nullptr;
}

// The samples of one kind for the word at pc; null if there are none.
inline u32* sample_at(const Launch& launch, const interpreter::CodeWindow& window, u64 pc,
                      interpreter::SampleKind kind) {
  const u64 index = static_cast<u64>(window.entries - launch.decoded) + (pc - window.start) / 4;
  const u64 all = launch.image_bytes / 4;
  if (pc - window.start >= u64{window.words} * 4 || index >= all) return nullptr;
  return &launch.samples[index + static_cast<u32>(kind) * all];
}

// Counts the word at pc. The interpreter is sampled, and slices end, after a number of instructions, so hot words have
// most of these samples.
inline void add_sample(const Launch& launch, const interpreter::CodeWindow& window, u64 pc,
                       interpreter::SampleKind kind) {
  if (u32* const count = sample_at(launch, window, pc, kind)) (void)sync::add<sync::kRelaxed, sync::kDevice>(count, 1u);
}

// A region was left to pc. Of many such exits the last one names the region, so it is mostly one that leads there
// often.
inline void add_exit(const Launch& launch, const interpreter::CodeWindow& window, u64 pc,
                     const interpreter::LaneRegion& region) {
  add_sample(launch, window, pc, interpreter::SampleKind::kRegionExit);
  u32* const source = sample_at(launch, window, pc, interpreter::SampleKind::kSource);
  if (source) sync::store<sync::kRelaxed, sync::kDevice>(source, region.entry + 1);
}

}  // namespace kvrm::backend::kernel
