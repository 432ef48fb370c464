// SHA-256, to tell weight files apart: the same as sha256sum prints.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace kvrm::neural {

std::string sha256(std::span<const std::byte> bytes);

}  // namespace kvrm::neural
