#include "guarded.h"

namespace kvrm::python {

Guarded::Guarded(const Options& options) : common_memory_(options.common_memory) {
  Options with_notices = options;
  with_notices.notice = [this](const std::string& line) {
    const std::lock_guard lock(notices_mutex_);
    notices_.push_back(in_python(line));
  };
  {
    const nb::gil_scoped_release release;
    machine_ = std::make_unique<Machine>(unwrap(Machine::create(with_notices)));
  }
  report_notices();
}

Guarded::~Guarded() {
  closing_ = true;
  const nb::gil_scoped_release release;  // a hook may be waiting for the lock
  machine_.reset();
}

Machine& Guarded::here() const {
  unwrap(machine_->check_process());
  return *machine_;
}

Machine& Guarded::at_rest() {
  Machine& machine = here();
  const bool callback = state_ == State::kCalledBack && called_back_ == std::this_thread::get_id() && !resting_lane_;
  if (state_ != State::kIdle && !callback)
    throw LibraryError("the machine is running; wait() for it or cancel() it first");
  return machine;
}

Machine& Guarded::at_rest(unsigned lane) {
  Machine& machine = here();
  if (lane >= machine.lanes()) {
    throw nb::index_error(
        ("there is no lane " + std::to_string(lane) + "; the machine has " + std::to_string(machine.lanes())).c_str());
  }
  const bool hook = state_ == State::kCalledBack && called_back_ == std::this_thread::get_id() && resting_lane_ == lane;
  return hook ? machine : at_rest();
}

Machine& Guarded::idle() {
  Machine& machine = here();
  if (state_ != State::kIdle) throw LibraryError("the machine is running; wait() for it or cancel() it first");
  return machine;
}

void Guarded::begin() {
  state_ = State::kRunning;
  kept_.reset();
}

// Waits without Python's lock, but looks for signals now and then.
void Guarded::attend(const std::function<bool(std::chrono::milliseconds)>& done) {
  for (;;) {
    {
      const nb::gil_scoped_release release;
      if (done(std::chrono::milliseconds(50))) return;
    }
    if (PyErr_CheckSignals() == 0) continue;
    if (!kept_)
      kept_.emplace();  // takes the exception
    else
      PyErr_Clear();
    machine_->cancel();
  }
}

void Guarded::raise_kept() {
  if (!kept_) return;
  nb::python_error kept = std::move(*kept_);
  kept_.reset();
  throw kept;
}

void Guarded::report_notices() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(notices_mutex_);
    lines.swap(notices_);
  }
  for (const std::string& line : lines) {
    if (PyErr_WarnEx(PyExc_UserWarning, line.c_str(), 1) != 0) throw nb::python_error();
  }
}

void Guarded::start(std::uint64_t budget) {
  Machine& machine = idle();
  begin();
  started_ = true;
  machine.start(budget);
}

std::vector<Stop> Guarded::wait() {
  (void)here();
  if (!started_) return {};
  attend([&](std::chrono::milliseconds time) {
    if (machine_->is_running()) std::this_thread::sleep_for(std::min(time, std::chrono::milliseconds(2)));
    return !machine_->is_running();
  });
  if (!std::exchange(started_, false)) return {};  // another thread has waited too
  return finish([&] { return machine_->wait(); });
}

bool Guarded::call(std::optional<unsigned> lane, const std::function<bool()>& callback) {
  const nb::gil_scoped_acquire acquire;
  if (closing_ || kept_) return false;
  state_ = State::kCalledBack;
  called_back_ = std::this_thread::get_id();
  resting_lane_ = lane;
  bool go_on = false;
  try {
    go_on = callback();
  } catch (nb::python_error& problem) {
    kept_.emplace(std::move(problem));
  } catch (const std::exception& problem) {
    PyErr_SetString(PyExc_RuntimeError, problem.what());
    kept_.emplace();
  }
  state_ = State::kRunning;
  return go_on;
}

void Guarded::set_hook(nb::object hook) {
  Machine& machine = idle();
  hook_ = std::move(hook);
  if (hook_.is_none()) {
    machine.on_system_call({});
    return;
  }
  machine.on_system_call([this](Machine&, unsigned lane, std::uint32_t immediate) {
    return call(lane, [&] { return nb::cast<bool>(nb::bool_(hook_(nb::find(this), lane, immediate))); });
  });
}

}  // namespace kvrm::python
