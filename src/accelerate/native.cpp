#include "accelerate/native.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <optional>
#include <vector>

namespace kvrm::accelerate {
namespace {

using llvm::Value;

// What an affine node changes by, if that is a constant.
std::optional<u64> constant_step(const LoopProgram& loop, u16 number) {
  const Node& node = loop.nodes[number];
  if (loop.shapes[number] == Shape::kInvariant) return 0;
  if (node.op == Op::kInput) {
    for (const Carried& carried : loop.carried) {
      if (carried.input != number || carried.carry != Carry::kAffine) continue;
      const Node& term = loop.nodes[carried.term];
      if (term.op != Op::kConstant) return std::nullopt;
      const u64 step = carried.subtracts ? 0 - term.value : term.value;
      return static_cast<u64>(sign_extended(step & mask_of(carried.width), carried.width));
    }
    return std::nullopt;
  }
  const std::optional<u64> a = constant_step(loop, node.a);
  if (!a) return std::nullopt;
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub: {
      const std::optional<u64> b = constant_step(loop, node.b);
      if (!b) return std::nullopt;
      return (node.op == Op::kAdd ? *a + *b : *a - *b) & mask_of(node.width);
    }
    case Op::kShiftLeft: return evaluate(node.op, node.width, node.width, *a, loop.nodes[node.b].value, 0);
    case Op::kZeroExtend:
    case Op::kSignExtend: return static_cast<u64>(sign_extended(*a, loop.nodes[node.a].width)) & mask_of(node.width);
    case Op::kTruncate:
    case Op::kAnd: return *a & mask_of(node.width);
    default: return std::nullopt;
  }
}

// The IR of one loop: for (i = 0; i < count; ++i), with the body's nodes in order.
class Body {
 public:
  Body(llvm::Module& module, const LoopProgram& loop) : module_(module), loop_(loop), build_(module.getContext()) {}
  void make(const std::string& name);

 private:
  llvm::IntegerType* bits(u32 width) { return build_.getIntNTy(width); }
  Value* from_list(u32 list, u64 index) {
    Value* at = build_.CreateConstInBoundsGEP1_64(build_.getInt64Ty(), function_->getArg(list), index);
    return build_.CreateAlignedLoad(build_.getInt64Ty(), at, llvm::Align(8));
  }
  void read_steady();
  Value* value(u16 node);
  Value* computed(const Node& node);
  Value* compared(const Node& node);
  Value* shifted(const Node& node);
  llvm::Instruction* marked(llvm::Instruction* access) {
    access->setMetadata(llvm::LLVMContext::MD_access_group, group_);
    return access;
  }
  Value* address(u32 access);
  void store(u32 access);
  void begin_folds();
  void fold_all();
  Value* folded(const Carried& carried, Value* before);
  void end(llvm::BasicBlock* after);

  struct Fold {
    u32 slot;
    u32 width;
    const Carried* carried;  // null: the sum of lengths
    llvm::PHINode* before;
  };

  llvm::Module& module_;
  const LoopProgram& loop_;
  llvm::IRBuilder<> build_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *head_ = nullptr;
  llvm::PHINode* i_ = nullptr;
  llvm::MDNode* group_ = nullptr;
  std::map<u16, Value*> steady_, steps_, values_;
  std::vector<Value*> at_;
  std::vector<Fold> folds_;
};

// What each iteration sees of invariant and affine nodes; steps that are constants are known to the vectorizer.
void Body::read_steady() {
  for (const u16 number : loop_.setup) {
    const Node& node = loop_.nodes[number];
    if (node.op == Op::kConstant) {
      steady_[number] = llvm::ConstantInt::get(bits(node.width), node.value);
      continue;
    }
    steady_[number] = build_.CreateTrunc(from_list(1, number), bits(node.width));
    if (loop_.shapes[number] == Shape::kAffine) {
      const std::optional<u64> step = constant_step(loop_, number);
      Value* whole = step ? static_cast<Value*>(build_.getInt64(*step)) : from_list(2, number);
      steps_[number] = build_.CreateTrunc(whole, bits(node.width));
    }
  }
  for (u32 i = 0; i < loop_.accesses.count; ++i) {
    Value* slot = build_.CreateConstInBoundsGEP1_64(build_.getPtrTy(), function_->getArg(0), i);
    at_.push_back(build_.CreateAlignedLoad(build_.getPtrTy(), slot, llvm::Align(8)));
  }
}

Value* Body::value(u16 number) {
  if (const auto known = values_.find(number); known != values_.end()) return known->second;
  const Node& node = loop_.nodes[number];
  Value* made = nullptr;
  if (loop_.shapes[number] == Shape::kInvariant) {
    made = steady_.at(number);
  } else if (loop_.shapes[number] == Shape::kAffine) {
    Value* index = build_.CreateZExtOrTrunc(i_, bits(node.width));
    made = build_.CreateAdd(steady_.at(number), build_.CreateMul(index, steps_.at(number)));
  } else {
    made = computed(node);
  }
  return values_[number] = made;
}

Value* Body::compared(const Node& node) {
  Value *a = value(node.a), *b = value(node.b);
  switch (node.op) {
    case Op::kEqual: return build_.CreateICmpEQ(a, b);
    case Op::kNotEqual: return build_.CreateICmpNE(a, b);
    case Op::kLess: return build_.CreateICmpULT(a, b);
    case Op::kLessEqual: return build_.CreateICmpULE(a, b);
    case Op::kLessSigned: return build_.CreateICmpSLT(a, b);
    default: return build_.CreateICmpSLE(a, b);
  }
}

// Counts that are too large are no poison here.
Value* Body::shifted(const Node& node) {
  Value *a = value(node.a), *by = value(node.b);
  const u32 width = node.width;
  if (by->getType() != a->getType()) by = build_.CreateZExtOrTrunc(by, a->getType());
  const Node& count = loop_.nodes[node.b];
  Value* const last = llvm::ConstantInt::get(a->getType(), width - 1);
  Value* fits = build_.CreateICmpULE(by, last);
  if (count.op == Op::kConstant) fits = build_.getInt1(count.value < width);
  Value* safe = build_.CreateSelect(fits, by, last);
  if (node.op == Op::kShiftRightSigned) return build_.CreateAShr(a, safe);
  Value* moved = node.op == Op::kShiftLeft ? build_.CreateShl(a, safe) : build_.CreateLShr(a, safe);
  return build_.CreateSelect(fits, moved, llvm::ConstantInt::get(a->getType(), 0));
}

Value* Body::computed(const Node& node) {
  if (is_compare(node.op)) return compared(node);
  switch (node.op) {
    case Op::kLoad: {
      const auto number = static_cast<u32>(node.value);
      return marked(build_.CreateAlignedLoad(bits(node.width), address(number), llvm::Align(1)));
    }
    case Op::kAdd: return build_.CreateAdd(value(node.a), value(node.b));
    case Op::kSub: return build_.CreateSub(value(node.a), value(node.b));
    case Op::kMul: return build_.CreateMul(value(node.a), value(node.b));
    case Op::kAnd: return build_.CreateAnd(value(node.a), value(node.b));
    case Op::kOr: return build_.CreateOr(value(node.a), value(node.b));
    case Op::kXor: return build_.CreateXor(value(node.a), value(node.b));
    case Op::kSelect: {
      Value* condition = value(node.a);
      if (loop_.nodes[node.a].width != 1) condition = build_.CreateIsNotNull(condition);
      return build_.CreateSelect(condition, value(node.b), value(node.c));
    }
    case Op::kZeroExtend: return build_.CreateZExt(value(node.a), bits(node.width));
    case Op::kSignExtend: return build_.CreateSExt(value(node.a), bits(node.width));
    case Op::kTruncate: return build_.CreateTrunc(value(node.a), bits(node.width));
    default: return shifted(node);
  }
}

Value* Body::address(u32 number) {
  const Access& access = loop_.accesses[number];
  for (const Table& table : loop_.tables) {
    if (table.access == number) return build_.CreateGEP(build_.getInt8Ty(), at_[number], value(table.index));
  }
  const auto step = steps_.find(access.address);
  if (step == steps_.end()) return at_[number];
  return build_.CreateGEP(build_.getInt8Ty(), at_[number], build_.CreateMul(i_, step->second));
}

void Body::store(u32 number) {
  const Access& access = loop_.accesses[number];
  Value* what = build_.CreateTrunc(value(access.value), bits(access.size * 8u));
  llvm::BasicBlock* after = nullptr;
  if (access.guard != kNoNode) {
    auto& context = module_.getContext();
    auto* now = llvm::BasicBlock::Create(context, "store", function_);
    after = llvm::BasicBlock::Create(context, "on", function_);
    build_.CreateCondBr(value(access.guard), now, after);
    build_.SetInsertPoint(now);
  }
  marked(build_.CreateAlignedStore(what, address(number), llvm::Align(1)));
  if (!after) return;
  build_.CreateBr(after);
  build_.SetInsertPoint(after);
}

void Body::begin_folds() {
  for (u32 i = 0; i <= loop_.carried.count; ++i) {
    const Carried* carried = i < loop_.carried.count ? &loop_.carried[i] : nullptr;
    if (carried ? carried->carry != Carry::kReduction : loop_.length == kNoNode) continue;
    folds_.push_back({i, carried ? carried->width : 64u, carried, nullptr});
  }
}

Value* Body::folded(const Carried& carried, Value* before) {
  Value* term = value(carried.term);
  switch (carried.op) {
    case Op::kAdd: return build_.CreateAdd(before, term);
    case Op::kSub: return build_.CreateSub(before, term);
    case Op::kMul: return build_.CreateMul(before, term);
    case Op::kAnd: return build_.CreateAnd(before, term);
    case Op::kOr: return build_.CreateOr(before, term);
    case Op::kXor: return build_.CreateXor(before, term);
    default: {
      const bool is_signed = carried.op == Op::kLessSigned;
      Value* less = is_signed ? build_.CreateICmpSLT(term, before) : build_.CreateICmpULT(term, before);
      Value* greater = is_signed ? build_.CreateICmpSGT(term, before) : build_.CreateICmpUGT(term, before);
      return build_.CreateSelect(carried.subtracts ? greater : less, term, before);
    }
  }
}

void Body::end(llvm::BasicBlock* after) {
  std::vector<Value*> results;
  for (const Fold& one : folds_) {
    results.push_back(one.carried ? folded(*one.carried, one.before)
                                  : build_.CreateAdd(one.before, build_.CreateZExt(value(loop_.length), bits(64))));
  }
  llvm::BasicBlock* const last = build_.GetInsertBlock();
  Value* next = build_.CreateNUWAdd(i_, build_.getInt64(1));
  auto* back = build_.CreateCondBr(build_.CreateICmpULT(next, function_->getArg(4)), head_, after);
  i_->addIncoming(next, last);
  auto& context = module_.getContext();
  const auto text = [&](const char* words) { return llvm::MDString::get(context, words); };
  auto* vectorize = llvm::MDNode::get(
      context, {text("llvm.loop.vectorize.enable"), llvm::ConstantAsMetadata::get(build_.getInt1(true))});
  auto* parallel = llvm::MDNode::get(context, {text("llvm.loop.parallel_accesses"), group_});
  auto* id = llvm::MDNode::getDistinct(context, {nullptr, vectorize, parallel});
  id->replaceOperandWith(0, id);
  back->setMetadata(llvm::LLVMContext::MD_loop, id);
  build_.SetInsertPoint(after);
  for (std::size_t i = 0; i < folds_.size(); ++i) {
    folds_[i].before->addIncoming(results[i], last);
    Value* slot = build_.CreateConstInBoundsGEP1_64(build_.getInt64Ty(), function_->getArg(3), folds_[i].slot);
    build_.CreateAlignedStore(build_.CreateZExt(results[i], build_.getInt64Ty()), slot, llvm::Align(8));
  }
  build_.CreateRetVoid();
}

void Body::make(const std::string& name) {
  auto& context = module_.getContext();
  auto* pointer = build_.getPtrTy();
  auto* type =
      llvm::FunctionType::get(build_.getVoidTy(), {pointer, pointer, pointer, pointer, build_.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-builtins");  // calls of memset and the like
  for (unsigned i = 0; i < 4; ++i) function_->addParamAttr(i, llvm::Attribute::NoAlias);
  group_ = llvm::MDNode::getDistinct(context, {});
  entry_ = llvm::BasicBlock::Create(context, "entry", function_);
  head_ = llvm::BasicBlock::Create(context, "iteration", function_);
  auto* after = llvm::BasicBlock::Create(context, "after", function_);
  build_.SetInsertPoint(entry_);
  read_steady();
  begin_folds();
  std::vector<Value*> first;
  for (const Fold& one : folds_) first.push_back(build_.CreateTrunc(from_list(3, one.slot), bits(one.width)));
  build_.CreateBr(head_);
  build_.SetInsertPoint(head_);
  i_ = build_.CreatePHI(build_.getInt64Ty(), 2);
  i_->addIncoming(build_.getInt64(0), entry_);
  for (std::size_t i = 0; i < folds_.size(); ++i) {
    folds_[i].before = build_.CreatePHI(bits(folds_[i].width), 2);
    folds_[i].before->addIncoming(first[i], entry_);
  }
  for (const u16 number : loop_.body) value(number);
  for (u32 i = 0; i < loop_.accesses.count; ++i)
    if (loop_.accesses[i].is_store) store(i);
  end(after);
}

bool is_native(const LoopProgram& loop) {
  constexpr u32 kMost = 48;
  if (loop.bulk != Bulk::kNone || loop.data.count != 0 || loop.body.count == 0) return false;
  if (loop.accesses.count > kMost || loop.carried.count > kMost) return false;
  for (const Carried& carried : loop.carried)
    if (carried.carry == Carry::kLatch || carried.carry == Carry::kPrevious) return false;
  for (u32 i = 0; i < loop.accesses.count; ++i) {
    bool is_known = loop.shapes[loop.accesses[i].address] <= Shape::kAffine;
    for (const Table& table : loop.tables) is_known |= table.access == i;
    if (!is_known) return false;
  }
  return true;
}

class LinkedLoop final : public NativeLoop {
 public:
  LinkedLoop(NativeRound function, std::shared_ptr<llvm::orc::LLJIT> linker, llvm::orc::ResourceTrackerSP tracker)
      : function_(function), linker_(std::move(linker)), tracker_(std::move(tracker)) {}
  ~LinkedLoop() override { llvm::consumeError(tracker_->remove()); }
  NativeRound function() const override { return function_; }

 private:
  const NativeRound function_;
  const std::shared_ptr<llvm::orc::LLJIT> linker_;
  const llvm::orc::ResourceTrackerSP tracker_;
};

class HostNativeCompiler final : public NativeCompiler {
 public:
  HostNativeCompiler(std::unique_ptr<llvm::TargetMachine> target, std::shared_ptr<llvm::orc::LLJIT> linker)
      : target_(std::move(target)), linker_(std::move(linker)) {}

  std::shared_ptr<const NativeLoop> compile(const ProvenLoop& loop) override {
    if (!is_native(loop.program())) return nullptr;
    llvm::LLVMContext context;
    llvm::Module module("loop", context);
    module.setDataLayout(target_->createDataLayout());
    module.setTargetTriple(target_->getTargetTriple().str());
    const std::string name = "loop" + std::to_string(count_++);
    Body(module, loop.program()).make(name);
    if (llvm::verifyModule(module)) return nullptr;
    optimize(module);
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager passes;
    if (target_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) return nullptr;
    passes.run(module);
    return link(llvm::StringRef(object.data(), object.size()), name);
  }

 private:
  void optimize(llvm::Module& module) const;
  std::shared_ptr<const NativeLoop> link(llvm::StringRef object, const std::string& name) const;

  const std::unique_ptr<llvm::TargetMachine> target_;
  const std::shared_ptr<llvm::orc::LLJIT> linker_;
  u64 count_ = 0;
};

void HostNativeCompiler::optimize(llvm::Module& module) const {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager groups;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(target_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(groups);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, groups, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

std::shared_ptr<const NativeLoop> HostNativeCompiler::link(llvm::StringRef object, const std::string& name) const {
  llvm::orc::ResourceTrackerSP tracker = linker_->getMainJITDylib().createResourceTracker();
  if (llvm::Error failed = linker_->addObjectFile(tracker, llvm::MemoryBuffer::getMemBufferCopy(object, name))) {
    llvm::consumeError(std::move(failed));
    return nullptr;
  }
  auto address = linker_->lookup(name);
  if (!address) {
    llvm::consumeError(address.takeError());
    llvm::consumeError(tracker->remove());
    return nullptr;
  }
  return std::make_shared<const LinkedLoop>(address->toPtr<NativeRound>(), linker_, std::move(tracker));
}

std::string host_features() {
  std::string text;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) {
    if (!text.empty()) text += ',';
    text += (entry.getValue() ? "+" : "-") + entry.getKey().str();
  }
  return text;
}

}  // namespace

std::unique_ptr<NativeCompiler> NativeCompiler::create(std::string& error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) return nullptr;
  std::unique_ptr<llvm::TargetMachine> target(
      found->createTargetMachine(triple, llvm::sys::getHostCPUName(), host_features(), {}, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
  auto linker = llvm::orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(llvm::Triple(triple)))
                    .setLinkProcessSymbolsByDefault(false)
                    .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                    .create();
  if (!linker) {
    error = llvm::toString(linker.takeError());
    return nullptr;
  }
  return std::make_unique<HostNativeCompiler>(std::move(target), std::move(*linker));
}

}  // namespace kvrm::accelerate
