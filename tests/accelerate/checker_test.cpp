// The checker accepts what the prover made and nothing that was changed in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "accelerate/loops.h"
#include "words.h"

namespace kvrm::accelerate {
namespace {

using namespace test;

const std::vector<Words> kLoops = {
    {add(1, 1, 1, 0), subs_imm(1, 0, 0, 1), b_cond(kNe, -2)},
    {madd(0, 1, 1, 2, 3), subs_imm(0, 0, 0, 1), b_cond(kNe, -2)},
    {str_reg(2, 2, 0, 3), add(1, 3, 3, 4), cmp(1, 3, 1), b_cond(kLo, -3)},
    {stp_q_post(0, 0, 0, 2), subs_imm(1, 1, 1, 32), b_cond(kHi, -2)},
    {ldr_post(0, 2, 0, 1), str_post(0, 2, 1, 1), cmp(1, 0, 3), b_cond(kNe, -3)},
    {stp_q_post(0, 1, 1, 2), ldp_q_post(0, 1, 0, 2), subs_imm(1, 3, 3, 32), b_cond(kHi, -3)},
    {ldr_post(0, 2, 0, 1), ldr_post(0, 3, 1, 1), cmp(0, 2, 3), b_cond(kNe, 4), cbnz(2, -4)},
    {ldr_post(2, 2, 0, 4), ldr_post(2, 3, 1, 4), madd(1, 4, 2, 3, 4), subs_imm(1, 5, 5, 1), b_cond(kNe, -4)},
    {ldr_post(2, 2, 0, 4), cmp(0, 2, 4), csel(0, 4, 2, 4, kLt), cmp(1, 0, 1), b_cond(kNe, -4)},
    {ldr_post(3, 2, 0, 8), cmp(1, 4, 2), csel(1, 4, 2, 4, kLo), cmp(1, 0, 1), b_cond(kNe, -4)},
    {ldr_post(0, 2, 0, 1), ldr_reg(0, 2, 4, 2), str_post(0, 2, 1, 1), cmp(1, 0, 3), b_cond(kNe, -4)},
    // Several paths: a sum, a value that stays, stores; flags that stay.
    {ldr_post(2, 2, 0, 4), cmp(0, 2, 3), b_cond(kLo, 2), add(0, 4, 4, 2), cmp(1, 0, 1), b_cond(kNe, -5)},
    {ldr_post(2, 2, 0, 4), cbz(2, 3), orr(1, 5, 31, 0), str_reg(2, 6, 0, 1), subs_imm(1, 7, 7, 1), b_cond(kNe, -5)},
    {ldr_post(2, 2, 0, 4), cbz(2, 2), cmp(0, 2, 3), sub_imm(1, 7, 7, 1), cbnz(7, -4)},
    {dc_zva(0), add_imm(1, 0, 0, 64), subs_imm(1, 1, 1, 64), b_cond(kHi, -3)},
};

class Sabotage {
 public:
  Sabotage(const ProvenLoop& loop, u32 seed) : loop_(loop), random_(seed) {}

  // A proof that says something else.
  Proof changed() {
    Proof proof = loop_.proof();
    do change(proof);
    while (same(proof));
    return proof;
  }

 private:
  u16 node() { return static_cast<u16>(random_() % loop_.iteration().nodes.size()); }
  template <class T>
  T& any(std::vector<T>& all) {
    return all[random_() % all.size()];
  }
  template <class T>
  void drop(std::vector<T>& all) {
    if (!all.empty()) all.erase(all.begin() + static_cast<std::ptrdiff_t>(random_() % all.size()));
  }
  void change(Proof& proof) {
    switch (random_() % 12) {
      case 0: proof.kind = static_cast<Kind>(random_() % 6); break;
      case 1: proof.bulk = static_cast<Bulk>(random_() % 4); break;
      case 2: any(proof.shapes) = static_cast<Shape>(random_() % 4); break;
      case 3: change(proof.carried); break;
      case 4: drop(proof.no_wrap); break;
      case 5: drop(proof.tests); break;
      case 6: drop(proof.data); break;
      case 7: drop(proof.setup); break;
      case 8: drop(proof.body); break;
      case 9: change_aligned(proof.aligned); break;
      case 10: change(proof.tables); break;
      default: change(proof.tests); break;
    }
  }
  void change(std::vector<Carried>& all) {
    if (all.empty()) return;
    Carried& carried = any(all);
    switch (random_() % 9) {
      case 0: carried.carry = static_cast<Carry>(random_() % 5); break;
      case 7: carried.condition = random_() % 2 ? node() : kNoNode; break;
      case 1: carried.width = random_() % 2 ? 32 : 64; break;
      case 2: carried.input = node(); break;
      case 3: carried.output = static_cast<u16>(random_() % loop_.iteration().outputs.size()); break;
      case 4: carried.term = node(); break;
      case 5: carried.subtracts = !carried.subtracts; break;
      case 6: carried.op = static_cast<Op>(random_() % 22); break;
      default: drop(all); break;
    }
  }
  void change_aligned(std::vector<u16>& all) {
    if (random_() % 2) {
      drop(all);
    } else {
      all.push_back(node());
    }
  }
  void change(std::vector<Table>& all) {
    if (all.empty()) return;
    Table& table = any(all);
    switch (random_() % 4) {
      case 0: table.access = static_cast<u16>(random_() % (loop_.iteration().accesses.size() + 1)); break;
      case 1: table.base = node(); break;
      case 2: table.index = node(); break;
      default: table.span = static_cast<u32>(random_() % (table.span + 1)); break;
    }
  }
  void change(std::vector<Test>& all) {
    if (all.empty()) return;
    Test& test = any(all);
    switch (random_() % 4) {
      case 0: test.op = static_cast<Op>(random_() % 22); break;
      case 1: test.a = node(); break;
      case 2: test.b = node(); break;
      default: test.inverted = !test.inverted; break;
    }
  }
  // Whether only what the executor does not read was changed: the operation of what is no reduction.
  bool same(const Proof& proof) const {
    const Proof& before = loop_.proof();
    std::vector<Carried> carried = proof.carried;
    for (std::size_t i = 0; i < carried.size() && i < before.carried.size(); ++i)
      if (carried[i].carry != Carry::kReduction) carried[i].op = before.carried[i].op;
    return proof.kind == before.kind && proof.bulk == before.bulk && proof.shapes == before.shapes &&
           carried == before.carried && proof.no_wrap == before.no_wrap && proof.tests == before.tests &&
           proof.data == before.data && proof.tables == before.tables && proof.setup == before.setup &&
           proof.body == before.body &&
           std::set(proof.aligned.begin(), proof.aligned.end()) ==
               std::set(before.aligned.begin(), before.aligned.end());
  }

  const ProvenLoop& loop_;
  std::mt19937 random_;
};

std::string difference(const Proof& a, const Proof& b) {
  std::string text;
  if (a.kind != b.kind) text += " kind";
  if (a.bulk != b.bulk) text += " bulk";
  if (a.shapes != b.shapes) text += " shapes";
  if (a.carried != b.carried) text += " carried parts";
  for (std::size_t i = 0; i < std::min(a.carried.size(), b.carried.size()); ++i) {
    const Carried &x = a.carried[i], &y = b.carried[i];
    if (x == y) continue;
    for (const Carried& one : {x, y})
      text += " {" + std::to_string(int(one.carry)) + " " + std::to_string(one.width) + " " +
              std::to_string(one.input) + " " + std::to_string(one.output) + " " + std::to_string(one.term) + " " +
              std::to_string(one.subtracts) + "}";
  }
  if (a.no_wrap != b.no_wrap) text += " wraps";
  if (a.tests != b.tests) text += " tests";
  if (a.data != b.data) text += " data";
  if (a.setup != b.setup) text += " set-up";
  if (a.body != b.body) text += " body";
  if (a.aligned != b.aligned) text += " masks";
  if (a.tables != b.tables) text += " tables";
  return text;
}

TEST(Checker, AcceptsNoSabotagedProof) {
  std::string error;
  const auto loops = Loops::create(error);
  ASSERT_TRUE(loops) << error;
  for (const Words& words : kLoops) {
    const auto loop = loops->prove({0x10000, words});
    ASSERT_TRUE(loop);
    EXPECT_TRUE(check(loop->iteration(), loop->proof(), error)) << error;
    Sabotage sabotage(*loop, 1);
    for (int i = 0; i < 3000; ++i) {
      const Proof proof = sabotage.changed();
      ASSERT_FALSE(check(loop->iteration(), proof, error)) << i << difference(loop->proof(), proof);
    }
  }
}

// A proof says nothing of another loop.
TEST(Checker, AcceptsNoProofOfAnotherLoop) {
  std::string error;
  const auto loops = Loops::create(error);
  ASSERT_TRUE(loops) << error;
  for (const Words& one : kLoops) {
    for (const Words& other : kLoops) {
      if (one == other) continue;
      EXPECT_FALSE(check(loops->prove({0x10000, one})->iteration(), loops->prove({0x10000, other})->proof(), error));
    }
  }
}

}  // namespace
}  // namespace kvrm::accelerate
