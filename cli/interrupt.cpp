#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace kvrm::cli {
namespace {

// All that a signal handler may reach.
std::atomic<void*> target{nullptr};
std::atomic<void (*)(void*)> cancel_target{nullptr};
std::atomic<int> received{0};  // the first signal

void on_interrupt(int signal) {
  std::signal(signal, SIG_DFL);
  int none = 0;
  received.compare_exchange_strong(none, signal);
  if (void* object = target.load()) cancel_target.load()(object);
}

}  // namespace

void Interrupt::arm(void* object, void (*cancel)(void*)) {
  cancel_target.store(cancel);
  target.store(object);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

Interrupt::~Interrupt() { target.store(nullptr); }

int Interrupt::status() {
  const int signal = received.load();
  return 128 + (signal != 0 ? signal : SIGINT);
}

}  // namespace kvrm::cli
