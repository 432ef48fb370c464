#include "neural/layouts.h"

#include <utility>

namespace kvrm {
namespace {

// Puts tensors one after the other.
class Builder {
 public:
  Builder(std::string name, std::string purpose) {
    layout_.name = std::move(name), layout_.purpose = std::move(purpose);
  }

  Builder& tensor(const std::string& name, std::vector<std::uint64_t> shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    layout_.tensors.push_back({name, layout_.parameters, std::move(shape)});
    layout_.parameters += count;
    return *this;
  }
  Builder& linear(const std::string& name, std::uint64_t in, std::uint64_t out) {
    return tensor(name + ".weight", {out, in}).tensor(name + ".bias", {out});
  }
  Builder& norm(const std::string& name, std::uint64_t width) {
    return tensor(name + ".weight", {width}).tensor(name + ".bias", {width});
  }
  // The four gates stacked, as PyTorch stacks them; `directions` is 2 for a bidirectional one.
  Builder& lstm(const std::string& name, std::uint64_t in, std::uint64_t hidden, unsigned layers, unsigned directions) {
    for (unsigned layer = 0; layer < layers; ++layer) {
      const std::uint64_t width = layer == 0 ? in : hidden * directions;
      for (unsigned direction = 0; direction < directions; ++direction) {
        const std::string ending = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
        tensor(name + ".weight_ih" + ending, {4 * hidden, width});
        tensor(name + ".weight_hh" + ending, {4 * hidden, hidden});
        tensor(name + ".bias_ih" + ending, {4 * hidden});
        tensor(name + ".bias_hh" + ending, {4 * hidden});
      }
    }
    return *this;
  }
  Builder& attention(const std::string& name, std::uint64_t width) {
    tensor(name + ".in_proj_weight", {3 * width, width}).tensor(name + ".in_proj_bias", {3 * width});
    return linear(name + ".out_proj", width, width);
  }
  Builder& encoder(const std::string& name, std::uint64_t width, std::uint64_t inner) {
    attention(name + ".self_attn", width);
    linear(name + ".linear1", width, inner).linear(name + ".linear2", inner, width);
    return norm(name + ".norm1", width).norm(name + ".norm2", width);
  }
  ModelLayout done() { return std::move(layout_); }

 private:
  ModelLayout layout_;
};

std::vector<ModelLayout> all_layouts() {
  std::vector<ModelLayout> all;
  all.push_back(Builder("dispatch-small", "routing class from word[31:24], 8 -> 8 (tanh) -> 7")
                    .linear("fc1", 8, 8)
                    .linear("fc2", 8, 7)
                    .done());
  all.push_back(Builder("dispatch-embedding", "routing class from an embedding of word[31:24] and twelve features")
                    .tensor("embedding", {256, 32})
                    .linear("fc1", 44, 32)
                    .linear("fc2", 32, 16)
                    .linear("fc3", 16, 7)
                    .done());
  all.push_back(Builder("loop-detector", "kind, counter and iterations of a loop from its instructions and registers")
                    .linear("instruction.0", 32, 128)
                    .norm("instruction.1", 128)
                    .linear("instruction.3", 128, 128)
                    .linear("register_fields", 32, 96)
                    .lstm("lstm", 128, 128, 2, 2)
                    .linear("registers.0", 64, 128)
                    .norm("registers.1", 128)
                    .linear("registers.3", 128, 128)
                    .attention("cross_attention", 256)
                    .linear("type.0", 384, 128)
                    .linear("type.2", 128, 4)
                    .linear("counter", 256, 32)
                    .linear("iterations.0", 416, 128)
                    .linear("iterations.2", 128, 1)
                    .done());
  all.push_back(Builder("memory-oracle", "what is worth prefetching for a load, from its last sixteen misses")
                    .linear("encoder.0", 10, 64)
                    .linear("encoder.2", 64, 64)
                    .lstm("lstm", 64, 128, 2, 1)
                    .linear("deltas.0", 128, 128)
                    .linear("deltas.2", 128, 8)
                    .linear("confidence.0", 128, 64)
                    .linear("confidence.2", 64, 8)
                    .linear("pattern.0", 128, 64)
                    .linear("pattern.2", 64, 4)
                    .done());
  all.push_back(Builder("pattern-recogniser", "which known routine sixteen instructions of machine code are")
                    .tensor("tokens", {258, 64})
                    .tensor("positions", {64, 64})
                    .linear("projection", 128, 128)
                    .tensor("cls", {128})
                    .encoder("encoder.0", 128, 512)
                    .encoder("encoder.1", 128, 512)
                    .attention("cross_attention", 128)
                    .linear("confidence.0", 128, 64)
                    .linear("confidence.2", 64, 1)
                    .done());
  return all;
}

}  // namespace

const std::vector<ModelLayout>& model_layouts() {
  static const std::vector<ModelLayout> kLayouts = all_layouts();
  return kLayouts;
}

namespace neural {

const ModelLayout* layout_named(std::string_view name) {
  for (const ModelLayout& layout : model_layouts()) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

const ModelLayout* layout_of_size(std::uint64_t parameters) {
  for (const ModelLayout& layout : model_layouts()) {
    if (layout.parameters == parameters) return &layout;
  }
  return nullptr;
}

}  // namespace neural
}  // namespace kvrm
