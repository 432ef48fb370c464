// A Machine that several Python threads may hold.
//
// While it runs, Python's lock is free and other threads go on. Whoever then touches more of the machine than poll(),
// is_running() and cancel() gets an exception; code called from inside the run may touch what is at rest.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "convert.h"

namespace kvrm::python {

class Guarded {
 public:
  explicit Guarded(const Options& options);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  // The machine, for one lane or for all of them. Throws if that is running or does not exist.
  Machine& at_rest();
  Machine& at_rest(unsigned lane);
  // The same for changes that even code called from inside a run may not make.
  Machine& idle();

  // Runs `work` without Python's lock. Ctrl-C ends it; an exception of a callback comes out here. `brief`: it cannot
  // take so long that someone would press Ctrl-C.
  template <class Work>
  auto run(bool brief, Work work) {
    Machine& machine = idle();
    begin();
    const auto guarded = [&] {
      using Outcome = decltype(work(machine));
      if (brief) {
        const nb::gil_scoped_release release;
        return work(machine);
      }
      std::future<Outcome> outcome;
      {
        const nb::gil_scoped_release release;
        outcome = std::async(std::launch::async, [&] { return work(machine); });
      }
      attend([&](std::chrono::milliseconds time) { return outcome.wait_for(time) == std::future_status::ready; });
      return outcome.get();
    };
    return finish(guarded);
  }
  bool is_brief(std::uint64_t budget) const { return budget < 1'000'000 / machine_->lanes(); }

  void start(std::uint64_t budget);
  std::vector<Stop> wait();
  bool is_running() const { return here().is_running(); }
  Progress poll() const { return here().poll(); }
  void cancel() { here().cancel(); }
  bool is_inherited() const { return !machine_->check_process().ok(); }  // by a fork
  unsigned lanes() const { return machine_->lanes(); }
  bool has_common_memory() const { return common_memory_; }

  // Calls `callback` with Python's lock from inside a run; false, and the exception is kept, if it raises. `lane`: the
  // one that is at rest; none: all are.
  bool call(std::optional<unsigned> lane, const std::function<bool()>& callback);

  void set_hook(nb::object hook);
  nb::object& hook() { return hook_; }

 private:
  Machine& here() const;  // throws in a fork of the process that made it
  void begin();
  void attend(const std::function<bool(std::chrono::milliseconds)>& done);
  void report_notices();
  template <class Work>
  auto finish(const Work& work) {
    struct End {
      Guarded& guarded;
      ~End() { guarded.state_ = State::kIdle; }
    };
    auto result = [&] {
      const End end{*this};
      return work();
    }();
    raise_kept();
    report_notices();
    return result;
  }
  void raise_kept();

  // All of these are read and written with Python's lock.
  enum class State { kIdle, kRunning, kCalledBack };
  State state_ = State::kIdle;
  bool started_ = false;
  std::thread::id called_back_;  // the thread that is inside a callback
  std::optional<unsigned> resting_lane_;  // the only lane it may touch
  std::optional<nb::python_error> kept_;  // what a callback raised
  bool closing_ = false;
  nb::object hook_;
  const bool common_memory_;
  std::vector<std::string> notices_;
  std::mutex notices_mutex_;
  std::unique_ptr<Machine> machine_;
};

using Lane = std::optional<unsigned>;

// What goes in goes to every lane, or to the one that is named.
template <class Work>
void each(Guarded& guarded, Lane lane, Work work) {
  if (lane) return work(guarded.at_rest(*lane), *lane);
  Machine& machine = guarded.at_rest();
  for (unsigned i = 0; i < machine.lanes(); ++i) work(machine, i);
}

// A part of bind_machine().
void bind_registers(nb::class_<Guarded>& type);

}  // namespace kvrm::python
