#include "corpus.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace kvrm::oracle {
namespace {

// The number changes with the layout and with what a seed stands for (case.cpp, values.cpp).
constexpr std::string_view kMagic = "KVRMCRP2";

class Packer {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(static_cast<uint8_t>(value.size()));
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<uint8_t>();
    return std::string(take(size));
  }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw std::runtime_error("the corpus ends too early");
    const auto taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

void pack_outcome(Packer& out, const OracleState& input, const Outcome& outcome) {
  out.number(static_cast<uint8_t>(outcome.signal));
  out.number(static_cast<uint8_t>(outcome.code));
  out.number(outcome.fault_address);
  out.number(outcome.state.pc);
  uint8_t changed = 0;
  for (unsigned slot = 0; slot < kSlotCount; ++slot) {
    changed += slot_value(input, slot) != slot_value(outcome.state, slot);
  }
  out.number(changed);
  for (unsigned slot = 0; slot < kSlotCount; ++slot) {
    const uint64_t value = slot_value(outcome.state, slot);
    if (value == slot_value(input, slot)) continue;
    out.number(static_cast<uint8_t>(slot));
    out.number(value);
  }
  out.number(static_cast<uint16_t>(outcome.blocks.size()));
  for (const OracleBlock& block : outcome.blocks) {
    out.number(static_cast<uint16_t>(block.offset));
    out.number(block.bytes[0]);
    out.number(block.bytes[1]);
  }
}

Outcome unpack_outcome(Unpacker& in, const OracleState& input) {
  Outcome outcome;
  outcome.state = input;
  outcome.signal = in.number<uint8_t>();
  outcome.code = in.number<uint8_t>();
  outcome.fault_address = in.number<uint64_t>();
  outcome.state.pc = in.number<uint64_t>();
  for (auto left = in.number<uint8_t>(); left > 0; --left) {
    const auto slot = in.number<uint8_t>();
    set_slot(outcome.state, slot, in.number<uint64_t>());
  }
  for (auto left = in.number<uint16_t>(); left > 0; --left) {
    OracleBlock block = {};
    block.offset = in.number<uint16_t>();
    block.bytes[0] = in.number<uint64_t>();
    block.bytes[1] = in.number<uint64_t>();
    outcome.blocks.push_back(block);
  }
  return outcome;
}

void unpack_group(Unpacker& in, const Table& table, Unit& unit) {
  Group group;
  group.row = table.find(in.text());
  group.allocation_only = in.number<uint8_t>() != 0;
  for (auto left = in.number<uint8_t>(); left > 0; --left) group.words.push_back(in.number<uint32_t>());
  for (auto left = in.number<uint32_t>(); left > 0; --left) {
    Input input;
    input.seed = in.number<uint64_t>();
    for (auto overrides = in.number<uint8_t>(); overrides > 0; --overrides) {
      const auto slot = in.number<uint8_t>();
      input.overrides.push_back({slot, in.number<uint64_t>()});
    }
    unit.outcomes.push_back(unpack_outcome(in, expand(input)));
    group.inputs.push_back(std::move(input));
  }
  unit.groups.push_back(std::move(group));
}

class CorpusSource : public Source {
 public:
  CorpusSource(const Table& table, std::unique_ptr<const std::string> bytes, std::vector<std::string_view> units)
      : table_(table), bytes_(std::move(bytes)), units_(std::move(units)) {}
  std::size_t units() const override { return units_.size(); }
  Unit unit(std::size_t index) const override {
    Unit unit;
    Unpacker in(units_[index]);
    while (!in.empty()) unpack_group(in, table_, unit);
    return unit;
  }

 private:
  const Table& table_;
  std::unique_ptr<const std::string> bytes_;
  std::vector<std::string_view> units_;  // views of bytes_
};

}  // namespace

std::string pack(const Table& table, const Unit& unit) {
  Packer out;
  std::size_t next = 0;
  for (const Group& group : unit.groups) {
    out.text(group.row == kNoRow ? "" : table.row(group.row).name);
    out.number(static_cast<uint8_t>(group.allocation_only));
    out.number(static_cast<uint8_t>(group.words.size()));
    for (const uint32_t word : group.words) out.number(word);
    out.number(static_cast<uint32_t>(group.inputs.size()));
    for (const Input& input : group.inputs) {
      out.number(input.seed);
      out.number(static_cast<uint8_t>(input.overrides.size()));
      for (const Override& change : input.overrides) {
        out.number(change.slot);
        out.number(change.value);
      }
      pack_outcome(out, expand(input), unit.outcomes[next++]);
    }
  }
  return out.take();
}

std::string write_corpus(const std::string& path, uint64_t memory_seed, const std::vector<std::string>& units) {
  std::ofstream file(path, std::ios::binary);
  Packer header;
  header.number(memory_seed);
  file << kMagic << header.take();
  for (const std::string& unit : units) {
    Packer size;
    size.number(static_cast<uint64_t>(unit.size()));
    file << size.take() << unit;
  }
  file.flush();
  return file ? "" : "cannot write " + path;
}

std::unique_ptr<Source> read_corpus(const std::string& path, const Table& table, uint64_t& memory_seed,
                                    std::string& error) {
  std::ifstream file(path, std::ios::binary);
  auto bytes = std::make_unique<std::string>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  try {
    Unpacker in(*bytes);
    if (in.take(kMagic.size()) != kMagic) throw std::runtime_error("no corpus of this version");
    memory_seed = in.number<uint64_t>();
    std::vector<std::string_view> units;
    while (!in.empty()) {
      const auto size = in.number<uint64_t>();
      units.push_back(in.take(size));
    }
    return std::make_unique<CorpusSource>(table, std::move(bytes), std::move(units));
  } catch (const std::runtime_error& problem) {
    error = path + ": " + problem.what();
    return nullptr;
  }
}

}  // namespace kvrm::oracle
