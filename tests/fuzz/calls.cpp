// Random system calls: an input is a list of calls and what lies in memory, made by a process whose root is a
// temporary folder.
//
// Promised: nothing crashes or hangs; the same calls have the same results again; what lies beside the root is neither
// read nor changed; no host descriptor is left open.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "input.h"
#include "linux/freestanding/layout.h"
#include "linux/process.h"
#include "memory/address_space.h"
#include "surroundings.h"

namespace kvrm::fuzz {
namespace {

using linux_abi::Outcome;

constexpr u64 kScratch = 0x200000, kScratchSize = 0x8000;
constexpr u64 kMemoryLimit = u64{16} << 20;
constexpr std::size_t kMostCalls = 48;
constexpr const char* kPaths[] = {"a",         "d/e",
                                  "../canary", "/",
                                  "..",        ".",
                                  "link",      "d",
                                  "/dev/zero", "out",
                                  "loop",      "new",
                                  "/dev/null", "d/../../canary",
                                  "far",       "/proc/self/maps",
                                  "fifo",      "/proc/self/exe",
                                  "/dev/full", "/dev/urandom"};
constexpr u64 kPathStride = 64;

u64 path_address(u64 index) { return kScratch + index % std::size(kPaths) * kPathStride; }

// An argument from one byte, with more from the input where it is a raw value.
u64 argument(Input& input) {
  static constexpr u64 kEdges[] = {~u64{0},
                                   u64(i64{-100}),
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   u64{1} << 32,
                                   u64{1} << 47,
                                   u64{1} << 48,
                                   u64{1} << 60,
                                   u64{1} << 63,
                                   u64(i64{-4095}),
                                   linux_abi::kStackTop,
                                   linux_abi::kTrampoline,
                                   kScratch + kScratchSize - 1,
                                   4096,
                                   linux_abi::kMmapTop - 0x10000};
  const auto code = input.take<u8>();
  const u64 low = code & 31;
  switch (code >> 5) {
    case 0: return low;
    case 1: return path_address(low);
    case 2: return kScratch + 0x1000 + low * 8;
    case 3: return kScratch + low * 0x400;
    case 4: return kEdges[low % std::size(kEdges)];
    case 5: return u64{1} << (low * 2);
    case 6: return input.take<u16>();
    default: return input.take<u64>();
  }
}

struct Call {
  u64 number;
  std::array<u64, 6> arguments;
};

struct Case {
  std::vector<Call> calls;
  std::vector<u8> scratch;  // what lies after the paths
};

Case read_case(const u8* data, std::size_t size) {
  Input input(data, size);
  Case found;
  const std::size_t count = input.take<u8>() % kMostCalls + 1;
  for (std::size_t i = 0; i < count && !input.empty(); ++i) {
    Call call{u64{input.take<u16>()} % 512, {}};
    for (u64& value : call.arguments) value = argument(input);
    found.calls.push_back(call);
  }
  found.scratch.assign(input.rest().begin(), input.rest().end());
  return found;
}

std::vector<i64> results_of(const Case& it, const Surroundings& surroundings) {
  surroundings.make_root();
  memory::AddressSpace space(kMemoryLimit);
  linux_abi::ProcessOptions options;
  options.args = {"guest"};
  options.root = surroundings.root();
  options.stdin_fd = options.stdout_fd = options.stderr_fd = surroundings.null();
  options.log = [](std::string_view) {};
  // A wait for the host is over at once: the standard input of the guest stays empty.
  static const std::atomic<bool> cancel = true;
  options.cancel = &cancel;
  auto process = linux_abi::Process::create(std::move(options));
  KVRM_PROMISE(process.ok());
  KVRM_PROMISE(space.map(kScratch, kScratchSize, memory::kRead | memory::kWrite));
  KVRM_PROMISE(space.map(linux_abi::kStackBottom, linux_abi::kStackSize, memory::kRead | memory::kWrite));
  for (std::size_t i = 0; i < std::size(kPaths); ++i) {
    KVRM_PROMISE(space.poke(path_address(i), kPaths[i], std::strlen(kPaths[i]) + 1));
  }
  const std::size_t count = std::min<std::size_t>(it.scratch.size(), kScratchSize - 0x1000);
  if (count != 0) KVRM_PROMISE(space.poke(kScratch + 0x1000, it.scratch.data(), count));

  std::vector<i64> results;
  Cpu cpu{};
  for (const Call& call : it.calls) {
    std::copy(call.arguments.begin(), call.arguments.end(), cpu.x);
    cpu.x[8] = call.number;
    cpu.x[kSpSlot] = linux_abi::kStackTop - 0x1000;
    cpu.pc = 0x400004;
    const Outcome outcome = process->system_call(cpu, space);
    KVRM_PROMISE(outcome.kind != Outcome::Kind::kCancelled || cpu.pc == 0x400000);
    KVRM_PROMISE(cpu.x[kZeroSlot] == 0);
    results.push_back(static_cast<i64>(cpu.x[0]));
    results.push_back(static_cast<i64>(cpu.pc));
    if (outcome.kind != Outcome::Kind::kContinue) break;
  }
  return results;
}

}  // namespace
}  // namespace kvrm::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const kvrm::fuzz::Surroundings surroundings;
  const auto it = kvrm::fuzz::read_case(data, size);
  const std::size_t open = kvrm::fuzz::open_descriptors();
  const auto first = kvrm::fuzz::results_of(it, surroundings);
  surroundings.promise_untouched();
  const auto second = kvrm::fuzz::results_of(it, surroundings);
  surroundings.promise_untouched();
  KVRM_PROMISE(first == second);
  KVRM_PROMISE(kvrm::fuzz::open_descriptors() == open);
  return 0;
}
