// A raw machine whose system calls are yours. The guest asks for two services of a system that exists only here:
// svc #1 prints the number in x0, svc #2 ends.
#include <kvrm/machine.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <span>

namespace {

constexpr std::uint64_t kCodeAddress = 0x10000;

const std::uint32_t kCountdown[] = {
    0xd2800060,  // mov  x0, #3
    0xd4000021,  // svc  #1
    0xf1000400,  // subs x0, x0, #1
    0x54ffffc1,  // b.ne the svc
    0xd4000041,  // svc  #2
};

bool serve(kvrm::Lane lane, std::uint32_t service) {
  if (service != 1) return false;  // stops the run
  std::printf("the guest says %" PRIu64 "\n", lane.x(0));
  return true;
}

}  // namespace

int main() {
  auto machine = kvrm::Machine::create();
  if (!machine || !machine->load(std::as_bytes(std::span(kCountdown)), kCodeAddress)) return 1;
  machine->set_pc(kCodeAddress);
  machine->on_system_call(serve);
  const kvrm::Stop stop = machine->run();
  std::printf("%s at 0x%" PRIx64 "\n", kvrm::to_string(stop.reason), stop.pc);
}
