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

// What a flat array of weights consists of.
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

// That a network was asked about every word there is, and by whom.
struct Verification {
  std::string checksum;  // of the weight file
  std::string date;      // 2026-11-15
  std::string device;    // cpu, cuda
  std::string method;    // in words
  std::uint64_t words = 0, errors = 0;
  double margin = 0;  // the smallest gap between the best class and the second
  bool from_cache = false;  // known from the user's cache folder; otherwise the library itself vouches for it
};

// Weights in memory. `values` are finite and exactly as many as the layout says.
struct Weights {
  std::string source;  // the file, or "built in"
  const ModelLayout* layout = nullptr;
  unsigned features = 1;  // version of what the network sees
  std::vector<float> values;
  std::string checksum;  // "sha256:..." of the .npy file's bytes
  bool described = false;  // a description stood beside the file
  std::string training_command, metrics;  // from the description; metrics as JSON
  std::optional<Verification> verification;

  // A full verification of exactly these weights is on record, and it found no error.
  KVRM_API bool verified() const;
};

// A NumPy file of float32. With a description beside it (the same name with .json) that must fit; without one the model
// is known by the number of values. Anything else is refused with a reason. Whether the weights are verified is not for
// the description to say: the library knows it of its own weights, and the user's cache folder of others.
KVRM_API Result<WeightsPointer> load_weights(const std::string& path);
// The same from memory, without a look at the cache folder; `description` may be empty.
KVRM_API Result<WeightsPointer> parse_weights(std::span<const std::byte> npy, std::string_view description,
                                              std::string source);
// Weights that somebody already has as numbers; the model is known by how many there are.
KVRM_API Result<WeightsPointer> make_weights(std::vector<float> values);
// Those that come with the library, by the model's name, and what there is.
KVRM_API Result<WeightsPointer> built_in_weights(std::string_view model);
KVRM_API std::vector<std::string> built_in_models();

// The proof. On the CPU every distinct input of the network (2^20 for features 2) stands for the 2^12 words that share
// it, which is exact because a word's class depends on nothing else; `exhaustive` asks about all 2^32 words there too.
// On a GPU it is always all of them. The table is asked about each word in the same pass.
struct VerifyOptions {
  Device device = Device::kCpu;
  bool exhaustive = false;
  unsigned threads = 0;  // CPU: 0 for all there are
  unsigned device_ordinal = 0;  // GPU
  std::function<void(double share)> progress;  // called now and then, from one thread
};
struct DispatchReport {
  Verification verification;  // also what record_verification() writes
  std::uint64_t inputs = 0;  // the network was asked
  double seconds = 0;
  double rounding = 0;  // the largest difference to the same network in double precision (CPU)
  std::uint32_t example = 0;  // a word it is wrong about, if there is one
  std::array<std::array<std::uint64_t, 7>, 7> confusion{};  // words: [the table's class][the network's]
};
KVRM_API Result<DispatchReport> verify_dispatch(const Weights& weights, const VerifyOptions& options = {});
// Keeps a passed verification in the user's cache folder, for all weights with its checksum.
KVRM_API Result<void> record_verification(const Verification& verification);

// The seven routing classes, by number.
KVRM_API std::string_view class_name(unsigned number);

}  // namespace kvrm
