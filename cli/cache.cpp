// kvrm cache: what is kept on disk between runs.
#include "kvrm/cache.h"

#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "streams.h"
#include "units.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  std::array<char, 32> text{};
  if (!::gmtime_r(&seconds, &parts)) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

CacheKind total_of(const CacheContents& contents) {
  CacheKind total{"total", "", 0, 0, {}};
  for (const CacheKind& kind : contents.kinds) {
    total.files += kind.files;
    total.bytes += kind.bytes;
  }
  return total;
}

Json as_json(const CacheContents& contents) {
  const CacheKind total = total_of(contents);
  Json json = {{"folder", contents.folder}, {"files", total.files}, {"bytes", total.bytes}, {"kinds", Json::array()}};
  for (const CacheKind& kind : contents.kinds) {
    Json entry = {{"kind", kind.name}, {"purpose", kind.purpose}, {"files", kind.files}, {"bytes", kind.bytes}};
    if (kind.files != 0) entry["newest"] = time_text(kind.newest);
    json["kinds"].push_back(std::move(entry));
  }
  json["other_files"] = contents.other_files;
  return json;
}

void print_line(const CacheKind& kind) {
  print("{:<13}{:>7}{:>14}  {:<22}{}\n", kind.name, kind.files, bytes_text(kind.bytes),
        kind.newest.time_since_epoch().count() != 0 ? time_text(kind.newest) : "", kind.purpose);
}

int list(bool json) {
  const auto contents = list_cache();
  if (!contents) return host_error("cache: " + contents.error().message);
  if (json) {
    print("{}\n", as_json(contents.value()).dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  print("folder       {}\n{:<13}{:>7}{:>14}  {:<22}{}\n", contents.value().folder, "kind", "files", "size", "newest",
        "what it is");
  for (const CacheKind& kind : contents.value().kinds) print_line(kind);
  print_line(total_of(contents.value()));
  return 0;
}

int clear(bool json) {
  const auto removed = clear_cache();
  if (!removed) return host_error("cache: " + removed.error().message);
  const CacheKind total = total_of(removed.value());
  if (json) {
    const Json facts = {
        {"folder", removed.value().folder}, {"removed_files", total.files}, {"removed_bytes", total.bytes}};
    print("{}\n", facts.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print("removed {} files, {}, from {}\n", total.files, bytes_text(total.bytes), removed.value().folder);
  }
  return 0;
}

void add(CommandSpec cache, Command& chosen, const char* name, const char* purpose, int (*run)(bool)) {
  auto json = std::make_shared<bool>(false);
  const CommandSpec command = cache.add_command(name, purpose);
  command.flag("--json", *json, "As one JSON object");
  command.on_parsed([json, run, &chosen] { chosen = [json, run] { return run(*json); }; });
}

}  // namespace

void add_cache(CommandSpec program, Command& chosen) {
  const CommandSpec command = program.add_command("cache", "What kvrm keeps on disk between runs: list it, clear it");
  command.needs_command();
  add(command, chosen, "list", "Files, sizes and ages by kind", list);
  add(command, chosen, "clear", "Remove kvrm's own files; other files in the folder stay", clear);
  command.footer(
      "The cache is $XDG_CACHE_HOME/kvrm or ~/.cache/kvrm. All of it can be made again: without it the next run of a\n"
      "program translates anew. The oldest files of a kind are removed by themselves.");
}

}  // namespace kvrm::cli
