// Weight files on disk, and where it is kept that they were verified.
#include "kvrm/models.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>

#include "cache/folder.h"
#include "isa/a64_names.h"
#include "kvrm/cache.h"
#include "kvrm/inspect.h"

namespace kvrm {
namespace {

std::filesystem::path description_of(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".json");
}

// Verifications that passed, each in a file named after the weights' checksum.
const cache::Limits kProofs{"proof-", 256, std::uint64_t{1} << 20};

std::string proof_name(const std::string& checksum) {
  constexpr std::size_t kDigits = 32;
  return kProofs.prefix + checksum.substr(checksum.find(':') + 1, kDigits) + ".bin";
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::optional<Verification> find_proof(const std::string& checksum) try {
  const auto contents = cache::Folder::of_user().find(proof_name(checksum), bytes_of(checksum));
  if (!contents) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(contents->data());
  const auto json = nlohmann::json::parse(text, text + contents->size());
  return Verification{json.at("checksum"), json.at("date"),   json.at("device"), json.at("method"),
                      json.at("words"),    json.at("errors"), json.at("margin"), true};
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
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
  auto weights = parse_weights(std::as_bytes(std::span(*bytes)), description, path);
  if (!weights || (*weights)->verification) return weights;
  auto proof = find_proof((*weights)->checksum);
  if (!proof) return weights;
  auto proved = std::make_shared<Weights>(**weights);
  proved->verification = std::move(proof);
  return WeightsPointer(std::move(proved));
}

Result<void> record_verification(const Verification& verification) {
  const auto folder = cache::Folder::of_user();
  const std::string text = nlohmann::ordered_json{{"checksum", verification.checksum}, {"date", verification.date},
                                                  {"device", verification.device},     {"method", verification.method},
                                                  {"words", verification.words},       {"errors", verification.errors},
                                                  {"margin", verification.margin}}
                               .dump();
  if (folder.store(proof_name(verification.checksum), bytes_of(verification.checksum), bytes_of(text), kProofs))
    return {};
  const std::string problem = code_cache_problem("");
  return Error{"the verification cannot be kept: " + (!problem.empty() ? problem
                                                      : folder.path().empty()
                                                          ? "neither XDG_CACHE_HOME nor HOME is set"
                                                          : folder.path().string() + " cannot be written")};
}

std::string_view class_name(unsigned number) {
  return number < std::size(isa::kClassNames) ? isa::kClassNames[number] : "";
}

}  // namespace kvrm
