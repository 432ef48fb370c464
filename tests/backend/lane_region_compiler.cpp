#include "lane_region_compiler.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <cstdlib>

#include "translator/gpu/frame.h"
#include "translator/host/exits.h"
#include "translator/library.h"
#include "translator/passes/pipeline.h"
#include "translator/stitcher.h"
#include "translator/unroll.h"

namespace kvrm::backend::test {

struct LaneRegionCompiler::Parts {
  std::unique_ptr<llvm::MemoryBuffer> bitcode;
  std::unique_ptr<translator::Library> library;
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<llvm::orc::LLJIT> linker;
  u32 made = 0;
};

LaneRegionCompiler::LaneRegionCompiler(LaneRegionCounts* counts) : counts_(counts), parts_(std::make_unique<Parts>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const llvm::ExitOnError check("lane regions: ");
  parts_->bitcode = check(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(KVRM_LANE_BITCODE)));
  std::string error;
  parts_->library = translator::Library::create(parts_->bitcode->getBuffer(), error);
  auto builder = check(llvm::orc::JITTargetMachineBuilder::detectHost());
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  parts_->target = check(builder.createTargetMachine());
  parts_->linker = check(llvm::orc::LLJITBuilder().setPlatformSetUp(llvm::orc::setUpInactivePlatform).create());
  llvm::orc::SymbolMap symbols;
  for (const auto* symbol = translator::kHostSymbols; symbol->name; ++symbol) {
    symbols[parts_->linker->mangleAndIntern(symbol->name)] = {llvm::orc::ExecutorAddr::fromPtr(symbol->address),
                                                              llvm::JITSymbolFlags::Exported};
  }
  check(parts_->linker->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
}
LaneRegionCompiler::~LaneRegionCompiler() = default;

void LaneRegionCompiler::add_counters(llvm::Function& region) const {
  for (llvm::BasicBlock& block : region) {
    LaneRegionCounts of_block;
    for (const llvm::Instruction& instruction : block) {
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
      of_block.instructions += !llvm::isa<llvm::PHINode>(instruction) && !(branch && branch->isUnconditional());
      of_block.branches += llvm::isa<llvm::SwitchInst>(instruction) || (branch && branch->isConditional());
      of_block.loads += llvm::isa<llvm::LoadInst>(instruction);
      of_block.stores += llvm::isa<llvm::StoreInst>(instruction);
    }
    llvm::IRBuilder<> builder(block.getTerminator());
    for (u64 LaneRegionCounts::* count : {&LaneRegionCounts::instructions, &LaneRegionCounts::branches,
                                          &LaneRegionCounts::loads, &LaneRegionCounts::stores}) {
      llvm::Value* at =
          builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<u64>(&(counts_->*count))), builder.getPtrTy());
      llvm::Value* before = builder.CreateLoad(builder.getInt64Ty(), at);
      builder.CreateStore(builder.CreateAdd(before, builder.getInt64(of_block.*count)), at);
    }
  }
}

u64 LaneRegionCompiler::compile(const translator::Plan& given, translator::LaneKind kind, u32 most_to_inline) {
  const llvm::ExitOnError check("lane regions: ");
  translator::Plan plan = given;
  if (!counts_ || plan.words <= translator::GpuFrame::kMostToUnroll) translator::unroll_loops(plan, {});
  const std::string name = "region" + std::to_string(parts_->made++);
  translator::GpuFrame frame(plan, kind, 0, most_to_inline);
  llvm::Function* region = translator::stitch(*parts_->library, frame, plan, name);
  if (!region) return 0;
  translator::optimize(*region, *parts_->target);
  translator::GpuFrame::finish(*region);
  if (counts_) add_counters(*region);
  auto module = translator::extract(*parts_->library, region);
  if (!translator::define_called(*module, parts_->bitcode->getBuffer())) return 0;
  // C++ returns a pair of numbers in one register.
  llvm::IRBuilder<> builder(module->getContext());
  auto* number = builder.getInt32Ty();
  auto* type = llvm::FunctionType::get(builder.getInt64Ty(), {builder.getPtrTy(), number, number}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name + "_entry", *module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module->getContext(), "", entry));
  llvm::Value* end = builder.CreateCall(region, {entry->getArg(0), entry->getArg(1), entry->getArg(2)});
  llvm::Value* trap = builder.CreateZExt(builder.CreateExtractValue(end, 0), builder.getInt64Ty());
  llvm::Value* left = builder.CreateZExt(builder.CreateExtractValue(end, 1), builder.getInt64Ty());
  builder.CreateRet(builder.CreateOr(trap, builder.CreateShl(left, 32)));
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (parts_->target->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) return 0;
  passes.run(*module);
  check(parts_->linker->addObjectFile(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), name)));
  return check(parts_->linker->lookup(name + "_entry")).getValue();
}

}  // namespace kvrm::backend::test
