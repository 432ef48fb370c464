// What follows a row: the next word, or a branch.
#include <llvm/IR/PatternMatch.h>

#include "translator/likely.h"
#include "translator/stencils/draft.h"

namespace kvrm::translator::stencils {

// What follows the row; for a branch a mark that branch() replaces when the target is simplified.
void Draft::end_row(isa::Flow flow) {
  if (flow == isa::Flow::kNext) {
    go_to(kNextName, entry(), budget(), cached());
    return;
  }
  auto mark = module_.getOrInsertFunction("kvrm_mark", builder_.getVoidTy(), builder_.getInt64Ty());
  Value* target = builder_.CreateLoad(builder_.getInt64Ty(), pc_home_);
  builder_.CreateCall(mark, {builder_.CreateSub(target, pc())});
  builder_.CreateUnreachable();
}

// A branch whose target is the next word is as good as one that is not taken.
bool Draft::branch(const Request& request) {
  const std::vector<llvm::CallInst*> marks = calls_of(*function_, "kvrm_mark");
  for (llvm::CallInst* mark : marks) {
    Value* distance = mark->getArgOperand(0);
    BasicBlock* here = mark->getParent();
    here->getTerminator()->eraseFromParent();
    mark->eraseFromParent();
    builder_.SetInsertPoint(here);
    if (request.flow == isa::Flow::kConditional && !split_off_next(distance, request.form)) return false;
    if (request.form != kFar && !is_of_word(distance, leaves_)) return false;
    using namespace llvm::PatternMatch;
    Value* target = nullptr;
    if (!match(distance, m_Sub(m_Value(target), m_Specific(pc())))) target = builder_.CreateAdd(pc(), distance);
    switch (request.form) {
      case kNear: branch_near(target, distance); break;
      case kForward:
        if (!branch_forward(target, distance)) return false;
        break;
      default: branch_far(target);
    }
  }
  return request.flow == isa::Flow::kNext || !marks.empty();
}

// Goes on to the next word unless the branch is taken; then `distance` is that of the target.
bool Draft::split_off_next(Value*& distance, Form form) {
  const auto is_next = [](Value* value) {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
    return number && number->equalsInt(4);
  };
  auto* choice = llvm::dyn_cast<llvm::SelectInst>(distance);
  if (!choice) return llvm::isa<llvm::Constant>(distance) || is_of_word(distance, leaves_);  // AL and NV
  const bool taken_if = !is_next(choice->getTrueValue());
  if (!is_next(taken_if ? choice->getFalseValue() : choice->getTrueValue())) return false;
  BasicBlock* next = block("next");
  BasicBlock* taken = block("taken");
  llvm::BranchInst* const fork =
      builder_.CreateCondBr(choice->getCondition(), taken_if ? taken : next, taken_if ? next : taken);
  if (form == kFar)  // it is long, so it goes out of the way
    fork->setMetadata(llvm::LLVMContext::MD_prof,
                      taken_if ? unlikely(module_.getContext()) : likely(module_.getContext()));
  builder_.SetInsertPoint(next);
  go_to(kNextName, entry(), budget(), cached());
  builder_.SetInsertPoint(taken);
  distance = taken_if ? choice->getTrueValue() : choice->getFalseValue();
  return true;
}

// `left` is the budget without its bias.
void Draft::pause_or_run(Value* entry, Value* left) {
  const auto biased = [&] { return builder_.CreateAdd(left, builder_.CreatePtrToInt(entry, builder_.getInt64Ty())); };
  BasicBlock* pause = block("pause");
  BasicBlock* run = block("run");
  builder_.CreateCondBr(builder_.CreateICmpSLT(left, builder_.getInt64(u64(interpreter::kCheckInterval))), pause, run,
                        unlikely(module_.getContext()));
  builder_.SetInsertPoint(pause);
  go_to("kvrm_stencil_pause", entry, biased());
  builder_.SetInsertPoint(run);
  run_entry(entry, biased());
}

// The budget after a branch to a word of the same page: as far as the target is from the next word, as much changes the
// bias.
Value* Draft::biased_for(Value* distance) {
  Value* in_entries = builder_.CreateMul(distance, builder_.getInt64(kEntryBytes / 4));
  return builder_.CreateAdd(budget(), as_short(builder_.CreateSub(in_entries, builder_.getInt64(kEntryBytes))));
}

void Draft::branch_near(Value* target, Value* distance) {
  Value* entry = entry_in_page(target);
  Value* biased = biased_for(distance);
  pause_or_run(entry, builder_.CreateSub(biased, builder_.CreatePtrToInt(entry, builder_.getInt64Ty())));
}

bool Draft::branch_forward(Value* target, Value* distance) {
  const auto address = expressions_.of(target, leaves_);
  if (!address) return false;
  go_to((kWordPrefix + std::to_string(*address)).c_str(), entry(), biased_for(distance));
  return true;
}

// An address without its tag, with the tag. Both are in the same page if that has none.
Value* with_tag(Value* address) {
  using namespace llvm::PatternMatch;
  Value* tagged = nullptr;
  constexpr u64 kTagBits = 8;
  const bool is_stripped =
      match(address, m_AShr(m_Shl(m_Value(tagged), m_SpecificInt(kTagBits)), m_SpecificInt(kTagBits)));
  return is_stripped ? tagged : address;
}

// As find_entry(), inline. Pages in the table have no tags, so an address with one is not found there.
void Draft::branch_far(Value* target) {
  Value* stripped = target;
  target = with_tag(target);
  Value* first = builder_.CreatePtrToInt(this->entries(), builder_.getInt64Ty());
  Value* next = builder_.CreateAdd(offset_in_page(pc()), builder_.getInt64(kEntryBytes));
  Value* left = builder_.CreateAdd(builder_.CreateSub(budget(), first), as_short(builder_.CreateNeg(next)));
  static_assert(sizeof(Context::CachedPage) == 16 && memory::kPageShift > 4);
  Value* number = builder_.CreateAnd(builder_.CreateLShr(target, memory::kPageShift - 4),
                                     u64{Context::kCachedPages - 1} * sizeof(Context::CachedPage));
  Value* cached = at(at(context(), number), offsetof(Context, pages));
  Value* page = builder_.CreateAnd(target, ~kInPage);
  Value* address = builder_.CreateLoad(builder_.getInt64Ty(), at(cached, offsetof(Context::CachedPage, address)));
  BasicBlock* found = block("found");
  BasicBlock* search = block("search");
  builder_.CreateCondBr(builder_.CreateICmpEQ(address, page), found, search, likely(module_.getContext()));
  builder_.SetInsertPoint(search);
  builder_.CreateStore(stripped, at(cpu(), offsetof(Cpu, pc)));
  go_to("kvrm_region_go", entry(), left);
  builder_.SetInsertPoint(found);
  Value* entries = builder_.CreateLoad(builder_.getPtrTy(), at(cached, offsetof(Context::CachedPage, entries)));
  builder_.CreateStore(page, at(context(), offsetof(Context, page_address)));
  builder_.CreateStore(entries, at(context(), offsetof(Context, entries)));
  pause_or_run(at(entries, offset_in_page(target)), left);
}

}  // namespace kvrm::translator::stencils
