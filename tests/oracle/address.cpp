#include "address.h"

#include <cstring>

#include "unpredictable.h"
#include "values.h"

namespace kvrm::oracle {
namespace {

// log2 of the bytes of one register of a load or store.
unsigned scale_of(const Row& row, uint32_t word) {
  if (row.get("Vt", word)) {
    if (const auto scale = row.get("scale", word)) return *scale;
    if (const auto opc = row.get("opc", word)) return 2 + *opc;
  }
  return word >> 30;
}

unsigned pair_scale(const Row& row, uint32_t word) {
  if (row.get("Vt", word)) return 2 + (word >> 30);
  return word >> 31 ? 3 : 2;  // LDPSW has its top bit clear: two words, as it should be
}

// LD1_x3, ST4_multi, LD2R_post: the digit that counts registers.
unsigned register_count(const Row& row) {
  const auto multiple = row.name.find("_x");
  const char digit = multiple == std::string::npos ? row.name[2] : row.name[multiple + 2];
  return static_cast<unsigned>(digit - '0');
}

// Mapped neither in the case's world nor in QEMU itself, whose own memory a guest access could reach.
uint64_t far_address(Random& random) { return uint64_t{1} << 40 | random.next() >> 20; }

uint64_t extended(const AddressForm& form, uint64_t index) {
  const auto low = static_cast<uint32_t>(index);
  uint64_t value = index;
  if (form.extend == 2) value = low;
  if (form.extend == 6) value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(low)));
  return value << form.shift;
}

uint64_t index_value(Random& random, const AddressForm& form) {
  uint64_t index = random.below(2048);
  if (random.chance(40)) index = uint64_t{0} - index;
  if (random.chance(10)) index = interesting_integer(random);
  // The upper half of a 32-bit index does not count; say so with garbage there.
  const bool is_word = form.extend == 2 || form.extend == 6;
  if (is_word && random.chance(70)) index = (index & 0xffffffff) | random.next() << 32;
  return index;
}

// Half of the compares of a compare-and-swap should succeed.
void match_memory(Random& random, const Row& row, uint32_t word, uint64_t address, const Memory& memory, Input& input) {
  if (row.group != "compare_and_swap" || !random.chance(60)) return;
  const unsigned bytes = row.name == "CASP" ? (word >> 30 & 1 ? 8 : 4) : 1u << (word >> 30);
  const unsigned count = row.name == "CASP" ? 2 : 1;
  const uint64_t offset = (address & 0x00ffffffffffffff) - ORACLE_DATA_BASE;
  const uint32_t first = *row.get("Rs", word);
  for (unsigned i = 0; i < count; ++i) {
    if (offset + (i + 1) * bytes > memory.size() || first + i >= 31) return;
    uint64_t value = random.next();
    std::memcpy(&value, &memory[offset + i * bytes], bytes);
    // A narrow compare must ignore the upper bits of Rs; sometimes one half of a pair differs.
    if (i == 1 && random.chance(20)) value ^= 1;
    if (input.overrides.empty() || input.overrides[0].slot != first + i) input.set(first + i, value);
  }
}

}  // namespace

std::optional<AddressForm> address_form(const Row& row, uint32_t word) {
  AddressForm form;
  const std::string& group = row.group;
  if (group == "system_instructions") {
    const uint32_t rt = word & 31;
    if (rt == 31) return std::nullopt;
    form.base = rt;
    return form;
  }
  const auto rn = row.get("Rn", word);
  const bool touches = group.starts_with("load_store") || group.starts_with("simd_load_store") ||
                       group == "compare_and_swap" || group == "atomic_memory" || group == "prefetch";
  if (!touches || !rn) return std::nullopt;
  form.base = *rn == 31 ? unsigned{kSlotSp} : *rn;
  const Field* imm9 = row.field("simm9");
  const Field* imm7 = row.field("simm7");
  const bool post = row.name.find("_post") != std::string::npos;
  if (group == "load_store_pair") {
    const unsigned scale = pair_scale(row, word);
    form.size = 2u << scale;
    if (imm7 && !post) form.offset = int64_t{imm7->signed_value(word)} * (int64_t{1} << scale);
  } else if (group.starts_with("simd_load_store")) {
    form.size = register_count(row) * (group == "simd_load_store_multiple" ? (word >> 30 & 1 ? 16u : 8u) : 8u);
  } else if (group == "load_store_exclusive" || group == "compare_and_swap") {
    const bool pair = row.field("Rt2") || row.name == "CASP";
    form.size = pair ? (word >> 30 & 1 ? 16 : 8) : 1u << (word >> 30);
  } else {
    const unsigned scale = scale_of(row, word);
    form.size = 1u << scale;
    if (imm9 && !post) form.offset = imm9->signed_value(word);
    if (const auto imm12 = row.get("imm12", word)) form.offset = int64_t{*imm12} << scale;
    if (const auto rm = row.get("Rm", word)) {
      if (*rm != 31) form.index = *rm;
      form.extend = row.get("option", word).value_or(3);
      form.shift = row.get("S", word).value_or(0) ? scale : 0;
    }
  }
  return form;
}

uint64_t data_address(Random& random, unsigned size) {
  const uint64_t page = ORACLE_PAGE;
  const uint32_t kind = random.below(100);
  uint64_t offset = 0;
  if (kind < 72) {
    static constexpr uint64_t kPlainPages[] = {0, 1, 3, 5};
    offset = random.pick(kPlainPages) * page + random.below(static_cast<uint32_t>(page - 64));
  } else if (kind < 86) {
    // Around an edge: the last byte before it or the first after it is touched, or both are.
    offset = random.below(ORACLE_DATA_PAGES + 1) * page - random.below(size + 2) + random.below(3);
  } else if (kind < 92) {
    offset = ORACLE_PAGE_READ_ONLY * page + random.below(static_cast<uint32_t>(page));
  } else if (kind < 95) {
    offset = (random.chance(50) ? ORACLE_PAGE_NONE : ORACLE_PAGE_HOLE) * page + random.below(4096);
  } else if (kind < 98) {
    return far_address(random);
  } else {
    return interesting_integer(random);
  }
  const uint64_t address = ORACLE_DATA_BASE + offset;
  return random.chance(60) ? address & ~uint64_t{size - 1} : address;
}

uint64_t branch_target(Random& random) {
  for (;;) {
    uint64_t target = 0;
    const uint32_t kind = random.below(100);
    if (kind < 55) {
      target = ORACLE_CODE_BASE + 4 * random.below(ORACLE_CODE_SIZE / 4);
    } else if (kind < 65) {
      target = ORACLE_CODE_BASE + random.below(ORACLE_CODE_SIZE);
    } else if (kind < 80) {
      target = ORACLE_DATA_BASE + 4 * random.below(ORACLE_DATA_SIZE / 4);
    } else {
      target = random.chance(80) ? far_address(random) & ~uint64_t{3} : far_address(random);
    }
    if (target == ORACLE_CODE_ENTRY) continue;
    return random.chance(15) ? target | random.next() << 56 : target;
  }
}

void aim(Random& random, const Row& row, uint32_t word, const Memory& memory, Input& input) {
  if (row.flow == "indirect" || row.flow == "return" || (row.flow == "call" && row.field("Rn"))) {
    const uint32_t rn = *row.get("Rn", word);
    if (rn != 31) input.set(rn, branch_target(random));
    return;
  }
  const auto form = address_form(row, word);
  if (!form) return;
  const uint64_t address = data_address(random, form->size);
  uint64_t index = 0;
  if (form->index) {
    index = index_value(random, *form);
    input.set(*form->index, index);
  }
  uint64_t base = address - static_cast<uint64_t>(form->offset) - extended(*form, index);
  if (random.chance(8)) base ^= random.next() << 56;  // the top byte does not count
  if (row.group == "load_store_exclusive" && base == kNoExclusiveAddress) base = 0;
  input.set(form->base, base);
  match_memory(random, row, word, address, memory, input);
}

}  // namespace kvrm::oracle
