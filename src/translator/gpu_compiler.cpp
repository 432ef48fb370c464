#include "translator/gpu_compiler.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "translator/bitcode.h"
#include "translator/gpu_frame.h"
#include "translator/library.h"
#include "translator/passes.h"
#include "translator/stitcher.h"
#include "translator/unroll.h"

// The target's own, which LLVM's headers name only all together.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace kvrm::translator {
namespace {

// As the kernel is compiled (device/cuda/CMakeLists.txt): any driver we accept reads it.
constexpr const char* kTriple = "nvptx64-nvidia-cuda";
constexpr const char* kProcessor = "sm_80";
constexpr const char* kFeatures = "+ptx78";

std::unique_ptr<llvm::TargetMachine> make_target(std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses in shared memory have 32 bits. There is no other way to say it.
    auto& options = llvm::cl::getRegisteredOptions();
    const auto found = options.find("nvptx-short-ptr");
    if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
  });
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, kProcessor, kFeatures, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default, true));
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

struct GpuCompiler::Parts {
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<Library> library;

  // The functions that regions call come along with them.
  bool add_called(llvm::Module& module) {
    auto rows = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(gpu_rows_bitcode(), "rows"), library->context());
    if (!rows) {
      llvm::consumeError(rows.takeError());
      return false;
    }
    if (llvm::Linker::linkModules(module, std::move(*rows), llvm::Linker::LinkOnlyNeeded)) return false;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || function.hasExternalLinkage()) continue;
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    return true;
  }

  std::unique_ptr<llvm::Module> module_of(std::span<const GpuRegion> regions, bool alone, std::vector<bool>& made) {
    auto module = std::make_unique<llvm::Module>("regions", library->context());
    module->setDataLayout(library->module().getDataLayout());
    module->setTargetTriple(library->module().getTargetTriple());
    for (const GpuRegion& region : regions) {
      Plan plan = region.plan;
      unroll_loops(plan, {});
      GpuFrame frame(plan, alone);
      llvm::Function* function = stitch(*library, frame, plan, region.name);
      made.push_back(function != nullptr);
      if (!function) continue;
      optimise(*function, *target);
      GpuFrame::finish(*function);
      if (llvm::Linker::linkModules(*module, extract(*library, function))) return nullptr;
    }
    if (!add_called(*module)) return nullptr;
    llvm::Type* address = llvm::PointerType::get(module->getContext(), 0);
    std::vector<llvm::Constant*> table;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      llvm::Constant* none = llvm::ConstantPointerNull::get(llvm::cast<llvm::PointerType>(address));
      table.push_back(made[i] ? module->getFunction(regions[i].name) : none);
    }
    auto* type = llvm::ArrayType::get(address, table.size());
    new llvm::GlobalVariable(*module, type, true, llvm::GlobalValue::ExternalLinkage,
                             llvm::ConstantArray::get(type, table), "kvrm_regions", nullptr,
                             llvm::GlobalValue::NotThreadLocal, 1);
    return module;
  }
};

GpuCompiler::GpuCompiler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GpuCompiler::~GpuCompiler() = default;

std::unique_ptr<GpuCompiler> GpuCompiler::create(std::string& error) {
  auto parts = std::make_unique<Parts>();
  parts->target = make_target(error);
  if (!parts->target) return nullptr;
  parts->library = Library::create(gpu_rows_bitcode(), error);
  if (!parts->library) return nullptr;
  return std::unique_ptr<GpuCompiler>(new GpuCompiler(std::move(parts)));
}

GpuCode GpuCompiler::compile(std::span<const GpuRegion> regions, bool alone) {
  GpuCode code;
  const auto module = parts_->module_of(regions, alone, code.made);
  if (!module) return {};
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (parts_->target->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) return {};
  passes.run(*module);
  code.ptx.assign(text.begin(), text.end());
  // A lane that is alone takes every branch together with all lanes there are. LLVM has no way to say it.
  if (alone) replace_all(code.ptx, " bra \t", " bra.uni \t");
  return code;
}

}  // namespace kvrm::translator
