#include "memory/window.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include "memory/window_faults.h"

namespace kvrm::memory {
namespace {

// Windows of one process: more would leave the host too few addresses.
constexpr u64 kMostWindows = 64;
// What the kernel allows a process if it does not say.
constexpr u64 kUsualMappings = 65530;

std::atomic<u64> windows = 0;
std::atomic<u64> runs = 0;  // of all windows

constexpr bool can_reserve() {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
  return false;  // their shadows have no room for it
#endif
#endif
#if defined(__SANITIZE_THREAD__)
  return false;
#endif
  return true;
}

// Half of what the kernel allows: the rest is for everything else in the process.
u64 most_mappings() {
  static const u64 most = [] {
    unsigned long long allowed = kUsualMappings;
    if (std::FILE* const file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
      if (std::fscanf(file, "%llu", &allowed) != 1) allowed = kUsualMappings;
      std::fclose(file);
    }
    return allowed / 2;
  }();
  return most;
}

bool protect(u8* at, u64 size, int protection) { return ::mprotect(at, size, protection) == 0; }

// Anonymous pages in place of whatever is there.
bool map_fresh(u8* at, u64 size, int protection) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (::mmap(at, size, protection, kFlags, -1, 0) == MAP_FAILED) return false;
  ::madvise(at, size, MADV_DONTDUMP);
  return true;
}

}  // namespace

std::unique_ptr<Window> Window::reserve() {
  if (!can_reserve()) return nullptr;
  if (windows.fetch_add(1) < kMostWindows) {
    constexpr u64 kAll = kBytes + 2 * kGuardBytes;
    void* const all = ::mmap(nullptr, kAll, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all != MAP_FAILED) {
      ::madvise(all, kAll, MADV_DONTDUMP);
      u8* const base = static_cast<u8*>(all) + kGuardBytes;
      // One page is touched while all is one mapping. The kernel then knows that all pieces of it belong together, and
      // joins neighbors whenever their protection is the same.
      if (protect(base, kPageSize, PROT_READ | PROT_WRITE)) {
        *static_cast<volatile u8*>(base) = 0;
        if (protect(base, kPageSize, PROT_NONE) && ::madvise(base, kPageSize, MADV_DONTNEED) == 0) {
          std::unique_ptr<Window> window(new Window(base));
          if (add_window(base - kGuardBytes, base + kBytes + kGuardBytes)) return window;
          return nullptr;  // its destructor counts
        }
      }
      ::munmap(all, kAll);
    }
  }
  windows.fetch_sub(1);
  return nullptr;
}

Window::~Window() {
  remove_window(base_ - kGuardBytes);
  ::munmap(base_ - kGuardBytes, kBytes + 2 * kGuardBytes);
  runs.fetch_sub(runs_.size());
  windows.fetch_sub(1);
}

// Each run may have a hidden one after it.
u64 Window::mappings() { return 2 * runs.load(std::memory_order_relaxed) + windows.load(std::memory_order_relaxed); }

bool Window::may_split() const { return mappings() + 4 <= most_mappings(); }

const Window::Run* Window::find(u64 address) const {
  auto after = runs_.upper_bound(address);
  if (after == runs_.begin()) return nullptr;
  --after;
  return address < after->second.end ? &after->second : nullptr;
}

// The range is of this kind now; null: hidden.
void Window::note(u64 address, u64 size, const Kind* kind) {
  const u64 before = runs_.size(), end = address + size;
  auto at = runs_.upper_bound(address);
  if (at != runs_.begin()) --at;
  while (at != runs_.end() && at->first < end) {
    const u64 start = at->first;
    const Run run = at->second;
    if (run.end <= address) {
      ++at;
      continue;
    }
    at = runs_.erase(at);
    if (start < address) runs_.emplace(start, Run{address, run.kind});
    if (run.end > end) at = runs_.emplace(end, run).first;
  }
  if (kind) {
    auto here = runs_.emplace(address, Run{end, *kind}).first;
    const auto next = std::next(here);
    if (next != runs_.end() && next->first == end && next->second.kind == *kind) {
      here->second.end = next->second.end;
      runs_.erase(next);
    }
    if (here != runs_.begin()) {
      const auto previous = std::prev(here);
      if (previous->second.end == address && previous->second.kind == *kind) {
        previous->second.end = here->second.end;
        runs_.erase(here);
      }
    }
  }
  runs.fetch_add(runs_.size() - before, std::memory_order_relaxed);
}

u8* Window::open(u64 address) {
  const Run* const run = find(address);
  const bool is_image = run && run->kind == Kind::kImage;
  if (!may_split()) return nullptr;
  constexpr int kAll = PROT_READ | PROT_WRITE;
  if (!(is_image ? map_fresh(at(address), kPageSize, kAll) : protect(at(address), kPageSize, kAll))) return nullptr;
  const Kind kind = Kind::kWrite;
  note(address, kPageSize, &kind);
  return at(address);
}

bool Window::show_zeros(u64 address, u64 size) {
  if (!may_split() || !protect(at(address), size, PROT_READ)) return false;
  const Kind kind = Kind::kRead;
  note(address, size, &kind);
  return true;
}

bool Window::show_image(u64 address, u64 size, const u8* pages) {
  if (!may_split()) return false;
  // With an old size of 0 this is a second mapping of the same pages.
  void* const from = const_cast<u8*>(pages);
  if (::mremap(from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at(address)) == MAP_FAILED) {
    // The kernel may have unmapped the range before it gave up.
    if (!map_fresh(at(address), size, PROT_NONE)) throw std::bad_alloc();
    return false;
  }
  ::madvise(at(address), size, MADV_DONTDUMP);
  const Kind kind = Kind::kImage;
  note(address, size, &kind);
  return true;
}

void Window::set_writable(u64 address, bool writable) {
  const Run* const run = find(address);
  const Kind kind = writable ? Kind::kWrite : Kind::kRead;
  if (run && run->kind == kind) return;
  if (!protect(at(address), kPageSize, writable ? PROT_READ | PROT_WRITE : PROT_READ)) throw std::bad_alloc();
  note(address, kPageSize, &kind);
}

void Window::make_read_only(u64 address, u64 size) {
  const u64 end = address + size;
  for (u64 from = address; from < end;) {
    auto next = runs_.upper_bound(from);
    if (next != runs_.begin() && std::prev(next)->second.end > from) --next;
    if (next == runs_.end() || next->first >= end) return;
    const u64 start = std::max(from, next->first), stop = std::min(end, next->second.end);
    if (next->second.kind == Kind::kWrite) {
      if (!protect(at(start), stop - start, PROT_READ)) throw std::bad_alloc();
      const Kind kind = Kind::kRead;
      note(start, stop - start, &kind);
    }
    from = stop;
  }
}

void Window::discard(u64 address) { ::madvise(at(address), kPageSize, MADV_DONTNEED); }

// In a few calls of the host, however many pieces there are. The rest of the range is hidden already.
void Window::hide(u64 address, u64 size) {
  const u64 end = address + size;
  auto run = runs_.upper_bound(address);
  if (run != runs_.begin() && std::prev(run)->second.end > address) --run;
  if (run == runs_.end() || run->first >= end) return;
  const u64 first = std::max(address, run->first);
  u64 last = first;
  bool has_image = false;
  for (; run != runs_.end() && run->first < end; ++run) {
    last = std::min(end, run->second.end);
    has_image |= run->second.kind == Kind::kImage;
  }
  const bool hidden =
      has_image ? map_fresh(at(first), last - first, PROT_NONE)
                : protect(at(first), last - first, PROT_NONE) && ::madvise(at(first), last - first, MADV_DONTNEED) == 0;
  if (!hidden) throw std::bad_alloc();
  note(first, last - first, nullptr);
}

}  // namespace kvrm::memory
