// warp_loop_differences COUNT [FIRST]: compares so many generated loops on simulated warps with bulk steps and on the
// CPU's interpreter without, says how many of each kind there were, and fails at the first difference.
#include <cstdio>
#include <cstdlib>

#include "warp_loop.h"

int main(int count, char** arguments) {
  using namespace kvrm;
  using namespace kvrm::backend::test;
  const u64 loops = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 10000;
  const u64 first = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  const auto number = [](u64 value) { return static_cast<unsigned long long>(value); };
  std::map<std::string, u64> kinds;
  u64 used = 0, iterations = 0;
  std::shared_ptr<accelerate::Loops> all;
  for (u64 seed = first; seed < first + loops; ++seed) {
    std::string error;
    if ((seed - first) % 512 == 0) all = accelerate::Loops::create(error);  // it keeps so many
    if (!all) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
    WarpLoopComparison comparison(seed);
    const WarpCompared compared = comparison.run(*all);
    if (!compared.difference.empty()) {
      std::printf("seed %llu: %s:", number(seed), compared.difference.c_str());
      for (const u32 word : comparison.words()) std::printf(" %08x", word);
      std::printf("\n");
      return 1;
    }
    ++kinds[compared.kind];
    used += compared.iterations != 0;
    iterations += compared.iterations;
  }
  std::printf("%llu loops, %llu with bulk steps of %llu iterations, 0 differences\n", number(loops), number(used),
              number(iterations));
  for (const auto& [kind, times] : kinds) std::printf("%8llu %s\n", number(times), kind.c_str());
  return 0;
}
