// Prints the translation of a few words, or how long it takes:
// region_text ir|asm|x86|time|ptx|ptx-alone|ptx-time ENTRY_PC WORD...   (numbers in hexadecimal)
// asm is for this processor, x86 for one that is the same everywhere. window-ir, window-asm, window-x86 and window-time
// are for a lane with a window.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "translator/gpu/compiler.h"
#include "translator/host/compiler.h"

int main(int count, char** arguments) {
  using namespace kvrm;
  if (count < 4) {
    std::fprintf(stderr, "region_text: ir|asm|x86|time|ptx|ptx-alone|ptx-time ENTRY_PC WORD...\n");
    return 2;
  }
  std::string_view what = arguments[1];
  const bool uses_window = what.starts_with("window-");
  if (uses_window) what.remove_prefix(7);
  const u64 entry_pc = std::strtoull(arguments[2], nullptr, 16);
  std::vector<u32> words;
  for (int i = 3; i < count; ++i) words.push_back(static_cast<u32>(std::strtoul(arguments[i], nullptr, 16)));
  translator::CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 index = (address - entry_pc) / 4;
    return index < words.size() ? std::optional(words[index]) : std::nullopt;
  };
  view.follow = [](const auto&) { return true; };
  translator::Plan plan = translator::make_plan(entry_pc, view, {.once = what.starts_with("ptx")});
  plan.uses_window = uses_window;
  if (plan.blocks.empty()) {
    std::fprintf(stderr, "region_text: nothing there can be translated\n");
    return 1;
  }
  std::string error;
  if (what.starts_with("ptx")) {
    const auto compiler = translator::GpuCompiler::create(error);
    if (!compiler) {
      std::fprintf(stderr, "region_text: %s\n", error.c_str());
      return 1;
    }
    for (int round = 0; what == "ptx-time" && round < 5; ++round) {
      const translator::GpuRegion region{plan, "region_" + std::to_string(round)};  // the compiler caches by name
      const std::clock_t begin = std::clock();
      const auto code = compiler->compile({&region, 1}, {.alone = true});
      std::printf("%zu blocks, %u words: %.2f ms, %zu bytes\n", plan.blocks.size(), plan.words,
                  static_cast<double>(std::clock() - begin) * 1000 / CLOCKS_PER_SEC, code.ptx.size());
    }
    if (what == "ptx-time") return 0;
    const translator::GpuRegion region{plan, "region"};
    std::fputs(compiler->compile({&region, 1}, {.alone = what == "ptx-alone", .window_shift = uses_window ? 24u : 0u})
                   .ptx.c_str(),
               stdout);
    return 0;
  }
  const auto compiler = translator::HostCompiler::create(error, what == "x86" ? "x86-64-v3" : "");
  if (!compiler) {
    std::fprintf(stderr, "region_text: %s\n", error.c_str());
    return 1;
  }
  if (what == "time") {
    for (int round = 0; round < 5; ++round) {
      const std::clock_t begin = std::clock();
      const auto object = compiler->compile(plan, "region");
      std::printf("%zu blocks, %u words: %.2f ms, %zu bytes\n", plan.blocks.size(), plan.words,
                  static_cast<double>(std::clock() - begin) * 1000 / CLOCKS_PER_SEC, object.size());
    }
    return 0;
  }
  std::fputs(compiler->text_of(plan, what != "ir").c_str(), stdout);
  return 0;
}
