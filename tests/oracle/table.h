// The rows of a64.inc as the build wrote them down in a64.json, with what the tests ask of a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "case.h"

namespace kvrm::oracle {

struct Field {
  enum class Kind { kUnsigned, kSigned, kGeneral, kGeneralOrSp, kVector };
  struct Slice {
    unsigned field_low, word_low, width;
  };
  std::string name;
  Kind kind = Kind::kUnsigned;
  unsigned width = 0;
  std::vector<Slice> slices;

  bool is_register() const { return kind != Kind::kUnsigned && kind != Kind::kSigned; }
  uint32_t value(uint32_t word) const;
  int32_t signed_value(uint32_t word) const;
  uint32_t insert(uint32_t word, uint32_t value) const;
};

struct Row {
  std::string name, group, flow;
  uint32_t mask = 0, bits = 0;
  std::vector<std::pair<uint32_t, uint32_t>> excluded;
  std::vector<Field> fields;
  bool implemented = false;

  bool accepts(uint32_t word) const;
  const Field* field(std::string_view field_name) const;
  // The value of a field, if the row has it.
  std::optional<uint32_t> get(std::string_view field_name, uint32_t word) const;
};

class Table {
 public:
  // An error text if the file is missing or no table.
  static std::string load(const std::string& path, Table& table);

  const std::vector<Row>& rows() const { return rows_; }
  const Row& row(uint32_t index) const { return rows_[index]; }
  uint32_t find(std::string_view name) const;  // kNoRow if there is none
  uint32_t decode(uint32_t word) const;        // kNoRow if the word is unallocated

  // The word of a row with these field values; the others are zero. For sequences written by hand.
  uint32_t word(std::string_view row_name, const std::vector<std::pair<std::string_view, uint32_t>>& values) const;

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<std::vector<uint32_t>> by_top_byte_;
};

}  // namespace kvrm::oracle
