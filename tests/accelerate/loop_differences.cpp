// loop_differences COUNT [FIRST] [interp|jit]: compares so many generated loops with and without bulk steps, says how
// many of each kind there were, and fails at the first difference.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "generated_loop.h"

int main(int count, char** arguments) {
  using namespace kvrm::accelerate;
  using namespace kvrm;
  const u64 loops = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 10000;
  const u64 first = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  std::shared_ptr<translator::Translator> translator;
  if (count > 3 && std::string_view(arguments[3]) == "jit") {
    std::string error;
    translator::Settings settings;
    settings.threshold = 1;
    settings.in_background = false;
    translator = translator::Translator::create(settings, error);
    if (!translator) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
  }
  std::map<std::string, u64> kinds;
  u64 used = 0, iterations = 0;
  for (u64 seed = first; seed < first + loops; ++seed) {
    std::string listing;
    const test::Compared compared = test::compare_loop(seed, translator, &listing);
    if (!compared.difference.empty()) {
      std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(seed), compared.difference.c_str(),
                  listing.c_str());
      return 1;
    }
    ++kinds[compared.kind];
    used += compared.iterations != 0;
    iterations += compared.iterations;
  }
  std::printf("%llu loops, %llu with bulk steps of %llu iterations, 0 differences\n",
              static_cast<unsigned long long>(loops), static_cast<unsigned long long>(used),
              static_cast<unsigned long long>(iterations));
  for (const auto& [kind, number] : kinds)
    std::printf("%8llu %s\n", static_cast<unsigned long long>(number), kind.empty() ? "never hot" : kind.c_str());
  return 0;
}
