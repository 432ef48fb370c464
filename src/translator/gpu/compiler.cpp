#include "translator/gpu/compiler.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "translator/bitcode.h"
#include "translator/gpu/frame.h"
#include "translator/library.h"
#include "translator/passes/pipeline.h"
#include "translator/region.h"
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

// As the kernel is compiled (backend/cuda/CMakeLists.txt): any driver we accept reads it.
constexpr const char* kTriple = "nvptx64-nvidia-cuda";
constexpr const char* kProcessor = "sm_80";
constexpr const char* kFeatures = "+ptx78";
constexpr const char* kHeader = ".version 7.8\n.target sm_80\n.address_size 64\n";
constexpr std::string_view kLastOfHeader = ".address_size 64\n";

std::unique_ptr<llvm::TargetMachine> make_target(std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses in shared memory have 32 bits. LLVM has no other switch for it.
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

// ptxas turns a signed 64-bit bit-field extract into a compare, which is slower than two shifts. LLVM always emits the
// former.
void split_signed_fields(std::string& text) {
  constexpr std::string_view kField = "bfe.s64";
  for (std::size_t at = text.find(kField); at != std::string::npos; at = text.find(kField, at + kField.size())) {
    int to = 0, from = 0, used = 0;
    unsigned first = 0, bits = 0;
    if (std::sscanf(&text[at], "bfe.s64 %%rd%d, %%rd%d, %u, %u;%n", &to, &from, &first, &bits, &used) != 4 ||
        used == 0 || bits == 0 || first + bits > 64)
      continue;
    std::array<char, 128> shifts{};
    std::snprintf(shifts.data(), shifts.size(), "shl.b64 \t%%rd%d, %%rd%d, %u;\n\tshr.s64 \t%%rd%d, %%rd%d, %u;", to,
                  from, 64 - first - bits, to, to, 64 - bits);
    text.replace(at, static_cast<std::size_t>(used), shifts.data());
  }
}

// PTX does not say what its negation does to the sign of a NaN. The sign bit is changed in inline assembly, which no
// pass can fold into a negation.
llvm::Value* with_other_sign(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    llvm::Value* result = value;
    for (u64 i = 0; i < vector->getNumElements(); ++i) {
      result = builder.CreateInsertElement(result, with_other_sign(builder, builder.CreateExtractElement(value, i)), i);
    }
    return result;
  }
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* integer = builder.getIntNTy(bits);
  const char* const letters = bits == 64 ? "=l,l" : bits == 32 ? "=r,r" : "=h,h";
  const std::string change =
      "xor.b" + std::to_string(bits) + " $0, $1, " + std::to_string(u64{1} << (bits - 1)) + (bits == 64 ? "U;" : ";");
  auto* changed = llvm::InlineAsm::get(llvm::FunctionType::get(integer, {integer}, false), change, letters, false);
  return builder.CreateBitCast(builder.CreateCall(changed, {builder.CreateBitCast(value, integer)}), type);
}

void change_signs_as_bits(llvm::Module& module) {
  std::vector<llvm::Instruction*> changes;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getOpcode() == llvm::Instruction::FNeg) changes.push_back(&instruction);
    }
  }
  for (llvm::Instruction* change : changes) {
    llvm::IRBuilder<> builder(change);
    change->replaceAllUsesWith(with_other_sign(builder, change->getOperand(0)));
    change->eraseFromParent();
  }
}

// The text of one region; empty if it could not be compiled.
struct Piece {
  std::string text;
  std::vector<std::string> calls;  // functions of the rows
};

// Emits text. One thread at a time: LLVM's contexts are for one.
class Emitter {
 public:
  static std::unique_ptr<Emitter> create(std::string& error) {
    auto emitter = std::make_unique<Emitter>();
    emitter->target_ = make_target(error);
    if (emitter->target_) emitter->library_ = Library::create(gpu_rows_bitcode(), error);
    return emitter->library_ ? std::move(emitter) : nullptr;
  }

  Piece region(const GpuRegion& region, LaneKind kind) {
    Plan plan = region.plan;
    if (plan.words <= GpuFrame::kMostToUnroll) unroll_loops(plan, {});
    GpuFrame frame(plan, kind);
    llvm::Function* function = stitch(*library_, frame, plan, region.name);
    if (!function) return {};
    optimize(*function, *target_);
    GpuFrame::finish(*function);
    const auto module = extract(*library_, function);
    Piece piece;
    for (llvm::Function& called : *module) {
      if (!called.isDeclaration() || called.isIntrinsic()) continue;
      piece.calls.push_back(called.getName().str());
      called.setName(name_of_called(piece.calls.back()));
    }
    // Each region has its copies of tables.
    for (llvm::GlobalVariable& table : module->globals()) table.setName(region.name + "_" + table.getName());
    piece.text = emitted(*module);
    // The called functions are defined in the same text, so they are not external.
    replace_all(piece.text, ".extern .func", ".visible .func");
    split_signed_fields(piece.text);
    // A lane that is alone in its warp never diverges, which LLVM cannot express.
    if (kind.alone) replace_all(piece.text, " bra \t", " bra.uni \t");
    return piece;
  }

  // The functions that regions call.
  std::string called(const std::set<std::string>& names) {
    llvm::Module module("called", library_->context());
    module.setDataLayout(library_->module().getDataLayout());
    module.setTargetTriple(library_->module().getTargetTriple());
    for (const std::string& name : names) {
      const llvm::Function* function = library_->module().getFunction(name);
      if (!function) return {};
      llvm::Function::Create(function->getFunctionType(), llvm::GlobalValue::ExternalLinkage, name, module);
    }
    if (!define_called(module, gpu_rows_bitcode())) return {};
    for (const std::string& name : names) {
      llvm::Function* function = module.getFunction(name);
      function->setLinkage(llvm::GlobalValue::ExternalLinkage);
      // The kernel has functions of the same names, for a state with another layout.
      function->setName(name_of_called(name));
    }
    return emitted(module);
  }

 private:
  static std::string name_of_called(const std::string& name) { return "kvrm_called_" + name; }

  // Without the header.
  std::string emitted(llvm::Module& module) {
    change_signs_as_bits(module);
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if (target_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) return {};
    passes.run(module);
    const std::string_view all(text.data(), text.size());
    const std::size_t begin = all.find(kLastOfHeader);
    return begin == std::string_view::npos ? std::string() : std::string(all.substr(begin + kLastOfHeader.size()));
  }

  std::unique_ptr<llvm::TargetMachine> target_;
  std::unique_ptr<Library> library_;
};

}  // namespace

struct GpuCompiler::Parts {
  std::vector<std::unique_ptr<Emitter>> emitters;
  // Compiled before: regions by name, source and kind; and the functions they call.
  using Key = std::tuple<std::string, u64, LaneKind>;
  std::map<Key, Piece> pieces;
  std::map<std::set<std::string>, std::string> called;

  static Key key_of(const GpuRegion& region, LaneKind kind) {
    return {region.name, Source::of(region.plan).hash, kind};
  }

  void make(std::span<const GpuRegion* const> regions, LaneKind kind) {
    constexpr std::size_t kMostThreads = 16;
    const std::size_t threads =
        std::min({regions.size(), kMostThreads, std::size_t{std::max(1u, std::thread::hardware_concurrency())}});
    std::string ignored;
    while (emitters.size() < threads) {
      auto emitter = Emitter::create(ignored);
      if (!emitter) break;
      emitters.push_back(std::move(emitter));
    }
    std::vector<Piece> made(regions.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&](Emitter& emitter) {
      for (std::size_t i = next++; i < regions.size(); i = next++) made[i] = emitter.region(*regions[i], kind);
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < std::min(threads, emitters.size()); ++i)
      others.emplace_back(work, std::ref(*emitters[i]));
    work(*emitters[0]);
    for (std::thread& other : others) other.join();
    for (std::size_t i = 0; i < regions.size(); ++i) pieces[key_of(*regions[i], kind)] = std::move(made[i]);
  }
};

GpuCompiler::GpuCompiler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GpuCompiler::~GpuCompiler() = default;

std::unique_ptr<GpuCompiler> GpuCompiler::create(std::string& error) {
  auto parts = std::make_unique<Parts>();
  parts->emitters.push_back(Emitter::create(error));
  if (!parts->emitters[0]) return nullptr;
  return std::unique_ptr<GpuCompiler>(new GpuCompiler(std::move(parts)));
}

GpuCode GpuCompiler::compile(std::span<const GpuRegion> regions, LaneKind kind) {
  std::vector<const GpuRegion*> missing;
  for (const GpuRegion& region : regions) {
    if (!parts_->pieces.contains(Parts::key_of(region, kind))) missing.push_back(&region);
  }
  if (!missing.empty()) parts_->make(missing, kind);

  GpuCode code;
  code.ptx = kHeader;
  std::set<std::string> calls;
  std::string table;
  for (const GpuRegion& region : regions) {
    const Piece& piece = parts_->pieces[Parts::key_of(region, kind)];
    code.made.push_back(!piece.text.empty());
    code.ptx += piece.text;
    calls.insert(piece.calls.begin(), piece.calls.end());
    table += (table.empty() ? "" : ", ") + (code.made.back() ? region.name : "0");
  }
  if (!calls.empty()) {
    std::string& called = parts_->called[calls];
    if (called.empty()) called = parts_->emitters[0]->called(calls);
    if (called.empty()) return {};
    code.ptx += called;
  }
  code.ptx +=
      "\n.visible .global .align 8 .u64 kvrm_regions[" + std::to_string(regions.size()) + "] = {" + table + "};\n";
  return code;
}

}  // namespace kvrm::translator
