#include "memory/window_faults.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ucontext.h>

#include <array>

namespace kvrm::memory {
namespace {

// --- what the handler reads: fixed tables of atomics, never freed ------------------------------------------------

struct WindowSlot {
  std::atomic<const u8*> begin = nullptr;
  std::atomic<const u8*> end = nullptr;  // null: free
};
struct CodeSlot {
  std::atomic<bool> taken = false;  // by a RegisteredCode
  std::atomic<bool> active = false;
  std::atomic<u32> readers = 0;
  std::atomic<const u8*> begin = nullptr, end = nullptr;
  std::atomic<FindLanding> find = nullptr;
  std::atomic<const void*> owner = nullptr;
};
constexpr std::size_t kWindowSlots = 256, kCodeSlots = 256;
std::array<WindowSlot, kWindowSlots> window_slots;
std::array<CodeSlot, kCodeSlots> code_slots;
std::mutex registering;
std::atomic<bool> installed = false;
struct sigaction previous;  // written before our handler is installed; afterwards by SA_RESETHAND alone

bool is_in_window(const void* address) {
  const auto* const byte = static_cast<const u8*>(address);
  for (const WindowSlot& slot : window_slots) {
    const u8* const end = slot.end.load(std::memory_order_acquire);
    if (end && byte < end && byte >= slot.begin.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

const void* landing_of(const void* pc) {
  const auto* const byte = static_cast<const u8*>(pc);
  for (CodeSlot& slot : code_slots) {
    if (!slot.active.load(std::memory_order_acquire)) continue;
    slot.readers.fetch_add(1, std::memory_order_seq_cst);
    const void* landing = nullptr;
    if (slot.active.load(std::memory_order_seq_cst) && byte >= slot.begin.load(std::memory_order_relaxed) &&
        byte < slot.end.load(std::memory_order_relaxed)) {
      landing = slot.find.load(std::memory_order_relaxed)(slot.owner.load(std::memory_order_relaxed), pc);
    }
    slot.readers.fetch_sub(1, std::memory_order_release);
    if (landing) return landing;
  }
  return nullptr;
}

// --- the handler -------------------------------------------------------------------------------------------------

// As the kernel would have called it.
void call_previous(int signal, siginfo_t* info, void* context) {
  sigset_t mask = previous.sa_mask;
  if (previous.sa_flags & SA_NODEFER) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  } else {
    sigaddset(&mask, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  const struct sigaction handler = previous;
  if (previous.sa_flags & static_cast<int>(SA_RESETHAND)) previous.sa_handler = SIG_DFL;
  if (handler.sa_flags & SA_SIGINFO) {
    handler.sa_sigaction(signal, info, context);
  } else {
    handler.sa_handler(signal);
  }
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const bool has_handler =
      (previous.sa_flags & SA_SIGINFO) || (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN);
  if (has_handler) return call_previous(signal, info, context);
  const bool is_fault = info->si_code > 0;
  if (!is_fault && previous.sa_handler == SIG_IGN) return;
  // The kernel ends the process for a fault even if it is ignored. The instruction faults again after the return; a
  // signal that was sent is sent again.
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigemptyset(&plain.sa_mask);
  ::sigaction(signal, &plain, nullptr);
  if (!is_fault) ::raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
#if defined(__x86_64__)
  const bool is_fault = info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
  if (is_fault && is_in_window(info->si_addr)) {
    greg_t& pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    if (const void* const landing = landing_of(reinterpret_cast<const void*>(pc))) {
      pc = reinterpret_cast<greg_t>(landing);
      return;
    }
  }
#endif
  pass_on(signal, info, context);
}

void install() {
  if (installed.load(std::memory_order_relaxed)) return;
  if (::sigaction(SIGSEGV, nullptr, &previous) != 0) return;
  struct sigaction ours{};
  ours.sa_sigaction = &on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGSEGV, &ours, nullptr) == 0) installed.store(true, std::memory_order_release);
}

sigset_t segv() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  return set;
}

}  // namespace

bool window_faults_arrive() {
#if defined(__x86_64__)
  if (!installed.load(std::memory_order_acquire)) return false;
  sigset_t blocked;
  if (::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0 || sigismember(&blocked, SIGSEGV) != 0) return false;
  struct sigaction now{};
  return ::sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &on_fault;
#else
  return false;
#endif
}

WindowFaultScope::WindowFaultScope() {
  const sigset_t set = segv();
  sigset_t before;
  was_blocked_ = ::pthread_sigmask(SIG_UNBLOCK, &set, &before) == 0 && sigismember(&before, SIGSEGV) == 1;
}

WindowFaultScope::~WindowFaultScope() {
  const sigset_t set = segv();
  if (was_blocked_) ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool add_window(const u8* begin, const u8* end) {
  const std::lock_guard lock(registering);
  install();
  for (WindowSlot& slot : window_slots) {
    if (slot.end.load(std::memory_order_relaxed)) continue;
    slot.begin.store(begin, std::memory_order_relaxed);
    slot.end.store(end, std::memory_order_release);
    return true;
  }
  return false;
}

void remove_window(const u8* begin) {
  const std::lock_guard lock(registering);
  for (WindowSlot& slot : window_slots)
    if (slot.begin.load(std::memory_order_relaxed) == begin) slot.end.store(nullptr, std::memory_order_release);
}

RegisteredCode::RegisteredCode(const void* begin, const void* end, FindLanding find, const void* owner) {
  const std::lock_guard lock(registering);
  install();
  for (CodeSlot& slot : code_slots) {
    if (slot.taken.load(std::memory_order_relaxed)) continue;
    slot.taken.store(true, std::memory_order_relaxed);
    slot.begin.store(static_cast<const u8*>(begin), std::memory_order_relaxed);
    slot.end.store(static_cast<const u8*>(end), std::memory_order_relaxed);
    slot.find.store(find, std::memory_order_relaxed);
    slot.owner.store(owner, std::memory_order_relaxed);
    slot.active.store(true, std::memory_order_seq_cst);
    slot_ = &slot;
    return;
  }
}

RegisteredCode::~RegisteredCode() {
  auto* const slot = static_cast<CodeSlot*>(slot_);
  if (!slot) return;
  slot->active.store(false, std::memory_order_seq_cst);
  while (slot->readers.load(std::memory_order_seq_cst) != 0) ::sched_yield();
  slot->taken.store(false, std::memory_order_release);
}

// --- landings ----------------------------------------------------------------------------------------------------

// Open addressing. A key is written after its value, and stays until the table is replaced.
struct LandingTable::Table {
  struct Slot {
    std::atomic<const void*> pc = nullptr;
    std::atomic<const void*> landing = nullptr;  // null: erased
  };
  explicit Table(std::size_t size) : mask(size - 1), slots(new Slot[size]) {}
  Slot& at(const void* pc) const {
    std::size_t index = (reinterpret_cast<u64>(pc) * 0x9e3779b97f4a7c15) >> 20;
    for (;; ++index) {
      Slot& slot = slots[index & mask];
      const void* const there = slot.pc.load(std::memory_order_acquire);
      if (!there || there == pc) return slot;
    }
  }

  const std::size_t mask;
  const std::unique_ptr<Slot[]> slots;
};

LandingTable::LandingTable() : table_(std::make_unique<Table>(std::size_t{1024})), current_(table_.get()) {}
LandingTable::~LandingTable() = default;

void LandingTable::grow() {
  const Table& old = *table_;
  std::size_t there = 0;
  for (std::size_t i = 0; i <= old.mask; ++i) there += old.slots[i].landing.load(std::memory_order_relaxed) != nullptr;
  std::size_t size = old.mask + 1;
  if (there * 4 > size) size *= 2;
  auto larger = std::make_unique<Table>(size);
  for (std::size_t i = 0; i <= old.mask; ++i) {
    const void* const landing = old.slots[i].landing.load(std::memory_order_relaxed);
    const void* const pc = old.slots[i].pc.load(std::memory_order_relaxed);
    if (!landing) continue;
    Table::Slot& slot = larger->at(pc);
    slot.landing.store(landing, std::memory_order_relaxed);
    slot.pc.store(pc, std::memory_order_relaxed);
  }
  used_ = there;
  current_.store(larger.get(), std::memory_order_seq_cst);
  while (readers_.load(std::memory_order_seq_cst) != 0) ::sched_yield();
  table_ = std::move(larger);
}

void LandingTable::insert(const void* pc, const void* landing) {
  const std::lock_guard lock(mutex_);
  if ((used_ + 1) * 2 > table_->mask) grow();
  Table::Slot& slot = table_->at(pc);
  if (!slot.pc.load(std::memory_order_relaxed)) ++used_;
  slot.landing.store(landing, std::memory_order_release);
  slot.pc.store(pc, std::memory_order_release);
}

void LandingTable::erase(const void* pc) {
  const std::lock_guard lock(mutex_);
  Table::Slot& slot = table_->at(pc);
  slot.landing.store(nullptr, std::memory_order_release);
}

const void* LandingTable::find(const void* pc) const {
  readers_.fetch_add(1, std::memory_order_seq_cst);
  const void* const landing = current_.load(std::memory_order_seq_cst)->at(pc).landing.load(std::memory_order_acquire);
  readers_.fetch_sub(1, std::memory_order_seq_cst);
  return landing;
}

}  // namespace kvrm::memory
