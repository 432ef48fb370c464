#include "guarded.h"

#include <limits>

namespace kvrm::python {

// --- Guard -------------------------------------------------------------------------------------------------------

void Guard::require_idle() const {
  if (state_ != State::kIdle) throw LibraryError("the machine is running; wait() for it or cancel() it first");
}

bool Guard::is_called_back(std::optional<unsigned> lane) const {
  return state_ == State::kCalledBack && called_back_ == std::this_thread::get_id() && stopped_lane_ == lane;
}

void Guard::begin() {
  state_ = State::kRunning;
  kept_.reset();
}

void Guard::wait_until(const std::function<bool(std::chrono::milliseconds)>& done) {
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
    cancel_run();
  }
}

void Guard::raise_kept() {
  if (!kept_) return;
  nb::python_error kept = std::move(*kept_);
  kept_.reset();
  throw kept;
}

Options Guard::with_notices(const Options& options) {
  Options result = options;
  result.notice = [this](const std::string& line) {
    const std::lock_guard lock(notices_mutex_);
    notices_.push_back(in_python(line));
  };
  return result;
}

void Guard::report_notices() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(notices_mutex_);
    lines.swap(notices_);
  }
  for (const std::string& line : lines) {
    if (PyErr_WarnEx(PyExc_UserWarning, line.c_str(), 1) != 0) throw nb::python_error();
  }
}

bool Guard::call(std::optional<unsigned> lane, const std::function<bool()>& callback) {
  const nb::gil_scoped_acquire acquire;
  if (closing_ || kept_) return false;
  state_ = State::kCalledBack;
  called_back_ = std::this_thread::get_id();
  stopped_lane_ = lane;
  bool continues = false;
  try {
    continues = callback();
  } catch (nb::python_error& problem) {
    kept_.emplace(std::move(problem));
  } catch (const std::exception& problem) {
    PyErr_SetString(PyExc_RuntimeError, problem.what());
    kept_.emplace();
  }
  state_ = State::kRunning;
  return continues;
}

// --- Guarded -----------------------------------------------------------------------------------------------------

Guarded::Guarded(const Options& options) : shared_memory_(options.shared_memory) {
  const Options own = with_notices(options);
  {
    const nb::gil_scoped_release release;
    machine_ = std::make_unique<Machine>(unwrap(Machine::create(own)));
  }
  report_notices();
}

Guarded::~Guarded() {
  close();
  const nb::gil_scoped_release release;  // a hook may be waiting for the lock
  machine_.reset();
}

Machine& Guarded::here() const {
  unwrap(machine_->check_process());
  return *machine_;
}

Lane Guarded::lane_at(std::int64_t index) const {
  Machine& machine = here();
  if (index >= 0 && index < machine.lanes()) return machine.lane(static_cast<unsigned>(index));
  throw nb::index_error(
      ("there is no lane " + std::to_string(index) + "; the machine has " + std::to_string(machine.lanes())).c_str());
}

Machine& Guarded::when_stopped() {
  Machine& machine = here();
  if (!is_called_back(std::nullopt)) require_idle();
  return machine;
}

Lane Guarded::when_stopped(std::int64_t lane) {
  const Lane found = lane_at(lane);
  if (!is_called_back(found.index())) (void)when_stopped();
  return found;
}

Machine& Guarded::idle() {
  Machine& machine = here();
  require_idle();
  return machine;
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
  wait_until([&](std::chrono::milliseconds time) {
    if (machine_->is_running()) std::this_thread::sleep_for(std::min(time, std::chrono::milliseconds(2)));
    return !machine_->is_running();
  });
  if (!std::exchange(started_, false)) return {};  // another thread has waited too
  return finish([&] { return machine_->wait(); });
}

void Guarded::set_hook(nb::object hook) {
  Machine& machine = idle();
  hook_ = std::move(hook);
  if (hook_.is_none()) {
    machine.on_system_call({});
    return;
  }
  machine.on_system_call([this](Lane lane, std::uint32_t immediate) {
    return call(lane.index(),
                [&] { return nb::cast<bool>(nb::bool_(hook_(nb::find(this), lane.index(), immediate))); });
  });
}

// --- GuardedFleet ------------------------------------------------------------------------------------------------

GuardedFleet::GuardedFleet(const Options& options, const std::vector<unsigned>& ordinals) {
  const Options own = with_notices(options);
  {
    const nb::gil_scoped_release release;
    fleet_ = std::make_unique<Fleet>(unwrap(Fleet::create(own, ordinals)));
  }
  report_notices();
}

GuardedFleet::~GuardedFleet() {
  close();
  const nb::gil_scoped_release release;
  fleet_.reset();
}

Statistics GuardedFleet::statistics() const {
  if (!is_called_back(std::nullopt)) require_idle();
  return fleet_->statistics();
}

}  // namespace kvrm::python
