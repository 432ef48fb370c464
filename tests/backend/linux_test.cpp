// The system-call layer gives the same results over a lane's memory through the mailbox as over local memory.
#include <gtest/gtest.h>

#include <functional>
#include <mutex>

#include "../linux/guest.h"
#include "backend/cuda/service.h"
#include "operations.h"
#include "simulated_lanes.h"

namespace kvrm::backend::test {
namespace {

using namespace linux_abi::test;  // NOLINT(google-build-using-namespace)
using cuda::Call;
using cuda::Service;
using linux_abi::Process;

kernel::Outcome outcome_of(const linux_abi::Outcome& outcome) {
  using From = linux_abi::Outcome::Kind;
  static_assert(u32(From::kContinue) == u32(kernel::OutcomeKind::kContinue) &&
                u32(From::kExit) == u32(kernel::OutcomeKind::kExit) &&
                u32(From::kSignal) == u32(kernel::OutcomeKind::kSignal) &&
                u32(From::kDeadlock) == u32(kernel::OutcomeKind::kDeadlock) &&
                u32(From::kCancelled) == u32(kernel::OutcomeKind::kCancelled));
  return {.kind = kernel::OutcomeKind(outcome.kind), .code = outcome.code};
}

// A guest whose calls go through its lane's slot; the calling thread is the lane.
class RemoteGuest {
 public:
  RemoteGuest(const kernel::Mailbox& box, u32 lane) : box_(box), lane_(lane) {
    EXPECT_TRUE(lane_.space.map(kScratch, kScratchSize, memory::kRead | memory::kWrite));
    EXPECT_TRUE(lane_.space.map(linux_abi::kStackBottom, linux_abi::kStackSize, memory::kRead | memory::kWrite));
    lane_.cpu.x[kSpSlot] = linux_abi::kStackTop - 0x1000;
    lane_.cpu.pc = 0x400000;
  }
  i64 call(u64 number, u64 a0 = 0, u64 a1 = 0, u64 a2 = 0, u64 a3 = 0, u64 a4 = 0, u64 a5 = 0) {
    const u64 args[6] = {a0, a1, a2, a3, a4, a5};
    std::copy_n(args, 6, lane_.cpu.x);
    lane_.cpu.x[8] = number;
    request(kernel::RequestKind::kSystemCall, Trap::kNone);
    return i64(lane_.cpu.x[0]);
  }
  void request(kernel::RequestKind kind, Trap trap) {
    while (!lane_.post(box_, kind, trap)) std::this_thread::yield();
    while (!lane_.step(box_)) std::this_thread::yield();
  }
  memory::AddressSpace& memory() { return lane_.space; }
  Cpu& cpu() { return lane_.cpu; }
  const kernel::Outcome& outcome() const { return lane_.outcome; }

 private:
  const kernel::Mailbox box_;
  SimulatedLane lane_;
};

// Serves lanes with a process each.
class Host {
 public:
  Host(const kernel::Mailbox& box, std::vector<Process> processes)
      : processes_(std::move(processes)),
        service_(box, [this](const Call& call, Cpu& cpu, memory::GuestMemory& memory) {
          Process& process = processes_[call.request.lane];
          if (call.request.kind == kernel::RequestKind::kFault)
            return outcome_of(process.fault(cpu, memory, call.request.trap));
          return outcome_of(process.system_call(cpu, memory));
        }) {}

 private:
  std::vector<Process> processes_;
  Service service_;
};

Process process_in(const TemporaryFolder& folder) { return std::move(*Process::create(Guest::quiet(rooted(folder)))); }

// File and memory calls; what they return, as text.
template <class Guest>
std::string use_files(Guest& guest, u64 seed) {
  std::string seen;
  Random random(seed);
  const auto note = [&](const char* what, i64 value) {
    seen += std::string(what) + ' ' + std::to_string(value) + '\n';
  };
  const auto text = [&](const char* value, u64 at) {
    EXPECT_TRUE(guest.memory().poke(kScratch + at, value, std::strlen(value) + 1));
    return kScratch + at;
  };
  std::vector<u8> bytes(100000);
  fill_randomly(random, bytes.data(), bytes.size());
  EXPECT_TRUE(guest.memory().poke(kScratch + 0x100, bytes.data(), bytes.size()));

  note("mkdir", guest.call(kMkdirat, kCwd, text("/sub", 0x30000), 0755));
  const i64 fd = guest.call(kOpenat, kCwd, text("/sub/file", 0x30000), 0102, 0644);  // O_RDWR | O_CREAT
  note("open", fd);
  note("write", guest.call(kWrite, u64(fd), kScratch + 0x100, bytes.size()));
  note("write past the end of memory", guest.call(kWrite, u64(fd), kScratch + kScratchSize - 100, 5000));
  note("write from nowhere", guest.call(kWrite, u64(fd), 0x10, 100));
  note("seek", guest.call(kLseek, u64(fd), 5, 0));
  note("read", guest.call(kRead, u64(fd), kScratch + 0x20001, 60001));
  note("read into a hole", guest.call(kRead, u64(fd), kScratch + kScratchSize - 1000, 3000));
  note("pread", guest.call(kPread64, u64(fd), kScratch + 0x33, 17, 99990));
  struct {
    u64 base, size;
  } pieces[3] = {{kScratch + 0x300, 10000}, {kScratch + 0x9001, 1}, {kScratch + 0xfffe, 4099}};
  EXPECT_TRUE(guest.memory().poke(kScratch + 0x38000, pieces, sizeof pieces));
  note("writev", guest.call(kWritev, u64(fd), kScratch + 0x38000, 3));
  note("open what is not there", guest.call(kOpenat, kCwd, text("/nothing", 0x30000), 0));
  note("open with a bad name", guest.call(kOpenat, kCwd, 0x77, 0));
  note("open with an endless name", guest.call(kOpenat, kCwd, kScratch + 0x100, 0));
  const i64 mapped = guest.call(kMmap, 0, 30000, 3, 2, u64(fd), 4096);
  note("mmap", mapped);
  note("mprotect", guest.call(kMprotect, u64(mapped), 4096, 1));
  note("mremap", guest.call(kMremap, u64(mapped) + 4096, 8192, 40960, 1));
  note("brk", guest.call(kBrk, 0));
  note("munmap", guest.call(kMunmap, u64(mapped) + 20480, 4096));
  // What was written goes, and the file comes back; on the lane's side that needs the host.
  const auto byte_at = [&](u64 address) {
    u8 byte = 0;
    EXPECT_TRUE(guest.memory().peek(address, &byte, 1));
    return i64(byte);
  };
  const i64 again = guest.call(kMmap, 0, 12288, 3, 2, u64(fd), 0);
  const i64 before = byte_at(u64(again) + 5000);
  EXPECT_TRUE(guest.memory().poke(u64(again) + 5000, "\0x", 2));
  note("madvise", guest.call(kMadvise, u64(again), 12288, 4));
  note("the file's byte", byte_at(u64(again) + 5000));
  EXPECT_EQ(byte_at(u64(again) + 5000), before);
  note("mremap moves the file", guest.call(kMremap, u64(again) + 4096, 4096, 12288, 1));
  const i64 segment = guest.call(194, 0, 9000, 0600);
  const i64 attached = guest.call(196, u64(segment), 0, 0);
  note("shmat", attached);
  EXPECT_TRUE(guest.memory().poke(u64(attached) + 8191, "kept", 4));
  note("shmdt", guest.call(197, u64(attached)));
  note("shmat again", guest.call(196, u64(segment), 0x40000000, 010000));
  note("the segment's byte", byte_at(0x40000000 + 8194));
  note("shmctl", guest.call(195, u64(segment), 0, 0));
  note("shmdt again", guest.call(197, 0x40000000));
  note("shmat of what is gone", guest.call(196, u64(segment), 0, 0));
  const i64 maps = guest.call(kOpenat, kCwd, text("/proc/self/maps", 0x30000), 0);
  note("maps", guest.call(kRead, u64(maps), kScratch + 0x31000, 4000));
  note("cwd", guest.call(kGetcwd, kScratch + 0x33000, 100));
  note("random", guest.call(kGetrandom, kScratch + 0x34000, 5000, 0));
  note("unlink", guest.call(kUnlinkat, kCwd, text("/sub/nothing", 0x30000), 0));
  note("close", guest.call(kClose, u64(fd)));
  note("exit", guest.call(kExitGroup, 7));
  note("kind", i64(guest.outcome().kind));
  note("code", guest.outcome().code);
  return seen + describe(guest.memory());
}

TEST(RemoteLinux, FilesAndMemoryWork) {
  TemporaryFolder here, there;
  Guest direct(rooted(here));
  SimulatedMailbox box(2);
  std::vector<Process> processes;
  processes.push_back(process_in(there));
  Host host(box.view(), std::move(processes));
  RemoteGuest remote(box.view(), 0);
  EXPECT_EQ(use_files(remote, 1), use_files(direct, 1));
  EXPECT_EQ(there.read("sub/file"), here.read("sub/file"));
  EXPECT_EQ(there.read("sub/file").size(), std::size_t{1} << 16);
}

TEST(RemoteLinux, ManyLanesWorkAtOnce) {
  constexpr u32 kLanes = 6;
  std::vector<TemporaryFolder> folders(kLanes);
  SimulatedMailbox box(3);
  std::vector<Process> processes;
  for (const TemporaryFolder& folder : folders) processes.push_back(process_in(folder));
  Host host(box.view(), std::move(processes));
  std::vector<std::string> seen(kLanes);
  std::vector<std::thread> lanes;
  for (u32 i = 0; i < kLanes; ++i) {
    lanes.emplace_back([&, i] {
      RemoteGuest guest(box.view(), i);
      seen[i] = use_files(guest, i);
    });
  }
  for (std::thread& lane : lanes) lane.join();
  for (u32 i = 0; i < kLanes; ++i) {
    TemporaryFolder here;
    Guest direct(rooted(here));
    EXPECT_EQ(seen[i], use_files(direct, i)) << i;
  }
}

// A lane that never answers, in the middle of a call: the call ends without a reply, and not as if the host had failed.
TEST(RemoteLinux, AbortEndsACallInProgress) {
  TemporaryFolder folder;
  Process process = process_in(folder);
  std::atomic<bool> began{false}, ended{false};
  SimulatedMailbox box(1);
  Service service(box.view(), [&](const Call&, Cpu& cpu, memory::GuestMemory& memory) {
    began.store(true);
    const auto outcome = outcome_of(process.system_call(cpu, memory));
    ended.store(true);
    return outcome;
  });
  SimulatedLane lane(0);
  lane.cpu.x[0] = kCwd;
  lane.cpu.x[1] = kScratch;
  lane.cpu.x[8] = kOpenat;
  ASSERT_TRUE(lane.post(box.view(), kernel::RequestKind::kSystemCall));
  while (!began.load()) std::this_thread::yield();
  service.abort();
  EXPECT_FALSE(ended.load());
  EXPECT_NE(*box.view().flags, u32{kernel::kReply});
}

// A fault with a handler: the frame is written to the lane's stack and the whole state comes back.
TEST(RemoteLinux, AFaultBecomesASignal) {
  const auto raise = [](auto& guest, const std::function<void()>& fault) {
    struct {
      u64 handler, flags, restorer, mask;
    } action = {0x123450, 4, 0, 0};  // SA_SIGINFO
    EXPECT_TRUE(guest.memory().poke(kScratch, &action, sizeof action));
    EXPECT_EQ(guest.call(kRtSigaction, 11, kScratch, 0, 8), 0);
    Random random(3);
    for (u32 i = 0; i < 31; ++i) guest.cpu().x[i] = random();
    for (U128& q : guest.cpu().q) q = {random(), random()};
    guest.cpu().fault_address = 0x666;
    guest.cpu().fault_access = u32(Access::kRead);
    fault();
    EXPECT_EQ(guest.cpu().pc, 0x123450u);
    EXPECT_EQ(guest.cpu().x[0], 11u);
    const Cpu handler = guest.cpu();
    guest.cpu().x[8] = kRtSigreturn;
    guest.cpu().q[5] = {};
    return handler;
  };
  Guest direct;
  SimulatedMailbox box(1);
  std::vector<Process> processes;
  processes.push_back(std::move(*Process::create(Guest::quiet({}))));
  Host host(box.view(), std::move(processes));
  RemoteGuest remote(box.view(), 0);
  const Cpu a = raise(direct, [&] { direct.process().fault(direct.cpu(), direct.memory(), Trap::kUnmapped); });
  const Cpu b = raise(remote, [&] { remote.request(kernel::RequestKind::kFault, Trap::kUnmapped); });
  EXPECT_TRUE(same_bytes(a, b));
  EXPECT_EQ(describe(direct.memory()), describe(remote.memory()));
  direct.process().system_call(direct.cpu(), direct.memory());
  remote.request(kernel::RequestKind::kSystemCall, Trap::kNone);
  EXPECT_TRUE(same_bytes(direct.cpu(), remote.cpu()));
}

}  // namespace
}  // namespace kvrm::backend::test
