#include "kvrm/inspect.h"

#include <thread>
#include <utility>

#include "backend/cuda/driver.h"
#include "backend/cuda/images.h"
#include "isa/disassembler/disassemble.h"
#include "linux/elf_code.h"
#include "linux/start.h"
#include "machine/program_file.h"
#include "semantics/meaning.h"
#include "translator/gpu/translator.h"
#include "translator/translator.h"

namespace kvrm {
namespace {

GpuInformation describe(const backend::cuda::Properties& device) {
  GpuInformation gpu;
  gpu.name = device.name;
  gpu.compute_major = static_cast<unsigned>(device.compute_major);
  gpu.compute_minor = static_cast<unsigned>(device.compute_minor);
  gpu.memory = device.memory;
  gpu.multiprocessors = static_cast<unsigned>(device.multiprocessors);
  gpu.clock_mhz = static_cast<unsigned>(device.clock_khz / 1000);
  gpu.limits_kernel_time = device.limits_kernel_time;
  gpu.has_code = backend::cuda::cubin_for(device.compute_major, device.compute_minor).has_value();
  if (auto fits = backend::cuda::supported(device); !fits) gpu.problem = fits.error().message;
  if (!translator::GpuTranslator::is_there(gpu.translator_problem)) return gpu;
  if (!backend::cuda::linkable_for(device.compute_major, device.compute_minor)) {
    gpu.translator_problem = backend::cuda::no_linkable_error(device.compute()).message;
  }
  return gpu;
}

void add_gpus(Information& facts) {
  auto driver = backend::cuda::Driver::instance();
  if (!driver) {
    facts.gpu_problem = driver.error().message;
    return;
  }
  const backend::cuda::Driver& cuda = **driver;
  facts.gpu_driver = backend::cuda::version_text(cuda.version());
  auto count = cuda.device_count();
  if (!count) {
    facts.gpu_problem = count.error().message;
    return;
  }
  bool usable = false;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    auto device = cuda.properties(ordinal);
    GpuInformation gpu;
    if (device) {
      gpu = describe(*device);
    } else {
      gpu.problem = device.error().message;
    }
    usable = usable || gpu.problem.empty();
    facts.gpus.push_back(std::move(gpu));
  }
  if (backend::cuda::ptx().empty()) {
    facts.gpu_problem = backend::cuda::no_code_error().message;
  } else if (!usable) {
    facts.gpu_problem = facts.gpus[0].problem;
  }
}

}  // namespace

std::string disassemble(std::uint32_t word, std::uint64_t address) { return isa::disassemble(word, address); }

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
  auto file = HostFile::open(path);
  if (!file) return file.error();
  std::vector<std::uint8_t> bytes(file->size());
  if (auto error = file->read(bytes.data())) return *error;
  return bytes;
}

Result<std::vector<CodeSegment>> executable_segments(std::span<const std::uint8_t> elf) {
  auto code = linux_abi::find_code(elf);
  if (!code) return code.error();
  std::vector<CodeSegment> segments;
  for (linux_abi::ElfCode& one : *code) {
    CodeSegment segment{std::move(one.name), one.address, {one.bytes.begin(), one.bytes.end()}, {}};
    for (auto& symbol : one.symbols) segment.symbols.push_back({symbol.address, std::move(symbol.name)});
    segments.push_back(std::move(segment));
  }
  return segments;
}

Information information() {
  unsigned implemented = 0;
#define KVRM_COUNT(name) ++implemented;
  KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_COUNT)
#undef KVRM_COUNT
  Information facts{
      linux_abi::kHwcap, isa::kRowCount, implemented, std::thread::hardware_concurrency(), {}, {}, {}, {}};
  (void)translator::Translator::create({}, facts.translator_problem);
  add_gpus(facts);
  return facts;
}

std::string_view version() { return KVRM_VERSION; }

}  // namespace kvrm
