// Values one after the other, as files of the cache hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace kvrm::cache {

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    put(&value, sizeof(value));
  }
  void put(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  bool done() const { return left_.empty(); }
  bool get(void* to, std::size_t size) {
    if (size > left_.size()) return false;
    if (size != 0) std::memcpy(to, left_.data(), size);
    left_ = left_.subspan(size);
    return true;
  }
  template <class T>
  bool get(T& value) {
    return get(&value, sizeof(value));
  }
  // `count` elements, which must be there.
  template <class T>
  bool get(std::vector<T>& values, std::uint64_t count) {
    if (count > left_.size() / sizeof(T)) return false;
    values.resize(count);
    return get(values.data(), count * sizeof(T));
  }

 private:
  std::span<const std::byte> left_;
};

}  // namespace kvrm::cache
