#include "translator/passes/pipeline.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/JumpThreading.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LowerConstantIntrinsics.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Scalar/Sink.h>

#include "translator/host_idioms.h"
#include "translator/passes/conditions.h"
#include "translator/passes/exit_values.h"
#include "translator/passes/kept_calls.h"
#include "translator/passes/l1_lookups.h"
#include "translator/passes/l1_tlb.h"
#include "translator/passes/lazy_flags.h"
#include "translator/passes/number_compares.h"
#include "translator/passes/numbers.h"
#include "translator/passes/page_groups.h"
#include "translator/passes/segments.h"
#include "translator/passes/window_accesses.h"
#include "translator/stitcher.h"

namespace kvrm::translator {
namespace {

// One of our functions as a pass.
template <auto kWork>
class Pass : public llvm::PassInfoMixin<Pass<kWork>> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    kWork(function);
    return llvm::PreservedAnalyses::none();
  }
};

// The lane's state is the argument that nothing else aliases, on every target.
void flags_at_exits(llvm::Function& function) {
  for (llvm::Argument& argument : function.args()) {
    if (argument.hasNoAliasAttr()) return make_flags_at_exits(function, argument);
  }
}

}  // namespace

// Few passes: the user waits for the compiler.
void optimize(llvm::Function& function, llvm::TargetMachine& target, bool private_memory) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager groups;
  llvm::ModuleAnalysisManager modules;
  // Lanes mostly take the same branches, so divergence is ignored.
  const bool is_gpu = target.getTargetTriple().isNVPTX();
  const bool uses_window = accesses_window(function);
  llvm::PassBuilder builder(is_gpu ? nullptr : &target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(groups);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, groups, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));  // the state into values
  passes.addPass(Pass<drop_unchanged>());
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  if (!is_gpu) passes.addPass(Pass<add_flags_where_made>());
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false).setMaxIterations(1)));
  passes.addPass(llvm::SimplifyCFGPass());
  if (uses_window) passes.addPass(Pass<drop_load_masks>());
  passes.addPass(Pass<compare_operands>());
  if (is_gpu) passes.addPass(llvm::JumpThreadingPass());  // a TLB hit tests once
  passes.addPass(Pass<flags_at_exits>());
  if (uses_window) passes.addPass(Pass<check_window_bases>());
  passes.addPass(llvm::EarlyCSEPass(true));
  if (uses_window) {
    passes.addPass(Pass<lower_window_checks>());
    passes.addPass(llvm::SimplifyCFGPass());  // checks that merged are gone
    passes.addPass(Pass<share_landings>());
  }
  passes.addPass(llvm::SinkingPass());  // moves what only one exit needs into it
  passes.addPass(Pass<compute_in_exits>());  // and what several exits need into each
  passes.addPass(Pass<share_l1_lookups>());
  passes.addPass(Pass<make_segments>());  // accesses without a branch each
  passes.addPass(Pass<inline_l1_lookups>());
  if (!is_gpu) passes.addPass(Pass<decide_where_compared>());
  passes.addPass(llvm::LowerConstantIntrinsicsPass());
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false).setMaxIterations(1)));
  passes.addPass(llvm::SimplifyCFGPass());
  if (private_memory) passes.addPass(Pass<share_lookups>());
  if (!is_gpu) passes.addPass(Pass<keep_numbers_in_vector_registers>());
  if (uses_window) passes.addPass(Pass<access_in_vector_registers>());
  passes.addPass(llvm::ADCEPass());
  passes.addPass(Pass<compute_addresses_where_used>());
  if (!is_gpu) {
    passes.addPass(Pass<store_signs_as_bits>());
    passes.addPass(Pass<convert_numbers_where_used>());
    if (target.getTargetTriple().isX86()) passes.addPass(Pass<keep_registers_at_calls>());
  }
  passes.run(function, functions);
}

}  // namespace kvrm::translator
