// Weight files in memory, good and bad.
#pragma once

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kvrm/models.h"

namespace kvrm::neural {

// A .npy file with this header and these values.
inline std::string npy(const std::string& header, const std::vector<float>& values, char major = 1) {
  std::string text = header;
  while ((text.size() + 11) % 64 != 0) text += ' ';
  text += '\n';
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  const std::size_t sizes = major == 1 ? 2 : 4;
  for (std::size_t i = 0; i < sizes; ++i) file += static_cast<char>(text.size() >> 8 * i & 255);
  file += text;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return file;
}

inline std::string header_of(const std::string& shape, const std::string& type = "<f4",
                             const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

inline std::string npy(const std::vector<float>& values) {
  return npy(header_of("(" + std::to_string(values.size()) + ",)"), values);
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = between(random);
  return values;
}

}  // namespace kvrm::neural
