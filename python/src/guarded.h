// Machines and fleets that several Python threads may hold.
//
// A run releases Python's lock, so other threads continue. During a run, everything but poll(), is_running() and
// cancel() raises an exception, except in callbacks, which may use stopped lanes.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "convert.h"
#include "kvrm/fleet.h"

namespace kvrm::python {

// One run at a time, with callbacks into Python and Ctrl-C.
class Guard {
 public:
  Guard() = default;
  virtual ~Guard() = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Calls `callback` with Python's lock from inside a run. Returns false and keeps the exception if it raises. `lane`:
  // the only stopped lane; none: all lanes are stopped.
  bool call(std::optional<unsigned> lane, const std::function<bool()>& callback);

 protected:
  // Runs `work` without Python's lock. Ctrl-C cancels it, and the exception of a callback is raised here. `brief`: too
  // short for Ctrl-C.
  template <class Work>
  auto run_work(bool brief, Work work) {
    begin();
    const auto guarded = [&] {
      if (brief) {
        const nb::gil_scoped_release release;
        return work();
      }
      std::future<decltype(work())> outcome;
      {
        const nb::gil_scoped_release release;
        outcome = std::async(std::launch::async, work);
      }
      wait_until([&](std::chrono::milliseconds time) { return outcome.wait_for(time) == std::future_status::ready; });
      return outcome.get();
    };
    return finish(guarded);
  }
  template <class Work>
  auto finish(const Work& work) {
    struct End {
      Guard& guard;
      ~End() { guard.state_ = State::kIdle; }
    };
    auto result = [&] {
      const End end{*this};
      return work();
    }();
    raise_kept();
    report_notices();
    return result;
  }
  void begin();
  void require_idle() const;
  // Whether the calling thread is inside a callback for this lane, or for all lanes.
  bool is_called_back(std::optional<unsigned> lane) const;
  bool is_idle() const { return state_ == State::kIdle; }
  // Polls `done` without Python's lock, and checks for signals in between.
  void wait_until(const std::function<bool(std::chrono::milliseconds)>& done);
  // The options with a notice that becomes a UserWarning.
  Options with_notices(const Options& options);
  void report_notices();
  void close() { closing_ = true; }

 private:
  virtual void cancel_run() = 0;
  void raise_kept();

  // Python's lock protects all of these but the notices.
  enum class State { kIdle, kRunning, kCalledBack };
  State state_ = State::kIdle;
  std::thread::id called_back_;  // the thread that is inside a callback
  std::optional<unsigned> stopped_lane_;  // the only lane it may use
  std::optional<nb::python_error> kept_;  // raised by a callback
  bool closing_ = false;
  std::vector<std::string> notices_;
  std::mutex notices_mutex_;
};

class Guarded final : public Guard {
 public:
  explicit Guarded(const Options& options);
  ~Guarded() override;

  // The machine, or one of its lanes. Throws if it is running, and IndexError if there is no such lane.
  Machine& when_stopped();
  Lane when_stopped(std::int64_t lane);
  // The same for changes that callbacks may not make either.
  Machine& idle();

  template <class Work>
  auto run(bool brief, Work work) {
    Machine& machine = idle();
    return run_work(brief, [&machine, &work] { return work(machine); });
  }
  bool is_brief(std::uint64_t budget) const { return budget < 1'000'000 / machine_->lanes(); }

  void start(std::uint64_t budget);
  std::vector<Stop> wait();
  bool is_running() const { return here().is_running(); }
  Progress poll() const { return here().poll(); }
  void cancel() { here().cancel(); }
  bool is_inherited() const { return !machine_->check_process().ok(); }  // by a fork
  unsigned lanes() const { return machine_->lanes(); }
  bool has_shared_memory() const { return shared_memory_; }

  void set_hook(nb::object hook);
  nb::object& hook() { return hook_; }

 private:
  void cancel_run() override { machine_->cancel(); }
  Machine& here() const;  // throws in a fork of the process that created it
  Lane lane_at(std::int64_t index) const;

  bool started_ = false;
  nb::object hook_;
  const bool shared_memory_;
  std::unique_ptr<Machine> machine_;
};

class GuardedFleet final : public Guard {
 public:
  GuardedFleet(const Options& options, const std::vector<unsigned>& ordinals);
  ~GuardedFleet() override;

  template <class Work>
  auto run(bool brief, Work work) {
    require_idle();
    return run_work(brief, [this, &work] { return work(*fleet_); });
  }
  void cancel() { fleet_->cancel(); }
  Progress poll() const { return fleet_->poll(); }
  Statistics statistics() const;
  std::size_t machines() const { return fleet_->machines(); }

 private:
  void cancel_run() override { fleet_->cancel(); }
  std::unique_ptr<Fleet> fleet_;
};

// The `lane` argument of Python's methods; none: all lanes. Signed, so that a negative index is an IndexError.
using LaneIndex = std::optional<std::int64_t>;

// Calls `work` for one lane, or for all of them.
template <class Work>
void each(Guarded& guarded, LaneIndex lane, Work work) {
  if (lane) return work(guarded.when_stopped(*lane));
  Machine& machine = guarded.when_stopped();
  for (unsigned i = 0; i < machine.lanes(); ++i) work(machine.lane(i));
}

// Parts of bind_machine().
void bind_registers(nb::class_<Guarded>& type);
void bind_memory(nb::class_<Guarded>& type);

}  // namespace kvrm::python
