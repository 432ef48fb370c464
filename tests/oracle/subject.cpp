#include "subject.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "world.h"

namespace kvrm::oracle {
namespace {

// PSTATE.SSBS has no accessor: these words, out of every case's reach, set and show it.
constexpr uint64_t kHelperBase = 0x2170000000;
constexpr uint32_t kHelpers[] = {
    0xd503403f,  // MSR SSBS, #0
    0xd503413f,  // MSR SSBS, #1
    0xd53b42c0,  // MRS X0, SSBS
};
constexpr unsigned kShowSsbs = 2;

bool is_about_ssbs(uint32_t word) { return (word & 0xfffff0ffu) == 0xd503403fu || (word & 0xffdfffe0u) == 0xd51b42c0u; }

// Case after case; the host compares memory and restores it.
class OneLane : public Subject {
 public:
  OneLane(Machine machine, const Memory& memory)
      : machine_(std::move(machine)), memory_(memory), translates_(machine_.statistics().engine == "jit") {}
  std::string prepare();
  std::vector<Ran> run(const std::vector<Group>& groups) override;
  uint64_t regions() const override { return machine_.statistics().regions; }

 private:
  void write_words(const std::vector<uint32_t>& words);
  Ran run_case(const OracleState& input);
  uint64_t run_helper(unsigned index);
  std::vector<OracleBlock> mend_memory();

  Machine machine_;
  const Memory& memory_;
  const bool translates_;
  std::size_t words_written_ = 0;
  bool touches_ssbs_ = false;
};

std::string OneLane::prepare() {
  if (std::string error = make_world(machine_, 0, memory_); !error.empty()) return error;
  const auto loaded = machine_.load(std::as_bytes(std::span(kHelpers)), kHelperBase);
  return loaded ? "" : loaded.error().message;
}

void OneLane::write_words(const std::vector<uint32_t>& words) {
  std::vector<uint32_t> code = words;
  constexpr uint32_t kFirst = (ORACLE_CODE_ENTRY - ORACLE_CODE_BASE) / 4;
  while (code.size() < words_written_) code.push_back(ORACLE_FILLER(kFirst + code.size()));
  words_written_ = words.size();
  touches_ssbs_ = std::any_of(words.begin(), words.end(), is_about_ssbs);
  static_cast<void>(machine_.write(ORACLE_CODE_ENTRY, std::as_bytes(std::span(code))));
}

std::vector<OracleBlock> OneLane::mend_memory() {
  std::vector<OracleBlock> blocks;
  for (unsigned page = 0; page < ORACLE_DATA_PAGES; ++page) {
    if (!is_plain_page(page)) continue;
    std::byte now[ORACLE_PAGE];
    const std::byte* before = &memory_[page * ORACLE_PAGE];
    const uint64_t address = ORACLE_DATA_BASE + page * ORACLE_PAGE;
    if (!machine_.read(address, now)) continue;
    if (std::memcmp(now, before, ORACLE_PAGE) == 0) continue;
    for (uint64_t at = 0; at < ORACLE_PAGE; at += 16) {
      if (std::memcmp(now + at, before + at, 16) == 0) continue;
      OracleBlock block = {page * ORACLE_PAGE + at, {}};
      std::memcpy(block.bytes, now + at, 16);
      blocks.push_back(block);
      static_cast<void>(machine_.write(address + at, std::span(before + at, 16)));
    }
  }
  return blocks;
}

uint64_t OneLane::run_helper(unsigned index) {
  machine_.set_pc(kHelperBase + 4 * index);
  static_cast<void>(machine_.run(1));
  return machine_.x(0);
}

Subject::Ran OneLane::run_case(const OracleState& input) {
  if (touches_ssbs_) run_helper(input.ssbs);
  machine_.set_registers(to_registers(input));
  Ran ran;
  // A region is not entered when the budget might end inside it. Cases end by themselves.
  constexpr uint64_t kPlenty = 4096;
  ran.stop = machine_.run(words_written_ + 1 + (translates_ ? kPlenty : 0));
  ran.retired = ran.stop.instructions;
  ran.outcome.state = from_registers(machine_.registers());
  to_signal(ran.stop, ran.outcome);
  ran.outcome.blocks = mend_memory();
  ran.outcome.state.ssbs = input.ssbs;
  if (touches_ssbs_) ran.outcome.state.ssbs = static_cast<uint32_t>(run_helper(kShowSsbs) >> 12 & 1);
  return ran;
}

std::vector<Subject::Ran> OneLane::run(const std::vector<Group>& groups) {
  std::vector<Ran> all;
  for (const Group& group : groups) {
    write_words(group.words);
    for (const Input& input : group.inputs) all.push_back(run_case(expand(input)));
  }
  return all;
}

}  // namespace

std::unique_ptr<Subject> one_lane(Machine machine, const Memory& memory, std::string& error) {
  auto subject = std::make_unique<OneLane>(std::move(machine), memory);
  error = subject->prepare();
  return error.empty() ? std::move(subject) : nullptr;
}

std::unique_ptr<Subject> Subject::create(const Options& options, const Memory& memory, std::string& error) {
  auto machine = Machine::create(options);
  if (!machine) {
    error = machine.error().message;
    return nullptr;
  }
  return options.lanes > 1 ? many_lanes(std::move(*machine), options, memory, error)
                           : one_lane(std::move(*machine), memory, error);
}

}  // namespace kvrm::oracle
