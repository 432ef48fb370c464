// Runs a fuzz target over files and folders of inputs: the regression tests of a build without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> inputs(int count, char** names) {
  std::vector<std::filesystem::path> found;
  for (int i = 0; i < count; ++i) {
    if (std::filesystem::is_regular_file(names[i])) found.emplace_back(names[i]);
    if (!std::filesystem::is_directory(names[i])) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(names[i])) {
      if (entry.is_regular_file() && entry.path().filename() != ".gitkeep") found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = inputs(argc - 1, argv + 1);
  for (const auto& path : found) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // Told before it runs: when a target aborts, the last line names the input.
    std::fprintf(stderr, "%s\n", path.c_str());
    const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(data.data(), data.size());
  }
  std::printf("%zu inputs replayed\n", found.size());
  return 0;
}
