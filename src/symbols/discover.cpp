#include "symbols/discover.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "isa/decode.h"
#include "symbols/branches.h"

namespace kvrm::symbols {
namespace {

using isa::Row;

constexpr u64 kStructure = 64;  // bytes of data in which pointers are followed, as in object files
constexpr u32 kRegister = 31;

u32 word_at(const Linked::Bytes& code, u64 address) {
  u32 word = 0;
  std::memcpy(&word, code.bytes.data() + (address - code.address), sizeof(word));
  return word;
}

u64 end_of(const Linked::Bytes& code) { return code.address + code.bytes.size(); }

// The target of a branch that its own word says.
std::optional<u64> branch_target(Row row, u32 word, u64 address) {
  const DisplacementField field = displacement_field(row);
  if (field.width == 0) return std::nullopt;
  return address + static_cast<u64>(field.of(word) * 4);
}

u64 page_of(u32 word, u64 pc) { return (pc & ~u64{0xfff}) + static_cast<u64>(address_immediate(word) * 4096); }

// Nothing goes on after it.
bool ends(Row row) { return row == Row::RET || row == Row::B || row == Row::BR || row == Row::BRK || row == Row::UDF; }

bool is_padding(u32 word) { return word == 0xd503201f || word == 0; }

// Follows addresses that ADRP with ADD or LDR make, in the order of the code.
class AddressReader {
 public:
  explicit AddressReader(const Linked& linked) : linked_(linked) {}

  struct Address {
    u64 value;
    bool is_loaded;  // from a slot in memory
  };
  std::optional<Address> next(Row row, u32 word, u64 pc) {
    const u32 to = word & kRegister, from = word >> 5 & kRegister;
    const std::optional<u64> base = pages_[from];
    const u64 immediate = word >> 10 & 0xfff;
    std::optional<Address> made;
    if (row == Row::ADRP || row == Row::ADR) {
      pages_[to] = row == Row::ADRP ? page_of(word, pc) : pc + static_cast<u64>(address_immediate(word));
      if (row == Row::ADR) made = {*pages_[to], false};
      return made;
    }
    if (base && row == Row::ADD_imm && (word >> 22 & 1) == 0) made = {*base + immediate, false};
    if (base && row == Row::LDR_imm && word >> 30 == 3) {
      if (const auto pointer = linked_.pointer_at(*base + immediate * 8)) made = {*pointer, true};
    }
    if (row == Row::BL || row == Row::BLR) {
      for (u32 i = 0; i <= 18; ++i) pages_[i].reset();
    } else if (isa::facts(row).routing != isa::Class::kBranch) {
      const bool store = isa::facts(row).routing == isa::Class::kLoadStore && (word & 3u << 22) == 0;
      if (!store) pages_[to].reset();
    }
    return made;
  }

 private:
  const Linked& linked_;
  std::array<std::optional<u64>, 32> pages_{};
};

class Finder {
 public:
  explicit Finder(const Linked& linked) : linked_(linked), unwind_(linked.unwind_ranges()) {}

  std::vector<Range> run() {
    for (const Range& range : unwind_) {
      if (linked_.is_code(range.begin)) starts_.insert(range.begin);
    }
    add_certain(linked_.entry());
    for (const Linked::Bytes& code : linked_.code()) read_code(code);
    for (const Linked::Bytes& data : linked_.data()) read_pointers(data);
    std::vector<Range> found;
    for (const Linked::Bytes& code : linked_.code()) cut(code, found);
    return found;
  }

 private:
  // The unwind range that an address is in the middle of.
  bool is_inside(u64 address) const {
    const auto after = std::ranges::upper_bound(unwind_, address, {}, &Range::begin);
    return after != unwind_.begin() && std::prev(after)->begin != address && std::prev(after)->holds(address);
  }

  void add_certain(u64 address) {
    if (address % 4 == 0 && linked_.is_code(address) && !is_inside(address)) starts_.insert(address);
  }

  // Only where the word before it ends other code, or pads.
  void add_likely(u64 address) {
    if (address % 4 != 0 || is_inside(address)) return;
    const Linked::Bytes* code = linked_.code_at(address);
    if (!code) return;
    const u32 before = address == code->address ? 0 : word_at(*code, address - 4);
    if (is_padding(before) || ends(isa::decode(before))) starts_.insert(address);
  }

  void read_code(const Linked::Bytes& code) {
    AddressReader reader(linked_);
    for (u64 pc = code.address; pc < end_of(code); pc += 4) {
      const u32 word = word_at(code, pc);
      const Row row = isa::decode(word);
      if (row == Row::kNone) continue;
      if (row == Row::BL) add_certain(*branch_target(row, word, pc));
      if (const auto made = reader.next(row, word, pc)) add_likely(made->value);
    }
  }

  void read_pointers(const Linked::Bytes& data) {
    for (u64 at = (0 - data.address) % 8; at + 8 <= data.bytes.size(); at += 8) {
      if (const auto pointer = linked_.pointer_at(data.address + at)) add_likely(*pointer);
    }
  }

  // Cuts code at the starts, and where code ends that no branch before goes beyond.
  void cut(const Linked::Bytes& code, std::vector<Range>& found) const {
    u64 at = code.address;
    while (at < end_of(code)) {
      if (is_padding(word_at(code, at)) && !starts_.contains(at)) {
        at += 4;
        continue;
      }
      const auto next = starts_.upper_bound(at);
      const u64 limit = next == starts_.end() ? end_of(code) : std::min(*next, end_of(code));
      const u64 end = end_of_routine(code, at, limit);
      found.push_back({at, end - at});
      at = end;
    }
  }

  u64 end_of_routine(const Linked::Bytes& code, u64 begin, u64 limit) const {
    const auto known = std::ranges::lower_bound(unwind_, begin, {}, &Range::begin);
    if (known != unwind_.end() && known->begin == begin) {
      const u64 end = known->size < limit - begin ? begin + known->size / 4 * 4 : limit;
      return std::max(end, begin + 4);
    }
    u64 furthest = begin;
    for (u64 pc = begin; pc < limit; pc += 4) {
      const u32 word = word_at(code, pc);
      const Row row = isa::decode(word);
      const auto target = branch_target(row, word, pc);
      if (target && row != Row::BL && *target > pc && *target < limit) {
        // A jump forward may be to the next routine, a tail call.
        if (row != Row::B || *target - begin < kFarthestJump) furthest = std::max(furthest, *target);
      }
      if (ends(row) && furthest <= pc && !starts_with_table(code, pc, row)) return pc + 4;
    }
    u64 end = limit;
    while (end > begin + 4 && is_padding(word_at(code, end - 4))) end -= 4;
    return end;
  }

  // A switch: BR, whose targets are in a table. The code goes on until something ends it.
  static bool starts_with_table(const Linked::Bytes& code, u64 pc, Row row) {
    return row == Row::BR && pc >= code.address + 4 && isa::decode(word_at(code, pc - 4)) == Row::ADD_ext;
  }

  static constexpr u64 kFarthestJump = 16384;
  const Linked& linked_;
  const std::vector<Range>& unwind_;
  std::set<u64> starts_;
};

// Code, calls and texts of the routines.
class Describer {
 public:
  Describer(const Linked& linked, const std::vector<Range>& ranges) : linked_(linked), ranges_(ranges) {}

  Image run() {
    for (const Range& range : ranges_) {
      Routine routine;
      routine.address = range.begin;
      routine.size = range.size;
      image_.routines.push_back(std::move(routine));
    }
    for (u32 i = 0; i < image_.routines.size(); ++i) describe(i);
    return std::move(image_);
  }

 private:
  std::optional<u32> routine_at(u64 address) const {
    const auto found = std::ranges::lower_bound(ranges_, address, {}, &Range::begin);
    if (found == ranges_.end() || found->begin != address) return std::nullopt;
    return static_cast<u32>(found - ranges_.begin());
  }

  // Past a stub that jumps through the slot of an indirect function, to what chooses its implementation.
  u64 behind_stub(u64 address) const {
    const Linked::Bytes* code = linked_.code_at(address);
    u64 page = 0;
    for (u64 pc = address; code && pc + 4 <= end_of(*code) && pc < address + 20; pc += 4) {
      const u32 word = word_at(*code, pc);
      const Row row = isa::decode(word);
      if (row == Row::ADRP) {
        page = page_of(word, pc);
      } else if (row == Row::LDR_imm && page != 0) {
        return linked_.resolver_of_slot(page + (word >> 10 & 0xfff) * 8).value_or(address);
      } else if (row != Row::HINT) {
        break;
      }
    }
    return address;
  }

  void add_call(Routine& routine, u64 target) const {
    const auto callee = routine_at(behind_stub(target));
    if (callee && &image_.routines[*callee] != &routine) routine.calls.push_back(*callee);
  }

  void add_text(Routine& routine, u64 address) const {
    const auto bytes = linked_.data_at(address);
    if (const u64 text = bytes.empty() ? 0 : text_hash(bytes.data(), bytes.data() + bytes.size())) {
      routine.strings.push_back(text);
    }
  }

  // What is at an address that the routine makes: code, a text, or a structure with pointers to these.
  void add_address(Routine& routine, const AddressReader::Address& made) const {
    if (linked_.is_code(made.value)) return add_call(routine, made.value);
    if (made.is_loaded) return;
    add_text(routine, made.value);
    for (u64 at = (made.value + 7) & ~u64{7}; at + 8 <= made.value + kStructure; at += 8) {
      const auto pointer = linked_.pointer_at(at);
      if (!pointer || *pointer == 0) continue;
      if (linked_.is_code(*pointer)) {
        add_call(routine, *pointer);
      } else {
        add_text(routine, *pointer);
      }
    }
  }

  void describe(u32 number) {
    Routine& routine = image_.routines[number];
    const Linked::Bytes* code = linked_.code_at(routine.address);
    if (!code) return;
    AddressReader reader(linked_);
    for (u64 pc = routine.address; pc + 4 <= routine.address + routine.size && pc < end_of(*code); pc += 4) {
      const u32 word = word_at(*code, pc);
      routine.words.push_back(word);
      const Row row = isa::decode(word);
      if (row == Row::kNone) continue;
      if (row == Row::B || row == Row::BL) {
        const u64 target = *branch_target(row, word, pc);
        if (target - routine.address >= routine.size) add_call(routine, target);
      }
      if (const auto made = reader.next(row, word, pc)) add_address(routine, *made);
    }
    // Each once, in the order of the code.
    std::set<u32> seen;
    std::erase_if(routine.calls, [&](u32 callee) { return !seen.insert(callee).second; });
    std::ranges::sort(routine.strings);
    routine.strings.erase(std::unique(routine.strings.begin(), routine.strings.end()), routine.strings.end());
  }

  const Linked& linked_;
  const std::vector<Range>& ranges_;
  Image image_;
};

}  // namespace

std::vector<Range> find_routines(const Linked& linked) { return Finder(linked).run(); }

Image discover(const Linked& linked) {
  const std::vector<Range> ranges = find_routines(linked);
  return Describer(linked, ranges).run();
}

}  // namespace kvrm::symbols
