// Compiled kernels in the user's cache, and the ways a kernel gets onto a device.
#include "backend/cuda/module_cache.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "backend/cuda/images.h"
#include "fake_cuda.h"

namespace kvrm::backend::cuda {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class ModuleCache : public testing::Test {
 protected:
  ModuleCache() {
    std::string name = (fs::temp_directory_path() / "kvrm_cache_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    cache_ = CubinCache(folder_ / "a" / "kvrm");
  }
  ~ModuleCache() override { fs::remove_all(folder_); }

  // Counts the calls.
  CompileFunction compiler() {
    return [this](std::span<const std::byte>) -> Result<std::vector<std::byte>> {
      ++compiled_;
      return bytes_of("a cubin for the test");
    };
  }
  Result<Cubin> get() { return cached_compile(cache_, key_, ptx_, compiler(), {}); }
  std::string contents() const {
    std::ifstream file(cache_.path_of(key_), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(const std::string& text) const { std::ofstream(cache_.path_of(key_), std::ios::binary) << text; }

  fs::path folder_;
  CubinCache cache_;
  std::vector<std::byte> ptx_ = bytes_of("the PTX");
  CacheKey key_{content_hash(ptx_), 100, 13000};
  int compiled_ = 0;
};

TEST_F(ModuleCache, CompilesOnce) {
  auto first = get();
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->from_cache);
  auto second = get();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(first->bytes, second->bytes);
  EXPECT_EQ(compiled_, 1);
  // Nothing but the one file: no temporary is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a" / "kvrm"), fs::directory_iterator()), 1);
}

TEST_F(ModuleCache, AnotherKeyIsAnotherKernel) {
  ASSERT_TRUE(get().ok());
  for (const CacheKey& other :
       {CacheKey{key_.source + 1, 100, 13000}, CacheKey{key_.source, 103, 13000}, CacheKey{key_.source, 100, 13010}}) {
    EXPECT_NE(cache_.path_of(key_), cache_.path_of(other));
    EXPECT_FALSE(cache_.find(other).has_value());
    // A file under the wrong name is not believed either.
    fs::copy_file(cache_.path_of(key_), cache_.path_of(other));
    EXPECT_FALSE(cache_.find(other).has_value());
  }
  EXPECT_TRUE(cache_.find(key_).has_value());
}

TEST_F(ModuleCache, DamagedFileIsCompiledAgain) {
  ASSERT_TRUE(get().ok());
  const std::string good = contents();
  std::vector<std::string> damaged = {"", "short", good + "x", good.substr(0, good.size() - 1), std::string(4096, 'x')};
  for (std::size_t i = 0; i < good.size(); ++i) {
    damaged.push_back(good);
    damaged.back()[i] = static_cast<char>(damaged.back()[i] ^ 0x10);
  }
  for (const std::string& text : damaged) {
    overwrite(text);
    ASSERT_FALSE(cache_.find(key_).has_value());
  }
  auto again = get();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(compiled_, 2);
  EXPECT_EQ(contents(), good);
}

TEST_F(ModuleCache, FileInsteadOfFolderIsNoError) {
  fs::create_directories(cache_.path_of(key_));
  EXPECT_TRUE(get().ok());
  fs::remove(cache_.path_of(key_));
  ASSERT_EQ(mkfifo(cache_.path_of(key_).c_str(), 0600), 0);
  EXPECT_TRUE(get().ok());  // and does not wait for a writer
  EXPECT_EQ(compiled_, 2);
}

TEST_F(ModuleCache, AFolderThatCannotBeWrittenIsNoError) {
  std::ofstream(folder_ / "file") << "x";
  cache_ = CubinCache(folder_ / "file" / "kvrm");
  EXPECT_TRUE(get().ok());
  cache_ = CubinCache("/proc/kvrm");
  EXPECT_TRUE(get().ok());
  cache_ = CubinCache();
  EXPECT_TRUE(get().ok());
  EXPECT_EQ(compiled_, 3);
}

TEST_F(ModuleCache, OldKernelsAreRemoved) {
  for (int driver = 0; driver < 20; ++driver) {
    CacheKey key = key_;
    key.driver_version = driver;
    ASSERT_TRUE(cache_.store(key, bytes_of("cubin")));
    EXPECT_TRUE(cache_.find(key).has_value());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a" / "kvrm"), fs::directory_iterator()), 8);
}

TEST_F(ModuleCache, AFailureToCompileIsTheError) {
  int calls = 0;
  auto result = cached_compile(
      cache_, key_, ptx_, [](auto) -> Result<std::vector<std::byte>> { return Error{"no"}; },
      [&](const CompileProgress& progress) {
        ++calls;
        EXPECT_NE(progress.message.find("sm_100"), std::string::npos);
      });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no");
  EXPECT_EQ(calls, 2);  // begin and end
}

TEST_F(ModuleCache, FollowsTheUsersFolder) {
  const auto with = [](const char* cache, const char* home) {
    const char* old_home = getenv("HOME");
    const std::string saved = old_home ? old_home : "";
    cache ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    const fs::path path = CubinCache::of_user().path_of({}).parent_path();
    setenv("HOME", saved.c_str(), 1);
    unsetenv("XDG_CACHE_HOME");
    return path;
  };
  EXPECT_EQ(with("/x", "/h"), "/x/kvrm");
  EXPECT_EQ(with(nullptr, "/h"), "/h/.cache/kvrm");
  EXPECT_EQ(with("relative", "/h"), "/h/.cache/kvrm");
  EXPECT_EQ(with(nullptr, nullptr), "");
}

TEST(ContentHash, SeesEveryBit) {
  for (std::size_t size : {1U, 7U, 8U, 9U, 40U}) {
    std::vector<std::byte> bytes(size);
    const std::uint64_t hash = content_hash(bytes);
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      auto other = bytes;
      other[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      EXPECT_NE(content_hash(other), hash);
    }
    bytes.push_back({});
    EXPECT_NE(content_hash(bytes), hash);
  }
}

// The whole way with the library that stands in for the driver.
class LoadKernel : public ModuleCache {
 protected:
  void SetUp() override {
    if (ptx().empty()) GTEST_SKIP() << no_code_error().message;
    void* library = dlopen(KVRM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr);
    state_ = reinterpret_cast<FakeStateFunction>(dlsym(library, kFakeStateFunction))();
    *state_ = FakeState{};
  }
  Result<Kernel> load() {
    auto context = Context::open(*Driver::open(KVRM_FAKE_CUDA), 0);
    if (!context) return context.error();
    return load_kernel(*context, {}, cache_);
  }
  FakeState* state_ = nullptr;
};

TEST_F(LoadKernel, AnEmbeddedCubinNeedsNoCompiler) {
  if (!cubin_for(9, 0)) GTEST_SKIP() << "no ptxas when this was built";
  auto kernel = load();
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->source, CodeSource::kEmbedded);
  EXPECT_EQ(state_->compiled, 0);
}

TEST_F(LoadKernel, AnUnknownDeviceCompilesOnce) {
  state_->compute = 121;
  EXPECT_EQ(load()->source, CodeSource::kCompiled);
  EXPECT_EQ(load()->source, CodeSource::kCache);
  EXPECT_EQ(state_->compiled, 1);
  state_->version = 13020;  // another driver, another compiler
  EXPECT_EQ(load()->source, CodeSource::kCompiled);
}

TEST_F(LoadKernel, ACubinTheDriverRefusesIsCompiledAgain) {
  state_->load_elf = Code::kInvalidImage;
  EXPECT_EQ(load()->source, CodeSource::kCompiled);
  // A whole file in the cache that the driver does not take is replaced.
  const CacheKey key{content_hash(ptx()), 90, 12040};
  ASSERT_TRUE(cache_.store(key, bytes_of("\177ELF of old")));
  EXPECT_EQ(load()->source, CodeSource::kCompiled);
  EXPECT_EQ(load()->source, CodeSource::kCache);
}

TEST_F(LoadKernel, FailuresAreOneLine) {
  state_->compute = 121;
  state_->link = Code::kUnsupportedPtxVersion;
  auto kernel = load();
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().message.find("newer driver"), std::string::npos);
  EXPECT_EQ(state_->live, 0);
}

TEST(Images, ArePtxAndElf) {
  if (ptx().empty()) {
    EXPECT_NE(no_code_error().message.find("no GPU code: "), std::string::npos);
    EXPECT_FALSE(cubin_for(9, 0).has_value());
    return;
  }
  const std::string_view text(reinterpret_cast<const char*>(ptx().data()), ptx().size());
  EXPECT_NE(text.find(".target sm_80"), std::string_view::npos);
  EXPECT_EQ(ptx().data()[ptx().size()], std::byte{0});  // the driver wants it
  EXPECT_FALSE(cubin_for(7, 5).has_value());
  EXPECT_FALSE(cubin_for(0, 0).has_value());
  for (const int compute : {80, 86, 89, 90}) {
    const auto cubin = cubin_for(compute / 10, compute % 10);
    if (!cubin) continue;
    ASSERT_GT(cubin->size(), 64U);
    EXPECT_EQ((*cubin)[0], std::byte{0x7f});
    EXPECT_EQ((*cubin)[1], std::byte{'E'});
  }
}

}  // namespace
}  // namespace kvrm::backend::cuda
