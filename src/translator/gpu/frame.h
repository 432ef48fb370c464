// Regions as functions that the lanes of a warp call together on a GPU. Lanes may diverge inside and reconverge at the
// exit: nothing in a region waits for another lane.
#pragma once

#include <array>

#include "translator/frame.h"
#include "translator/gpu/inline_words.h"
#include "translator/gpu/lane_kind.h"
#include "translator/plan.h"

namespace kvrm::translator {

class GpuFrame final : public Frame {
 public:
  // Loops are unrolled in regions of up to so many words: in larger ones they are a small part of what runs, and the
  // caches are small.
  static constexpr u32 kMostToUnroll = 64;

  // `space`: the address space of a lane's record. Tests run regions on the host, which has only one. Regions of more
  // words than `most_to_inline` look up every access.
  GpuFrame(const Plan& plan, LaneKind kind, unsigned space = kShared,
           u32 most_to_inline = most_words_to_inline_lookups());

  u64 budget_per_instruction() const override { return 1; }
  u64 least_budget(u32 words) const override { return words; }
  FrameStart begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                   const Plan& plan) override;
  u64 links_size() const override;
  u32 links_count() const override { return kBases + 1; }
  u32 links_of(const PlanBlock& block, u32 index) override;
  void fill_links(llvm::IRBuilder<>& builder, llvm::Value* links, u32 number) override;
  llvm::Value* home(llvm::IRBuilder<>& builder, u64 offset) override;
  void leave_to(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) override;
  void leave_to_register(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value* budget) override;
  void pause(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) override;
  void trap(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget, llvm::Value* trap) override;

  // After the passes, which must not merge the exits.
  static void finish(llvm::Function& function);

 private:
  // The base registers of most accesses remember a page each; the others share one.
  static constexpr u32 kBases = 3;
  // In regions that remember no pages, the links of words that read the L2 TLB.
  static constexpr u32 kL2Links = 1;

  void require_default_fp_mode(llvm::IRBuilder<>& builder);
  void leave(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value* budget, llvm::Value* trap);
  llvm::Value* at(llvm::IRBuilder<>& builder, u64 offset);
  llvm::Value* load_window(llvm::IRBuilder<>& builder);

  static constexpr unsigned kShared = 3;

  const LaneKind kind_;
  const bool inlines_lookups_, forgets_;
  const unsigned space_;
  std::array<u32, kBases> bases_;
  llvm::Function* function_ = nullptr;
  llvm::Value* resident_ = nullptr;  // the lane's ResidentLane
  llvm::Value* window_ = nullptr;  // its address, or 0
};

}  // namespace kvrm::translator
