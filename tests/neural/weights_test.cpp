// Weight files with and without descriptions.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "neural/layouts.h"
#include "neural/sha256.h"
#include "samples.h"

namespace kvrm::neural {
namespace {

using Json = nlohmann::ordered_json;

Json description_of(const std::string& model, const std::string& file, unsigned features) {
  const ModelLayout& layout = *layout_named(model);
  Json json = {{"model", model},
               {"layout", 1},
               {"features", features},
               {"parameters", layout.parameters},
               {"training", {{"command", "train"}, {"metrics", {{"errors", 0}}}}},
               {"checksum", "sha256:" + sha256(bytes_of(file))}};
  for (const Tensor& tensor : layout.tensors) {
    json["tensors"].push_back({{"name", tensor.name}, {"offset", tensor.offset}, {"shape", tensor.shape}});
  }
  return json;
}

std::string refusal(const std::string& file, const std::string& description = "") {
  const auto parsed = parse_weights(bytes_of(file), description, "file");
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Layouts, HaveTheSizesOfTheirModels) {
  const std::pair<const char*, std::uint64_t> sizes[] = {{"dispatch-small", 135},
                                                         {"dispatch-embedding", 10279},
                                                         {"loop-detector", 1083397},
                                                         {"memory-oracle", 271124},
                                                         {"pattern-recogniser", 508161}};
  ASSERT_EQ(model_layouts().size(), std::size(sizes));
  for (const auto& [name, size] : sizes) {
    ASSERT_NE(layout_named(name), nullptr) << name;
    EXPECT_EQ(layout_named(name)->parameters, size) << name;
    EXPECT_EQ(layout_of_size(size), layout_named(name));
  }
  EXPECT_EQ(layout_named("other"), nullptr);
  EXPECT_EQ(layout_of_size(136), nullptr);
  // Where the oldest files have their parts.
  const std::pair<const char*, std::uint64_t> offsets[] = {
      {"embedding", 0},    {"fc1.weight", 8192},  {"fc1.bias", 9600}, {"fc2.weight", 9632},
      {"fc2.bias", 10144}, {"fc3.weight", 10160}, {"fc3.bias", 10272}};
  const ModelLayout& embedding = *layout_named("dispatch-embedding");
  for (std::size_t i = 0; i < std::size(offsets); ++i) {
    EXPECT_EQ(embedding.tensors[i].name, offsets[i].first);
    EXPECT_EQ(embedding.tensors[i].offset, offsets[i].second);
  }
}

TEST(Weights, EveryModelLoadsBySize) {
  for (const ModelLayout& layout : model_layouts()) {
    auto weights = parse_weights(bytes_of(npy(random_values(layout.parameters, 1))), "", "file");
    ASSERT_TRUE(weights) << weights.error().message;
    EXPECT_EQ((*weights)->layout, &layout);
    EXPECT_EQ((*weights)->features, 1u);
    EXPECT_FALSE((*weights)->described);
    EXPECT_FALSE((*weights)->verified());
  }
}

TEST(Weights, EveryModelLoadsWithItsDescription) {
  for (const ModelLayout& layout : model_layouts()) {
    const std::string file = npy(random_values(layout.parameters, 2));
    auto weights = parse_weights(bytes_of(file), description_of(layout.name, file, 1).dump(), "file");
    ASSERT_TRUE(weights) << weights.error().message;
    EXPECT_TRUE((*weights)->described);
    EXPECT_EQ((*weights)->training_command, "train");
    EXPECT_EQ((*weights)->metrics, "{\"errors\":0}");
  }
}

TEST(Weights, RefusesWithAReason) {
  EXPECT_NE(refusal(npy(random_values(134, 1))).find("no model has 134 parameters"), std::string::npos);
  EXPECT_NE(refusal(npy(random_values(10280, 1))).find("10280"), std::string::npos);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = random_values(135, 1);
    values[77] = bad;
    EXPECT_NE(refusal(npy(values)).find("value 77 is not a finite number"), std::string::npos);
  }
  EXPECT_NE(refusal("\x93NUMPY").find("not a NumPy file"), std::string::npos);
}

TEST(Weights, RefusesADescriptionThatDoesNotFit) {
  const std::string file = npy(random_values(10279, 3));
  const Json good = description_of("dispatch-embedding", file, 2);
  ASSERT_EQ(refusal(file, good.dump()), "");
  const auto with = [&](const char* key, Json value) {
    Json changed = good;
    changed[key] = std::move(value);
    return refusal(file, changed.dump());
  };
  const auto without = [&](const char* key) {
    Json changed = good;
    changed.erase(key);
    return refusal(file, changed.dump());
  };
  for (const char* key : {"model", "layout", "features", "tensors", "training", "checksum"}) {
    EXPECT_NE(without(key).find(std::string("has no '") + key), std::string::npos) << key;
    EXPECT_NE(with(key, nullptr), "") << key;
    EXPECT_NE(with(key, -1), "") << key;
  }
  EXPECT_NE(with("model", "loop-detector"), "");
  EXPECT_NE(with("model", "other").find("'other'"), std::string::npos);
  EXPECT_NE(with("layout", 2).find("layout version 2"), std::string::npos);
  EXPECT_NE(with("features", 3).find("features version 3"), std::string::npos);
  EXPECT_NE(with("checksum", "sha256:0").find("other weights"), std::string::npos);
  Json moved = good;
  moved["tensors"][2]["offset"] = 9601;
  EXPECT_NE(refusal(file, moved.dump()).find("fc1.bias"), std::string::npos);
  EXPECT_NE(refusal(file, "{").find("is not JSON"), std::string::npos);
  EXPECT_NE(refusal(file, "[]"), "");
  EXPECT_NE(refusal(npy(random_values(135, 1)), good.dump()), "");
}

TEST(Weights, SurvivesDamagedDescriptions) {
  const std::string file = npy(random_values(135, 4));
  const std::string good = description_of("dispatch-small", file, 1).dump();
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    if (random() % 4 == 0) text.resize(random() % text.size() + 1);
    for (unsigned flips = random() % 4 + 1; flips > 0; --flips)
      text[random() % text.size()] = static_cast<char>(random());
    static_cast<void>(parse_weights(bytes_of(file), text, "file"));
  }
}

TEST(Weights, AVerificationCountsForItsOwnWeightsOnly) {
  Weights weights;
  weights.checksum = "sha256:0";
  const Verification good = {"sha256:0", "2026-11-15", "cpu", "all", 4294967296, 0, 1.5};
  const auto verified = [&](const auto& change) {
    weights.verification = good;
    change(*weights.verification);
    return weights.verified();
  };
  EXPECT_TRUE(verified([](Verification&) {}));
  EXPECT_FALSE(verified([](Verification& record) { record.checksum = "sha256:1"; }));
  EXPECT_FALSE(verified([](Verification& record) { record.words = 4294967295; }));
  EXPECT_FALSE(verified([](Verification& record) { record.errors = 1; }));
  EXPECT_FALSE(verified([](Verification& record) { record.margin = 0; }));
}

TEST(Weights, ADescriptionCannotVouchForItself) {
  const std::string file = npy(random_values(10279, 6));
  Json json = description_of("dispatch-embedding", file, 2);
  json["verified"] = {{"checksum", json["checksum"]}, {"date", "2026-11-15"}, {"device", "cpu"}, {"method", "all"},
                      {"words", 4294967296},          {"errors", 0},          {"margin", 1.5}};
  auto weights = parse_weights(bytes_of(file), json.dump(), "file");
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_FALSE((*weights)->verified());
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("kvrm-weights-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    before_.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::filesystem::path folder_;
  std::string before_;
};

TEST_F(Files, LoadAndRecord) {
  const std::string file = npy(random_values(10279, 7));
  const std::string path = put("a.npy", file);
  ASSERT_TRUE(load_weights(path));
  EXPECT_FALSE(load_weights(path).value()->described);

  put("a.json", description_of("dispatch-embedding", file, 2).dump());
  ASSERT_TRUE(load_weights(path));
  EXPECT_EQ(load_weights(path).value()->features, 2u);
  const Verification passed = {"sha256:" + sha256(bytes_of(file)), "2026-11-15", "cpu", "all", 4294967296, 0, 2.5};
  EXPECT_FALSE((*load_weights(path))->verified());
  ASSERT_TRUE(record_verification(passed));
  auto weights = load_weights(path);
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_TRUE((*weights)->verified());
  EXPECT_EQ((*weights)->verification->margin, 2.5);
  EXPECT_TRUE((*weights)->verification->from_cache);

  // Others could have written it.
  std::filesystem::permissions(folder_ / "cache" / "kvrm", std::filesystem::perms::all);
  EXPECT_FALSE((*load_weights(path))->verified());
  EXPECT_FALSE(record_verification(passed).ok());

  put("a.json", "");
  EXPECT_FALSE(load_weights(path).ok());
  EXPECT_FALSE(load_weights((folder_ / "none.npy").string()).ok());
  EXPECT_FALSE(load_weights(folder_.string()).ok());
}

TEST(BuiltIn, AreWhatTheFilesAre) {
  for (const std::string& model : built_in_models()) {
    auto own = built_in_weights(model);
    ASSERT_TRUE(own) << own.error().message;
    auto file = load_weights(std::string(KVRM_MODELS) + "/" + model + ".npy");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*own)->checksum, (*file)->checksum);
    EXPECT_EQ((*own)->verified(), (*file)->verified()) << "the same bytes, the same record";
    EXPECT_EQ((*own)->layout->name, model);
  }
  EXPECT_FALSE(built_in_weights("no-such-model").ok());
}

}  // namespace
}  // namespace kvrm::neural
