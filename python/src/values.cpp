// Reports of a machine, as Python objects with a repr.
#include "convert.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "kvrm/models.h"

namespace kvrm::python {
namespace {

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone: return "";
    case FaultKind::kUnmapped: return "unmapped";
    case FaultKind::kPermission: return "permission";
    case FaultKind::kAlignment: return "alignment";
    case FaultKind::kPcAlignment: return "pc alignment";
    case FaultKind::kOutOfMemory: return "out of memory";
  }
  return "unknown";
}

std::string describe(const Stop& stop) { return "<kvrm.Stop " + facts_of(stop) + ">"; }

std::string describe(const Batch& batch) {
  return "<kvrm.Batch " + std::to_string(batch.number) + ": " + to_string(batch.signal) + ", lane " +
         std::to_string(batch.lane) + ", " + std::to_string(batch.instructions) + " instructions, " +
         std::to_string(batch.lanes_alive) + " lanes alive>";
}

std::string describe(const Progress& progress) {
  return std::string("<kvrm.Progress ") + (progress.running ? "running, " : "stopped, ") +
         std::to_string(progress.instructions) + " instructions, " + std::to_string(progress.lanes_alive) +
         " lanes alive>";
}

std::string describe(const Registers& registers) {
  std::string text = "<kvrm.Registers pc " + hex(registers.pc) + ", sp " + hex(registers.sp) + ", nzcv ";
  for (unsigned i = 0; i < 4; ++i) text += (registers.nzcv >> (31 - i) & 1) ? "NZCV"[i] : '-';
  for (unsigned i = 0; i < 31; ++i) {
    if (registers.x[i] != 0) text += ", x" + std::to_string(i) + " " + hex(registers.x[i]);
  }
  return text + ">";
}

std::string describe(const DispatchStatistics& statistics) {
  std::string text = std::string("<kvrm.DispatchStatistics ") + to_string(statistics.mode);
  if (statistics.mode == Dispatch::kNeural && !statistics.verified) text += ", unverified";
  for (unsigned i = 0; i < statistics.routed.size(); ++i) {
    if (statistics.routed[i] == 0) continue;
    text += ", " + std::string(class_name(i)) + " " + std::to_string(statistics.routed[i]);
  }
  return text + ">";
}

std::string describe(const Statistics& statistics) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", statistics.seconds);
  return "<kvrm.Statistics " + std::to_string(statistics.instructions) + " instructions in " + seconds + " s on " +
         statistics.device + ", " + statistics.engine + ">";
}

nb::object confusion_of(const DispatchStatistics& statistics) {
  std::vector<std::uint64_t> values;
  for (const auto& row : statistics.confusion) values.insert(values.end(), row.begin(), row.end());
  return read_only_copy(std::move(values), {7, 7});
}

nb::dict routed_dict(const DispatchStatistics& statistics) {
  nb::dict result;
  for (unsigned i = 0; i < statistics.routed.size(); ++i) {
    const std::string_view name = class_name(i);
    result[nb::str(name.data(), name.size())] = statistics.routed[i];
  }
  return result;
}

nb::dict as_dict(const DispatchStatistics& statistics) {
  nb::dict result;
  result["mode"] = to_string(statistics.mode);
  result["every"] = statistics.every;
  result["weights"] = statistics.weights;
  result["verified"] = statistics.verified;
  result["routed"] = routed_dict(statistics);
  if (statistics.mode == Dispatch::kHybrid) result["confusion"] = confusion_of(statistics).attr("tolist")();
  return result;
}

// {"interp": {...}, "regions": {...}}
nb::dict tiers_of(const Statistics& statistics) {
  nb::dict result;
  for (const Tier& tier : statistics.tiers) {
    nb::dict one;
    one["instructions"] = tier.instructions;
    one["seconds"] = tier.seconds;
    one["regions"] = tier.regions;
    one["words"] = tier.words;
    one["distinct_words"] = tier.distinct_words;
    one["overlap"] = tier.overlap();
    one["translation_seconds"] = tier.translation_seconds;
    result[tier.name.c_str()] = one;
  }
  return result;
}

nb::dict given_up_of(const Statistics& statistics) {
  nb::dict result;
  for (const auto& [reason, count] : statistics.windows_given_up) result[reason.c_str()] = count;
  return result;
}

nb::dict loops_of(const Statistics& statistics) {
  const LoopStatistics& loops = statistics.loops;
  nb::dict refused, result;
  for (const auto& [reason, count] : loops.refused) refused[reason.c_str()] = count;
  result["found"] = loops.found;
  result["proposed"] = loops.proposed;
  result["proved"] = loops.proved;
  result["left_out"] = loops.left_out;
  result["refused"] = refused;
  result["instructions"] = loops.instructions;
  result["ranked"] = loops.ranked;
  result["guessed"] = loops.guessed;
  result["guessed_right"] = loops.guessed_right;
  result["ranking_seconds"] = loops.ranking_seconds;
  result["proof_seconds"] = loops.proof_seconds;
  return result;
}

nb::dict as_dict(const Statistics& statistics) {
  nb::dict result;
  result["device"] = statistics.device;
  result["engine"] = statistics.engine;
  result["instructions"] = statistics.instructions;
  result["shared_instructions"] = statistics.shared_instructions;
  result["warp_instructions"] = statistics.warp_instructions;
  result["active_lanes"] = statistics.active_lanes();
  result["seconds"] = statistics.seconds;
  result["system_calls"] = statistics.system_calls;
  result["in_kernel_calls"] = statistics.in_kernel_calls;
  result["mailbox_calls"] = statistics.mailbox_calls;
  result["launches"] = statistics.launches;
  result["launches_reason"] = statistics.launches_reason;
  result["jobs"] = statistics.jobs;
  result["decoded_words"] = statistics.decoded_words;
  result["code_invalidations"] = statistics.code_invalidations;
  result["regions"] = statistics.regions;
  result["cached_regions"] = statistics.cached_regions;
  result["region_words"] = statistics.region_words;
  result["translation_seconds"] = statistics.translation_seconds;
  result["link_seconds"] = statistics.link_seconds;
  result["tiers"] = tiers_of(statistics);
  result["private_bytes"] = statistics.private_bytes;
  result["windows_given_up"] = given_up_of(statistics);
  result["loops"] = loops_of(statistics);
  result["dispatch"] = as_dict(statistics.dispatch);
  return result;
}

template <class T>
void bind_repr(nb::class_<T>& type) {
  type.def("__repr__", [](const T& value) { return describe(value); });
}

void bind_registers(nb::module_& module) {
  // Set modulo 2^64.
#define KVRM_WORD(name, what)                                                 \
  def_prop_rw(                                                                \
      #name, [](const Registers& r) { return r.name; },                       \
      [](Registers& r, const nb::object& value) { r.name = word_of(value); }, \
      nb::for_setter(nb::sig("def " #name "(self, value: int, /) -> None")), what)
  nb::class_<Registers> type(module, "Registers", "A copy of all registers of one lane.");
  type.def(nb::init<>())
      .def_prop_rw(
          "x", [](const Registers& r) { return read_only_copy<std::uint64_t>({r.x, r.x + 31}, {31}); },
          [](Registers& r,
             const nb::ndarray<const std::uint64_t, nb::shape<31>, nb::c_contig, nb::device::cpu>& values) {
            std::copy_n(values.data(), 31, r.x);
          },
          nb::for_getter(nb::sig("def x(self, /) -> numpy.typing.NDArray[numpy.uint64]")), "X0 to X30.")
      .def_prop_rw(
          "v",
          [](const Registers& r) {
            std::vector<std::uint64_t> halves;
            for (const Vector& vector : r.v) halves.insert(halves.end(), {vector.lo, vector.hi});
            return read_only_copy(std::move(halves), {32, 2});
          },
          [](Registers& r,
             const nb::ndarray<const std::uint64_t, nb::shape<32, 2>, nb::c_contig, nb::device::cpu>& values) {
            for (unsigned i = 0; i < 32; ++i) r.v[i] = {values.data()[2 * i], values.data()[2 * i + 1]};
          },
          nb::for_getter(nb::sig("def v(self, /) -> numpy.typing.NDArray[numpy.uint64]")),
          "V0 to V31 as (low, high) halves.")
      .KVRM_WORD(sp, "The stack pointer.")
      .KVRM_WORD(pc, "The program counter.")
      .def_rw("nzcv", &Registers::nzcv, "The flags in bits 31 to 28.")
      .def_rw("fpcr", &Registers::fpcr)
      .def_rw("fpsr", &Registers::fpsr)
      .KVRM_WORD(tpidr_el0, "The thread pointer.")
      .def(
          "__eq__", [](const Registers& a, const Registers& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"));
#undef KVRM_WORD
  bind_repr(type);
}

void bind_statistics(nb::module_& module) {
  nb::class_<DispatchStatistics> dispatch(module, "DispatchStatistics", "How words got their routing class.");
  dispatch
      .def_prop_ro(
          "mode", [](const DispatchStatistics& s) { return to_string(s.mode); }, "table, neural or hybrid.")
      .def_ro("weights", &DispatchStatistics::weights)
      .def_ro("verified", &DispatchStatistics::verified)
      .def_ro("every", &DispatchStatistics::every)
      .def_prop_ro("routed", &routed_dict, nb::sig("def routed(self, /) -> dict[str, int]"),
                   "Words sent to each class.")
      .def_prop_ro("confusion", &confusion_of, nb::sig("def confusion(self, /) -> numpy.typing.NDArray[numpy.uint64]"),
                   "Hybrid dispatch: words by [the table's class, the network's].")
      .def(
          "as_dict", [](const DispatchStatistics& s) { return as_dict(s); },
          nb::sig("def as_dict(self) -> dict[str, typing.Any]"), "All of it, ready for json.dumps.");
  bind_repr(dispatch);
  nb::class_<Statistics> type(module, "Statistics", "What a machine has done since it was created.");
  type.def_ro("instructions", &Statistics::instructions)
      .def_ro("shared_instructions", &Statistics::shared_instructions,
              "Of these, instructions that ran once for several jobs.")
      .def_ro("warp_instructions", &Statistics::warp_instructions,
              "GPU: as warps executed them, each once for the lanes that ran it together.")
      .def_prop_ro("active_lanes", &Statistics::active_lanes,
                   "GPU: how many lanes ran an instruction together, on average.")
      .def_ro("seconds", &Statistics::seconds, "Spent running.")
      .def_ro("system_calls", &Statistics::system_calls)
      .def_ro("in_kernel_calls", &Statistics::in_kernel_calls)
      .def_ro("mailbox_calls", &Statistics::mailbox_calls)
      .def_ro("launches", &Statistics::launches, "Launches of the device.")
      .def_ro("launches_reason", &Statistics::launches_reason, "Why there may be more than one for a run, or empty.")
      .def_ro("jobs", &Statistics::jobs)
      .def_ro("decoded_words", &Statistics::decoded_words)
      .def_ro("code_invalidations", &Statistics::code_invalidations)
      .def_ro("regions", &Statistics::regions, "Translated.")
      .def_ro("cached_regions", &Statistics::cached_regions, "Of these, regions from the cache on disk.")
      .def_ro("region_words", &Statistics::region_words, "Guest words in them, with repetitions.")
      .def_ro("translation_seconds", &Statistics::translation_seconds, "Spent translating them.")
      .def_ro("link_seconds", &Statistics::link_seconds, "Of these, linking.")
      .def_prop_ro("tiers", &tiers_of, nb::sig("def tiers(self, /) -> dict[str, dict[str, typing.Any]]"),
                   "How code ran, by tier: interp, regions. Instructions and seconds are estimated from samples.")
      .def_ro("private_bytes", &Statistics::private_bytes)
      .def_prop_ro("windows_given_up", &given_up_of, nb::sig("def windows_given_up(self, /) -> dict[str, int]"),
                   "Guests that run without a window, by reason.")
      .def_prop_ro("loops", &loops_of, nb::sig("def loops(self, /) -> dict[str, typing.Any]"),
                   "Loops proposed for bulk steps, proved and refused, and the instructions in bulk steps.")
      .def_ro("dispatch", &Statistics::dispatch)
      .def_ro("device", &Statistics::device)
      .def_ro("engine", &Statistics::engine)
      .def(
          "as_dict", [](const Statistics& s) { return as_dict(s); },
          nb::sig("def as_dict(self) -> dict[str, typing.Any]"), "All of it, ready for json.dumps.");
  bind_repr(type);
}

}  // namespace

std::string facts_of(const Stop& stop) {
  std::string text = to_string(stop.reason);
  if (stop.reason == StopReason::kExit) text += ", status " + std::to_string(stop.exit_status);
  if (stop.reason == StopReason::kSignal) text += " " + std::to_string(stop.signal);
  if (stop.reason == StopReason::kFault)
    text += std::string(" (") + fault_name(stop.fault) + ") at " + hex(stop.address);
  text += ", pc " + hex(stop.pc) + ", " + std::to_string(stop.instructions) + " instructions";
  if (!stop.message.empty()) text += ": " + stop.message;
  return text;
}

void bind_values(nb::module_& module) {
  nb::class_<Stop> stop(module, "Stop", "Why a lane stopped, and where.");
  stop.def_prop_ro(
          "reason", [](const Stop& s) { return to_string(s.reason); },
          "exit, halt, breakpoint, budget, fault, undefined, signal, system call, cancelled, timeout or device.")
      .def_ro("exit_status", &Stop::exit_status)
      .def_ro("signal", &Stop::signal)
      .def_prop_ro(
          "fault", [](const Stop& s) { return fault_name(s.fault); }, "The kind of fault; empty if it was none.")
      .def_ro("fault_is_write", &Stop::fault_is_write)
      .def_ro("address", &Stop::address, "Of a fault; for a breakpoint or halt its immediate.")
      .def_ro("pc", &Stop::pc)
      .def_ro("word", &Stop::word, "The word at pc, where it can be read.")
      .def_ro("instructions", &Stop::instructions, "Retired by this run of the lane.")
      .def_ro("message", &Stop::message);
  bind_repr(stop);
  nb::class_<Batch> batch(module, "Batch", "The state of a run in batches.");
  batch.def_ro("number", &Batch::number, "From 1.")
      .def_prop_ro(
          "signal", [](const Batch& b) { return to_string(b.signal); },
          "running, halt, system call, breakpoint, fault, checkpoint or cancelled.")
      .def_ro("lane", &Batch::lane, "The lane that gave the signal.")
      .def_ro("stop", &Batch::stop)
      .def_ro("instructions", &Batch::instructions, "Of all lanes since the run began.")
      .def_ro("lanes_alive", &Batch::lanes_alive)
      .def_ro("seconds", &Batch::seconds);
  bind_repr(batch);
  nb::class_<Progress> progress(module, "Progress", "The progress of a machine.");
  progress.def_ro("running", &Progress::running)
      .def_ro("instructions", &Progress::instructions, "Of all lanes since the machine was created.")
      .def_ro("lanes_alive", &Progress::lanes_alive)
      .def_ro("jobs_done", &Progress::jobs_done);
  bind_repr(progress);
  bind_registers(module);
  bind_statistics(module);
}

}  // namespace kvrm::python
