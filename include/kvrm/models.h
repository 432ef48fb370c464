// The networks: their weight files, and the proof that dispatch by network is exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// One part of a flat array of weights.
struct Tensor {
  std::string name;
  std::uint64_t offset = 0;           // of its first value in the array
  std::vector<std::uint64_t> shape;  // row-major
};

struct ModelLayout {
  std::string name;          // "dispatch-embedding"
  std::string purpose;       // one line
  unsigned version = 1;
  std::uint64_t parameters = 0;
  std::vector<Tensor> tensors;
};
// Every model this library knows.
KVRM_API const std::vector<ModelLayout>& model_layouts();

// The record of a check of a network against every 32-bit word.
struct Verification {
  std::string checksum;  // of the weight file
  std::string date;      // 2026-11-15
  std::string device;    // cpu, cuda
  std::string method;    // in words
  std::uint64_t words = 0, errors = 0;
  double margin = 0;  // the smallest gap between the best class and the second
  bool from_cache = false;  // read from the user's cache folder; otherwise part of the library
};

// Weights in memory. `values` are finite and exactly as many as the layout says.
struct Weights {
  std::string source;  // the file, or "built in"
  const ModelLayout* layout = nullptr;
  unsigned features = 1;  // version of the network's input
  std::vector<float> values;
  std::string checksum;  // "sha256:..." of the .npy file's bytes
  bool described = false;  // a description was beside the file
  std::string training_command, metrics;  // from the description; metrics as JSON
  std::optional<Verification> verification;

  // A full verification of exactly these weights is on record and found no error.
  KVRM_API bool verified() const;
};

// A NumPy file of float32. A description beside it (the same name with .json) must match; without one the number of
// values determines the model. Anything else is an error. Whether weights are verified is decided by the library for
// its own weights and by the user's cache folder for others, never by the description.
KVRM_API Result<WeightsPointer> load_weights(const std::string& path);
// The same from memory, without the cache folder; `description` may be empty.
KVRM_API Result<WeightsPointer> parse_weights(std::span<const std::byte> npy, std::string_view description,
                                              std::string source);
// Weights from numbers; their count determines the model.
KVRM_API Result<WeightsPointer> make_weights(std::vector<float> values);
// The built-in weights of a model, and the names of the models that have some.
KVRM_API Result<WeightsPointer> built_in_weights(std::string_view model);
KVRM_API std::vector<std::string> built_in_models();

// The proof. On the CPU every distinct input of the network (2^20 for features 2) represents the 2^12 words that share
// it, which is exact because a word's class depends on nothing else; `exhaustive` checks all 2^32 words there too. A
// GPU always checks all of them. The same pass compares each word with the table.
struct VerifyOptions {
  Device device = Device::kCpu;
  bool exhaustive = false;
  unsigned threads = 0;  // CPU; 0: one per host processor
  unsigned device_ordinal = 0;  // GPU
  std::function<void(double share)> progress;  // called from one thread at a time
};
struct DispatchReport {
  Verification verification;  // record_verification() writes it
  std::uint64_t inputs = 0;  // evaluated by the network
  double seconds = 0;
  double rounding = 0;  // the largest difference to the same network in double precision (CPU)
  std::uint32_t example = 0;  // a misclassified word, if there is one
  std::array<std::array<std::uint64_t, 7>, 7> confusion{};  // words: [the table's class][the network's]
};
KVRM_API Result<DispatchReport> verify_dispatch(const Weights& weights, const VerifyOptions& options = {});
// Keeps a passed verification in the user's cache folder, for all weights with its checksum.
KVRM_API Result<void> record_verification(const Verification& verification);

// The seven routing classes, by number.
KVRM_API std::string_view class_name(unsigned number);

}  // namespace kvrm
