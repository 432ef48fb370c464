// Random words: an input is a state and code, run on a raw machine with a small budget.
//
// Promised: it stops, with at most as many instructions as asked for; in small steps it ends in the same state as in
// one, and so it does translated; an instruction that faults or is undefined leaves nothing behind; the zero register
// stays zero.
#include <algorithm>
#include <array>
#include <vector>

#include "input.h"
#include "kvrm/machine.h"

namespace kvrm::fuzz {
namespace {

constexpr std::uint64_t kCode = 0x10000, kData = 0x20000, kReadOnly = 0x24000, kProbe = 0x30000;
constexpr std::uint64_t kPage = 0x1000, kDataSize = 2 * kPage;
constexpr std::size_t kMostWords = 64;
const bool kHasTranslator = information().translator_problem.empty();
constexpr std::uint32_t kFpcrModes = 0x07c80000;  // AHP, DN, FZ, RMode, FZ16
constexpr std::uint32_t kFpsrFlags = 0x0800009f;

std::uint64_t spread(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

// A register from one byte: mostly addresses near an edge and small numbers, because those get furthest.
std::uint64_t general(std::uint8_t code, unsigned index) {
  const std::uint64_t low = code & 31;
  switch (code >> 5) {
    case 0: return low;
    case 1: return kData + low * 8;
    case 2: return kData + kDataSize - low;
    case 3: return (std::uint64_t{low} << 56) + kData + kPage - low;  // tagged, across two pages
    case 4: return kCode + low * 4;
    case 5: return kReadOnly + low * 128;
    case 6: return std::uint64_t{1} << (low * 2 + (index & 1));
    default: return ~low;
  }
}

// Half of the vectors hold values that floating point treats in a special way.
Vector vector(std::uint64_t seed) {
  static constexpr std::uint64_t kSpecial[] = {0,
                                               0x8000000000000000u,
                                               0x7ff0000000000000u,
                                               0xfff0000000000000u,
                                               0x7ff0000000000001u,
                                               0x7ff8000000000000u,
                                               1,
                                               0x000fffffffffffffu,
                                               0x7fefffffffffffffu,
                                               0x3ff0000000000000u,
                                               0x7f8000007f800001u,
                                               0xff8000007fc00000u,
                                               0x0000000180000001u,
                                               0x3f8000003f7fffffu,
                                               0x7f7fffff00800000u,
                                               0x7c007c017e00fc00u,
                                               0x0001800103ff7bffu,
                                               0x41e0000000000000u,
                                               0x43e0000000000000u,
                                               0xc3e0000000000000u};
  const std::uint64_t a = spread(seed), b = spread(a);
  if (a & 1) return {kSpecial[b % std::size(kSpecial)], kSpecial[(b >> 32) % std::size(kSpecial)]};
  return {a, b};
}

struct Case {
  std::uint64_t budget, step;
  bool writable_code, translate;
  Registers registers;
  std::vector<std::byte> code;
};

Case read_case(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Case found{};
  // The engine goes one by one when little is left, and in bursts otherwise: both sides of that line.
  found.budget = input.take<std::uint16_t>() % 16384 + 1;
  const auto step = input.take<std::uint8_t>();
  found.step = step < 128 ? step + 1u : 2000u + (step - 128u) * 32;
  const auto flags = input.take<std::uint8_t>();
  found.writable_code = flags & 1;
  found.translate = flags & 2;
  found.registers.nzcv = std::uint32_t{flags} >> 4 << 28;
  const auto modes = input.take<std::uint32_t>();
  found.registers.fpcr = modes & kFpcrModes;
  found.registers.fpsr = modes >> 4 & kFpsrFlags;
  const auto vectors = input.take<std::uint64_t>();
  for (unsigned i = 0; i < 31; ++i) found.registers.x[i] = general(input.take<std::uint8_t>(), i);
  for (unsigned i = 0; i < 32; ++i) found.registers.v[i] = vector(vectors + i);
  found.registers.sp = kData + kDataSize - 16 * (1 + input.take<std::uint8_t>() % 64);
  found.registers.pc = kCode;
  const auto rest = std::as_bytes(input.rest());
  const std::size_t count = std::min(rest.size(), kMostWords * 4);
  found.code.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
  found.code.resize(std::max<std::size_t>(4, (count + 3) / 4 * 4));
  return found;
}

Machine make_machine(const Case& it, Engine engine = Engine::kInterpreter) {
  Options options;
  options.memory_limit = 1 << 20;
  options.device = Device::kCpu;
  options.engine = engine;
  options.jit_threshold = 0;
  auto machine = Machine::create(options);
  KVRM_PROMISE(machine.ok());
  KVRM_PROMISE(machine->load(it.code, kCode).ok());
  if (!it.writable_code) KVRM_PROMISE(machine->protect(kCode, kPage, kProtectRead | kProtectExecute).ok());
  KVRM_PROMISE(machine->map(kData, kDataSize, kProtectRead | kProtectWrite).ok());
  KVRM_PROMISE(machine->map(kReadOnly, kPage, kProtectRead).ok());
  std::array<std::uint64_t, kDataSize / 8> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = spread(i);
  KVRM_PROMISE(machine->write(kData, std::as_bytes(std::span(words))).ok());
  machine->set_registers(it.registers);
  return std::move(*machine);
}

using Memory = std::vector<std::byte>;
Memory memory_of(const Machine& machine) {
  Memory all(kPage * 2 + kDataSize);
  const std::span<std::byte> bytes(all);
  KVRM_PROMISE(machine.read(kCode, bytes.first(kPage)).ok());
  KVRM_PROMISE(machine.read(kReadOnly, bytes.subspan(kPage, kPage)).ok());
  KVRM_PROMISE(machine.read(kData, bytes.subspan(2 * kPage)).ok());
  return all;
}

void promise_same_state(const Machine& a, const Machine& b) {
  const Registers left = a.registers(), right = b.registers();
  KVRM_PROMISE(std::equal(std::begin(left.x), std::end(left.x), std::begin(right.x)));
  KVRM_PROMISE(left.sp == right.sp && left.pc == right.pc && left.nzcv == right.nzcv);
  KVRM_PROMISE(left.fpcr == right.fpcr && left.fpsr == right.fpsr && left.tpidr_el0 == right.tpidr_el0);
  KVRM_PROMISE(std::equal(std::begin(left.v), std::end(left.v), std::begin(right.v)));
  KVRM_PROMISE(memory_of(a) == memory_of(b));
}

// A copy of the zero register, on a page of its own.
void promise_zero_register(Machine& machine) {
  static constexpr std::uint32_t kWords[] = {0xaa1f03e0, 0xd4200000};  // mov x0, xzr; brk #0
  KVRM_PROMISE(machine.load(std::as_bytes(std::span(kWords)), kProbe).ok());
  machine.set_x(0, ~std::uint64_t{0});
  machine.set_pc(kProbe);
  KVRM_PROMISE(machine.run(8).reason == StopReason::kBreakpoint);
  KVRM_PROMISE(machine.x(0) == 0);
}

void check(const Case& it) {
  Machine whole = make_machine(it);
  const Stop stop = whole.run(it.budget);
  const std::uint64_t retired = whole.statistics().instructions;
  KVRM_PROMISE(retired <= it.budget);
  KVRM_PROMISE(stop.reason != StopReason::kExit && stop.reason != StopReason::kSignal);
  KVRM_PROMISE(stop.reason != StopReason::kCancelled);
  KVRM_PROMISE(stop.reason != StopReason::kBudget || retired == it.budget);
  KVRM_PROMISE(stop.pc == whole.pc());

  Machine steps = make_machine(it);
  Stop last;
  std::uint64_t left = it.budget;
  do {
    const std::uint64_t now = std::min(left, it.step);
    last = steps.run(now);
    left -= now;
  } while (last.reason == StopReason::kBudget && left != 0);
  KVRM_PROMISE(steps.statistics().instructions == retired);
  KVRM_PROMISE(last.reason == stop.reason && last.fault == stop.fault && last.address == stop.address);
  KVRM_PROMISE(last.word == stop.word && last.fault_is_write == stop.fault_is_write);
  promise_same_state(whole, steps);

  // The translator does the same.
  if (it.translate && kHasTranslator) {
    Machine translated = make_machine(it, Engine::kJit);
    const Stop there = translated.run(it.budget);
    KVRM_PROMISE(translated.statistics().instructions == retired);
    KVRM_PROMISE(there.reason == stop.reason && there.fault == stop.fault && there.address == stop.address);
    KVRM_PROMISE(there.word == stop.word && there.fault_is_write == stop.fault_is_write);
    promise_same_state(whole, translated);
  }

  // What did not retire did not happen.
  if (stop.reason == StopReason::kFault || stop.reason == StopReason::kUndefined) {
    Machine before = make_machine(it);
    if (retired != 0) KVRM_PROMISE(before.run(retired).reason == StopReason::kBudget);
    promise_same_state(whole, before);
  }
  promise_zero_register(whole);
}

}  // namespace
}  // namespace kvrm::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return -1;
  kvrm::fuzz::check(kvrm::fuzz::read_case(data, size));
  return 0;
}
