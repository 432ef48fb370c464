#include "neural/npy.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace kvrm::neural {
namespace {

static_assert(std::endian::native == std::endian::little && sizeof(float) == 4);

// The largest model has about a million weights.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 28;

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (10279,), }
class Header {
 public:
  explicit Header(std::string_view text) : text_(text) {}

  // The value after 'key': up to the comma that ends it.
  std::optional<std::string_view> value(std::string_view key) const {
    const std::string quoted = "'" + std::string(key) + "'";
    std::size_t at = text_.find(quoted);
    if (at == text_.npos) return std::nullopt;
    at = text_.find_first_not_of(' ', at + quoted.size());
    if (at == text_.npos || text_[at] != ':') return std::nullopt;
    at = text_.find_first_not_of(' ', at + 1);
    if (at == text_.npos) return std::nullopt;
    const bool tuple = text_[at] == '(';
    const std::size_t end = text_.find_first_of(tuple ? ")" : ",}", at);
    if (end == text_.npos) return std::nullopt;
    return text_.substr(at, end - at + tuple);
  }

 private:
  std::string_view text_;
};

// The number of values of a shape such as (10279,) or (32, 44).
std::optional<std::uint64_t> count_of(std::string_view shape) {
  if (shape.size() < 2 || shape.front() != '(' || shape.back() != ')') return std::nullopt;
  shape = shape.substr(1, shape.size() - 2);
  std::uint64_t count = 1;
  while (true) {
    const std::size_t begin = shape.find_first_not_of(' ');
    if (begin == shape.npos) return count;
    shape.remove_prefix(begin);
    std::uint64_t extent = 0;
    std::size_t digits = 0;
    for (; digits < shape.size() && shape[digits] >= '0' && shape[digits] <= '9'; ++digits) {
      extent = extent * 10 + static_cast<std::uint64_t>(shape[digits] - '0');
      if (extent > kMostValues) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    count *= extent;
    if (count > kMostValues) return std::nullopt;
    shape.remove_prefix(digits);
    if (shape.empty()) return count;
    if (shape.front() != ',') return std::nullopt;
    shape.remove_prefix(1);
  }
}

// An IEEE half.
float widened(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
  if (exponent == 0) {
    const float small = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -small : small;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::vector<float> values_of(std::span<const std::byte> data, std::size_t size) {
  std::vector<float> values(data.size() / size);
  if (size == sizeof(float)) {
    if (!values.empty()) std::memcpy(values.data(), data.data(), data.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, &data[i * size], size);
    values[i] = widened(half);
  }
  return values;
}

}  // namespace

Result<std::vector<float>> parse_npy(std::span<const std::byte> bytes) {
  constexpr char kMagic[] = "\x93NUMPY";
  constexpr std::size_t kMagicSize = sizeof(kMagic) - 1;
  if (bytes.size() < kMagicSize + 6 || std::memcmp(bytes.data(), kMagic, kMagicSize) != 0) {
    return Error{"not a NumPy file"};
  }
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(bytes[at]); };
  const std::size_t major = byte(kMagicSize);
  if (major < 1 || major > 3) return Error{"a NumPy file of version " + std::to_string(major) + ", which is unknown"};
  const std::size_t length_size = major == 1 ? 2 : 4;
  std::size_t header_size = 0;
  for (std::size_t i = 0; i < length_size; ++i) header_size |= byte(kMagicSize + 2 + i) << 8 * i;
  const std::size_t begin = kMagicSize + 2 + length_size;
  if (header_size > bytes.size() - begin) return Error{"a NumPy file that ends inside its header"};
  const Header header({reinterpret_cast<const char*>(bytes.data()) + begin, header_size});

  const auto type = header.value("descr"), order = header.value("fortran_order"), shape = header.value("shape");
  if (!type || !order || !shape) return Error{"a NumPy file whose header makes no sense"};
  const std::size_t size = *type == "'<f2'" ? 2 : sizeof(float);
  if (size == sizeof(float) && *type != "'<f4'")
    return Error{"its values are " + std::string(*type) + ", not '<f4' (float32, little endian) or '<f2'"};
  if (*order != "False") return Error{"its values are in Fortran's order"};
  const auto count = count_of(*shape);
  if (!count) return Error{"its shape " + std::string(*shape) + " makes no sense"};
  const std::span<const std::byte> data = bytes.subspan(begin + header_size);
  if (data.size() != *count * size) {
    return Error{"its header promises " + std::to_string(*count) + " values, " + std::to_string(data.size()) +
                 " bytes follow: it is " + (data.size() < *count * size ? "cut short" : "too long")};
  }
  return values_of(data, size);
}

}  // namespace kvrm::neural
