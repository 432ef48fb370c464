#include "table.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace kvrm::oracle {

uint32_t Field::value(uint32_t word) const {
  uint32_t result = 0;
  for (const Slice& slice : slices) {
    const uint32_t ones = (uint32_t{1} << slice.width) - 1;
    result |= (word >> slice.word_low & ones) << slice.field_low;
  }
  return result;
}

int32_t Field::signed_value(uint32_t word) const {
  const unsigned unused = 32 - width;
  return static_cast<int32_t>(value(word) << unused) >> unused;
}

uint32_t Field::insert(uint32_t word, uint32_t new_value) const {
  for (const Slice& slice : slices) {
    const uint32_t ones = (uint32_t{1} << slice.width) - 1;
    word &= ~(ones << slice.word_low);
    word |= (new_value >> slice.field_low & ones) << slice.word_low;
  }
  return word;
}

bool Row::accepts(uint32_t word) const {
  if ((word & mask) != bits) return false;
  for (const auto& [excluded_mask, excluded_bits] : excluded) {
    if ((word & excluded_mask) == excluded_bits) return false;
  }
  return true;
}

const Field* Row::field(std::string_view field_name) const {
  for (const Field& field : fields) {
    if (field.name == field_name) return &field;
  }
  return nullptr;
}

std::optional<uint32_t> Row::get(std::string_view field_name, uint32_t word) const {
  const Field* found = field(field_name);
  if (!found) return std::nullopt;
  return found->value(word);
}

namespace {

using Json = nlohmann::json;

Field::Kind kind_of(const std::string& text) {
  if (text == "signed") return Field::Kind::kSigned;
  if (text == "general") return Field::Kind::kGeneral;
  if (text == "general_sp") return Field::Kind::kGeneralOrSp;
  if (text == "vector") return Field::Kind::kVector;
  return Field::Kind::kUnsigned;
}

Field read_field(const Json& json) {
  Field field;
  field.name = json.at("name").get<std::string>();
  field.kind = kind_of(json.at("kind").get<std::string>());
  field.width = json.at("width").get<unsigned>();
  for (const Json& slice : json.at("slices")) {
    field.slices.push_back({slice.at(0).get<unsigned>(), slice.at(1).get<unsigned>(), slice.at(2).get<unsigned>()});
  }
  return field;
}

Row read_row(const Json& json) {
  Row row;
  row.name = json.at("name").get<std::string>();
  row.group = json.at("group").get<std::string>();
  row.flow = json.at("flow").get<std::string>();
  row.mask = json.at("mask").get<uint32_t>();
  row.bits = json.at("bits").get<uint32_t>();
  for (const Json& cube : json.at("excluded")) {
    row.excluded.emplace_back(cube.at(0).get<uint32_t>(), cube.at(1).get<uint32_t>());
  }
  row.implemented = !json.at("implemented").is_null();
  for (const Json& field : json.at("fields")) row.fields.push_back(read_field(field));
  return row;
}

}  // namespace

std::string Table::load(const std::string& path, Table& table) {
  std::ifstream file(path);
  if (!file) return "cannot read " + path;
  try {
    const Json whole = Json::parse(file);
    for (const Json& json : whole.at("rows")) table.rows_.push_back(read_row(json));
  } catch (const Json::exception& problem) {
    return path + ": " + problem.what();
  }
  table.by_top_byte_.resize(256);
  for (uint32_t i = 0; i < table.rows_.size(); ++i) {
    const Row& row = table.rows_[i];
    table.index_.emplace(row.name, i);
    for (uint32_t top = 0; top < 256; ++top) {
      if ((top << 24 & row.mask) == (row.bits & 0xff000000u & row.mask)) table.by_top_byte_[top].push_back(i);
    }
  }
  return {};
}

uint32_t Table::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? kNoRow : found->second;
}

uint32_t Table::decode(uint32_t word) const {
  for (const uint32_t candidate : by_top_byte_[word >> 24]) {
    if (rows_[candidate].accepts(word)) return candidate;
  }
  return kNoRow;
}

uint32_t Table::word(std::string_view row_name,
                     const std::vector<std::pair<std::string_view, uint32_t>>& values) const {
  const uint32_t index = find(row_name);
  if (index == kNoRow) {
    std::cerr << "oracle: no row " << row_name << "\n";
    std::abort();
  }
  uint32_t word = rows_[index].bits;
  for (const auto& [name, value] : values) {
    const Field* field = rows_[index].field(name);
    if (field) word = field->insert(word, value);
  }
  return word;
}

}  // namespace kvrm::oracle
