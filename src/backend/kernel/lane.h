// The record of a lane while a kernel runs it, and the parameters of a launch. Freestanding, plain data: the host
// writes it, the kernel works on it.
#pragma once

#include "backend/kernel/mailbox.h"
#include "backend/kernel/output_ring.h"
#include "base/cpu.h"
#include "dispatch/router.h"
#include "interpreter/freestanding/lane_region.h"
#include "interpreter/freestanding/word_entry.h"
#include "linux/freestanding/lane_process.h"
#include "memory/freestanding/lane_memory_map.h"
#include "prefetch/freestanding/lane_prefetcher.h"

namespace kvrm::accelerate {
struct WarpLoop;
}

namespace kvrm::backend::kernel {

enum class Status : u32 {
  kStopped,    // Stop says why
  kRunning,
  kCall,       // after an SVC that the lane or else the host answers
  kNeedsHost,  // waits for a free slot of the mailbox
  kWaiting,    // has posted a request and waits for the reply
};

// Why a lane stopped.
enum class StopKind : u32 {
  kNone,
  kBudget,
  kCancelled,
  kTrap,      // a raw lane: Stop::trap says which, SVC included
  kExit,      // code
  kSignal,    // code
  kDeadlock,
  kFailed,    // the host could not serve a request
};

struct Stop {
  StopKind kind;
  Trap trap;
  i32 code;
  u32 spare;
};

inline constexpr u32 kNoJob = ~0u;

// One lane, in device memory. Between launches it holds all of the lane's state.
struct Lane {
  WholeCpu registers;
  memory::LaneSpace space;
  linux_abi::LaneProcess process;
  OutputProgress output;
  u64 writing;                // size of a write() in progress
  const struct Start* start;  // of a Linux program
  u64 retired;                // by this job
  u64 left;                   // of the budget
  u64 shared;                 // of these, instructions that a snapshot saved it (snapshot.h)
  u64 kernel_calls, host_calls;
  Status status;
  Stop stop;
  u32 number;         // of the lane
  u32 job;            // or kNoJob
  u32 slot;           // of the mailbox
  RequestKind request;
  u32 is_process;     // a Linux program; otherwise a raw lane
  // The scheduler's state (reconvergence.h). It outlives a launch, so that round robin works in short launches too.
  u32 steps, since_round_robin;
  interpreter::WordEntry word[3];  // for code in shared memory: the one word that runs next
};

// A page whose bytes differ from its area's source.
struct StartPage {
  u64 address;
  u64 source;
};

// The state a lane resumes from.
struct ResumeState {
  const memory::Area* areas;
  const StartPage* pages;
  u32 area_count, page_count;
  u64 retired, kernel_calls;  // up to this state
  Status status;
  WholeCpu registers;
  linux_abi::LaneProcess process;  // of a program
};

// The initial state of a job: a program that has just been loaded, or a raw machine.
struct Start {
  ResumeState resume_state;
  u32 is_process;  // a Linux program; otherwise a raw lane
  // Of a program.
  u32 has_stat[3];
  linux_abi::GuestStat stats[3];  // what fstat says of the standard files
  u32 program_size;
  const char* program;            // what /proc/self/exe names
  struct Snapshot* snapshot;      // storage for the snapshot its jobs share (snapshot.h), or null
};

// What a lane starts with: a start, and the bytes of its standard input.
struct LaunchJob {
  u32 start;  // among Launch::starts
  const u8* input;
  u64 input_size;
};

// What a lane that keeps its state from launch to launch does in this one.
enum class Order : u32 {
  kStayStopped,
  kContinue,
  kStart,         // loads the job with the lane's number and runs it
  kStartStopped,  // loads it, to run in a later launch
};

// The result of a job, or of a lane in one launch.
struct JobEnd {
  Stop stop;
  u64 retired;  // by the job, or by the lane in this launch
  u64 shared;   // of these, instructions that a snapshot saved it
  u64 kernel_calls, host_calls;
  u64 private_pages;
  u64 output_end;  // OutputProgress::end: the host has all of its output once it has read up to this position
  WholeCpu registers;
  u32 word;  // at pc; 0: nothing is mapped there
};

// Bits of the control word, with which the host interrupts all lanes.
enum Control : u32 {
  kCancel = 1,  // all lanes stop
  kPause = 2,   // all lanes leave the kernel and resume in the next launch
};

inline constexpr u32 kPrivateEntries = memory::kCodeLineWords + 3;  // of a code line: the loops prefetch

// A copy of the host's control word in device memory, which spares most lanes the way to the host.
struct ControlCache {
  u64 polled_at;  // nanoseconds: when a lane last read the host's word
  u32 control;
};
// Nanoseconds between two reads of the host's control word, and between two progress reports of a lane.
inline constexpr u64 kPollInterval = 500'000;
inline constexpr u64 kReportInterval = 4'000'000;

// A cancel takes effect soon, whatever the lanes run. Slices that take longer than kSliceTooLong nanoseconds become
// shorter, down to kMinSlice instructions, and longer again after one of less than kSliceTooShort. Not in launches that
// sample: there the position of a sample must depend on instruction counts only.
inline constexpr u64 kSliceTooLong = 2'000'000, kSliceTooShort = 800'000;
inline constexpr u32 kMinSlice = 1024;
// Some instructions are slow. Those that the loop and regions leave to the fallback cost about kSlowStepCost ordinary
// ones. Those of slow regions are timed, with kCyclesPerInstruction for an ordinary one. After a cost of
// kSlowPollInterval, a millisecond, a lane polls the host in the middle of its slice, and a slow region gets a quota of
// as many instructions as took twice that the last time.
inline constexpr u32 kSlowStepCost = 32, kCyclesPerInstruction = 256, kSlowPollInterval = 8192;

// A proven loop, whose head is a word of decoded code. That word's entry has the handler of regions, and this loop's
// number with the bit kLoopEntry (warp_loops.h).
struct LaneLoop {
  const accelerate::WarpLoop* loop;
  u64 start;  // of the window it was proved for
  u32 words;  // of the window
  u32 entry;  // index of the head's word among all decoded words
  u32 body;  // instructions of an iteration
  u32 region;  // the region that begins there, or kNoRegion; found when the loop is installed
  // By all lanes: bulk steps of at least an iteration, iterations in them, and how often a lane gave the loop up for a
  // while.
  u64 steps, iterations, left_out;
  static constexpr u32 kNoRegion = ~u32{0};
};
inline constexpr u64 kLoopEntry = u64{1} << 32;
// What bulk steps have of a multiprocessor's memory, behind the lane's registers and L1 TLB.
inline constexpr u32 kWarpSpareWords = 4608;

// What a lane has learned about the bulk steps of a loop.
struct LoopJudge {
  u32 skip;  // times to come by without one
  u32 tries;  // since the last decision
  u32 patience;  // how many to skip if they do not pay, as a shift
  u32 failures;  // steps without an iteration, one after the other
  i64 gain;  // cycles, since the last decision
};

// The parameters of a kernel. Pointers are the device's.
struct Launch {
  Lane* lanes;
  memory::LaneWorld* world;
  u64* directories;  // of the groups
  memory::Area* areas;  // area_capacity of them for each lane
  u32 lane_count;
  u32 group_shift;
  u32 crowded;  // 1: many warps on every multiprocessor; lanes that are alone run the small loop (lone_loop.h)
  u32 area_capacity;  // of a lane
  u32 page_limit;  // private pages a lane may have
  u32 slice;  // instructions between two polls of the host
  u32 reconverge;  // 1: lanes that diverged reconverge (reconvergence.h); 0: round robin among those that can run
  u32 raw_calls;  // SVC of a raw lane goes to the host
  u32 resume;  // lanes resume where the last launch paused them
  u32 job_count;
  u64 budget;  // of a job, or of a lane in this launch
  // All shared bytes that may hold code, and for each word of them its decoded entry.
  const u8* images;
  u64 image_bytes;
  interpreter::WordEntry* decoded;
  // The same without regions, if there are any, for lanes that may not run them.
  interpreter::WordEntry* plain;
  // Translated code, and sample counts of each word for each interpreter::SampleKind. Either may be null.
  const interpreter::LaneRegion* regions;
  u32 region_count;
  u32* samples;
  // Proven loops (warp_loops.h); none where lanes share a warp or memory. For each lane that runs at the same time, a
  // judge of each loop, and accelerate::kWarpScratchWords.
  LaneLoop* loops;
  LoopJudge* judges;
  u64* loop_scratch;
  u32 loop_count;
  u32 eager_loops;  // 1: bulk steps are done even if they do not pay, for tests
  // For each group that runs at the same time, slots for its lanes, interleaved (memory::LaneTlb).
  memory::LaneTlbEntry* l2_tlb;
  u32 l2_slots;
  // Of lanes that are alone, one for each; null: nothing is prefetched. Without choices they learn.
  prefetch::LanePrefetcher* prefetchers;
  prefetch::SiteChoices prefetch_choices;
  // For each lane that runs at the same time, lines of its private code, and kPrivateEntries for each (private_code.h).
  u32 private_lines;  // a power of two
  memory::WatchedLine* watched;
  interpreter::WordEntry* private_words;
  dispatch::Router router;  // decides which row a word is
  u32 dispatch_every;  // 1: the router is asked again for each instruction that runs
  Mailbox mailbox;
  OutputRing output;
  const Start* starts;
  const LaunchJob* jobs;
  const Order* orders;  // one for each lane; null: each lane takes one job after the other
  JobEnd* ends;  // one for each job; with orders, for each lane
  u32* next_job;  // device memory
  u32* next_finished;  // device memory
  u32* finished;  // pinned: numbers + 1 of finished jobs, in the order of their ends
  const u32* control;  // pinned: bits of Control
  ControlCache* control_cache;  // device memory
  u32* unfinished;  // pinned: set by a lane that leaves with work left because of a pause
  u64* progress;  // pinned, one for each lane: instructions of this launch so far
  u64* warp_instructions;  // device memory: what groups have executed, an instruction once for the lanes together
};

}  // namespace kvrm::backend::kernel
