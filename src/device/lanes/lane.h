// What a lane is while a kernel runs it, and what a launch consists of. Freestanding, plain data: the host writes it,
// the kernel works on it.
#pragma once

#include "base/cpu.h"
#include "device/lanes/mailbox.h"
#include "device/lanes/output_ring.h"
#include "dispatch/router.h"
#include "interpreter/lane_region.h"
#include "interpreter/word_entry.h"
#include "linux/lane_process.h"
#include "memory/lane_memory_map.h"

namespace kvrm::device::lanes {

enum class Status : u32 {
  kStopped,    // nothing to do; Stop says why
  kRunning,
  kCall,       // at an SVC that the lane answers itself, or asks the host to
  kNeedsHost,  // wants a slot of the mailbox
  kWaiting,    // has one
};

// Why a lane stopped.
enum class StopKind : u32 {
  kNone,
  kBudget,
  kCancelled,
  kTrap,      // a raw lane: Stop::trap says which; SVC included
  kExit,      // code
  kSignal,    // code
  kDeadlock,
  kFailed,    // the host could not serve it
};

struct Stop {
  StopKind kind;
  Trap trap;
  i32 code;
  u32 spare;
};

inline constexpr u32 kNoJob = ~0u;

// One lane, in device memory. The host prepares it; between launches it is the lane.
struct Lane {
  WholeCpu registers;
  memory::LaneSpace space;
  linux_abi::LaneProcess process;
  OutputProgress output;
  u64 writing;                // bytes of a write under way
  const struct Start* start;  // of a Linux program
  u64 retired;                // by this job
  u64 left;                   // of the budget
  u64 shared;                 // of these, what it took over from another lane (beginning.h)
  u64 kernel_calls, host_calls;
  Status status;
  Stop stop;
  u32 number;         // of the lane
  u32 job;            // or kNoJob
  u32 slot;           // of the mailbox
  RequestKind request;
  u32 is_process;     // a Linux program; otherwise a raw lane
  // Steps of the lane's group, and instructions since a lane led it by turns (meeting.h): in short launches, too,
  // everybody leads once in a while.
  u32 steps, since_by_turns;
  interpreter::WordEntry word[3];  // for code in common memory: the one word that runs next
};

// A page that is not what its area says: it begins with other bytes.
struct StartPage {
  u64 address;
  u64 source;
};

// Where a lane is to go on.
struct Standing {
  const memory::Area* areas;
  const StartPage* pages;
  u32 area_count, page_count;
  u64 retired, kernel_calls;  // so far
  Status status;
  WholeCpu registers;
  linux_abi::LaneProcess process;  // of a program
};

// How a lane begins: a program that has just been loaded, or a raw machine.
struct Start {
  Standing standing;
  u32 is_process;  // a Linux program; otherwise a raw lane
  // Of a program.
  u32 has_stat[3];
  linux_abi::GuestStat stats[3];  // what fstat says of the standard files
  u32 program_size;
  const char* program;            // what /proc/self/exe names
  struct Beginning* beginning;    // room for what its jobs have in common (beginning.h), or null
};

struct LaunchJob {
  const Start* start;
  const u8* input;
  u64 input_size;
};

// What a lane that stays the same from launch to launch is to do in this one.
enum class Order : u32 {
  kRest,
  kGoOn,
  kBegin,        // the job with the lane's number
  kBeginAtRest,  // the same, but to run in a later launch
};

// What came of a job, or of a lane.
struct JobEnd {
  Stop stop;
  u64 retired;  // by the job, or by the lane in this launch
  u64 shared;   // of these, those that another job's lane ran for both
  u64 kernel_calls, host_calls;
  u64 private_pages;
  u64 output_end;  // OutputProgress::end: the host has all of its output when it has read up to there
  WholeCpu registers;
  u32 word;  // at pc; 0: nothing is mapped there
};

// What the host asks of all lanes while they run.
enum Control : u32 {
  kCancel = 1,  // everybody stops
  kPause = 2,   // everybody leaves, to go on in the next launch
};

inline constexpr u32 kOwnEntries = memory::kStretchWords + 2;  // of a stretch: the loop reads two more than it runs

// What a lane has heard of the host, for all lanes.
struct News {
  u64 asked_at;  // nanoseconds
  u32 control;
};
// Nanoseconds until somebody asks again, and until a lane tells again how far it has come.
inline constexpr u64 kAskAfter = 500'000;
inline constexpr u64 kTellAfter = 4'000'000;

// Whoever cancels does not wait long, whatever lanes run. Turns that take longer than kTooLong nanoseconds become
// shorter, down to kLeastTurn instructions, and longer again after one of less than kTooShort. Not in launches that
// look where lanes are: where one is found is to depend on how many instructions it has run.
inline constexpr u64 kTooLong = 2'000'000, kTooShort = 800'000;
inline constexpr u32 kLeastTurn = 1024;
// Some instructions take long: what the loop and regions leave to others, as long as kSlowStep ordinary ones, about,
// and those of regions that may be slow, where the time is known, an ordinary one being kOrdinaryCycles. After
// kPatience of this, a millisecond, a lane asks in the middle of its turn what the host wants, and such a region gets
// as many at a time as took twice as long the last time.
inline constexpr u32 kSlowStep = 32, kOrdinaryCycles = 256, kPatience = 8192;

// Everything a kernel is told. Pointers are the device's.
struct Launch {
  Lane* lanes;
  memory::LaneWorld* world;
  u64* directories;           // of the groups
  memory::Area* areas;        // room for them, lane by lane
  u32 lane_count;
  u32 group_shift;
  u32 area_capacity;          // of a lane
  u32 page_limit;             // private pages a lane may have
  u32 turn;                   // instructions between two looks at the host
  u32 meet;                   // 1: lanes that diverge meet again (meeting.h); 0: whoever can, runs
  u32 raw_calls;              // SVC of a raw lane goes to the host
  u32 resume;                 // lanes go on with what they were doing when the last launch paused
  u32 job_count;
  u64 budget;                 // of a job, or of a lane in this launch
  // All shared bytes that may hold code, and for each word of them its decoded entry.
  const u8* images;
  u64 image_bytes;
  interpreter::WordEntry* decoded;
  // The same without regions, if there are any: for lanes that may not run them.
  interpreter::WordEntry* plain;
  // Translated code, and what is counted of each word (interpreter::Noted). Either may be null.
  const interpreter::LaneRegion* regions;
  u32 region_count;
  u32* heat;
  // For each group that runs at the same time, slots for its lanes, interleaved (memory::KnownPages).
  memory::LaneTranslation* far_pages;
  u32 far_slots;
  // For each lane that runs at the same time, stretches of its own code, and kOwnEntries for each (own_code.h).
  u32 own_stretches;  // a power of two
  memory::WatchedStretch* watched;
  interpreter::WordEntry* own_words;
  dispatch::Router router;  // who says what a word is
  u32 dispatch_every;  // 1: the router is asked again for each instruction that runs
  Mailbox mailbox;
  OutputRing output;
  const LaunchJob* jobs;
  const Order* orders;  // one for each lane; null: lanes take one job after the other
  JobEnd* ends;  // one for each job; with orders, for each lane
  u32* next_job;  // device memory
  u32* next_finished;  // device memory
  u32* finished;  // pinned: numbers + 1 of jobs that have ended, in the order of their end
  const u32* control;  // pinned: of Control
  News* news;  // of it; nothing yet when a launch begins
  u32* unfinished;  // pinned: a lane sets it that left because of a pause
  u64* progress;  // pinned, one for each lane: instructions of this launch so far
};

}  // namespace kvrm::device::lanes
