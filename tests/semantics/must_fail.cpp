// Regions with the habits that destroy specialization. The stitch test must complain about each `bad_` function and
// about none of the `good_` ones; otherwise its silence about the rows would mean nothing.
#include "region.h"

namespace kvrm::stitch {
namespace {

// Runs f on a local state the way region() does.
template <class F>
KVRM_INLINE void with_local(Cpu* io, F f) {
  Local local;
  move_state(local.cpu, *io);
  f(local.cpu);
  move_state(*io, local.cpu);
}

__attribute__((noinline)) void not_inlined(Cpu& cpu) { cpu.x[0] += cpu.x[1] * cpu.x[2]; }

}  // namespace
}  // namespace kvrm::stitch

namespace kvrm::semantics {
KVRM_COLD inline u64 cold_with_values(u64 a, u64 b) { return a * b + 1; }
KVRM_COLD inline u64 cold_with_pointer(const u64* a) { return *a * 3; }
}  // namespace kvrm::semantics

namespace kvrm::stitch {

void not_defined_here(u64 value);
void takes_a_state(const Cpu& cpu);

extern "C" void bad_index_at_run_time(Cpu* io) {
  with_local(io, [](Cpu& cpu) { cpu.x[cpu.x[0] & 15] = cpu.x[1]; });
}

extern "C" void bad_vector_index_at_run_time(Cpu* io) {
  with_local(io, [](Cpu& cpu) { cpu.x[0] = cpu.q[cpu.x[0] & 31].lo; });
}

extern "C" void bad_state_to_function(Cpu* io) {
  with_local(io, [](Cpu& cpu) { not_inlined(cpu); });
}

extern "C" void bad_whole_copy(Cpu* io) {
  with_local(io, [](Cpu& cpu) {
    const Cpu copy = cpu;
    takes_a_state(copy);
  });
}

extern "C" void bad_register_to_cold_helper(Cpu* io) {
  with_local(io, [](Cpu& cpu) { cpu.x[0] = semantics::cold_with_pointer(&cpu.x[1]); });
}

extern "C" void bad_inline_assembly(Cpu* io) {
  with_local(io, [](Cpu&) { asm volatile("" : : : "memory"); });
}

extern "C" void bad_block(Cpu* io) { __builtin_memcpy(io, io + 1, sizeof(Cpu)); }

extern "C" void bad_unlisted_call(Cpu* io) {
  with_local(io, [](Cpu& cpu) { not_defined_here(cpu.x[0]); });
}

extern "C" void bad_indirect_call(Cpu* io, void (*function)(u64)) {
  with_local(io, [function](Cpu& cpu) { function(cpu.x[0]); });
}

extern "C" void good_constant_index(Cpu* io) {
  with_local(io, [](Cpu& cpu) { cpu.x[3] = cpu.x[4] + cpu.q[5].lo; });
}

extern "C" void good_cold_helper(Cpu* io) {
  with_local(io, [](Cpu& cpu) { cpu.x[0] = semantics::cold_with_values(cpu.x[1], cpu.q[2].hi); });
}

extern "C" void good_element_at_run_time(Cpu* io) {
  with_local(io, [](Cpu& cpu) {
    const U128 value = cpu.q[1];
    cpu.x[0] = cpu.x[0] & 1 ? value.hi : value.lo;
  });
}

}  // namespace kvrm::stitch
