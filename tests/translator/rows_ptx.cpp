// Writes PTX with a region for every row that regions may hold: rows_ptx OUT [alone|shared]. Fails if a row has none.
#include <cstdio>
#include <fstream>
#include <random>
#include <string_view>

#include "isa/a64_names.h"
#include "translator/gpu/compiler.h"

namespace {

using namespace kvrm;

// A word of the row, the same in every run.
u32 word_of(isa::Row row) {
  std::mt19937 random(static_cast<u32>(row));
  const isa::RowFacts& facts = isa::facts(row);
  for (u32 tries = 0; tries < 100000; ++tries) {
    const u32 word = (static_cast<u32>(random()) & ~facts.mask) | facts.bits;
    if (isa::decode(word) == row) return word;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "rows_ptx: OUT [alone|shares_memory]\n");
    return 2;
  }
  std::string error;
  const auto compiler = translator::GpuCompiler::create(error);
  if (!compiler) {
    std::fprintf(stderr, "rows_ptx: %s\n", error.c_str());
    return 1;
  }
  std::vector<translator::GpuRegion> regions;
  u32 left_out = 0;
  for (u32 i = 0; i < static_cast<u32>(isa::Row::kNone); ++i) {
    const u32 word = word_of(static_cast<isa::Row>(i));
    translator::CodeView view;
    view.word = [&](u64 address) { return address == 0x10000 ? std::optional(word) : std::nullopt; };
    view.follow = [](const auto&) { return true; };
    translator::Plan plan = translator::make_plan(0x10000, view, {});
    if (plan.blocks.empty()) {
      ++left_out;
    } else {
      regions.push_back({std::move(plan), std::string("region_") + isa::kRowNames[i]});
    }
  }
  const std::string_view kind = count > 2 ? arguments[2] : "";
  const translator::GpuCode code =
      compiler->compile(regions, {.alone = kind == "alone", .shares_memory = kind == "shared"});
  u32 failed = code.ptx.empty() ? 1 : 0;
  for (std::size_t i = 0; i < code.made.size(); ++i) {
    if (code.made[i]) continue;
    std::fprintf(stderr, "rows_ptx: no region for %s\n", regions[i].name.c_str());
    ++failed;
  }
  std::ofstream(arguments[1]) << code.ptx;
  std::printf("%zu rows, %u left to the interpreter, %u failed\n", regions.size(), left_out, failed);
  return failed == 0 ? 0 : 1;
}
