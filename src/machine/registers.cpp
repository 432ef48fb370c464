// Registers as the public API shows them.
#include <cassert>
#include <utility>

#include "kvrm/machine.h"
#include "machine/parts.h"
#include "machine/stops.h"

namespace kvrm {

std::uint64_t Machine::x(unsigned index, unsigned lane) const {
  assert(index < 31);
  return parts_->cpu(lane).x[index];
}
void Machine::set_x(unsigned index, std::uint64_t value, unsigned lane) {
  assert(index < 31);
  parts_->cpu(lane).x[index] = value;
}

std::uint64_t Machine::sp(unsigned lane) const { return parts_->cpu(lane).x[kSpSlot]; }
void Machine::set_sp(std::uint64_t value, unsigned lane) { parts_->cpu(lane).x[kSpSlot] = value; }

std::uint64_t Machine::pc(unsigned lane) const { return parts_->cpu(lane).pc; }
void Machine::set_pc(std::uint64_t value, unsigned lane) { parts_->cpu(lane).pc = value; }

std::uint32_t Machine::nzcv(unsigned lane) const { return pack_nzcv(parts_->cpu(lane)); }
void Machine::set_nzcv(std::uint32_t value, unsigned lane) { unpack_nzcv(parts_->cpu(lane), value); }

Vector Machine::v(unsigned index, unsigned lane) const {
  assert(index < 32);
  const U128& value = parts_->cpu(lane).q[index];
  return {value.lo, value.hi};
}
void Machine::set_v(unsigned index, Vector value, unsigned lane) {
  assert(index < 32);
  parts_->cpu(lane).q[index] = {value.lo, value.hi};
}

Registers Machine::registers(unsigned lane) const { return registers_of(parts_->cpu(lane)); }

void Machine::set_registers(const Registers& registers, unsigned lane) {
  Cpu& cpu = parts_->cpu(lane);
  for (unsigned i = 0; i < 31; ++i) cpu.x[i] = registers.x[i];
  for (unsigned i = 0; i < 32; ++i) cpu.q[i] = {registers.v[i].lo, registers.v[i].hi};
  cpu.x[kSpSlot] = registers.sp;
  cpu.pc = registers.pc;
  unpack_nzcv(cpu, registers.nzcv);
  cpu.fpcr = registers.fpcr;
  cpu.fpsr = registers.fpsr;
  cpu.tpidr_el0 = registers.tpidr_el0;
}

Result<RegisterView> Machine::view_registers(unsigned lane) {
  if (auto checked = check_process(); !checked) return checked.error();
  auto cpu = parts_->backend->shared_cpu(lane);
  if (!cpu) return Error{"registers on this device have no view without copies"};
  static_assert(sizeof(U128) == 2 * sizeof(u64));
  const std::span<u64, 31> x(static_cast<u64*>(cpu->x), 31);
  const std::span<u64, 64> v(&cpu->q[0].lo, 64);
  return RegisterView{std::move(cpu), x, v};
}

}  // namespace kvrm
