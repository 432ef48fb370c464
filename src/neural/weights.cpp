// Weight files: the values, and the description that stands beside them.
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kvrm/models.h"
#include "neural/built_in.h"
#include "neural/layouts.h"
#include "neural/npy.h"
#include "neural/sha256.h"

namespace kvrm {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kAllWords = std::uint64_t{1} << 32;

// What cannot be read out of a description, as an exception inside this file.
struct Unfit {
  std::string why;
};

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) throw Unfit{std::string("has no '") + key + "'"};
  return object[key];
}
std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw Unfit{std::string("'") + key + "' is not a text"};
  return value.get<std::string>();
}
std::uint64_t number(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_number_unsigned()) throw Unfit{std::string("'") + key + "' is not a number"};
  return value.get<std::uint64_t>();
}

void check_tensors(const Json& list, const ModelLayout& layout) {
  if (!list.is_array() || list.size() != layout.tensors.size()) throw Unfit{"does not list the tensors of its model"};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Tensor& tensor = layout.tensors[i];
    const Json& shape = member(list[i], "shape");
    if (text(list[i], "name") != tensor.name || number(list[i], "offset") != tensor.offset ||
        shape != Json(tensor.shape)) {
      throw Unfit{"places " + tensor.name + " differently than its model does"};
    }
  }
}

Verification verification_of(const Json& json) {
  Verification result;
  result.checksum = text(json, "checksum");
  result.date = text(json, "date");
  result.device = text(json, "device");
  result.method = text(json, "method");
  result.words = number(json, "words");
  result.errors = number(json, "errors");
  const Json& margin = member(json, "margin");
  if (!margin.is_number()) throw Unfit{"'margin' is not a number"};
  result.margin = margin.get<double>();
  return result;
}

void take_description(Weights& weights, std::string_view description) {
  const Json json = Json::parse(description, nullptr, false);
  if (json.is_discarded()) throw Unfit{"is not JSON"};
  const std::string model = text(json, "model");
  weights.layout = neural::layout_named(model);
  if (!weights.layout) throw Unfit{"names a model '" + model + "', which is unknown"};
  if (const std::uint64_t version = number(json, "layout"); version != weights.layout->version) {
    throw Unfit{"has layout version " + std::to_string(version) + ", which is unknown"};
  }
  const std::uint64_t features = number(json, "features");
  const unsigned newest = model == neural::kDispatchEmbedding ? 2 : 1;
  if (features < 1 || features > newest)
    throw Unfit{"has features version " + std::to_string(features) + ", which is unknown"};
  weights.features = static_cast<unsigned>(features);
  check_tensors(member(json, "tensors"), *weights.layout);
  if (text(json, "checksum") != weights.checksum)
    throw Unfit{"is of other weights: its checksum is not that of the file"};
  const Json& training = member(json, "training");
  weights.training_command = text(training, "command");
  weights.metrics = member(training, "metrics").dump();
  weights.described = true;
}

// Weights with a description that came with the library are as that says: a test proves it again.
void take_verification(Weights& weights) {
  const Json json = Json::parse(neural::built_in_description(weights.checksum), nullptr, false);
  if (json.is_object() && json.contains("verified")) weights.verification = verification_of(json["verified"]);
}

// The values fit the layout, and all of them are numbers.
Result<WeightsPointer> checked(Weights weights) {
  const std::string& source = weights.source;
  if (!weights.layout) {
    weights.layout = neural::layout_of_size(weights.values.size());
    if (!weights.layout) {
      return Error{source + ": no model has " + std::to_string(weights.values.size()) + " parameters"};
    }
  }
  if (weights.values.size() != weights.layout->parameters) {
    return Error{source + ": " + std::to_string(weights.values.size()) + " values; " + weights.layout->name + " has " +
                 std::to_string(weights.layout->parameters)};
  }
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    if (!std::isfinite(weights.values[i]))
      return Error{source + ": value " + std::to_string(i) + " is not a finite number"};
  }
  return std::make_shared<const Weights>(std::move(weights));
}

}  // namespace

bool Weights::verified() const {
  return verification && verification->checksum == checksum && verification->words == kAllWords &&
         verification->errors == 0 && verification->margin > 0;
}

Result<WeightsPointer> parse_weights(std::span<const std::byte> npy, std::string_view description, std::string source) {
  Weights weights;
  weights.source = std::move(source);
  auto values = neural::parse_npy(npy);
  if (!values) return Error{weights.source + ": " + values.error().message};
  weights.values = std::move(*values);
  weights.checksum = "sha256:" + neural::sha256(npy);
  try {
    if (!description.empty()) take_description(weights, description);
    take_verification(weights);
  } catch (const Unfit& problem) {
    return Error{weights.source + ": the description beside it " + problem.why};
  }
  return checked(std::move(weights));
}

Result<WeightsPointer> make_weights(std::vector<float> values) {
  Weights weights;
  weights.source = "memory";
  weights.values = std::move(values);
  weights.checksum = "sha256:" + neural::sha256(std::as_bytes(std::span(weights.values)));
  return checked(std::move(weights));
}

}  // namespace kvrm
