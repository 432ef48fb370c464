// A case on every lane of a machine. On a GPU a host that reads a lane's memory is slow, so the lanes do that work
// themselves: between cases they run a few words of ours, and everything goes in and out through registers.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "subject.h"
#include "world.h"

namespace kvrm::oracle {
namespace {

// Out of every case's reach: our words, a page for their notes, and the data area as it was.
constexpr uint64_t kCodeBase = 0x2170000000;
constexpr uint64_t kNotesBase = 0x2171000000;
constexpr uint64_t kBeforeBase = 0x2172000000;

// Puts 64 words, in v0..v15, to x0. Two entries, one for each value of PSTATE.SSBS.
constexpr uint32_t kWrite[] = {
    0xd503403f,  // 00  MSR SSBS, #0
    0x14000002,  // 04  B 0c
    0xd503413f,  // 08  MSR SSBS, #1
    0xad000400,  // 0c  STP Q0, Q1, [X0]
    0xad010c02,  // 10  STP Q2, Q3, [X0, #32]
    0xad021404,  // 14  STP Q4, Q5, [X0, #64]
    0xad031c06,  // 18  STP Q6, Q7, [X0, #96]
    0xad042408,  // 1c  STP Q8, Q9, [X0, #128]
    0xad052c0a,  // 20  STP Q10, Q11, [X0, #160]
    0xad06340c,  // 24  STP Q12, Q13, [X0, #192]
    0xad073c0e,  // 28  STP Q14, Q15, [X0, #224]
    0xd4200000,  // 2c  BRK #0
};
constexpr uint64_t kWriteAt = kCodeBase, kSecondEntry = 8;

// Compares data memory at x5 (x0: its base) with what was at +x1, page by page while x15 has bits, for pages whose bit
// is set. Blocks of 16 bytes that changed are mended and noted: contents at x2, offsets at x3. In the end the notes are
// loaded: v0..v31, x16..x23; x4 is their number, x24 is 1 if there are more blocks than fit, x25 is SSBS.
constexpr uint32_t kCheck[] = {
    0xd53b42d9,  // 00  MRS X25, SSBS
    0xd2800004,  // 04  MOV X4, #0
    0xd2800018,  // 08  MOV X24, #0
    0x924001e9,  // 0c  AND X9, X15, #1            page
    0xd341fdef,  // 10  LSR X15, X15, #1
    0x914004a6,  // 14  ADD X6, X5, #4096
    0xb4000249,  // 18  CBZ X9, 60
    0xa94020a7,  // 1c  LDP X7, X8, [X5]           block
    0x8b0100a9,  // 20  ADD X9, X5, X1
    0xa9402d2a,  // 24  LDP X10, X11, [X9]
    0xeb0a00ff,  // 28  CMP X7, X10
    0xfa4b0100,  // 2c  CCMP X8, X11, #0, EQ
    0x54000120,  // 30  B.EQ 54
    0xf100809f,  // 34  CMP X4, #32
    0x540001a0,  // 38  B.EQ 6c
    0xa9002caa,  // 3c  STP X10, X11, [X5]
    0x8b04104c,  // 40  ADD X12, X2, X4, LSL #4
    0xa9002187,  // 44  STP X7, X8, [X12]
    0xcb0000ad,  // 48  SUB X13, X5, X0
    0x7824786d,  // 4c  STRH W13, [X3, X4, LSL #1]
    0x91000484,  // 50  ADD X4, X4, #1
    0x910040a5,  // 54  ADD X5, X5, #16            next block
    0xeb0600bf,  // 58  CMP X5, X6
    0x54fffe01,  // 5c  B.NE 1c
    0xaa0603e5,  // 60  MOV X5, X6                 next page
    0xb5fffd4f,  // 64  CBNZ X15, 0c
    0x14000002,  // 68  B 70
    0xd2800038,  // 6c  MOV X24, #1                full
    0xa9404470,  // 70  LDP X16, X17, [X3]
    0xa9414c72,  // 74  LDP X18, X19, [X3, #16]
    0xa9425474,  // 78  LDP X20, X21, [X3, #32]
    0xa9435c76,  // 7c  LDP X22, X23, [X3, #48]
    0xad400440,  // 80  LDP Q0, Q1, [X2]
    0xad410c42, 0xad421444, 0xad431c46, 0xad442448, 0xad452c4a, 0xad46344c, 0xad473c4e,  // ... Q14, Q15
    0xad484450, 0xad494c52, 0xad4a5454, 0xad4b5c56, 0xad4c6458, 0xad4d6c5a, 0xad4e745c,  // ... Q28, Q29
    0xad4f7c5e,  // bc  LDP Q30, Q31, [X2, #480]
    0xd4200000,  // c0  BRK #0
};
constexpr uint64_t kCheckAt = kCodeBase + sizeof kWrite;
constexpr uint64_t kOffsets = 512;  // in the notes
constexpr unsigned kNotes = 32;
// Enough for either: an engine that goes wrong here must not hang.
constexpr uint64_t kOwnBudget = 30'000;

struct Case {
  const Group* group;
  const Input* input;
};

uint64_t plain_pages() {
  uint64_t bits = 0;
  for (unsigned page = 0; page < ORACLE_DATA_PAGES; ++page) bits |= uint64_t{is_plain_page(page)} << page;
  return bits;
}

class ManyLanes : public Subject {
 public:
  // Where words are translated, every batch has a machine of its own, whose lanes have their words from the start: a
  // GPU translates code that no lane can write.
  ManyLanes(Machine machine, const Options& options, const Memory& memory)
      : machine_(std::move(machine)),
        options_(options),
        memory_(memory),
        translates_(machine_.statistics().engine == "jit") {}
  std::string prepare(std::span<const Case> cases = {});
  std::vector<Ran> run(const std::vector<Group>& groups) override;
  uint64_t regions() const override { return regions_; }
  bool renews() const { return translates_; }

 private:
  std::string renew(std::span<const Case> cases);
  void run_batch(std::span<const Case> cases, std::vector<Ran>& all);
  void write_words(std::span<const Case> cases);
  void check(std::span<Ran> rans);

  Machine machine_;
  const Options options_;
  const Memory& memory_;
  const bool translates_;
  uint64_t regions_ = 0;
};

std::string ManyLanes::renew(std::span<const Case> cases) {
  Options options = options_;
  options.lanes = static_cast<unsigned>(cases.size());
  auto machine = Machine::create(options);
  if (!machine) return machine.error().message;
  machine_ = std::move(*machine);
  return prepare(cases);
}

std::string ManyLanes::prepare(std::span<const Case> cases) {
  std::array<uint32_t, std::size(kWrite) + std::size(kCheck)> code;
  std::copy(std::begin(kWrite), std::end(kWrite), code.begin());
  std::copy(std::begin(kCheck), std::end(kCheck), code.begin() + std::size(kWrite));
  auto shared = machine_.load_code(std::as_bytes(std::span(code)), kCodeBase);
  if (shared) shared = machine_.load_code(memory_, kBeforeBase);  // only ever read
  if (!shared) return shared.error().message;
  for (unsigned lane = 0; lane < machine_.lanes(); ++lane) {
    const std::vector<uint32_t>* words = cases.empty() ? nullptr : &cases[lane].group->words;
    if (std::string error = make_world(machine_, lane, memory_, words); !error.empty()) return error;
    auto done = machine_.lane(lane).map(kNotesBase, ORACLE_PAGE, kProtectRead | kProtectWrite);
    if (!done) return done.error().message;
    machine_.lane(lane).set_pc(kCodeBase + sizeof kWrite - 4);  // a BRK, for lanes without a case
  }
  return "";
}

// Words and SSBS.
void ManyLanes::write_words(std::span<const Case> cases) {
  constexpr uint32_t kFirst = (ORACLE_CODE_ENTRY - ORACLE_CODE_BASE) / 4;
  for (unsigned lane = 0; lane < cases.size(); ++lane) {
    uint32_t words[ORACLE_MAX_WORDS];
    for (uint32_t i = 0; i < ORACLE_MAX_WORDS; ++i) words[i] = ORACLE_FILLER(kFirst + i);
    std::copy(cases[lane].group->words.begin(), cases[lane].group->words.end(), words);
    Registers registers;
    std::memcpy(registers.v, words, sizeof words);
    // Where the words are there already, they go where it does not matter: it is SSBS that is set.
    registers.x[0] = translates_ ? kNotesBase : ORACLE_CODE_ENTRY;
    registers.pc = kWriteAt + (expand(*cases[lane].input).ssbs ? kSecondEntry : 0);
    machine_.lane(lane).set_registers(registers);
  }
  machine_.run_all(kOwnBudget);
}

// What the cases did to memory, which is as before afterwards.
void ManyLanes::check(std::span<Ran> rans) {
  for (bool more = true; more;) {
    for (unsigned lane = 0; lane < rans.size(); ++lane) {
      Registers registers;
      registers.x[0] = registers.x[5] = ORACLE_DATA_BASE;
      registers.x[1] = kBeforeBase - ORACLE_DATA_BASE;
      registers.x[2] = kNotesBase;
      registers.x[3] = kNotesBase + kOffsets;
      registers.x[15] = plain_pages();
      registers.pc = kCheckAt;
      machine_.lane(lane).set_registers(registers);
    }
    const std::vector<Stop> stops = machine_.run_all(kOwnBudget);
    more = false;
    for (unsigned lane = 0; lane < rans.size(); ++lane) {
      Ran& ran = rans[lane];
      const Registers registers = machine_.lane(lane).registers();
      if (stops[lane].reason != StopReason::kBreakpoint || registers.pc != kCheckAt + sizeof kCheck - 4) {
        ran.outcome.signal = 0;  // our own words did not work: no case ends so
        ran.stop = stops[lane];
        continue;
      }
      uint16_t offsets[kNotes];
      std::memcpy(offsets, &registers.x[16], sizeof offsets);
      for (unsigned i = 0; i < registers.x[4]; ++i) {
        ran.outcome.blocks.push_back({offsets[i], {registers.v[i].lo, registers.v[i].hi}});
      }
      ran.outcome.state.ssbs = static_cast<uint32_t>(registers.x[25] >> 12 & 1);
      more = more || registers.x[24] != 0;
    }
  }
}

void ManyLanes::run_batch(std::span<const Case> cases, std::vector<Ran>& all) {
  write_words(cases);
  std::size_t longest = 0;
  for (unsigned lane = 0; lane < cases.size(); ++lane) {
    longest = std::max(longest, cases[lane].group->words.size());
    machine_.lane(lane).set_registers(to_registers(expand(*cases[lane].input)));
  }
  // A region is not entered when the budget might end inside it. Cases end by themselves.
  constexpr uint64_t kPlenty = 4096;
  std::vector<Stop> stops = machine_.run_all(longest + 1 + (translates_ ? kPlenty : 0));
  std::vector<Ran> rans(cases.size());
  for (unsigned lane = 0; lane < cases.size(); ++lane) {
    Ran& ran = rans[lane];
    ran.stop = std::move(stops[lane]);
    ran.retired = ran.stop.instructions;
    ran.outcome.state = from_registers(machine_.lane(lane).registers());
    to_signal(ran.stop, ran.outcome);
  }
  check(rans);
  std::move(rans.begin(), rans.end(), std::back_inserter(all));
}

std::vector<Subject::Ran> ManyLanes::run(const std::vector<Group>& groups) {
  std::vector<Case> cases;
  for (const Group& group : groups) {
    for (const Input& input : group.inputs) cases.push_back({&group, &input});
  }
  std::vector<Ran> all;
  for (std::size_t at = 0; at < cases.size(); at += options_.lanes) {
    const auto batch = std::span(cases).subspan(at, std::min<std::size_t>(options_.lanes, cases.size() - at));
    if (const std::string error = translates_ ? renew(batch) : ""; !error.empty()) {
      Ran failed;
      failed.stop.message = error;
      all.insert(all.end(), batch.size(), failed);
      continue;
    }
    run_batch(batch, all);
    if (translates_) regions_ += machine_.statistics().regions;
  }
  return all;
}

}  // namespace

std::unique_ptr<Subject> many_lanes(Machine machine, const Options& options, const Memory& memory, std::string& error) {
  auto subject = std::make_unique<ManyLanes>(std::move(machine), options, memory);
  if (!subject->renews()) error = subject->prepare();
  return error.empty() ? std::move(subject) : nullptr;
}

}  // namespace kvrm::oracle
