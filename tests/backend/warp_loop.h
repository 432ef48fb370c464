// Generated loops on simulated warps with bulk steps, and on the CPU's interpreter without: no difference in anything.
#pragma once

#include <array>
#include <map>
#include <span>

#include "../accelerate/generated_loop.h"
#include "compare.h"
#ifdef KVRM_LANE_BITCODE
#include "translate_regions.h"
#endif

namespace kvrm::backend::test {

namespace loops = accelerate::test;

struct WarpCompared {
  std::string difference;  // empty: none
  bool proved = false;
  u64 iterations = 0;  // in bulk steps
  std::string kind;
};

// A raw machine with the loop as fixed code, and the data of LoopLane.
inline Machine loop_machine(const std::shared_ptr<const memory::Image>& image) {
  using namespace memory;
  constexpr u64 kPage = kPageSize, kData = loops::kDataAt;
  Machine machine;
  AddressSpace& space = *machine.space;
  EXPECT_TRUE(space.map_image(loops::kCodeAt, image->padded_size(), kRead | kExecute, image, 0));
  EXPECT_TRUE(space.map(kData, loops::kPages * kPage, kRead | kWrite));
  EXPECT_TRUE(space.protect(loops::kOtherCode, kPage, kRead | kWrite | kExecute));
  for (u64 at = kData; at < kData + loops::kUntouched * kPage; at += 8) {
    const u64 value = at * 0x9e3779b97f4a7c15;
    if (at / kPage != loops::kOtherCode / kPage) EXPECT_TRUE(space.poke(at, &value, sizeof(value)));
  }
  const u32 code[] = {loops::kBrk, loops::kBrk};
  EXPECT_TRUE(space.poke(loops::kOtherCode, code, sizeof(code)));
  EXPECT_TRUE(space.protect(kData + loops::kReadOnly * kPage, kPage, kRead));
  EXPECT_TRUE(space.unmap(kData + loops::kMissing * kPage, kPage));
  return machine;
}

// One loop, in one lane, from a few states with many budgets.
class WarpLoopComparison {
 public:
  explicit WarpLoopComparison(u64 seed)
      : random_(seed),
        generator_(seed),
        words_(generator_.words()),
        image_(image_of(padded(words_))),
        here_(loop_machine(image_)),
        engine_(*here_.space),
        device_(plan_of(seed)),
        is_eager_(seed % 8 != 7) {
    const Machine there = loop_machine(image_);
    starts_.add(there.contents());
    device_.load(starts_, {{0, {}}});
    run_.slice = below(random_, 3) == 0 ? 1 + u32(below(random_, 100)) : 8192;
    run_.kind = Lanes::kFibers;
  }
  const loops::Words& words() const { return words_; }

  WarpCompared run(accelerate::Loops& all) {
    const auto proven = all.prove({loops::kCodeAt, words_});
    if (!proven) {
      for (const accelerate::LoopFacts& facts : all.facts())
        if (facts.code.words == words_) result_.kind = facts.refusal;
      return result_;
    }
    result_.kind = to_string(proven->proof().kind);
    result_.proved = true;
    const auto codes = starts_.shared_code();
    if (below(random_, 2) == 0) install_regions(codes.front());
    if (!device_.install_loops(codes.front(), {{loops::kCodeAt, &proven->program()}}, is_eager_)) {
      result_.kind += ", not for a warp";
      return result_;
    }
    // The other page's code is decoded.
    here_.cpu.pc = loops::kOtherCode;
    (void)run_both(1);
    for (int state = 0; state < 6 && result_.difference.empty(); ++state) {
      if (state < 2) {
        generator_.set_warm(here_.cpu);
      } else {
        generator_.set(here_.cpu);
      }
      const u64 budget = 1 + generator_.pick(2 * kLongest);
      for (u64 i = 0; i < 6; ++i) {
        if (!run_both(i == 5 ? 60000 : budget + i)) break;
      }
    }
    for (const kernel::LaneLoop& loop : device_.loops()) result_.iterations += loop.iterations;
    return result_;
  }

 private:
  static constexpr u64 kLongest = 3000;

  static std::vector<u32> padded(loops::Words words) {
    words.resize(words.size() + 64, loops::kBrk);
    return words;
  }
  static SimulatedDevice::Plan plan_of(u64 seed) {
    SimulatedDevice::Plan plan;
    plan.most_window_shift = std::array{0u, 17u, 26u}[seed % 3];
    return plan;
  }
  void install_regions([[maybe_unused]] const cuda::StartSet::SharedCode& code) {
#ifdef KVRM_LANE_BITCODE
    const auto limits = [&] {
      return translator::PlanLimits{.blocks = 12, .words = 2 + u32(below(random_, 40)), .once = below(random_, 2) == 0};
    };
    const translator::LaneKind kind{.alone = true, .window_shift = device_.window_shift()};
    std::set<u64> entries{below(random_, words_.size())};
    if (below(random_, 2) == 0) entries.insert(0);
    device_.install_regions(code, translate(code, kind, entries, limits, false));
#endif
  }

  // False if that was the end: a trap, or a difference.
  bool run_both(u64 budget) {
    if (has_begun_) device_.lane(0).registers = here_.cpu;
    if (!has_begun_) {  // the first launch starts the lane, which then stands at the loop
      SimulatedDevice::Run start = run_;
      start.budget = 0;
      start.orders = {kernel::Order::kStartStopped};
      device_.run(start);
      device_.lane(0).registers = here_.cpu;
      has_begun_ = true;
    }
    run_.budget = budget;
    run_.orders = {kernel::Order::kContinue};
    run_.seed = random_();
    run_.pauses = below(random_, 4) == 0 ? u32(below(random_, 8)) : 0;
    device_.run(run_);
    const std::atomic<bool> never = false;
    const auto expected = engine_.run(here_.cpu, budget, never);
    const kernel::JobEnd& end = device_.end(0);
    const auto differs = [&](const char* what) {
      result_.difference = what;
      return false;
    };
    if (end.retired != expected.retired) return differs("the count");
    if (text_of(end.registers) != text_of(here_.cpu)) return differs("the state");
    if (end.stop.kind != (expected.trap == Trap::kNone ? kernel::StopKind::kBudget : kernel::StopKind::kTrap))
      return differs("the stop");
    if (expected.trap != Trap::kNone && end.stop.trap != expected.trap) return differs("the trap");
    if (has_fault_address(expected.trap) && end.registers.fault_address != here_.cpu.fault_address)
      return differs("the fault's address");
    if (test::describe(LaneGuestMemory(device_.lane(0).space)) != test::describe(*here_.space))
      return differs("memory");
    return expected.trap == Trap::kNone;
  }

  Random random_;
  loops::LoopGenerator generator_;
  const loops::Words words_;
  const std::shared_ptr<const memory::Image> image_;
  Machine here_;
  interpreter::Interpreter engine_;
  cuda::StartSet starts_;
  SimulatedDevice device_;
  SimulatedDevice::Run run_;
  const bool is_eager_;  // otherwise steps are left out, since the clock of simulated warps is fast
  bool has_begun_ = false;
  WarpCompared result_;
};

}  // namespace kvrm::backend::test
