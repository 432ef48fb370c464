#include "translator/stencils/specialize.h"

#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/JumpThreading.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/SLPVectorizer.h>
#include <llvm/Transforms/Vectorize/VectorCombine.h>

#include "translator/host_idioms.h"
#include "translator/passes/conditions.h"
#include "translator/passes/numbers.h"
#include "translator/stencils/draft.h"

namespace kvrm::translator::stencils {

Passes::Passes(llvm::TargetMachine& target) : builder_(&target) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(graphs_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
}

void Passes::run(llvm::Function& function) {
  llvm::FunctionPassManager passes;
  for (int i = 0; i < 2; ++i) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::JumpThreadingPass());
    passes.addPass(llvm::SimplifyCFGPass());
  }
  passes.run(function, functions_);
  functions_.clear();
}

void Passes::vectorize(llvm::Function& function) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SLPVectorizerPass());
  passes.addPass(llvm::VectorCombinePass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.run(function, functions_);
  functions_.clear();
}

llvm::Function* Specializer::make(const Request& request, Registers& registers) {
  Draft draft(module_, target_, expressions_);
  if (!draft.row(*request.meaning)) return nullptr;
  if (request.second && !draft.second_row(*request.second)) return nullptr;
  draft.end_row(request.flow);
  Passes(target_).run(draft.function());
  store_flags_where_made(draft.function());
  draft.select_word_values();
  registers.checked = draft.lower_window_checks(request.is_unchecked);
  drop_load_masks(draft.function());
  if (request.second) {
    if (draft.may_bail()) return nullptr;
    draft.forward_flags();
    Passes(target_).run(draft.function());
    compare_operands(draft.function());
  }
  if (!draft.branch(request)) return nullptr;
  Passes(target_).run(draft.function());
  draft.vectorize();
  if (!draft.simplify_writes(request.writes, registers)) return nullptr;
  draft.describe_writes(registers);
  draft.cache_registers(request, registers);
  return draft.finish(request.name, request.opaque);
}

llvm::Function* Specializer::make_plain(const std::string& name) {
  Draft draft(module_, target_, expressions_);
  llvm::IRBuilder<>& builder = draft.builder();
  Value* entry = draft.entry_in_page(draft.pc());
  Value* number = builder.CreateLShr(builder.CreateAnd(draft.pc(), kInPage), 2);
  Value* offset = builder.CreateAdd(builder.CreateMul(number, builder.getInt64(sizeof(interpreter::Handler))),
                                    builder.getInt64(offsetof(interpreter::DecodedPage, plain)));
  Value* plain = builder.CreateGEP(builder.getInt8Ty(), draft.entries(), offset);
  draft.go_to(builder.CreateLoad(builder.getPtrTy(), plain), entry, draft.budget());
  return draft.finish(name, false);
}

llvm::Function* Specializer::make_go_on(const std::string& name) {
  Draft draft(module_, target_, expressions_);
  Value* entry = draft.entry_in_page(draft.pc());
  Value* next = draft.builder().CreateConstGEP1_64(draft.builder().getInt8Ty(), entry, kEntryBytes);
  draft.run_entry(next, draft.budget());
  return draft.finish(name, false);
}

// The register whose slot has the offset `operands`.
Value* Specializer::register_of_operands(Draft& draft) {
  llvm::IRBuilder<>& builder = draft.builder();
  constexpr u64 kOffsets = 511;
  static_assert(sizeof(Cpu::x) <= kOffsets);
  Value* offset = builder.CreateAnd(draft.operands(), kOffsets);
  Value* slot = builder.CreateGEP(builder.getInt8Ty(), draft.cpu(), offset);
  return builder.CreateLoad(builder.getInt64Ty(), slot);
}

llvm::Function* Specializer::make_load_cached(const std::string& name) {
  Draft draft(module_, target_, expressions_);
  draft.go_to(kNextName, draft.entry(), draft.budget(), register_of_operands(draft));
  Registers ignored;
  if (!draft.simplify_writes(Writes::kAny, ignored)) return nullptr;
  return draft.finish(name, false);
}

llvm::Function* Specializer::make_check(const std::string& name) {
  Draft draft(module_, target_, expressions_);
  draft.go_on_if_in_window(register_of_operands(draft));
  Registers ignored;
  if (!draft.simplify_writes(Writes::kAny, ignored)) return nullptr;
  return draft.finish(name, false);
}

}  // namespace kvrm::translator::stencils
