// A program's accesses, from the interpreter to the models of prefetching.
#include "kvrm/prefetch.h"

#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "interpreter/regions.h"
#include "machine/cpu_lane.h"
#include "machine/jobs.h"
#include "neural/network.h"
#include "prefetch/chooser.h"
#include "prefetch/recorder.h"
#include "prefetch/simulation.h"

namespace kvrm {
namespace {

// Steps a lane instruction by instruction, so that pc is right at each access, and gives its accesses to a sink: an
// object with load() and store() as those of prefetch::Simulation.
template <class Sink>
class Tracer final : public interpreter::Regions, public memory::AccessListener {
 public:
  Tracer(CpuLane& lane, const PrefetchLimits& limits, Sink& sink) : lane_(lane), limits_(limits), sink_(sink) {}

  Stop run() {
    lane_.engine().use_regions(this);
    RunControl control{done_, progress_, {}};
    return lane_.run(std::numeric_limits<u64>::max(), 0, control);
  }
  u64 accesses() const { return accesses_; }

 private:
  interpreter::Entry entry_for(u64, const u8*, interpreter::Entry*, const interpreter::Entry& plain) override {
    return plain;
  }
  Pace between_bursts(const Cpu&, u64 retired) override {
    constexpr u64 kSkipped = u64{1} << 16;
    constexpr u32 kSteps = 4096;
    if (!traces_) {
      instructions_ += retired;
      if (instructions_ < limits_.skip) return {kSkipped, 0};
      lane_.engine().mmu().set_access_listener(this);
      traces_ = true;
    }
    return {kSkipped, kSteps};
  }
  void stepped(u64, u64) override { ++instructions_; }
  void code_written(const u8*) override {}
  void code_elsewhere(const u8*) override {}
  void code_remapped() override {}
  void other_lane_wrote_code() override {}
  void all_forgotten() override {}

  void accessed(u64 address, u32 size, Access access, const void* bytes) override {
    if (accesses_ >= limits_.accesses) {
      done_ = true;
      return;
    }
    ++accesses_;
    prefetch::Load load{lane_.cpu().pc, address, 0, size < 8 ? size : 8};
    std::memcpy(&load.value, bytes, load.size);
    if (access == Access::kWrite) {
      sink_.store(address, instructions_);
    } else {
      sink_.load(load, instructions_);
    }
  }

  CpuLane& lane_;
  const PrefetchLimits limits_;
  Sink& sink_;
  std::atomic<bool> done_ = false;
  RunProgress progress_;
  bool traces_ = false;
  u64 instructions_ = 0, accesses_ = 0;
};

// A lane of the CPU device with a program, whose output goes nowhere.
struct TracedProgram {
  static Result<std::unique_ptr<TracedProgram>> start(const Program& program) {
    auto loaded = load_job_program(program);
    if (!loaded) return loaded.error();
    auto dispatch = DispatchOptions::create({});
    if (!dispatch) return dispatch.error();
    auto made = std::make_unique<TracedProgram>(std::move(*loaded), std::move(*dispatch));
    linux_abi::ProcessOptions options = made->loaded.options;
    options.account = made->space->account();
    options.args = arguments_of(program.path, program.args);
    options.input = std::make_shared<const std::string>(program.input.value_or(""));
    options.output = options.errors = [](std::span<const u8>) {};
    if (auto started = made->lane.start(made->loaded.image, std::move(options)); !started)
      return Error{program.path + ": " + started.error().message};
    return made;
  }
  TracedProgram(JobProgram program, DispatchOptions options)
      : loaded(std::move(program)),
        dispatch(std::move(options)),
        space(std::make_shared<memory::AddressSpace>(std::make_shared<memory::Account>(u64{4} << 30))),
        lane(space, dispatch, nullptr, {}) {}

  prefetch::Peek peek() {
    return [this](u64 address, u32 size, u64& value) {
      value = 0;
      return space->read(address, &value, size);
    };
  }

  const JobProgram loaded;
  const DispatchOptions dispatch;
  const std::shared_ptr<memory::AddressSpace> space;
  CpuLane lane;
};

template <class Sink>
Result<void> trace(TracedProgram& program, const PrefetchLimits& limits, Sink& sink) {
  Tracer<Sink> tracer(program.lane, limits, sink);
  const Stop stop = tracer.run();
  if (tracer.accesses() <= limits.warm_up) {
    return Error{"the program ended, or failed, before enough of its accesses were seen" +
                 (stop.message.empty() ? "" : ": " + stop.message)};
  }
  return {};
}

PrefetchScore score_of(const prefetch::Score& from) {
  return {from.name,       from.issued, from.covered,  from.fetched,    from.far_covered,     from.in_time,
          from.far_misses, from.cycles, from.overhead, from.inferences, from.inference_cycles};
}

}  // namespace

Result<PrefetchReport> evaluate_prefetch(const Program& program, const PrefetchLimits& limits,
                                         std::span<const WeightsPointer> networks) {
  prefetch::Simulation::Settings settings;
  settings.warm_up = limits.warm_up;
  if (limits.level >= 0) {
    settings.next_line_level = settings.stride_level = settings.temporal_level = settings.indirect_level =
        static_cast<u32>(limits.level);
  }
  for (const WeightsPointer& weights : networks) {
    auto network = neural::make_oracle_network(*weights);
    if (!network) return Error{weights->source + ": these are not weights of the memory oracle"};
    settings.networks.push_back(std::move(network));
  }
  auto traced = TracedProgram::start(program);
  if (!traced) return traced.error();
  prefetch::Simulation simulation(settings, (*traced)->peek());
  if (auto done = trace(**traced, limits, simulation); !done) return Error{program.path + ": " + done.error().message};
  const prefetch::Totals totals = simulation.totals();
  PrefetchReport report{totals.instructions, totals.loads, totals.stores, totals.misses, {}};
  for (const prefetch::Score& score : totals.scores) report.scores.push_back(score_of(score));
  return report;
}

Result<std::vector<PrefetchChoice>> choose_prefetches(const Program& program, const PrefetchLimits& limits,
                                                      const Weights& network) {
  const auto oracle = neural::make_oracle_network(network);
  if (!oracle) return Error{network.source + ": these are not weights of the memory oracle"};
  auto traced = TracedProgram::start(program);
  if (!traced) return traced.error();
  prefetch::Chooser chooser(*oracle);
  PrefetchLimits from_the_beginning = limits;
  from_the_beginning.warm_up = 0;
  if (auto done = trace(**traced, from_the_beginning, chooser); !done)
    return Error{program.path + ": " + done.error().message};
  std::vector<PrefetchChoice> choices;
  for (const auto& [pc, choice] : chooser.choices()) {
    choices.push_back({pc, prefetch::name_of(choice.policy), prefetch::distance_of(choice.level)});
  }
  return choices;
}

Result<std::vector<float>> record_misses(const Program& program, const PrefetchLimits& limits) {
  auto traced = TracedProgram::start(program);
  if (!traced) return traced.error();
  prefetch::Recorder recorder((*traced)->peek(), prefetch::Simulation::Settings{}.history_bits);
  struct Sink {
    prefetch::Recorder& recorder;
    void load(const prefetch::Load& load, u64 instructions) { recorder.load(load, instructions); }
    void store(u64 address, u64) { recorder.store(address); }
  } sink{recorder};
  if (auto done = trace(**traced, limits, sink); !done) return Error{program.path + ": " + done.error().message};
  return recorder.records();
}

}  // namespace kvrm
