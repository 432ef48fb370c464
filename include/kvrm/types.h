// The values that go into a Machine and come out of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/result.h"

namespace kvrm {

enum class Device { kAuto, kCpu, kCuda };
enum class Engine { kAuto, kInterpreter, kJit };
enum class Clock { kVirtual, kHost };
// What decides the routing class of an instruction: the table, the network, or the table while the network's answers
// are recorded.
enum class Dispatch { kTable, kNeural, kHybrid };
KVRM_API const char* to_string(Dispatch dispatch);

struct Weights;  // models.h
using WeightsPointer = std::shared_ptr<const Weights>;
class ProgramFile;  // program_file.h
// What the translator makes: quick code of whole pages, regions optimized by LLVM, or first the one and then the other.
enum class JitTiers { kAll, kQuick, kRegions };

using ProgramFilePointer = std::shared_ptr<const ProgramFile>;

// What decides which memory a lane on a GPU prefetches (docs/co-processors.md).
enum class Prefetch { kOff, kCounters, kNetwork };
KVRM_API const char* to_string(Prefetch prefetch);

// What to prefetch for one load.
struct PrefetchChoice {
  std::uint64_t pc = 0;
  std::string policy;  // next line, stride, temporal, indirect, none
  unsigned distance = 1;  // a power of two, at most 128
  friend bool operator==(const PrefetchChoice&, const PrefetchChoice&) = default;
};

// Which loops are proved first: those with the most samples, or those for which a tree or a network also expects that
// they can be proved.
enum class LoopRanking { kHottest, kTree, kNetwork };

// Dispatch by a network (docs/neural-dispatch.md), prefetching, and the order in which loops are proved
// (docs/co-processors.md).
struct NeuralOptions {
  Dispatch dispatch = Dispatch::kTable;
  WeightsPointer weights = {};  // of the dispatch network; null: the built-in weights
  bool unverified = false;  // kNeural: accept weights without a passed verification; the statistics say so
  bool every = false;  // route a word each time it runs, to measure what routing costs
  LoopRanking loop_ranking = LoopRanking::kHottest;  // with Options::accelerate; results never depend on it
  WeightsPointer loop_weights = {};  // of the loop detector, for kNetwork; null: the built-in weights
  // On a GPU, for lanes that have a warp each. No result changes. The CPU device accepts it and prefetches nothing.
  Prefetch prefetch = Prefetch::kOff;
  std::vector<PrefetchChoice> prefetch_choices = {};  // kNetwork: of choose_prefetches() (prefetch.h)
};

struct Options {
  Device device = Device::kAuto;
  Engine engine = Engine::kAuto;
  unsigned lanes = 1;
  std::uint64_t memory_limit = std::uint64_t{4} << 30;  // bytes for a guest, and what the host keeps for it
  // Jobs on a GPU do not share a warp. Fewer run at a time, each far faster: best unless jobs run in lockstep.
  bool spread_jobs = false;
  // One memory for all lanes of a raw machine, with atomics between them. All lanes run at the same time, so there are
  // at most as many as the device has room for. The memory limit applies to this one memory, and its map is fixed once
  // a lane has run.
  bool shared_memory = false;
  // The translator: the number of samples after which code is translated (0: all code, before it first runs; none: when
  // interpreting it has cost as much as translating it will), and the total seconds it may spend compiling.
  std::optional<unsigned> jit_threshold = {};
  std::optional<double> jit_budget = {};
  JitTiers jit_tiers = JitTiers::kAll;  // CPU device
  // Store compiled code in the user's cache folder and reuse it. A program whose root overlaps the folder turns this
  // off for the machine (cache.h), but not for a GPU kernel that is already loaded.
  bool code_cache = true;
  bool perf_map = false;  // CPU device: write /tmp/perf-PID.map, which names translated code to perf(1)
  // A guest's memory may be one reservation of host addresses, which makes translated code faster. This installs a
  // handler for SIGSEGV that serves these reservations and passes every other signal on. On a GPU, lanes that have a
  // warp each may have a piece of device memory each.
  bool windows = true;
  // Loops whose effect is proved run many iterations at once (docs/co-processors.md). On a GPU: in lanes that have a
  // warp each, where there are few of them, and only with a proof_share of 1.
  bool accelerate = false;
  // The share of the run time that proving loops may take, in a thread of its own. 1: every hot loop is proved at once.
  double proof_share = 0.015;
  // CPU device, instead of `accelerate`: every instruction is traced and counted for its loop, and none is proposed.
  // The interpreter runs everything, many times slower than otherwise.
  bool profile_loops = false;
  // For a process that ends with std::_Exit: destroying a machine does not wait for running compilers.
  bool abandon_compilers = false;
  unsigned threads = 0;  // CPU device: host threads for its lanes; 0: one per host processor
  unsigned device_ordinal = 0;  // which GPU, by the driver's numbering
  // Host descriptors that all guests of the machine may hold together; 0: the soft RLIMIT_NOFILE at creation, less a
  // reserve for the machine. Guests that run at the same time get equal shares, between 16 and 1024 each; a guest that
  // opens more gets EMFILE.
  unsigned descriptors = 0;
  NeuralOptions neural = {};
  // Receives one line when a start takes long, or when an option cannot be honored.
  std::function<void(const std::string&)> notice = {};
};

// A Linux program and its environment.
struct Program {
  std::string path;  // the ELF file on the host
  ProgramFilePointer file = {};  // its contents (program_file.h); null: each load and each batch of jobs opens `path`
  std::vector<std::string> args = {};  // argv[1] and on; argv[0] is path
  std::vector<std::string> env;  // "K=V"
  std::string root;  // the only host folder the guest can reach; empty: none
  Clock clock = Clock::kVirtual;
  std::uint64_t seed = 0;  // of getrandom and AT_RANDOM
  bool verbose = false;  // report unknown system calls on stderr
  bool strace = false;  // write every system call and signal to stderr, as strace does
  int standard_input = 0, standard_output = 1, standard_error = 2;  // host descriptors
  // Instead of descriptors: the bytes of the guest's stdin, and capture of its output for take_output(). The guest sees
  // pipes.
  std::optional<std::string> input;
  bool keep_output = false;
  std::uint64_t max_output = std::uint64_t{16} << 20;  // bytes kept per stream; the rest is dropped

  // A program from an ELF image in memory. `name` becomes argv[0].
  KVRM_API static Result<Program> from_bytes(std::span<const std::byte> elf, std::string name = "program");
};

enum class StopReason {
  kExit,  // the program called exit
  kHalt,  // HLT on a raw machine
  kBreakpoint,  // BRK on a raw machine
  kBudget,  // exactly the requested number of instructions has retired
  kFault,  // a memory access or fetch on a raw machine that the map forbids
  kUndefined,  // a word that is no instruction, on a raw machine
  kSignal,  // a Linux program was killed by a signal
  kSystemCall,  // SVC on a raw machine without a hook, or the hook asked to stop
  kCancelled,  // cancel() was called
  kTimeout,  // a job took longer than JobLimits::timeout
  kDevice,  // the device failed; the message says how
};
KVRM_API const char* to_string(StopReason reason);

enum class FaultKind { kNone, kUnmapped, kPermission, kAlignment, kPcAlignment, kOutOfMemory };

struct Stop {
  StopReason reason = StopReason::kBudget;
  int exit_status = 0;  // kExit
  int signal = 0;  // kSignal
  FaultKind fault = FaultKind::kNone;  // kFault
  bool fault_is_write = false;  // kFault
  std::uint64_t address = 0;  // kFault: the address; kBreakpoint, kHalt: the immediate
  std::uint64_t pc = 0;  // of the next instruction
  std::uint32_t word = 0;  // the word at pc when the lane stopped; 0 if nothing is mapped
  std::uint64_t instructions = 0;  // retired by this run of the lane
  std::string message;  // one line for a person; may be empty
};

struct Vector {
  std::uint64_t lo = 0, hi = 0;
  friend bool operator==(const Vector&, const Vector&) = default;
};

// All registers that a debugger shows.
struct Registers {
  std::uint64_t x[31] = {};
  std::uint64_t sp = 0;
  std::uint64_t pc = 0;
  std::uint32_t nzcv = 0;  // in bits 31..28
  std::uint32_t fpcr = 0;
  std::uint32_t fpsr = 0;
  std::uint64_t tpidr_el0 = 0;
  Vector v[32] = {};
  friend bool operator==(const Registers&, const Registers&) = default;
};

// A lane's registers in place, without copies. Access them while the lane is stopped. They stay valid as long as
// `owner` lives, and belong to the lane until a program is loaded into it.
struct RegisterView {
  std::shared_ptr<void> owner;
  std::span<unsigned long long, 31> x;
  std::span<unsigned long long, 64> v;  // V0's low half, V0's high half, V1's low half, ...
};

// Bytes that guest and host both access, valid as long as `owner` lives.
struct SharedMemory {
  std::shared_ptr<void> owner;
  std::span<std::byte> bytes;
};

// Floating-point operations on one element, by path: inline, or an out-of-line function.
struct FloatStatistics {
  std::uint64_t fast = 0, slow = 0;
  KVRM_API FloatStatistics& operator+=(const FloatStatistics& more);
};

// How words got their routing class. Classes by number (models.h has their names).
struct DispatchStatistics {
  Dispatch mode = Dispatch::kTable;
  std::string weights;  // their source and checksum; empty: the table alone
  bool verified = true;  // false: the network decided without a passed verification
  bool every = false;
  std::array<std::uint64_t, 7> routed{};  // words sent to each class
  std::array<std::array<std::uint64_t, 7>, 7> confusion{};  // kHybrid: [the table's class][the network's]

  // Adds the counts; mode, weights and flags stay.
  KVRM_API DispatchStatistics& operator+=(const DispatchStatistics& more);
};

// How guest code ran: in the interpreter, in quick code of whole pages, or in optimized regions. Instructions and
// seconds of a tier are estimated from samples; all else is counted.
struct Tier {
  std::string name;  // interp, quick, regions
  std::uint64_t instructions = 0;
  double seconds = 0;
  std::uint64_t regions = 0;  // of quick code: pages
  std::uint64_t words = 0;  // guest words in them, with repetitions
  std::uint64_t distinct_words = 0;
  double translation_seconds = 0;  // processor time spent translating them

  // How often a word was translated, on average.
  double overlap() const {
    return distinct_words == 0 ? 0 : static_cast<double>(words) / static_cast<double>(distinct_words);
  }
  KVRM_API Tier& operator+=(const Tier& more);  // the name stays
  friend bool operator==(const Tier&, const Tier&) = default;
};

// The beginning of one run through a loop: X0 to X30 and SP at its first word.
struct LoopRun {
  std::array<std::uint64_t, 32> first{};  // when the branch back was first taken
  std::optional<std::array<std::uint64_t, 32>> second;  // and an iteration later
  std::uint64_t left = 0;  // how often the branch back was taken in the whole run
  friend bool operator==(const LoopRun&, const LoopRun&) = default;
};

// A loop that was proposed for bulk steps, or counted.
struct Loop {
  std::uint64_t address = 0;  // of its first word
  std::vector<std::uint32_t> words;
  bool proved = false;
  std::string kind;  // counted, fill, copy, scan, reduction, map; empty: refused
  std::string reason;  // why it was refused
  std::uint64_t samples = 0;  // how often traces saw its branch back
  std::uint64_t steps = 0;  // bulk steps that did an iteration or more
  std::uint64_t iterations = 0;  // in bulk steps
  std::uint64_t instructions = 0;  // in bulk steps
  std::uint64_t left_out = 0;  // lanes for which its bulk steps did not pay
  std::uint64_t entries = 0;  // with Options::profile_loops: runs through it
  std::vector<LoopRun> runs;  // the first of them
  friend bool operator==(const Loop&, const Loop&) = default;
};

// What became of hot loops (docs/co-processors.md).
struct LoopStatistics {
  std::uint64_t found = 0;  // branches back that traces saw, those of each lane
  std::uint64_t sampled = 0;  // instructions in traces
  std::uint64_t proposed = 0, proved = 0;
  std::uint64_t left_out = 0;  // proved, but too short to pay; of each lane
  std::map<std::string, std::uint64_t> refused;  // by reason
  std::uint64_t instructions = 0;  // in bulk steps
  std::uint64_t ranked = 0;  // loops that a tree or a network was asked about, in each lane
  std::uint64_t guessed = 0, guessed_right = 0;  // of these, settled ones; whether it told proved from refused ones
  double ranking_seconds = 0;  // spent asking it
  double proof_seconds = 0;  // spent proving and refusing
  std::vector<Loop> hottest;  // the most frequent first

  KVRM_API LoopStatistics& operator+=(const LoopStatistics& more);
  friend bool operator==(const LoopStatistics&, const LoopStatistics&) = default;
};

struct Statistics {
  std::uint64_t instructions = 0;
  std::uint64_t shared_instructions = 0;  // GPU: of these, instructions that ran once for several jobs
  std::uint64_t warp_instructions = 0;  // GPU: as warps executed them, each once for the lanes that ran it together
  double seconds = 0;  // spent running
  std::uint64_t system_calls = 0;
  std::uint64_t in_kernel_calls = 0;  // GPU: system calls that the kernel answered
  std::uint64_t mailbox_calls = 0;  // GPU: system calls that the host answered
  std::uint64_t launches = 0;  // of the device
  std::string launches_reason;  // why a run may take more than one launch; empty: it takes one
  std::uint64_t jobs = 0;  // finished by run_jobs()
  std::uint64_t decoded_words = 0;  // entries of the predecode cache
  std::uint64_t code_invalidations = 0;  // pages of decoded code dropped after a write
  std::uint64_t regions = 0;  // translated
  std::uint64_t cached_regions = 0;  // of these, regions from the cache on disk
  std::uint64_t region_words = 0;  // guest words in them, with repetitions
  double translation_seconds = 0;  // spent translating them
  double link_seconds = 0;  // of these, linking; on a GPU, the driver's time to compile, link and load them
  std::vector<Tier> tiers;  // CPU device, with a translator
  std::uint64_t private_bytes = 0;  // private memory in use
  std::map<std::string, std::uint64_t> windows_given_up;  // CPU device: guests that run without a window, by reason
  LoopStatistics loops;  // with Options::accelerate
  std::optional<FloatStatistics> floats;  // CPU device, in a build with KVRM_COUNT_FLOAT only
  DispatchStatistics dispatch;
  std::string device = "cpu";
  std::string engine = "interp";

  // GPU: how many lanes ran an instruction together, on average. Lanes that diverge inside a region count as together.
  double active_lanes() const {
    if (warp_instructions == 0) return 0;
    return static_cast<double>(instructions - shared_instructions) / static_cast<double>(warp_instructions);
  }

  // Adds the figures of another machine of the same kind. Device, engine and dispatch mode stay.
  KVRM_API Statistics& operator+=(const Statistics& more);
};

// What a program wrote, and whether the rest was dropped.
struct Output {
  std::string output, errors;
  bool output_cut = false, errors_cut = false;
};

enum Protection : std::uint32_t { kProtectNone = 0, kProtectRead = 1, kProtectWrite = 2, kProtectExecute = 4 };

}  // namespace kvrm
