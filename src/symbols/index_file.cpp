// The file of an index: a magic number, a checksum, and numbers of seven bits a byte.
#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "symbols/index.h"

namespace kvrm::symbols {
namespace {

constexpr std::string_view kMagic = "KVRMSYM1";
constexpr std::size_t kHeader = 16;
constexpr std::size_t kMostBytes = std::size_t{64} << 20, kMostCopied = 4 * kMostBytes;

class Writer {
 public:
  void number(u64 value) {
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<u8>(value | 128));
    bytes_.push_back(static_cast<u8>(value));
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  std::vector<u8> finish() && {
    const u64 checksum = hash_of(bytes_.data(), bytes_.size());
    std::vector<u8> file(kHeader);
    std::memcpy(file.data(), kMagic.data(), kMagic.size());
    std::memcpy(file.data() + kMagic.size(), &checksum, sizeof(checksum));
    file.insert(file.end(), bytes_.begin(), bytes_.end());
    return file;
  }

 private:
  std::vector<u8> bytes_;
};

// Past the end it reads zeros and says so.
class Reader {
 public:
  explicit Reader(std::span<const u8> bytes) : bytes_(bytes) {}
  bool good() const { return good_; }
  void fail() { good_ = false; }

  u32 number() {
    u64 value = 0;
    for (u32 shift = 0; shift < 35; shift += 7) {
      if (at_ >= bytes_.size()) break;
      const u8 byte = bytes_[at_++];
      value |= static_cast<u64>(byte & 127) << shift;
      if (byte < 128 && value <= ~u32{0}) return static_cast<u32>(value);
    }
    good_ = false;
    return 0;
  }
  // Of things that take at least a byte each.
  u32 count() {
    const u32 value = number();
    if (value > bytes_.size() - at_) good_ = false;
    return good_ ? value : 0;
  }
  // Below a bound.
  u32 below(std::size_t bound) {
    const u32 value = number();
    if (value >= bound) good_ = false;
    return good_ ? value : 0;
  }
  std::string text() {
    const u32 size = count();
    const auto own = bytes_.subspan(at_, size);
    at_ += size;
    return {own.begin(), own.end()};
  }

 private:
  std::span<const u8> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

// Each name says how much of the one before it begins with.
void write_names(Writer& writer, const std::map<std::string, u32>& names) {
  writer.number(names.size());
  std::string_view before;
  for (const auto& [name, number] : names) {
    const auto differ = std::ranges::mismatch(before, name);
    const auto shared = static_cast<std::size_t>(differ.in1 - before.begin());
    writer.number(shared);
    writer.text(std::string_view(name).substr(shared));
    before = name;
  }
}

std::vector<std::string> read_names(Reader& reader) {
  std::vector<std::string> names;
  std::size_t all = 0;
  for (u32 left = reader.count(); left != 0 && reader.good(); --left) {
    const u32 shared = reader.below(names.empty() ? 1 : names.back().size() + 1);
    names.push_back((names.empty() ? std::string() : names.back().substr(0, shared)) + reader.text());
    // A name that repeats a long one costs a file three bytes.
    if ((all += names.back().size()) > kMostBytes) reader.fail();
  }
  return names;
}

}  // namespace

std::vector<u8> Index::serialize() const {
  std::map<std::string, u32> names;
  for (const Entry& entry : entries_) {
    for (const std::string& name : entry.names) names[name] = 0;
    for (const std::string& callee : entry.callees) names[callee] = 0;
  }
  u32 numbered = 0;
  for (auto& [name, number] : names) number = numbered++;

  Writer writer;
  writer.number(libraries_.size());
  for (const Library& library : libraries_) {
    writer.text(library.name);
    writer.text(library.version);
  }
  write_names(writer, names);
  writer.number(vocabulary_.size());
  u32 before = 0;
  for (const Word& word : vocabulary_) {
    writer.number(word.hash - std::exchange(before, word.hash));
    writer.number(word.entries);
  }
  writer.number(entries_.size());
  u32 unit = 0;
  for (u32 i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    writer.number(entry.library);
    writer.number(entry.unit - std::exchange(unit, entry.unit));
    writer.number(entry.length);
    writer.number(entry.exact);
    writer.number(entry.names.size());
    for (const std::string& name : entry.names) writer.number(names.at(name));
    writer.number(entry.callees.size());
    for (const std::string& callee : entry.callees) writer.number(names.at(callee));
    writer.number(occurrences_[i].size());
    u32 word = 0;
    for (const Occurrence& one : occurrences_[i]) {
      writer.number(u64{one.word - std::exchange(word, one.word)} << 1 | (one.count > 1));
      if (one.count > 1) writer.number(one.count);
    }
  }
  return std::move(writer).finish();
}

Result<Index> Index::parse(std::span<const u8> bytes) {
  u64 checksum = 0;
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Error{"it is no index of routines of this version of kvrm"};
  }
  std::memcpy(&checksum, bytes.data() + kMagic.size(), sizeof(checksum));
  const auto body = bytes.subspan(kHeader);
  if (bytes.size() > kMostBytes) return Error{"it is larger than 64 MiB, the most that an index may be"};
  if (hash_of(body.data(), body.size()) != checksum) return Error{"the index is damaged or cut short"};

  Index index;
  Reader reader(body);
  for (u32 left = reader.count(); left != 0 && reader.good(); --left) {
    std::string name = reader.text();
    index.libraries_.push_back({std::move(name), reader.text()});
  }
  const std::vector<std::string> names = read_names(reader);
  u32 hash = 0;
  for (u32 left = reader.count(); left != 0 && reader.good(); --left) {
    hash += reader.number();
    index.vocabulary_.push_back({hash, std::max<u32>(1, reader.number())});
  }
  u32 unit = 0;
  std::size_t copied = 0;  // bytes of names
  for (u32 left = reader.count(); left != 0 && reader.good(); --left) {
    Entry entry;
    entry.library = reader.below(index.libraries_.size());
    entry.unit = unit += reader.number();
    entry.length = reader.number();
    entry.exact = reader.number();
    for (u32 n = reader.count(); n != 0 && reader.good(); --n) {
      if (const u32 number = reader.below(names.size()); reader.good()) entry.names.push_back(names[number]);
      if ((copied += reader.good() ? entry.names.back().size() : 0) > kMostCopied) reader.fail();
    }
    for (u32 n = reader.count(); n != 0 && reader.good(); --n) {
      if (const u32 number = reader.below(names.size()); reader.good()) entry.callees.push_back(names[number]);
      if ((copied += reader.good() ? entry.callees.back().size() : 0) > kMostCopied) reader.fail();
    }
    for (const std::string& callee : entry.callees) entry.calls.push_back(name_hash(callee));
    auto& own = index.occurrences_.emplace_back();
    u32 word = 0;
    for (u32 n = reader.count(); n != 0 && reader.good(); --n) {
      const u32 delta = reader.number();
      word += delta >> 1;
      own.push_back({word, delta & 1 ? std::max<u32>(1, reader.number()) : 1});
      if (word >= index.vocabulary_.size()) reader.fail();
    }
    if (entry.names.empty()) reader.fail();
    index.entries_.push_back(std::move(entry));
  }
  if (!reader.good()) return Error{"the index is damaged"};
  index.weigh();
  index.finish();
  return index;
}

}  // namespace kvrm::symbols
