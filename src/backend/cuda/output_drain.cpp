#include "backend/cuda/output_drain.h"

#include <algorithm>

namespace kvrm::backend::cuda {

using kernel::kOutputUnit;

u64 OutputDrain::drain(const Sink& sink, u64 limit) {
  const u64 words = ring_.capacity / sizeof(u64);
  u64 records = 0;
  while (records < limit && !broken_) {
    const u64 first = tail_ / sizeof(u64) % words;
    if (sync::load<sync::kAcquire, sync::kSystem>(&ring_.words[first]) != kernel::detail::ready_word(tail_)) break;
    const u64 header = ring_.words[first + 1];
    const u64 size = kernel::detail::header_size(header);
    const u64 bytes = kernel::detail::record_bytes(size);
    if (size > ring_.most) {
      broken_ = true;
      break;
    }
    // The payload, contiguous even if it wraps around the end.
    const u64 from = (first + 2) % words, count = bytes / sizeof(u64) - 2, before_end = std::min(count, words - from);
    const u64* payload = ring_.words + from;
    if (before_end < count) {
      unwrapped_.assign(payload, payload + before_end);
      unwrapped_.insert(unwrapped_.end(), ring_.words, ring_.words + (count - before_end));
      payload = unwrapped_.data();
    }
    if (kernel::detail::header_stream(header) != kernel::Stream::kNone) {
      sink(kernel::detail::header_job(header), kernel::detail::header_stream(header),
           {reinterpret_cast<const u8*>(payload), size});
    }
    for (u64 i = 0; i < bytes / sizeof(u64); ++i) ring_.words[(first + i) % words] = 0;
    tail_ += bytes;
    sync::store<sync::kRelease, sync::kSystem>(ring_.tail, tail_);
    ++records;
  }
  return records;
}

}  // namespace kvrm::backend::cuda
