// Random loops, in a memory with page edges, pages that are missing or may not be written, and code; run with and
// without bulk steps and compared in everything.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string>

#include "backend/cpu/lane.h"
#include "words.h"

namespace kvrm::accelerate::test {

inline constexpr u64 kCodeAt = 0x10000, kOtherCode = 0x45000, kDataAt = 0x40000, kPages = 24;
inline constexpr u64 kReadOnly = 3, kMissing = 6, kUntouched = 10;  // pages of the data

// A lane on the host with a loop in its memory.
class LoopLane {
 public:
  LoopLane(const Words& words, std::shared_ptr<Loops> loops, std::shared_ptr<translator::Translator> translator)
      : space_(std::make_shared<memory::AddressSpace>(u64{1} << 30)),
        lane_(space_, {}, std::move(translator), {std::move(loops), true}) {
    space_->map(kCodeAt, 0x1000, memory::kRead | memory::kExecute);
    space_->poke(kCodeAt, words.data(), words.size() * 4);
    space_->map(kDataAt, kPages * 0x1000, memory::kRead | memory::kWrite);
    space_->protect(kOtherCode, 0x1000, memory::kRead | memory::kWrite | memory::kExecute);
    const u32 twice[] = {kBrk, kBrk};
    space_->poke(kOtherCode, twice, sizeof(twice));
    space_->protect(kDataAt + kReadOnly * 0x1000, 0x1000, memory::kRead);
    space_->unmap(kDataAt + kMissing * 0x1000, 0x1000);
  }

  Cpu& cpu() { return lane_.cpu(); }
  memory::AddressSpace& space() { return *space_; }
  interpreter::Interpreter::Outcome run(u64 budget) { return lane_.engine().run(lane_.cpu(), budget, cancel_); }
  void report() { lane_.report_loops(); }

  std::string bytes() const {
    std::string all(kPages * 0x1000, 0);
    for (u64 page = 0; page < kPages; ++page) space_->peek(kDataAt + page * 0x1000, all.data() + page * 0x1000, 0x1000);
    return all;
  }

 private:
  std::shared_ptr<memory::AddressSpace> space_;
  backend::cpu::Lane lane_;
  std::atomic<bool> cancel_ = false;
};

class LoopGenerator {
 public:
  explicit LoopGenerator(u64 seed) : random_(seed) {}

  u64 pick(u64 count) { return random_() % count; }
  bool chance(u64 in) { return pick(in) == 0; }
  template <class T, std::size_t n>
  T one_of(const T (&all)[n]) {
    return all[pick(n)];
  }

  // x0 to x3 are pointers, x4 to x9 data, x10 invariant, x11 counts, x12 is a limit, x13 an offset.
  Words words() {
    Words body;
    const u64 count = 1 + pick(5);
    for (u64 i = 0; i < count; ++i) chance(5) ? add_branch(body) : add_word(body);
    end(body);
    return body;
  }

  // A state from which the loop runs for a while, or faults, or both.
  void set(Cpu& cpu) {
    for (u32 i = 0; i < 31; ++i) cpu.x[i] = chance(2) ? random_() : pick(300);
    for (u32 i = 0; i < 4; ++i) cpu.x[i] = pointer();
    if (chance(3)) cpu.x[1] = cpu.x[0] + pick(64) - 32;
    cpu.x[11] = chance(8) ? random_() : pick(6000);
    cpu.x[12] = chance(2) ? cpu.x[0] + pick(5000) : pick(5000);
    cpu.x[13] = chance(2) ? 0 : pick(64);
    for (U128& q : cpu.q) q = {random_(), random_()};
    const u64 flags = random_();
    cpu.n = flags & 1;
    cpu.z = flags >> 1 & 1;
    cpu.c = flags >> 2 & 1;
    cpu.v = flags >> 3 & 1;
    cpu.pc = kCodeAt;
  }
  // A state in which the loop is certain to go round a few thousand times, or to fault.
  void set_warm(Cpu& cpu) {
    set(cpu);
    for (u32 i = 0; i < 4; ++i) cpu.x[i] = kDataAt + 0x8000 + pick(0x2000);
    cpu.x[11] = 5000;
    cpu.x[12] = chance(2) ? cpu.x[0] + 100000 : 100000;
  }

 private:
  u64 pointer() {
    const u64 at = kDataAt + pick(kPages) * 0x1000;
    const u64 pointed = chance(2) ? at + pick(0x1000) : at + pick(160) - 80;
    return chance(40) ? pointed | u64{0x5a} << 56 : pointed;  // with a tag
  }
  u32 data() { return static_cast<u32>(4 + pick(6)); }
  u32 source() { return chance(4) ? 10 : chance(6) ? 31 : data(); }
  u32 base() { return static_cast<u32>(pick(4)); }

  // Words that are skipped or not, and perhaps others instead.
  void add_branch(Words& body) {
    Words yes, no;
    for (u64 i = pick(2); i < 2; ++i) chance(6) ? add_branch(yes) : add_word(yes);
    if (chance(2)) add_word(no);
    if (!no.empty()) yes.push_back(b(static_cast<int>(no.size()) + 1));
    const int over = static_cast<int>(yes.size()) + 1;
    if (chance(2)) {
      body.push_back(chance(2) ? cmp(static_cast<u32>(pick(2)), data(), source()) : cmp_imm(0, data(), 0x80));
      body.push_back(b_cond(static_cast<u32>(pick(14)), over));
    } else {
      if (chance(2)) body.push_back(ldr_post(static_cast<u32>(pick(4)), 8, base(), 1));
      body.push_back((chance(2) ? cbz : cbnz)(chance(2) ? 8 : data(), over));
    }
    body.insert(body.end(), yes.begin(), yes.end());
    body.insert(body.end(), no.begin(), no.end());
  }

  void add_word(Words& body) {
    const u32 sf = static_cast<u32>(pick(2)), size = static_cast<u32>(pick(4));
    const int unit = 1 << size;
    const int strides[] = {unit, unit, unit, -unit, 0, 1, 2 * unit, 24, -17, 64, 255, -256};
    const int stride = one_of(strides);
    switch (pick(25)) {
      case 22:
      case 23: {  // the least or the greatest, or how often
        const u32 to = data(), narrow = static_cast<u32>(pick(2));
        body.push_back(ldr_post(2 + narrow, 8, base(), 4 << narrow));
        body.push_back(cmp(narrow, chance(2) ? 8 : to, chance(2) ? to : 8));
        const u32 condition = static_cast<u32>(pick(14));
        if (chance(3)) return body.push_back(csinc(narrow, to, to, to, condition));
        return body.push_back(csel(narrow, to, chance(2) ? 8 : to, chance(2) ? to : 8, condition));
      }
      case 24: {  // addresses without their low bits
        const u32 to = base(), by = 8u << pick(4);
        body.push_back(and_imm_clear(9, to, static_cast<u32>(3 + pick(4))));
        body.push_back(chance(2) ? ldr_at(3, 8, 9, 0) : str_at(3, source(), 9, 0));
        return body.push_back(add_imm(1, to, to, by));
      }
      case 20: {  // a table
        body.push_back(ldr_post(0, 8, 0, 1));
        body.push_back(ldr_reg(chance(2) ? 0 : 2, 9, 2, 8));
        if (chance(2)) body.push_back(str_post(0, 9, 1, 1));
        return;
      }
      case 21: {  // as glibc's copy loops
        body.push_back(stp_q_post(2, 3, 1, 2));
        return body.push_back(ldp_q_post(2, 3, 0, 2));
      }
      case 0:
        return body.push_back(
            one_of<u32 (*)(u32, u32, u32, u32)>({add, sub, eor, and_, orr})(sf, data(), data(), source()));
      case 1: {
        const u32 to = data();
        return body.push_back(one_of<u32 (*)(u32, u32, u32, u32)>({add, sub, eor, and_, orr})(sf, to, to, source()));
      }
      case 2: return body.push_back(madd(sf, data(), source(), source(), source()));
      case 3: {
        const u32 to = data();
        return body.push_back(madd(sf, to, to, 10, source()));
      }
      case 4: return body.push_back((chance(2) ? add_imm : sub_imm)(sf, data(), data(), static_cast<u32>(pick(40))));
      case 5: {
        const u32 to = data();
        return body.push_back((chance(2) ? add_imm : sub_imm)(sf, to, to, static_cast<u32>(pick(40))));
      }
      case 6: return body.push_back(lsr_imm(data(), data(), static_cast<u32>(1 + pick(60))));
      case 7: {
        body.push_back(cmp(sf, source(), source()));
        return body.push_back((chance(2) ? csel : csinc)(sf, data(), source(), source(), static_cast<u32>(pick(14))));
      }
      case 8:
      case 9:
      case 10: return body.push_back(ldr_post(size, data(), base(), stride));
      case 11:
      case 12:
      case 13: return body.push_back(str_post(size, source(), base(), stride));
      case 14:
        return body.push_back(chance(2) ? ldr_pre(size, data(), base(), stride)
                                        : str_pre(size, source(), base(), stride));
      case 15: {
        const u32 at = base(), other = base();
        body.push_back(ldr_at(size, 7, at, static_cast<u32>(pick(4))));
        body.push_back(str_at(size, 7, other, static_cast<u32>(pick(4))));
        body.push_back(add_imm(1, at, at, static_cast<u32>(unit)));
        if (at != other) body.push_back(add_imm(1, other, other, static_cast<u32>(unit)));
        return;
      }
      case 16:
        return body.push_back(chance(2) ? ldr_reg(size, data(), base(), 13) : str_reg(size, source(), base(), 13));
      case 17: return body.push_back(add_imm(1, 13, 13, static_cast<u32>(pick(20))));
      case 18:
        return body.push_back(chance(2) ? ldp_post(4, 5, base(), 2)
                                        : stp_post(4, source(), base(), chance(3) ? -2 : 2));
      default: return body.push_back(chance(2) ? ldp_q_post(0, 1, base(), 2) : stp_q_post(1, 0, base(), 2));
    }
  }

  void end(Words& body) {
    if (chance(12)) {  // over words that may be skipped or not
      body.push_back(cbz(data(), 2));
      body.push_back(add_imm(1, data(), data(), 1));
    }
    if (chance(5)) body.push_back(cbz(data(), 40));
    if (chance(8)) {
      body.push_back(cmp(chance(2), data(), source()));
      body.push_back(b_cond(static_cast<u32>(pick(14)), 40));
    }
    const u32 conditions[] = {kNe, kNe, kHi, kHs, kGt, kGe, kLo, kLs, kLt, kLe, kEq};
    switch (pick(6)) {
      case 0:
      case 1: body.push_back(subs_imm(chance(4) ? 0 : 1, 11, 11, chance(3) ? static_cast<u32>(pick(9)) : 1)); break;
      case 2:
      case 3: body.push_back(cmp(1, chance(2) ? 13 : base(), 12)); break;
      case 4:
        body.push_back(sub_imm(1, 11, 11, 1));
        body.push_back(cbnz(11, -static_cast<int>(body.size())));
        return;
      default: body.push_back(cbnz(data(), -static_cast<int>(body.size()))); return;
    }
    body.push_back(b_cond(one_of(conditions), -static_cast<int>(body.size())));
  }

  std::mt19937_64 random_;
};

struct Compared {
  std::string difference;  // empty: none
  bool proved = false;
  u64 iterations = 0;  // in bulk steps
  std::string kind;
};

// The fault fields mean something only after a fault; translated code may leave others in them.
inline std::string difference_of(const Cpu& a, Cpu b, bool compares_fault) {
  if (!compares_fault) {
    b.fault_access = a.fault_access;
    b.fault_address = a.fault_address;
  }
  for (u32 i = 0; i < kGeneralSlots; ++i)
    if (a.x[i] != b.x[i]) return "x" + std::to_string(i);
  if (pack_nzcv(a) != pack_nzcv(b)) return "flags";
  for (u32 i = 0; i < 32; ++i)
    if (a.q[i].lo != b.q[i].lo || a.q[i].hi != b.q[i].hi) return "v" + std::to_string(i);
  if (a.pc != b.pc) return "pc";
  if (std::memcmp(&a, &b, sizeof(Cpu)) != 0) return "the rest of the state";
  return {};
}

// The loop of this seed from a few states, with many budgets, with and without bulk steps.
inline Compared compare_loop(u64 seed, std::shared_ptr<translator::Translator> translator, std::string* listing) {
  LoopGenerator generator(seed);
  Words words = generator.words();
  if (listing)
    for (const u32 word : words) *listing += std::to_string(word) + " ";
  words.resize(words.size() + 64, kBrk);
  std::string error;
  const std::shared_ptr<Loops> loops = Loops::create(error);
  LoopLane plain(words, nullptr, translator), bulk(words, loops, translator);
  Compared result;
  const auto both = [&](auto work) {
    work(plain);
    work(bulk);
  };
  const auto run = [&](u64 budget, const char* where) {
    const auto expected = plain.run(budget), found = bulk.run(budget);
    result.difference = difference_of(plain.cpu(), bulk.cpu(), !translator || expected.trap >= Trap::kUnmapped);
    if (result.difference.empty() && (expected.trap != found.trap || expected.retired != found.retired))
      result.difference = "the trap or the count";
    if (result.difference.empty() && plain.bytes() != bulk.bytes()) result.difference = "memory";
    if (result.difference.empty() && plain.space().private_bytes() != bulk.space().private_bytes())
      result.difference = "the account";
    if (!result.difference.empty()) result.difference += std::string(" ") + where;
    return result.difference.empty() && expected.trap == Trap::kNone;
  };
  // The other page's code is decoded, and data are not all zeros.
  both([](LoopLane& lane) {
    lane.cpu().pc = kOtherCode;
    lane.run(1);
    for (u64 at = kDataAt; at < kDataAt + kUntouched * 0x1000; at += 8) {
      const u64 value = at * 0x9e3779b97f4a7c15;
      if (at >> 12 != kOtherCode >> 12) lane.space().poke(at, &value, 8);
    }
  });
  for (int i = 0; i < 3 && result.difference.empty(); ++i) {  // until it is proposed and installed
    const Cpu before = plain.cpu();
    generator.set_warm(plain.cpu());
    (void)before;
    std::memcpy(&bulk.cpu(), &plain.cpu(), sizeof(Cpu));
    run(9000, "warm");
  }
  for (int state = 0; state < 6 && result.difference.empty(); ++state) {
    generator.set(plain.cpu());
    std::memcpy(&bulk.cpu(), &plain.cpu(), sizeof(Cpu));
    const u64 budget = 2562 + generator.pick(4000);
    for (u64 i = 0; i < 6; ++i) {
      if (!run(i == 5 ? 60000 : budget + i, "in a state")) break;
    }
  }
  bulk.report();
  for (const LoopFacts& facts : loops->facts()) {
    result.proved |= facts.proven != nullptr;
    result.iterations += facts.iterations;
    result.kind = facts.proven ? to_string(facts.proven->proof().kind) : facts.refusal;
  }
  return result;
}

}  // namespace kvrm::accelerate::test
