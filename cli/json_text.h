// Bytes as text that JSON can carry.
#pragma once

#include <string>
#include <string_view>

namespace kvrm::cli {

bool is_utf8(const std::string& text);
// What is not UTF-8 is replaced.
std::string valid_utf8(const std::string& text);
// RFC 4648.
std::string base64(std::string_view bytes);

}  // namespace kvrm::cli
