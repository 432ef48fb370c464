// What the fuzz targets share: the bytes of an input, taken from the front, and a check that ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace kvrm::fuzz {

// After its end an input is all zeros, so that every prefix of an input is an input.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }
  std::span<const std::uint8_t> rest() const { return rest_; }

  template <class T>
  T take() {
    T value{};
    const std::size_t count = rest_.size() < sizeof value ? rest_.size() : sizeof value;
    if (count != 0) std::memcpy(&value, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// A broken promise is a crash, for libFuzzer and for the replay alike.
#define KVRM_PROMISE(condition)                                                            \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

}  // namespace kvrm::fuzz
