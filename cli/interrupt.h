// Ctrl-C and SIGTERM: the first cancels what runs, a second one ends the program at once.
#pragma once

namespace kvrm::cli {

// From its making to its end, an interrupt calls target.cancel(), which must be safe in a signal handler. One at a
// time.
class Interrupt {
 public:
  template <class Target>
  explicit Interrupt(Target& target) {
    arm(&target, [](void* object) { static_cast<Target*>(object)->cancel(); });
  }
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // The exit status of a run that was cancelled: 130 after SIGINT, 143 after SIGTERM.
  static int status();

 private:
  static void arm(void* object, void (*cancel)(void*));
};

}  // namespace kvrm::cli
