#include "accelerate/extract.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LowerConstantIntrinsics.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "accelerate/loop_path.h"
#include "translator/bitcode.h"
#include "translator/frame.h"
#include "translator/library.h"
#include "translator/passes/conditions.h"
#include "translator/stitcher.h"

namespace kvrm::accelerate {
namespace {

using translator::Plan;
using translator::PlanBlock;

// An iteration as a function of the state's address; it returns where control goes.
class LoopFrame final : public translator::Frame {
 public:
  u64 budget_per_instruction() const override { return 1; }
  u64 least_budget(u32) const override { return 0; }
  translator::FrameStart begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                               const Plan&) override {
    auto* type = llvm::FunctionType::get(builder.getInt64Ty(), {builder.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function_->addParamAttr(0, llvm::Attribute::NoAlias);
    builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
    return {function_, builder.getInt64(0)};
  }
  u64 links_size() const override { return 1; }
  void fill_links(llvm::IRBuilder<>&, llvm::Value*, u32) override {}
  llvm::Value* home(llvm::IRBuilder<>& builder, u64 offset) override {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), function_->getArg(0), offset);
  }
  void leave_to(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) override {
    builder.CreateStore(builder.CreateNeg(budget), home(builder, kLengthAt));
    builder.CreateRet(builder.getInt64(pc));
  }
  void leave_to_register(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value*) override { builder.CreateRet(pc); }
  void pause(llvm::IRBuilder<>& builder, u64, llvm::Value*) override {
    builder.CreateRet(builder.getInt64(kElsewhere));
  }
  void trap(llvm::IRBuilder<>& builder, u64, llvm::Value*, llvm::Value*) override {
    builder.CreateRet(builder.getInt64(kElsewhere));
  }

 private:
  static constexpr u64 kElsewhere = 1;  // no pc
  llvm::Function* function_ = nullptr;
};

// The loop's body once: every edge to its head or out of it is an exit.
std::optional<Plan> plan_of(const LoopCode& code, std::string& refusal) {
  const u64 end = code.head + code.words.size() * 4;
  for (const u32 word : code.words) {
    switch (isa::facts(isa::decode(word)).flow) {
      case isa::Flow::kCall: refusal = "a call"; return std::nullopt;
      case isa::Flow::kTrap: refusal = "a trap"; return std::nullopt;
      case isa::Flow::kIndirect:
      case isa::Flow::kReturn: refusal = "an indirect branch"; return std::nullopt;
      default: break;
    }
  }
  translator::CodeView view;
  view.word = [&](u64 pc) -> std::optional<u32> {
    if (pc < code.head || pc >= end) return std::nullopt;
    return code.words[(pc - code.head) / 4];
  };
  view.follow = [&](const translator::Transition& to) { return to.to > to.from && to.to < end; };
  Plan plan = translator::make_plan(code.head, view, {});
  if (plan.blocks.empty() || plan.words != code.words.size()) {
    refusal = "an instruction of the interpreter's, or words that no path reaches";
    return std::nullopt;
  }
  for (PlanBlock& block : plan.blocks) {
    block.is_loop_header = false;
    for (PlanBlock::Edge& edge : block.edges) {
      if (edge.target == code.head) edge.block.reset();
      const u64 last = block.address + (block.words.size() - 1) * 4;
      if (edge.target <= code.head || edge.target > last) continue;
      refusal = "a loop inside";
      return std::nullopt;
    }
  }
  return plan;
}

class BitcodeExtractor final : public Extractor {
 public:
  explicit BitcodeExtractor(std::unique_ptr<translator::Library> library) : library_(std::move(library)) {}

  std::optional<Iteration> extract(const LoopCode& code, std::string& refusal) override {
    const std::optional<Plan> plan = plan_of(code, refusal);
    if (!plan) return std::nullopt;
    LoopFrame frame;
    llvm::Function* function = translator::stitch(*library_, frame, *plan, "iteration");
    if (!function) {
      refusal = "an instruction whose state does not stay in values";
      return std::nullopt;
    }
    simplify(*function);
    std::optional<Iteration> iteration = path_to(*function, code.head, refusal);
    function->eraseFromParent();
    if (iteration && iteration->length != kNoNode) iteration->words = plan->words;
    return iteration;
  }

 private:
  static void simplify(llvm::Function& function);

  const std::unique_ptr<translator::Library> library_;
};

class CompareOperands : public llvm::PassInfoMixin<CompareOperands> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    translator::compare_operands(function);
    return llvm::PreservedAnalyses::none();
  }
};

void BitcodeExtractor::simplify(llvm::Function& function) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager groups;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(groups);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, groups, modules);
  const auto combine = [] {
    return llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false).setMaxIterations(1));
  };
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(combine());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(CompareOperands());
  passes.addPass(llvm::LowerConstantIntrinsicsPass());
  passes.addPass(combine());
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::ADCEPass());
  passes.run(function, functions);
}

}  // namespace

bool Extractor::is_there(std::string&) { return true; }

std::unique_ptr<Extractor> Extractor::create(std::string& error) {
  const std::string_view bitcode = translator::loop_rows_bitcode();
  auto library = translator::Library::create({bitcode.data(), bitcode.size()}, error);
  if (!library) return nullptr;
  return std::make_unique<BitcodeExtractor>(std::move(library));
}

}  // namespace kvrm::accelerate
