// The reader of .npy files: what it must take, what it must refuse, and damage of every kind.
#include <gtest/gtest.h>

#include "neural/npy.h"
#include "neural/sha256.h"
#include "samples.h"

namespace kvrm::neural {
namespace {

std::string refusal(const std::string& file) {
  const auto parsed = parse_npy(bytes_of(file));
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Npy, TakesWhatNumPyWrites) {
  const std::vector<float> values = random_values(135, 1);
  for (const char major : {'\1', '\2', '\3'}) {
    for (const char* shape : {"(135,)", "(135)", "(27, 5)", "(27,5,1)"}) {
      auto parsed = parse_npy(bytes_of(npy(header_of(shape), values, major)));
      ASSERT_TRUE(parsed) << shape << ": " << parsed.error().message;
      EXPECT_EQ(*parsed, values);
    }
  }
  EXPECT_TRUE(parse_npy(bytes_of(npy(header_of("(0,)"), {}))));
  EXPECT_EQ(parse_npy(bytes_of(npy(header_of("()"), {2.5f}))).value(), std::vector<float>{2.5f});
}

TEST(Npy, WidensHalves) {
  // 1, -2, 1/3, the least and the greatest number, the least normal one, zero.
  const std::string halves("\x00\x3c\x00\xc0\x55\x35\x01\x00\xff\x7b\x00\x04\x00\x80", 14);
  auto parsed = parse_npy(bytes_of(npy(header_of("(7,)", "<f2"), {}) + halves));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, (std::vector<float>{1, -2, 0x1.554p-2f, 0x1p-24f, 65504, 0x1p-14f, 0}));
  EXPECT_NE(refusal(npy(header_of("(7,)", "<f2"), {}) + halves.substr(1)).find("cut short"), std::string::npos);
}

TEST(Npy, RefusesWithAReason) {
  const std::vector<float> values(8);
  EXPECT_EQ(refusal(""), "not a NumPy file");
  EXPECT_EQ(refusal(std::string(200, 'x')), "not a NumPy file");
  EXPECT_NE(refusal(npy(header_of("(8,)"), values, 9)).find("version 9"), std::string::npos);
  EXPECT_NE(refusal(npy(header_of("(8,)", "<f8"), values)).find("'<f8'"), std::string::npos);
  EXPECT_NE(refusal(npy(header_of("(8,)", ">f4"), values)).find("'>f4'"), std::string::npos);
  EXPECT_NE(refusal(npy(header_of("(8,)", "<f4", "True"), values)).find("Fortran"), std::string::npos);
  EXPECT_NE(refusal(npy(header_of("(9,)"), values)).find("cut short"), std::string::npos);
  EXPECT_NE(refusal(npy(header_of("(7,)"), values)).find("too long"), std::string::npos);
  for (const char* shape : {"(-8,)", "(x,)", "(8,,)", "(99999999999999999999,)", "(65536, 65536, 65536)", "8", "(8"}) {
    EXPECT_NE(refusal(npy(header_of(shape), values)), "") << shape;
  }
  for (const char* header : {"", "{}", "{'descr': '<f4'}", "{'descr' '<f4', 'fortran_order': False, 'shape': (8,)}"}) {
    EXPECT_NE(refusal(npy(header, values)).find("header"), std::string::npos) << header;
  }
}

TEST(Npy, SurvivesEveryCut) {
  const std::string file = npy(random_values(20, 2));
  for (std::size_t size = 0; size < file.size(); ++size) EXPECT_NE(refusal(file.substr(0, size)), "") << size;
  EXPECT_EQ(refusal(file), "");
}

TEST(Npy, SurvivesDamage) {
  const std::string good = npy(random_values(20, 3));
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    std::string file = good;
    for (unsigned flips = random() % 6 + 1; flips > 0; --flips) file[random() % 100] = static_cast<char>(random());
    const auto parsed = parse_npy(bytes_of(file));
    if (parsed.ok()) EXPECT_EQ(parsed.value().size(), 20u);
  }
}

TEST(Sha256, OfKnownTexts) {
  EXPECT_EQ(sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(bytes_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(bytes_of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // Around the ends of a block, where the padding changes its shape.
  EXPECT_EQ(sha256(bytes_of(std::string(55, 'a'))), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(sha256(bytes_of(std::string(56, 'a'))), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(sha256(bytes_of(std::string(64, 'a'))), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

}  // namespace
}  // namespace kvrm::neural
