// One lane of a machine: its registers and its memory.
#include <array>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

#include "kvrm/machine.h"
#include "machine/parts.h"
#include "machine/stops.h"
#include "memory/image.h"

namespace kvrm {
namespace {

using memory::kPageSize;

Error bad_range(const char* what, std::uint64_t address, std::uint64_t size) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%s: no %llu bytes at 0x%llx", what, static_cast<unsigned long long>(size),
                static_cast<unsigned long long>(address));
  return Error{text.data()};
}

// The whole pages that a range touches; no value if it leaves the address space or is empty.
struct PageRange {
  std::uint64_t start, size;
};
std::optional<PageRange> pages_of(std::uint64_t address, std::uint64_t size) {
  constexpr auto page_down = [](std::uint64_t at) { return at & ~(kPageSize - 1); };
  if (size == 0 || address >= memory::kAddressLimit || size > memory::kAddressLimit - address) return std::nullopt;
  const std::uint64_t start = page_down(address);
  return PageRange{start, page_down(address + size + kPageSize - 1) - start};
}

unsigned checked(char file, unsigned index, unsigned count) {
  if (index < count) return index;
  throw std::out_of_range(std::string("there is no register ") + file + std::to_string(index) + "; the last one is " +
                          file + std::to_string(count - 1));
}

}  // namespace

Lane Machine::lane(unsigned index) {
  if (index < lanes()) return {*this, index};
  throw std::out_of_range("there is no lane " + std::to_string(index) + "; the machine has " + std::to_string(lanes()));
}

// --- registers ---------------------------------------------------------------------------------------------------

std::uint64_t Lane::x(unsigned index) const { return machine_->parts_->cpu(index_).x[checked('x', index, 31)]; }
void Lane::set_x(unsigned index, std::uint64_t value) {
  machine_->parts_->cpu(index_).x[checked('x', index, 31)] = value;
}

std::uint64_t Lane::sp() const { return machine_->parts_->cpu(index_).x[kSpSlot]; }
void Lane::set_sp(std::uint64_t value) { machine_->parts_->cpu(index_).x[kSpSlot] = value; }

std::uint64_t Lane::pc() const { return machine_->parts_->cpu(index_).pc; }
void Lane::set_pc(std::uint64_t value) { machine_->parts_->cpu(index_).pc = value; }

std::uint32_t Lane::nzcv() const { return pack_nzcv(machine_->parts_->cpu(index_)); }
void Lane::set_nzcv(std::uint32_t value) { unpack_nzcv(machine_->parts_->cpu(index_), value); }

Vector Lane::v(unsigned index) const {
  const U128& value = machine_->parts_->cpu(index_).q[checked('v', index, 32)];
  return {value.lo, value.hi};
}
void Lane::set_v(unsigned index, Vector value) {
  machine_->parts_->cpu(index_).q[checked('v', index, 32)] = {value.lo, value.hi};
}

Registers Lane::registers() const { return registers_of(machine_->parts_->cpu(index_)); }

void Lane::set_registers(const Registers& registers) {
  Cpu& cpu = machine_->parts_->cpu(index_);
  for (unsigned i = 0; i < 31; ++i) cpu.x[i] = registers.x[i];
  for (unsigned i = 0; i < 32; ++i) cpu.q[i] = {registers.v[i].lo, registers.v[i].hi};
  cpu.x[kSpSlot] = registers.sp;
  cpu.pc = registers.pc;
  unpack_nzcv(cpu, registers.nzcv);
  cpu.fpcr = registers.fpcr;
  cpu.fpsr = registers.fpsr;
  cpu.tpidr_el0 = registers.tpidr_el0;
}

Result<RegisterView> Lane::view_registers() {
  if (auto checked = machine_->check_process(); !checked) return checked.error();
  auto cpu = machine_->parts_->backend->shared_cpu(index_);
  if (!cpu) return Error{"registers on this device have no view without copies"};
  static_assert(sizeof(U128) == 2 * sizeof(u64));
  const std::span<u64, 31> x(static_cast<u64*>(cpu->x), 31);
  const std::span<u64, 64> v(&cpu->q[0].lo, 64);
  return RegisterView{std::move(cpu), x, v};
}

// --- memory ------------------------------------------------------------------------------------------------------

Result<void> Lane::load(std::span<const std::byte> bytes, std::uint64_t address) {
  Machine::Parts& parts = *machine_->parts_;
  if (auto checked = machine_->check_process(); !checked) return checked;
  if (bytes.empty()) return {};
  const auto range = pages_of(address, bytes.size());
  if (!range) return bad_range("load", address, bytes.size());
  memory::GuestMemory& space = parts.memory(index_);
  for (std::uint64_t page = range->start; page < range->start + range->size; page += kPageSize) {
    if (!space.is_free(page, kPageSize)) continue;
    if (auto may = parts.may_map(); !may) return may;
    space.map(page, kPageSize, memory::kRead | memory::kWrite | memory::kExecute);
  }
  return write(address, bytes);
}

Result<void> Machine::load_code(std::span<const std::byte> bytes, std::uint64_t address) {
  if (auto may = parts_->may_map(); !may) return may;
  if (bytes.empty()) return {};
  const auto range = pages_of(address, bytes.size());
  if (!range || range->start != address) return bad_range("load code", address, bytes.size());
  const auto image =
      std::make_shared<const memory::Image>(std::span(reinterpret_cast<const u8*>(bytes.data()), bytes.size()));
  const unsigned spaces = parts_->shared_memory ? 1 : lanes();
  for (unsigned lane = 0; lane < spaces; ++lane) {
    if (!parts_->memory(lane).map_image(address, range->size, memory::kRead | memory::kExecute, image, 0))
      return bad_range("load code", address, bytes.size());
  }
  return {};
}

Result<void> Lane::map(std::uint64_t address, std::uint64_t size, std::uint32_t protection) {
  if (auto may = machine_->parts_->may_map(); !may) return may;
  const auto range = pages_of(address, size);
  if (!range || !machine_->parts_->memory(index_).map(range->start, range->size, protection))
    return bad_range("map", address, size);
  return {};
}

Result<void> Lane::protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection) {
  if (auto may = machine_->parts_->may_map(); !may) return may;
  const auto range = pages_of(address, size);
  if (!range || !machine_->parts_->memory(index_).protect(range->start, range->size, protection))
    return bad_range("protect", address, size);
  return {};
}

Result<void> Lane::unmap(std::uint64_t address, std::uint64_t size) {
  if (auto may = machine_->parts_->may_map(); !may) return may;
  const auto range = pages_of(address, size);
  if (!range || !machine_->parts_->memory(index_).unmap(range->start, range->size))
    return bad_range("unmap", address, size);
  return {};
}

Result<SharedMemory> Lane::map_shared(std::uint64_t address, std::uint64_t size, std::uint32_t protection) try {
  Machine::Parts& parts = *machine_->parts_;
  if (auto may = parts.may_map(); !may) return may.error();
  if (!parts.backend->shared_cpu(index_)) return Error{"map_shared: lanes on this device do not use the host's memory"};
  if (protection & kProtectExecute) return Error{"map_shared: code may not be shared; map it and write it"};
  const auto range = pages_of(address, size);
  if (!range || range->start != address) return bad_range("map_shared", address, size);
  auto image = std::make_shared<memory::Image>(range->size);
  const std::span bytes(reinterpret_cast<std::byte*>(image->data()), range->size);
  if (!parts.memory(index_).map_image(address, range->size, protection, image, 0))
    return bad_range("map_shared", address, size);
  return SharedMemory{std::move(image), bytes};
} catch (const std::bad_alloc&) {
  return Error{"map_shared: the host has no memory left"};
}

Result<void> Lane::read(std::uint64_t address, std::span<std::byte> to) const {
  if (auto checked = machine_->check_process(); !checked) return checked;
  if (!machine_->parts_->memory(index_).peek(address, to.data(), to.size()))
    return bad_range("read", address, to.size());
  return {};
}

Result<void> Lane::write(std::uint64_t address, std::span<const std::byte> from) {
  if (auto checked = machine_->check_process(); !checked) return checked;
  if (!machine_->parts_->memory(index_).poke(address, from.data(), from.size()))
    return bad_range("write", address, from.size());
  return {};
}

Result<DispatchStatistics> Lane::dispatch_statistics() const {
  if (auto checked = machine_->check_process(); !checked) return checked.error();
  auto found = machine_->parts_->backend->dispatched(index_);
  if (!found) return Error{"lanes of a GPU share their decoded code: there are no dispatch statistics of one lane"};
  return *found;
}

}  // namespace kvrm
