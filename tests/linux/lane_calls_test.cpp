// System calls answered by the lane against the same calls answered by the process: random sequences, everything
// compared after each.
#include "linux/freestanding/lane_calls.h"

#include <cstring>
#include <random>

#include "guest.h"
#include "linux/lane_host.h"

namespace kvrm::linux_abi::test {
namespace {

enum : u64 { kShmget = 194, kShmctl = 195, kShmat = 196, kShmdt = 197 };
constexpr u64 kProgramFile = 9;  // a descriptor
constexpr u64 kSmallMemory = 24 * memory::kPageSize;

// Output that takes a few bytes at a time, as a full ring does.
struct SlowOutput {
  std::string* streams;  // of descriptors 1 and 2
  GuestStat stats[3];
  std::string name;
  std::mt19937_64 random{7};
  u64 taken = 0;
  bool refuses = false;

  template <class Fill>
  Transfer write(u32 fd, u64 size, Fill& fill) {
    if (refuses) return Transfer::kHost;
    while (taken < size) {
      if (random() % 4 == 0) return Transfer::kWait;
      const u64 word = fill(taken);
      const u64 count = least(8, size - taken);
      streams[fd - 1].append(reinterpret_cast<const char*>(&word), count);
      taken += count;
    }
    taken = 0;
    return Transfer::kDone;
  }
  const GuestStat* stat(u32 fd) { return &stats[fd]; }
  const char* program(u64& size) {
    size = name.size();
    return name.data();
  }
};

// One guest whose calls go to the process, or to the lane first.
class Side {
 public:
  Side(bool is_lane, u64 limit, ClockSource clock, const std::string& input, const std::string& exe)
      : memory_(limit), process_(make(clock, input, exe)), is_lane_(is_lane) {
    EXPECT_TRUE(memory_.map(kScratch, kScratchSize, memory::kRead | memory::kWrite));
    EXPECT_TRUE(memory_.map(kStackBottom, kStackSize, memory::kRead | memory::kWrite));
    cpu_.x[kSpSlot] = kStackTop - 0x1000;
    cpu_.pc = 0x400000;
    lane_ = process_.lane_process(cpu_);
    lane_.brk_start = lane_.brk = 0x500000;
    process_.set_lane_process(lane_);
    output_.streams = streams_;
    for (u32 fd = 0; fd < 3; ++fd) output_.stats[fd] = *process_.standard_stat(fd);
    output_.name = process_.program_name();
  }

  Outcome call(const u64 (&registers)[9]) {
    std::copy_n(registers, 9, cpu_.x);
    cpu_.exclusive_size = 8;
    if (!is_lane_) return process_.system_call(cpu_, memory_);
    HostMemory memory(memory_);
    for (;;) {
      const CallOutcome outcome = lane_call(lane_, cpu_, memory, output_);
      switch (outcome.kind) {
        case CallOutcome::Kind::kDone: ++answered_; return {};
        case CallOutcome::Kind::kWait: continue;
        case CallOutcome::Kind::kExit: return {Outcome::Kind::kExit, outcome.code};
        case CallOutcome::Kind::kOutOfMemory: return process_.fault(cpu_, memory_, Trap::kOutOfMemory);
        case CallOutcome::Kind::kHost: break;
      }
      process_.set_lane_process(lane_);
      const Outcome served = process_.system_call(cpu_, memory_);
      lane_ = process_.lane_process(cpu_);
      return served;
    }
  }

  LaneProcess state() const {
    LaneProcess state = is_lane_ ? lane_ : process_.lane_process(cpu_);
    state.input = 0;  // each side has its own copy
    return state;
  }
  Cpu& cpu() { return cpu_; }
  memory::AddressSpace& memory() { return memory_; }
  const std::string& stream(std::size_t i) const { return streams_[i]; }
  SlowOutput& output() { return output_; }
  LaneProcess& process_state() { return lane_; }
  const std::string& message() const { return process_.message(); }
  int answered() const { return answered_; }

 private:
  Process make(ClockSource clock, const std::string& input, const std::string& exe) {
    ProcessOptions options;
    options.args = {"guest"};
    options.exe_path = exe;
    options.seed = 5;
    options.clock = clock;
    options.input = std::make_shared<const std::string>(input);
    for (auto* sink : {&options.output, &options.errors}) {
      std::string& stream = streams_[sink == &options.output ? 0 : 1];
      *sink = [&stream](std::span<const u8> bytes) {
        stream.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      };
    }
    return std::move(*Process::create(std::move(options)));
  }

  std::string streams_[2];
  memory::AddressSpace memory_;
  Cpu cpu_{};
  Process process_;
  LaneProcess lane_;
  SlowOutput output_{};
  bool is_lane_;
  int answered_ = 0;
};

// Calls with arguments that are often sensible.
class Calls {
 public:
  explicit Calls(u64 seed) : random_(seed) {}

  void next(u64 (&x)[9]) {
    for (u64& value : x) value = any();
    const u64 kind = random_() % 16;
    if (kind < 5) {
      memory_call(x);
    } else if (kind < 8) {
      file_call(x);
    } else if (kind < 9) {
      host_call(x);
    } else {
      // Numbers of Linux's, whether a lane answers them or not; never one that waits for the outside or ends.
      static constexpr u64 kNumbers[] = {30,  31,  81,  90,  92,  95,  96,  97,  99,  100, 113, 114, 118, 119, 120, 121,
                                         122, 123, 124, 125, 126, 127, 128, 140, 141, 143, 144, 145, 146, 147, 148, 149,
                                         150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 163, 164, 165, 166, 167,
                                         168, 169, 172, 173, 174, 175, 176, 177, 178, 179, 198, 199, 203, 220, 221, 227,
                                         228, 229, 230, 231, 232, 260, 261, 278, 283, 284, 293, 435, 500, 600};
      x[8] = kNumbers[random_() % std::size(kNumbers)];
      if (random_() % 2) x[0] = random_() % 20 - 2;
      if (random_() % 2) x[1] = random_() % 2 ? random_() % 20 : kScratch + random_() % 0x800;
      if (x[8] == 278) x[1] = random_() % 3000, x[2] = random_() % 3;
      if (x[8] == 167) x[0] = random_() % 42;
    }
  }

 private:
  u64 page() { return random_() % 24 * memory::kPageSize; }
  u64 any_address() {
    switch (random_() % 6) {
      case 0: return kScratch + page();
      case 1: return 0x500000 + page();
      case 2: return 0x600000 + page();
      case 3: return kMmapTop - page();
      case 4: return kStackBottom + page();
      default: return u64{0x5a} << 56 | (0x600000 + page());
    }
  }
  u64 any() {
    switch (random_() % 8) {
      case 0: return 0;
      case 1: return random_() % 64;
      case 2: return u64(-i64(random_() % 64));
      case 3: return random_();
      case 4: return any_address();
      case 5: return any_address() + random_() % memory::kPageSize;
      case 6: return kScratch + random_() % kScratchSize;
      default: return 0x1000 + page();
    }
  }
  void memory_call(u64 (&x)[9]) {
    static constexpr u64 kNumbers[] = {kBrk, kMmap, kMmap, kMmap, kMunmap, kMremap, kMprotect, kMadvise, 227, 228, 232};
    x[8] = kNumbers[random_() % std::size(kNumbers)];
    if (random_() % 8 == 0) return;  // with any arguments
    x[0] = x[8] == kBrk ? 0x500000 + random_() % 0x18000 : any_address();
    x[1] = page() + (random_() % 4 ? memory::kPageSize : random_() % 5000);
    x[2] = x[8] == kMremap ? page() + memory::kPageSize : random_() % 8;
    x[3] = x[8] == kMremap ? random_() % 8 : (random_() % 4 ? 0x22 : 0x32) | (random_() % 16 ? 0 : 0x100000);
    x[4] = x[8] == kMremap ? any_address() : ~u64{0};
    if (x[8] == kMremap && random_() % 4 == 0) x[2] = x[1];
    if (x[8] == kMadvise) x[2] = random_() % 2 ? random_() % 30 : 4;
    if (x[8] == kMmap && random_() % 4 == 0) x[3] ^= 3;  // shared
    if (x[8] == kMmap && random_() % 4 == 0) x[3] &= ~u64{0x20}, x[4] = kProgramFile;
    x[5] = random_() % 16 ? 0 : random_() % 0x3000;
    if (x[8] == kMmap && random_() % 2) x[0] = 0;
    if (x[8] == 232) x[2] = kScratch + random_() % kScratchSize;
  }
  void file_call(u64 (&x)[9]) {
    static constexpr u64 kNumbers[] = {kRead, kWrite, kWrite, kReadv, kWritev, kFstat, kNewfstatat, kIoctl, kLseek, 78};
    x[8] = kNumbers[random_() % std::size(kNumbers)];
    x[0] = random_() % 8 ? random_() % 4 : any();
    x[1] = random_() % 8 ? kScratch + random_() % 0x3000 : any_address() + 0xff0;
    x[2] = random_() % 16 ? random_() % 700 : any();
    switch (x[8]) {
      case kReadv:
      case kWritev:
        x[1] = kScratch + 0x800 * (random_() % 4) + (random_() % 8 ? 0 : 8);  // tables of buffers are there
        x[2] = random_() % 16 ? random_() % 6 : 1000 + random_() % 50;
        break;
      case kNewfstatat:
        x[1] = kScratch + 0x3f000;
        x[2] = kScratch + random_() % 0x3000;
        x[3] = random_() % 8 ? kAtEmptyPath : random_() % 0x2000;
        break;
      case kIoctl: x[1] = random_() % 2 ? 0x5401 : 0x5413 + random_() % 16; break;
      case kLseek: x[2] = random_() % 6; break;
      case 78:
        x[1] = kScratch + 0x3f000 + random_() % 2;
        x[2] = kScratch + random_() % 0x3000;
        x[3] = random_() % 64;
        break;
      default: break;
    }
  }
  // What changes the lane's view from outside.
  void host_call(u64 (&x)[9]) {
    static constexpr u64 kNumbers[] = {kDup,       kDup3,   kClose, kFcntl, kSetitimer, kRtSigprocmask, kTgkill,
                                       kNanosleep, kShmget, kShmat, kShmat, kShmdt,     kShmctl};
    x[8] = kNumbers[random_() % std::size(kNumbers)];
    x[0] = random_() % 4;
    x[1] = random_() % 4;
    switch (x[8]) {
      case kClose: x[0] = random_() % 8 ? 3 : x[0]; break;
      case kDup3: x[2] = 0; break;
      case kFcntl: x[1] = 3 + random_() % 2, x[2] = random_() % 2 ? 04000 : 0; break;
      case kSetitimer: x[0] = 0, x[1] = kScratch + 0x3f100, x[2] = 0; break;
      case kRtSigprocmask: x[1] = kScratch + 0x3f200, x[2] = 0, x[3] = 8; break;
      case kTgkill: x[0] = x[1] = u64(kPid), x[2] = random_() % 2 ? 10 : 14; break;
      case kNanosleep: x[0] = kScratch + 0x3f300, x[1] = 0; break;
      case kShmget: x[0] = random_() % 3, x[1] = page() + 100, x[2] = 01600; break;
      case kShmat: x[1] = random_() % 2 ? 0 : any_address(), x[2] = random_() % 16 << 12; break;
      case kShmdt: x[0] = any_address(); break;
      case kShmctl: x[1] = random_() % 4, x[2] = kScratch + 0x3f500; break;
      default: break;
    }
  }

  std::mt19937_64 random_;
};

class Pair {
 public:
  Pair(u64 limit, ClockSource clock, const std::string& exe)
      : lane_(true, limit, clock, input(), exe), process_(false, limit, clock, input(), exe) {
    const GuestIovec vectors[6] = {{kScratch + 0x4000, 100}, {kScratch + 0x5ff8, 20}, {0, 0},
                                   {kScratch + 0x810, 90},   {kScratch + 0x9000, 5},  {0x600ff0, 64}};
    for (Side* side : {&lane_, &process_}) {
      for (u64 i = 0; i < 4; ++i) put(*side, kScratch + 0x800 * i, vectors);
      put(*side, kScratch + 0x3f001, "/proc/self/exe");
      put(*side, kScratch + 0x3f100, GuestItimerval{{0, 0}, {0, 2}});
      put(*side, kScratch + 0x3f200, u64{1} << 9);  // SIGUSR1
      put(*side, kScratch + 0x3f300, GuestTimespec{0, 5000});
      // The program's file, mapped later, under a number that stays.
      const u64 open[9] = {kCwd, kScratch + 0x3f001, 0, 0, 0, 0, 0, 0, kOpenat};
      const u64 duplicate[9] = {3, kProgramFile, 0, 0, 0, 0, 0, 0, kDup3};
      EXPECT_EQ(side->call(open).kind, Outcome::Kind::kContinue);
      EXPECT_EQ(side->call(duplicate).kind, Outcome::Kind::kContinue);
      // Both signals that are sent have a handler.
      put(*side, kScratch + 0x3f400, GuestSigaction{0x401000, 0, 0, 0});
      for (const u64 signal : {u64{10}, u64{14}}) {
        const u64 set[9] = {signal, kScratch + 0x3f400, 0, 8, 0, 0, 0, 0, kRtSigaction};
        EXPECT_EQ(side->call(set).kind, Outcome::Kind::kContinue);
      }
    }
  }

  // False: the process has ended, on both sides alike.
  bool step(const u64 (&x)[9], u64 time) {
    for (Side* side : {&lane_, &process_}) side->cpu().clock_ns += time;
    const Outcome left = lane_.call(x), right = process_.call(x);
    EXPECT_EQ(left, right);
    EXPECT_EQ(std::memcmp(&lane_.cpu(), &process_.cpu(), sizeof(Cpu)), 0)
        << std::hex << lane_.cpu().x[0] << " " << process_.cpu().x[0];
    LaneProcess a = lane_.state(), b = process_.state();
    // The input position of a process that ran out of memory means nothing.
    if (left.kind == Outcome::Kind::kSignal) a.input_position = b.input_position = 0;
    EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(lane_.stream(i), process_.stream(i));
    return left.kind == Outcome::Kind::kContinue;
  }

  void compare_memory() {
    const auto left = lane_.memory().areas(), right = process_.memory().areas();
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      ASSERT_EQ(left[i].start, right[i].start);
      ASSERT_EQ(left[i].end, right[i].end);
      ASSERT_EQ(left[i].protection, right[i].protection);
      ASSERT_EQ(left[i].flags, right[i].flags);
      ASSERT_EQ(left[i].source, right[i].source);
      ASSERT_EQ(left[i].image, right[i].image);
      const u64 size = least(left[i].end - left[i].start, 64 * memory::kPageSize);
      std::vector<u8> bytes(size), others(size);
      ASSERT_TRUE(lane_.memory().peek(left[i].end - size, bytes.data(), size));
      ASSERT_TRUE(process_.memory().peek(left[i].end - size, others.data(), size));
      ASSERT_EQ(bytes, others);
    }
    ASSERT_EQ(lane_.memory().private_bytes(), process_.memory().private_bytes());
  }

  Side& lane() { return lane_; }

 private:
  static std::string input() {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += std::to_string(i) + "\n";
    return text;
  }
  template <class T>
  static void put(Side& side, u64 address, const T& value) {
    EXPECT_TRUE(side.memory().poke(address, &value, sizeof value));
  }

  Side lane_, process_;
};

void run_sequences(u64 limit, u64 first_seed, u64 seeds) {
  TemporaryFolder folder;
  std::string program;
  for (int i = 0; i < 5000; ++i) program += std::to_string(i) + " ";
  folder.write("guest", program);
  int answered = 0;
  for (u64 seed = first_seed; seed < first_seed + seeds; ++seed) {
    Pair pair(limit, ClockSource::kVirtual, folder / "guest");
    Calls calls(seed);
    std::mt19937_64 random(seed);
    for (int step = 0; step < 150; ++step) {
      u64 x[9];
      calls.next(x);
      const bool goes_on = pair.step(x, random() % 300);
      if (step % 10 == 9 || !goes_on) pair.compare_memory();
      if (::testing::Test::HasFailure()) {
        FAIL() << "seed " << seed << " step " << step << " call " << x[8] << std::hex << " " << x[0] << " " << x[1]
               << " " << x[2] << " " << x[3] << " " << x[4] << " " << x[5];
      }
      if (!goes_on) break;
    }
    answered += pair.lane().answered();
  }
  EXPECT_GT(answered, int(seeds) * 10);
}

TEST(LaneCalls, AgreeWithTheProcess) { run_sequences(u64{64} << 20, 0, 400); }

TEST(LaneCalls, AgreeWithTheProcessWhenMemoryRunsOut) { run_sequences(kSmallMemory, 1000, 150); }

TEST(LaneCalls, ExitIsTheLanes) {
  Pair pair(u64{64} << 20, ClockSource::kVirtual, "");
  EXPECT_FALSE(pair.step({0x1234, 0, 0, 0, 0, 0, 0, 0, kExitGroup}, 1));
}

TEST(LaneCalls, TheHostsClockIsTheHosts) {
  Pair pair(u64{64} << 20, ClockSource::kHost, "");
  Side& lane = pair.lane();
  const int before = lane.answered();
  EXPECT_EQ(lane.call({0, kScratch, 0, 0, 0, 0, 0, 0, kClockGettime}).kind, Outcome::Kind::kContinue);
  EXPECT_EQ(lane.answered(), before);
  EXPECT_EQ(lane.call({0, 0, 0, 0, 0, 0, 0, 0, kGetpid}).kind, Outcome::Kind::kContinue);
  EXPECT_EQ(lane.answered(), before + 1);
}

// A host that traces sees every call, and the guest sees no difference.
TEST(LaneCalls, ATracedLaneAsksForEverything) {
  Pair pair(u64{64} << 20, ClockSource::kVirtual, "");
  Side& lane = pair.lane();
  lane.process_state().lane_flags |= kLaneAsksHost;
  const int before = lane.answered();
  for (const u64 number : {kGetpid, kBrk, kUname, kClone}) {
    lane.process_state().lane_flags |= kLaneAsksHost;
    EXPECT_EQ(lane.call({0, 0, 0, 0, 0, 0, 0, 0, number}).kind, Outcome::Kind::kContinue);
  }
  EXPECT_EQ(lane.answered(), before);
}

// What a lane could not do is known when it dies.
TEST(LaneCalls, ALaneRemembersWhatIsNotSupported) {
  Pair pair(u64{64} << 20, ClockSource::kVirtual, "");
  Side& lane = pair.lane();
  const int before = lane.answered();
  EXPECT_EQ(lane.call({0, 0, 0, 0, 0, 0, 0, 0, kClone}).kind, Outcome::Kind::kContinue);
  EXPECT_EQ(lane.answered(), before + 1);
  EXPECT_EQ(lane.call({u64(kPid), u64(kPid), 6, 0, 0, 0, 0, 0, kTgkill}), (Outcome{Outcome::Kind::kSignal, 6}));
  EXPECT_EQ(lane.message(), "clone is not supported: threads and processes");
}

// The last bytes before memory that is not there are written too.
TEST(LaneCalls, WritesUpToTheEndOfMemory) {
  Pair pair(u64{64} << 20, ClockSource::kVirtual, "");
  const u64 end = kScratch + kScratchSize;
  Side& lane = pair.lane();
  EXPECT_TRUE(lane.memory().poke(end - 11, "hello world", 11));
  lane.call({1, end - 11, 20, 0, 0, 0, 0, 0, kWrite});
  EXPECT_EQ(lane.cpu().x[0], 11u);
  EXPECT_EQ(lane.stream(0), "hello world");
}

// Output that leads nowhere any more: the host hears of it.
TEST(LaneCalls, RefusedOutputGoesToTheHost) {
  Pair pair(u64{64} << 20, ClockSource::kVirtual, "");
  Side& lane = pair.lane();
  lane.output().refuses = true;
  const int before = lane.answered();
  lane.call({1, kScratch + 0x3f001, 5, 0, 0, 0, 0, 0, kWrite});
  EXPECT_EQ(lane.cpu().x[0], 5u);
  EXPECT_EQ(lane.answered(), before);
  EXPECT_EQ(lane.stream(0), "/proc");
}

}  // namespace
}  // namespace kvrm::linux_abi::test
