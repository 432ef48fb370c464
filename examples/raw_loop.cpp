// The machine in ten lines: raw instructions, a budget, a register. Adds the numbers from 1 to 100.
#include <kvrm/machine.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <span>

int main() {
  const std::uint32_t code[] = {
      0xd2800c81,  // mov  x1, #100
      0x8b010000,  // add  x0, x0, x1
      0xf1000421,  // subs x1, x1, #1
      0x54ffffc1,  // b.ne the add
      0xd4400000,  // hlt  #0
  };
  auto machine = kvrm::Machine::create();
  if (!machine || !machine->load(std::as_bytes(std::span(code)), 0x1000)) return 1;
  machine->set_pc(0x1000);
  const kvrm::Stop stop = machine->run(1'000'000);
  std::printf("%s after %" PRIu64 " instructions, x0 = %" PRIu64 "\n", kvrm::to_string(stop.reason),
              machine->statistics().instructions, machine->x(0));
}
