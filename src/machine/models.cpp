// Weight files on disk, and the record of a verification in them.
#include "kvrm/models.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "isa/a64_names.h"
#include "kvrm/inspect.h"

namespace kvrm {
namespace {

std::filesystem::path description_of(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".json");
}

}  // namespace

Result<WeightsPointer> load_weights(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  std::string description;
  std::error_code ignored;
  if (const auto beside = description_of(path); beside != path && std::filesystem::exists(beside, ignored)) {
    auto text = read_file(beside.string());
    if (!text) return text.error();
    description.assign(text->begin(), text->end());
    if (description.empty()) return Error{beside.string() + ": is empty"};
  }
  return parse_weights(std::as_bytes(std::span(*bytes)), description, path);
}

Result<void> record_verification(const std::string& path, const Verification& verification) {
  const auto beside = description_of(path).string();
  auto text = read_file(beside);
  if (!text) return text.error();
  auto json = nlohmann::ordered_json::parse(text->begin(), text->end(), nullptr, false);
  if (!json.is_object()) return Error{beside + ": is not a description"};
  json["verified"] = {
      {"checksum", verification.checksum}, {"date", verification.date},   {"device", verification.device},
      {"method", verification.method},     {"words", verification.words}, {"errors", verification.errors},
      {"margin", verification.margin},
  };
  // Whoever reads meanwhile sees the old description or the new one.
  const std::string fresh = beside + ".new";
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << json.dump(1) << '\n';
  file.close();
  std::error_code problem;
  if (file) std::filesystem::rename(fresh, beside, problem);
  if (!file || problem) {
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    return Error{beside + ": cannot be written"};
  }
  return {};
}

std::string_view class_name(unsigned number) {
  return number < std::size(isa::kClassNames) ? isa::kClassNames[number] : "";
}

}  // namespace kvrm
