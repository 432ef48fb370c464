// Loops without a machine: found in files, and proved.
#include "kvrm/loops.h"

#include <utility>

#include "accelerate/extract.h"
#include "accelerate/label.h"
#include "accelerate/loops.h"
#include "accelerate/prover.h"
#include "kvrm/inspect.h"
#include "symbols/discover.h"
#include "symbols/library.h"
#include "symbols/loops.h"
#include "translator/host/thread_clock.h"

namespace kvrm {

struct LoopProver::Parts {
  std::unique_ptr<accelerate::Extractor> extractor;
};

namespace {

Result<symbols::Image> image_of(std::span<const u8> bytes) {
  if (auto linked = symbols::Linked::open(bytes)) return symbols::discover(*linked);
  symbols::Linker linker;
  if (auto added = linker.add(bytes, 0); !added) return added.error();
  return linker.link();
}

}  // namespace

Result<std::vector<StaticLoop>> find_loops(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  auto image = image_of(*bytes);
  if (!image) return Error{path + ": " + image.error().message};
  std::vector<StaticLoop> found;
  for (symbols::StaticLoop& one : symbols::innermost_loops(*image, accelerate::kMostWords)) {
    const auto& names = image->routines[one.routine].names;
    StaticLoop& loop = found.emplace_back();
    if (!names.empty()) loop.routine = symbols::main_name(names);
    loop.loop.address = one.address;
    loop.loop.words = std::move(one.words);
  }
  return found;
}

std::string_view loop_type_name(unsigned type) { return to_string(static_cast<accelerate::LoopType>(type)); }

Result<LoopProver> LoopProver::create() {
  std::string error;
  auto parts = std::make_unique<Parts>();
  if (accelerate::Extractor::is_there(error)) parts->extractor = accelerate::Extractor::create(error);
  if (!parts->extractor) return Error{error};
  return LoopProver(std::move(parts));
}

LoopProver::LoopProver(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LoopProver::LoopProver(LoopProver&&) noexcept = default;
LoopProver::~LoopProver() = default;

// As Loops::prove, which also keeps what it proved.
LoopProof LoopProver::prove(const Loop& loop) {
  LoopProof result;
  const double begin = translator::thread_seconds();
  const auto iteration = parts_->extractor->extract({loop.address, loop.words}, result.reason);
  const auto proof = iteration ? accelerate::prove(*iteration, result.reason) : std::nullopt;
  std::string error;
  if (proof && !accelerate::check(*iteration, *proof, error)) {
    result.reason = "the checker: " + error;
  } else if (proof) {
    const accelerate::LoopLabel label = accelerate::label_of(*iteration, *proof);
    result.proved = true;
    result.kind = accelerate::to_string(proof->kind);
    result.type = static_cast<unsigned>(label.type);
    result.counter = label.counter;
  }
  if (iteration) result.nodes = iteration->nodes.size();
  result.seconds = translator::thread_seconds() - begin;
  return result;
}

}  // namespace kvrm
