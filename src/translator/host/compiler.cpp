#include "translator/host/compiler.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <mutex>

#include "translator/bitcode.h"
#include "translator/host/exits.h"
#include "translator/host/frame.h"
#include "translator/host/perf_map.h"
#include "translator/host/window_accesses.h"
#include "translator/library.h"
#include "translator/passes/pipeline.h"
#include "translator/stitcher.h"

namespace kvrm::translator {
namespace {

// The names of the processor's features, as the back end wants them; in a fixed order.
std::string host_features() {
  std::map<std::string, bool> features;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) features.emplace(entry.getKey().str(), entry.getValue());
  std::string text;
  for (const auto& [feature, there] : features) {
    // Guest registers have 128 bits; wider vectors only slow the compiler down.
    const bool wanted = there && !feature.starts_with("avx512") && feature != "evex512";
    if (!text.empty()) text += ',';
    text += (wanted ? "+" : "-") + feature;
  }
  return text;
}

// Switches that the back end offers on its command line only.
void switch_on(const char* name) {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find(name);
  if (found != options.end()) found->second->addOccurrence(0, name, "true");
}

std::unique_ptr<llvm::TargetMachine> make_target(const std::string& cpu, const std::string& features,
                                                 std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();  // of the accesses to windows
    switch_on("disable-lsr");  // it splits guest registers, which exits then put together again
  });
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, true));
}

std::unique_ptr<llvm::orc::LLJIT> make_linker(const std::string& triple, std::string& error) {
  auto builder = llvm::orc::JITTargetMachineBuilder(llvm::Triple(triple));
  auto linker = llvm::orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(builder))
                    .setLinkProcessSymbolsByDefault(false)
                    .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                    .create();
  if (!linker) {
    error = llvm::toString(linker.takeError());
    return nullptr;
  }
  llvm::orc::SymbolMap symbols;
  for (const HostSymbol* symbol = kHostSymbols; symbol->name; ++symbol) {
    symbols[(*linker)->mangleAndIntern(symbol->name)] = {llvm::orc::ExecutorAddr::fromPtr(symbol->address),
                                                         llvm::JITSymbolFlags::Exported};
  }
  if (llvm::Error failed = (*linker)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    error = llvm::toString(std::move(failed));
    return nullptr;
  }
  return std::move(*linker);
}

// An object file of ours has one function; its symbol has no size.
u64 size_of_code(llvm::MemoryBufferRef object) {
  u64 size = 0;
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) {
    llvm::consumeError(file.takeError());
    return size;
  }
  for (const llvm::object::SectionRef& section : (*file)->sections()) size += section.isText() ? section.getSize() : 0;
  return size;
}

}  // namespace

struct HostCompiler::Parts {
  std::string cpu, features;
  bool shares_memory = false;
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<Library> library, window_library;
  std::shared_ptr<llvm::orc::LLJIT> linker;
  std::shared_ptr<WindowAccesses> windows = std::make_shared<WindowAccesses>();
  bool lists_for_perf = false;

  std::unique_ptr<llvm::Module> optimized(const Plan& plan, const std::string& name) {
    Library* const rows = library_for(plan);
    if (!rows) return nullptr;
    HostFrame frame(cpu, features);
    llvm::Function* function = stitch(*rows, frame, plan, name);
    if (!function) return nullptr;
    optimize(*function, *target, !shares_memory);
    return extract(*rows, function);
  }

  Library* library_for(const Plan& plan) {
    std::string error;
    std::unique_ptr<Library>& rows = plan.uses_window ? window_library : library;
    if (!rows) {
      rows = Library::create(plan.uses_window ? window_rows_bitcode()
                             : shares_memory  ? shared_rows_bitcode()
                                              : rows_bitcode(),
                             error);
    }
    return rows.get();
  }

  ObjectFile emitted(llvm::Module& module, llvm::CodeGenFileType kind) const {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (target->addPassesToEmitFile(passes, stream, nullptr, kind)) return {};
    passes.run(module);
    return {bytes.begin(), bytes.end()};
  }
};

HostCompiler::HostCompiler(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HostCompiler::~HostCompiler() = default;

std::string HostCompiler::target_name() { return llvm::sys::getHostCPUName().str() + ' ' + host_features(); }

bool HostCompiler::can_work(std::string& error) {
  if (__builtin_cpu_supports("fma")) return true;
  error = "the translator needs a processor with FMA";
  return false;
}

std::unique_ptr<HostCompiler> HostCompiler::create(std::string& error, const std::string& processor,
                                                   bool shares_memory) {
  auto parts = std::make_unique<Parts>();
  parts->shares_memory = shares_memory;
  if (!can_work(error)) return nullptr;
  parts->cpu = processor.empty() ? llvm::sys::getHostCPUName().str() : processor;
  if (processor.empty()) parts->features = host_features();
  parts->target = make_target(parts->cpu, parts->features, error);
  if (!parts->target) return nullptr;
  parts->linker = make_linker(parts->target->getTargetTriple().str(), error);
  if (!parts->linker) return nullptr;
  return std::unique_ptr<HostCompiler>(new HostCompiler(std::move(parts)));
}

ObjectFile HostCompiler::compile(const Plan& plan, const std::string& name) {
  const auto module = parts_->optimized(plan, name);
  if (!module) return {};
  return parts_->emitted(*module, llvm::CodeGenFileType::ObjectFile);
}

std::unique_ptr<HostCode> HostCompiler::link(std::span<const char> object, const std::string& name) {
  llvm::orc::JITDylib& library = parts_->linker->getMainJITDylib();
  llvm::orc::ResourceTrackerSP tracker = library.createResourceTracker();
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), name);
  const auto fail = [&](llvm::Error error) {
    llvm::consumeError(std::move(error));
    llvm::consumeError(tracker->remove());
    return nullptr;
  };
  if (llvm::Error error = parts_->linker->addObjectFile(tracker, std::move(buffer))) return fail(std::move(error));
  auto address = parts_->linker->lookup(name);
  if (!address) return fail(address.takeError());
  std::vector<const void*> faults = parts_->windows->add(object, address->toPtr<const u8*>());
  if (parts_->lists_for_perf) {
    const u64 size = size_of_code({llvm::StringRef(object.data(), object.size()), name});
    list_for_perf(address->toPtr<const void*>(), size, name);
  }
  return std::make_unique<HostCode>(
      address->toPtr<interpreter::Handler>(),
      [linker = parts_->linker, windows = parts_->windows, faults = std::move(faults), tracker] {
        windows->remove(faults);
        llvm::consumeError(tracker->remove());
      });
}

void HostCompiler::write_perf_map() { parts_->lists_for_perf = true; }

std::string HostCompiler::text_of(const Plan& plan, bool as_assembly) {
  const auto module = parts_->optimized(plan, "region");
  if (!module) return {};
  if (!as_assembly) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, nullptr);
    return text;
  }
  const ObjectFile text = parts_->emitted(*module, llvm::CodeGenFileType::AssemblyFile);
  return {text.begin(), text.end()};
}

}  // namespace kvrm::translator
