// Lanes whose calls a real process answers where they cannot: files, traces, and what is said of a death.
#include "../linux/guest.h"
#include "machine/cuda_processes.h"
#include "scratch_program.h"
#include "simulated_device.h"

namespace kvrm::backend::test {
namespace {

using namespace kvrm::test;  // NOLINT(google-build-using-namespace)
using linux_abi::ProcessOptions;
using linux_abi::test::TemporaryFolder;

// Maps its own file, writes to the first byte, gives the page up again, and exits with what was there before and after.
const Words kForgets = {
    0x92800c60,  //     mov x0, #-100
    0x10000381,  //     adr x1, 9f
    0xd2800002,  //     mov x2, #0
    0xd2800708,  //     mov x8, #56 (openat)
    0xd4000001,  //     svc #0
    0xaa0003e4,  //     mov x4, x0
    0xd2800000,  //     mov x0, #0
    0xd2820001,  //     mov x1, #0x1000
    0xd2800062,  //     mov x2, #3
    0xd2800043,  //     mov x3, #2
    0xd2800005,  //     mov x5, #0
    0xd2801bc8,  //     mov x8, #222 (mmap)
    0xd4000001,  //     svc #0
    0xaa0003f3,  //     mov x19, x0
    0x39400274,  //     ldrb w20, [x19]
    0x52800421,  //     mov w1, #33
    0x39000261,  //     strb w1, [x19]
    0xd2801588,  //     mov x8, #172 (getpid)
    0xd4000001,  //     svc #0
    0xaa1303e0,  //     mov x0, x19
    0xd2820001,  //     mov x1, #0x1000
    0xd2800082,  //     mov x2, #4
    0xd2801d28,  //     mov x8, #233 (madvise)
    0xd4000001,  //     svc #0
    0x39400261,  //     ldrb w1, [x19]
    0x8b010000,  //     add x0, x0, x1
    0x8b140000,  //     add x0, x0, x20
    0xd2800bc8,  //     mov x8, #94 (exit_group)
    0xd4000001,  //     svc #0
    0x6f72702f,  // 9:  "/proc/self/exe"
    0x65732f63, 0x652f666c, 0x00006578,
};
const Words kThreads = {movz(8, 220), svc(0), 0};  // clone, then a word that is no instruction

// Touches x20 pages, makes at most x21 pipes of 16 pages each, touches x22 pages more, and exits with the pipes'
// number.
const Words kTakesMemory = {
    0xd2800000,  //     mov x0, #0
    0xd2a00081,  //     mov x1, #0x40000
    0xd2800062,  //     mov x2, #3
    0xd2800443,  //     mov x3, #0x22
    0x92800004,  //     mov x4, #-1
    0xd2800005,  //     mov x5, #0
    0xd2801bc8,  //     mov x8, #222 (mmap)
    0xd4000001,  //     svc #0
    0xaa0003f3,  //     mov x19, x0
    0xb40000b4,  // 1:  cbz x20, 2f
    0xf9000008,  //     str x8, [x0]
    0x91400400,  //     add x0, x0, #1, lsl #12
    0xd1000694,  //     sub x20, x20, #1
    0x17fffffc,  //     b 1b
    0xaa0003f7,  // 2:  mov x23, x0
    0xd2800018,  //     mov x24, #0
    0xb4000135,  // 3:  cbz x21, 4f
    0xaa1303e0,  //     mov x0, x19
    0xd2800001,  //     mov x1, #0
    0xd2800768,  //     mov x8, #59 (pipe2)
    0xd4000001,  //     svc #0
    0xb5000080,  //     cbnz x0, 4f
    0x91000718,  //     add x24, x24, #1
    0xd10006b5,  //     sub x21, x21, #1
    0x17fffff8,  //     b 3b
    0xb40000b6,  // 4:  cbz x22, 5f
    0xf90002e8,  //     str x8, [x23]
    0x914006f7,  //     add x23, x23, #1, lsl #12
    0xd10006d6,  //     sub x22, x22, #1
    0x17fffffc,  //     b 4b
    0xaa1803e0,  // 5:  mov x0, x24
    0xd2800bc8,  //     mov x8, #94 (exit_group)
    0xd4000001,  //     svc #0
};
Words takes_memory(u16 first, u16 pipes, u16 then) {
  Words words = {movz(20, first), movz(21, pipes), movz(22, then)};
  words.insert(words.end(), kTakesMemory.begin(), kTakesMemory.end());
  return words;
}

// Jobs of one program, each with its process.
class ProcessJobs {
 public:
  ProcessJobs(const Words& words, ProcessOptions options, u32 jobs, u32 page_limit = 1u << 20)
      : options_(std::move(options)), device_({.group_shift = 1, .groups = 2, .page_limit = page_limit}) {
    memory::AddressSpace space(u64{1} << 20);
    auto contents = scratch_program(words, space, memory::kPageSize);
    contents.process = linux_abi::Process::create(options_)->lane_process(contents.cpu);
    cuda::StartSet starts;
    device_.load(starts, std::vector<SimulatedDevice::Job>(jobs, {starts.add(contents), {}}));
    device_.run({.serve = [this, page_limit](const cuda::Call& call, Cpu& cpu, memory::GuestMemory& memory) {
      return processes_.serve(call.request.job, call, cpu, memory, [this, page_limit](u32 job) {
        ProcessOptions own = options_;
        own.account = std::make_shared<memory::Account>(page_limit * memory::kPageSize);
        if (options_.trace)
          own.trace = [this, job](std::string_view line) {
            const std::lock_guard lock(mutex_);
            traces_[job] += std::string(line) + "\n";
          };
        return own;
      });
    }});
  }
  const kernel::JobEnd& end(u32 job) const { return device_.end(job); }
  const std::string& trace(u32 job) { return traces_[job]; }
  std::string message(u32 job) { return processes_.message(job); }

 private:
  ProcessOptions options_;
  LaneProcesses processes_;
  std::mutex mutex_;
  std::map<u32, std::string> traces_;
  SimulatedDevice device_;
};

ProcessOptions options_in(const TemporaryFolder& folder) {
  folder.write("program", "K and more");
  ProcessOptions options;
  options.exe_path = folder / "program";
  options.input = std::make_shared<const std::string>();
  options.output = options.errors = [](std::span<const u8>) {};
  return options;
}

TEST(LaneProcesses, FileReturnsToALane) {
  TemporaryFolder folder;
  ProcessJobs jobs(kForgets, options_in(folder), 6);
  for (u32 i = 0; i < 6; ++i) {
    EXPECT_EQ(jobs.end(i).stop.kind, kernel::StopKind::kExit);
    EXPECT_EQ(jobs.end(i).stop.code, (2 * 'K') & 0xff);
    EXPECT_EQ(jobs.end(i).host_calls, 3u);  // openat, mmap, madvise
    EXPECT_EQ(jobs.end(i).kernel_calls, 2u);
  }
}

TEST(LaneProcesses, ATracedLaneSendsEveryCallToTheHost) {
  TemporaryFolder folder;
  ProcessOptions options = options_in(folder);
  options.trace = [](std::string_view) {};
  ProcessJobs jobs(kForgets, options, 6);
  for (u32 i = 0; i < 6; ++i) {
    EXPECT_EQ(jobs.end(i).stop.kind, kernel::StopKind::kExit);
    EXPECT_EQ(jobs.end(i).stop.code, (2 * 'K') & 0xff);
    EXPECT_EQ(jobs.end(i).kernel_calls, 0u);
    EXPECT_EQ(jobs.end(i).host_calls, 5u);
    EXPECT_EQ(jobs.trace(i),
              "openat(AT_FDCWD, \"/proc/self/exe\", O_RDONLY) = 3\n"
              "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3, 0) = 0x7fff6fe000\n"
              "getpid() = 1000\n"
              "madvise(0x7fff6fe000, 4096, MADV_DONTNEED) = 0\n"
              "exit_group(150) = ?\n"
              "+++ exited with 150 +++\n");
  }
}

// What the host keeps for a lane and the lane's own pages have one limit, also for the jobs that a lane runs later.
TEST(LaneProcesses, PagesAndPipesHaveOneLimit) {
  constexpr u32 kLimit = 40, kPipe = 16, kJobs = 9;
  TemporaryFolder folder;
  const auto run = [&](u16 first, u16 pipes, u16 then) {
    return std::make_unique<ProcessJobs>(takes_memory(first, pipes, then), options_in(folder), kJobs, kLimit);
  };
  for (const auto& [first, expected] : {std::pair(1, 2), std::pair(8, 2), std::pair(20, 1), std::pair(30, 0)}) {
    const auto jobs = run(u16(first), 9, 0);
    for (u32 i = 0; i < kJobs; ++i) {
      EXPECT_EQ(jobs->end(i).stop.kind, kernel::StopKind::kExit);
      EXPECT_EQ(jobs->end(i).stop.code, expected) << first << " pages first";
    }
  }
  const auto killed = run(1, 2, 50);
  for (u32 i = 0; i < kJobs; ++i) {
    EXPECT_EQ(killed->end(i).stop.kind, kernel::StopKind::kSignal);
    EXPECT_EQ(killed->end(i).stop.code, 9);
    EXPECT_LE(killed->end(i).private_pages + 2 * kPipe, kLimit);
    EXPECT_GE(killed->end(i).private_pages + 2 * kPipe + 2, kLimit);
  }
  const auto fits = run(30, 0, 8);
  for (u32 i = 0; i < kJobs; ++i) EXPECT_EQ(fits->end(i).stop.kind, kernel::StopKind::kExit);
}

TEST(LaneProcesses, DeathNamesTheUnsupportedCall) {
  TemporaryFolder folder;
  ProcessJobs jobs(kThreads, options_in(folder), 3);
  for (u32 i = 0; i < 3; ++i) {
    EXPECT_EQ(jobs.end(i).stop.kind, kernel::StopKind::kSignal);
    EXPECT_EQ(jobs.end(i).stop.code, 4);
    EXPECT_EQ(jobs.end(i).kernel_calls, 1u);
    EXPECT_EQ(jobs.message(i), "clone is not supported: threads and processes");
  }
}

}  // namespace
}  // namespace kvrm::backend::test
