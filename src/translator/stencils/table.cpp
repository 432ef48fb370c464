#include "translator/stencils/table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <unordered_map>

#include "base/cpu.h"
#include "translator/bitcode.h"
#include "translator/host/exits.h"
#include "translator/stencils/evaluate.h"
#include "translator/stencils/known_bases.h"
#include "translator/stencils/variant.h"

namespace kvrm::translator::stencils {
namespace {

constexpr u64 kNoSlot = ~u64{0};

struct Decoded {
  isa::Row row;
  Variant variant;
};

// The embedded table, in place.
class Table {
 public:
  explicit Table(std::string_view bytes) : at_(bytes.data()) {
    header_ = take<Header>(1)[0];
    steps_ = take<Step>(header_.steps);
    relocations_ = take<Relocation>(header_.relocations);
    expressions_ = take<Expression>(header_.expressions);
    stencils_ = take<Stencil>(header_.stencils);
    choices_ = take<Choice>(header_.choices);
    rows_ = take<RowStencils>(header_.rows);
    pairs_ = take<Pair>(header_.pairs);
    accesses_ = take<Access>(header_.accesses);
    alternatives_ = take<Alternative>(header_.alternatives);
    written_ = take<Written>(header_.written);
    slots_ = take<u32>(header_.slots);
    const auto names = take<u32>(header_.symbols);
    const auto text = take<char>(header_.symbol_bytes);
    code_ = take<u8>(header_.code_bytes);
    data_ = take<u8>(header_.data_bytes);
    is_whole_ = header_.magic == kMagic;
    for (const u32 name : names) symbols_.push_back(find_symbol(text.data() + name));
  }

  bool is_whole() const { return is_whole_; }
  u64 value(u32 expression, const WordValues& word) const {
    const Expression& program = expressions_[expression];
    if (program.is_field) return evaluate(program.field, word);
    return evaluate(&steps_[program.first_step], program.steps, word);
  }
  // The word's stencil, or the one that lets the interpreter run it.
  const Stencil& choose(isa::Row row, const Variant& variant, const WordValues& word) const;
  // The stencil of two words; null: they have none together.
  const Stencil* choose_pair(const Decoded& first, const Decoded& second, const WordValues& words) const;
  const Stencil& plain() const { return stencils_[header_.plain]; }
  const Stencil& go_on() const { return stencils_[header_.go_on]; }
  const Stencil& load_cached() const { return stencils_[header_.load_cached]; }
  const Stencil& check() const { return stencils_[header_.check]; }
  // The slot of the register that a stencil asks for, kNoSlot if none; the stencil that does not ask, null if none.
  u64 checked(const Stencil& stencil, const WordValues& word) const {
    return stencil.checked == kNone ? kNoSlot : value(stencil.checked, word);
  }
  const Stencil* unchecked(const Stencil& stencil) const {
    return stencil.unchecked == kNoStencil ? nullptr : &stencils_[stencil.unchecked];
  }
  std::span<const Written> written(const Stencil& stencil) const {
    return written_.subspan(stencil.first_written, stencil.written);
  }
  // The stencil that does the same with the register of a slot from the cache; null: there is none.
  const Stencil* with_cached(const Stencil& stencil, u64 slot, const WordValues& word) const;
  // The slot of the register that is cached after a stencil, kNoSlot if none, if that of `before` was cached before it.
  u64 cached_after(const Stencil& stencil, u64 before, const WordValues& word) const;
  std::span<const Relocation> relocations(const Stencil& stencil) const {
    return relocations_.subspan(stencil.first_relocation, stencil.relocations);
  }
  std::span<const Access> accesses(const Stencil& stencil) const {
    return accesses_.subspan(stencil.first_access, stencil.accesses);
  }
  const u8* code(u32 offset) const { return &code_[offset]; }
  const u8* data(u32 offset) const { return data_.data() + offset; }
  u64 symbol(u32 number) const { return symbols_[number]; }

 private:
  u32 choose(const Choice& choice, const WordValues& word) const;
  template <class T>
  std::span<const T> take(u32 count) {
    const auto* first = reinterpret_cast<const T*>(at_);
    at_ += count * sizeof(T);
    return {first, count};
  }
  u64 find_symbol(const char* name) {
    for (const HostSymbol* symbol = kHostSymbols; symbol->name; ++symbol)
      if (std::strcmp(symbol->name, name) == 0) return reinterpret_cast<u64>(symbol->address);
    is_whole_ = false;
    return 0;
  }

  const char* at_;
  Header header_;
  bool is_whole_ = false;
  std::span<const Step> steps_;
  std::span<const Relocation> relocations_;
  std::span<const Expression> expressions_;
  std::span<const Stencil> stencils_;
  std::span<const Choice> choices_;
  std::span<const RowStencils> rows_;
  std::span<const Pair> pairs_;
  std::span<const Access> accesses_;
  std::span<const Alternative> alternatives_;
  std::span<const Written> written_;
  std::span<const u32> slots_;
  std::span<const u8> code_, data_;
  std::vector<u64> symbols_;
};

const Stencil& Table::choose(isa::Row row, const Variant& variant, const WordValues& word) const {
  const RowStencils& stencils = rows_[static_cast<u32>(row)];
  if (variant.number >= stencils.variants) return plain();
  const u32 number = choose(choices_[stencils.first_choice + variant.number * kForms + variant.form], word);
  return number == kNoStencil ? plain() : stencils_[number];
}

u32 Table::choose(const Choice& choice, const WordValues& word) const {
  bool writes_zero = false;
  for (const u32 slot : slots_.subspan(choice.first_slot, choice.slots))
    writes_zero |= value(slot, word) == kZeroSlot * sizeof(u64);
  return writes_zero ? choice.other : choice.stencil;
}

const Stencil* Table::with_cached(const Stencil& stencil, u64 slot, const WordValues& word) const {
  for (const Alternative& one : alternatives_.subspan(stencil.first_alternative, stencil.alternatives))
    if (value(one.slot, word) == slot) return &stencils_[one.stencil];
  return nullptr;
}

u64 Table::cached_after(const Stencil& stencil, u64 before, const WordValues& word) const {
  if (stencil.cached_after == kCacheStays) return before;
  return stencil.cached_after == kNothingCached ? kNoSlot : value(stencil.cached_after, word);
}

const Stencil* Table::choose_pair(const Decoded& first, const Decoded& second, const WordValues& words) const {
  for (const Pair& pair : pairs_) {
    if (pair.first_row != static_cast<u32>(first.row) || pair.second_row != static_cast<u32>(second.row)) continue;
    const u32 variants = first.variant.number * rows_[pair.second_row].variants + second.variant.number;
    const u32 number = choose(choices_[pair.first_choice + variants * kForms + second.variant.form], words);
    return number == kNoStencil ? nullptr : &stencils_[number];
  }
  return nullptr;
}

const Table& table(bool uses_window) {
  static const Table tables[] = {Table(stencils_table()), Table(window_stencils_table())};
  return tables[uses_window];
}

// Code of one page. The hot parts come first, in the order of the words. The second word of a pair has code of its own,
// for branches to it, after all others, and so have words that find a register in the cache: a branch to them loads it.
// Then follow the cold parts, constants, the stubs through which the interpreter runs a word, and jumps to functions of
// the program.
class Assembler {
 public:
  Assembler(const Table& table, u64 address) : table_(table), address_(address) {}

  PageCode run(const std::array<u32, interpreter::kWordsPerPage>& words);

 private:
  struct Piece {
    const Stencil* stencil;
    WordValues word;
    bool is_pair = false;  // with the next word
    bool is_target = false;  // of a branch in this page
    bool takes_cached = false;
    u64 cached = kNoSlot;  // the slot of the register that is cached before it
    bool loads_cached = false;  // it is needed
    const Stencil* facts = nullptr;  // the stencil with its check, which says the same of registers
    u64 relies_on = 0;  // registers that this word takes for addresses in the window; see KnownBases::bit
    u64 checks = 0;  // those that it or later words take for such
    u32 loader = kNoCode;  // where they are checked, and the cached one loaded first, if need be
    u32 hot = 0, cold = 0, data = 0;
    u32 bail = kNoCode;
    u32 first_value = 0;  // of its holes
    u64 shortened = 0;  // which of its relocations take one byte
    u32 saved[2] = {0, 0};  // bytes of the hot part and of the cold one
  };
  void choose(const std::array<u32, interpreter::kWordsPerPage>& words);
  bool is_second(u32 index) const { return index != 0 && pieces_[index - 1].is_pair; }
  u32 next_index(u32 index) const { return index + (pieces_[index].is_pair ? 2 : 1); }
  u32 next_of(u32 index) const;
  void choose_registers();
  void skip_check(Piece& piece, KnownBases& known) const;
  u64 needed_before(const Piece& piece, u64 after) const;
  void find_loaders();
  u32 append_loader(const Stencil& stencil, u64 slot, Piece& piece, u32 at);
  void fill_loader(Piece& piece);
  // Where a word begins if nothing is cached.
  static u32 entry_of(const Piece& piece) { return piece.loader == kNoCode ? piece.hot : piece.loader; }
  void evaluate(Piece& piece);
  void place();
  u32 stub_of(Piece& piece);
  u32 jump_to(u64 address);
  void fill(Piece& piece, u32 next);
  void copy_part(const Piece& piece, bool cold, u32 to, u32 from, u32 size);
  void relocate_all(Piece& piece, u32 next);
  u32 moved(const Piece& piece, bool cold, u32 offset) const;
  u32 target_of(Piece& piece, u32 next, TargetKind kind, u32 index);
  void jump(u32 from, u32 to);
  void copy(u32 to, const u8* from, u32 size) { std::memcpy(code_.bytes.data() + to, from, size); }
  u32 append(const u8* from, u32 size) {
    const auto at = static_cast<u32>(code_.bytes.size());
    code_.bytes.insert(code_.bytes.end(), from, from + size);
    return at;
  }

  const Table& table_;
  const u64 address_;
  std::vector<Piece> pieces_;
  std::vector<u64> values_;  // of all relocations, one piece after the other
  std::unordered_map<u64, u32> jumps_;
  PageCode code_;
};

void Assembler::choose(const std::array<u32, interpreter::kWordsPerPage>& words) {
  pieces_.reserve(words.size() + 1);
  std::vector<u32> targets;
  Decoded before{};
  for (u32 i = 0; i < words.size(); ++i) {
    const isa::Row row = isa::decode(words[i]);
    const Decoded decoded{row, variant_of(row, words[i], i)};
    const WordValues word{decoded.variant.operands, address_ + u64{i} * 4};
    pieces_.push_back({&table_.choose(row, decoded.variant, word), word});
    if (i != 0) {
      Piece& first = pieces_[i - 1];
      first.word.next_operands = word.operands;
      if (const Stencil* both = table_.choose_pair(before, decoded, first.word)) {
        first.stencil = both;
        first.is_pair = true;
      }
    }
    if (decoded.variant.words != 0) targets.push_back(i + static_cast<u32>(decoded.variant.words));
    before = decoded;
  }
  // The last word may go on to the next page.
  pieces_.push_back({&table_.go_on(), pieces_.back().word});
  for (const u32 target : targets) pieces_[target].is_target = true;
  choose_registers();
  find_loaders();
  for (Piece& piece : pieces_) evaluate(piece);
}

// Registers come from the cache where the code before a word leaves them there. A word that branches lead to finds
// nothing in it: they would have to load it.
// Nor does such a word know what is in the window.
void Assembler::choose_registers() {
  u64 cached = kNoSlot;
  KnownBases known;
  for (u32 i = 0; i < pieces_.size(); i = next_index(i)) {
    Piece& piece = pieces_[i];
    if (piece.is_target) {
      cached = kNoSlot;
      known.clear();
    }
    piece.cached = cached;
    const Stencil* const taking = cached == kNoSlot ? nullptr : table_.with_cached(*piece.stencil, cached, piece.word);
    piece.takes_cached = taking != nullptr;
    if (taking) piece.stencil = taking;
    cached = table_.cached_after(*piece.stencil, cached, piece.word);
    skip_check(piece, known);
  }
}

// Takes the stencil without a check where the register is known, and says what is known after it.
void Assembler::skip_check(Piece& piece, KnownBases& known) const {
  piece.facts = piece.stencil;
  const u64 checked = table_.checked(*piece.facts, piece.word);
  const Stencil* const unchecked = table_.unchecked(*piece.facts);
  if (checked != kNoSlot && unchecked && known.has(checked)) {
    piece.stencil = unchecked;
    piece.relies_on = KnownBases::bit(checked);
  } else if (checked != kNoSlot) {
    known.add(checked);
  }
  if (!piece.facts->goes_on) return known.clear();
  const std::span<const Written> written = table_.written(*piece.facts);
  if (written.empty()) return;
  const KnownBases before = known;
  for (const Written& one : written) {
    if (one.slot == kNone) return known.clear();
    known.forget(table_.value(one.slot, piece.word));
  }
  for (const Written& one : written) {
    if (one.source == kNone) continue;
    const u64 slot = table_.value(one.slot, piece.word);
    const auto is_same = [&](const Written& other) { return table_.value(other.slot, piece.word) == slot; };
    if (std::ranges::count_if(written, is_same) > 1) continue;
    const u64 distance = one.distance == kNone ? 0 : table_.value(one.distance, piece.word);
    known.derive(slot, table_.value(one.source, piece.word), static_cast<i64>(distance), before);
  }
}

// Which registers must be addresses in the window before a word, if those must be so after it.
u64 Assembler::needed_before(const Piece& piece, u64 after) const {
  u64 needed = piece.relies_on;
  if (after == 0) return needed;
  const u64 checked = piece.relies_on != 0 ? kNoSlot : table_.checked(*piece.facts, piece.word);
  for (const Written& one : table_.written(*piece.facts)) {
    const u64 slot = KnownBases::bit(table_.value(one.slot, piece.word));
    if ((after & slot) == 0) continue;
    after &= ~slot;
    needed |= KnownBases::bit(table_.value(one.source, piece.word));
  }
  needed |= after;
  return checked == kNoSlot ? needed : needed & ~KnownBases::bit(checked);
}

// Which words need the cached register, or lead to one that does; and which registers must be checked before.
void Assembler::find_loaders() {
  bool is_needed = false;
  u64 checks = 0;
  for (auto i = static_cast<u32>(pieces_.size()); i-- != 0;) {
    if (is_second(i)) continue;
    Piece& piece = pieces_[i];
    is_needed = piece.takes_cached || (is_needed && piece.stencil->cached_after == kCacheStays);
    if (piece.cached == kNoSlot) is_needed = false;
    piece.loads_cached = is_needed;
    piece.checks = checks = needed_before(piece, checks);
    if (is_needed || checks != 0) piece.loader = 0;  // place() says where
  }
}

constexpr u32 kJumpBytes = 5;

// Whether a value fits into the smaller hole, and how many bytes that has less.
bool fits(Shortening how, u64 value) {
  if (how == Shortening::kNone) return false;
  return how == Shortening::kWide ? value == static_cast<u32>(value)
                                  : static_cast<i8>(value) == static_cast<i32>(value);
}
u32 saved_bytes(Shortening how) { return how == Shortening::kWide ? 4 : 3; }

// The size of what a relocation fills in.
u32 size_of(const Relocation& one, bool is_short) {
  const u32 size = one.kind == RelocationKind::kAbsolute8    ? 1
                   : one.kind == RelocationKind::kAbsolute16 ? 2
                   : one.kind == RelocationKind::kAbsolute64 ? 8
                                                             : 4;
  return is_short ? size - saved_bytes(one.shortening) : size;
}

// Changes the byte of an instruction that says how large its hole is.
void shorten(u8& changed, Shortening how) {
  constexpr u8 kOneByteDisplacement = 0x40, kForm = 0xc0, kOneByteImmediate = 2;  // of ModRM; of the opcode
  constexpr u8 kRexW = 8;
  if (how == Shortening::kDisplacement) {
    changed = static_cast<u8>((changed & ~kForm) | kOneByteDisplacement);
  } else if (how == Shortening::kImmediate) {
    changed |= kOneByteImmediate;
  } else {
    changed = static_cast<u8>(changed & ~kRexW);
  }
}

// The values of the holes, and which of them are short.
void Assembler::evaluate(Piece& piece) {
  piece.first_value = static_cast<u32>(values_.size());
  const std::span<const Relocation> relocations = table_.relocations(*piece.stencil);
  for (u32 i = 0; i < relocations.size(); ++i) {
    const Relocation& one = relocations[i];
    const bool is_hole = one.target == TargetKind::kHole;
    const u64 value = is_hole ? table_.value(one.index, piece.word) + static_cast<u64>(one.addend) : 0;
    values_.push_back(value);
    if (i >= 64 || !fits(one.shortening, value)) continue;
    piece.shortened |= u64{1} << i;
    piece.saved[one.in_cold] += saved_bytes(one.shortening);
  }
}

// Where an offset of the stencil is when holes before it are short.
u32 Assembler::moved(const Piece& piece, bool cold, u32 offset) const {
  const std::span<const Relocation> relocations = table_.relocations(*piece.stencil);
  u32 saved = 0;
  for (u64 rest = piece.shortened; rest != 0; rest &= rest - 1) {
    const Relocation& one = relocations[static_cast<u32>(std::countr_zero(rest))];
    if (one.in_cold == cold && one.offset < offset) saved += saved_bytes(one.shortening);
  }
  return offset - saved;
}

void Assembler::place() {
  u32 at = 0;
  for (const bool second : {false, true}) {
    for (u32 i = 0; i < pieces_.size(); ++i) {
      if (is_second(i) != second) continue;
      pieces_[i].hot = at;
      at += pieces_[i].stencil->hot_size - pieces_[i].saved[0] + (second ? kJumpBytes : 0);
    }
  }
  code_.words_end = at;
  const Stencil& load = table_.load_cached();
  const Stencil& check = table_.check();
  for (Piece& piece : pieces_) {
    if (piece.loader == kNoCode) continue;
    piece.loader = at;
    at += (piece.loads_cached ? load.hot_size : 0) + static_cast<u32>(std::popcount(piece.checks)) * check.hot_size;
    at += kJumpBytes;
  }
  for (Piece& piece : pieces_) {
    piece.cold = at;
    at += piece.stencil->cold_size - piece.saved[1];
  }
  at = (at + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  for (Piece& piece : pieces_) {
    piece.data = at;
    at += piece.stencil->data_size;
  }
  code_.bytes.resize(at);
}

u32 Assembler::stub_of(Piece& piece) {
  if (piece.bail != kNoCode) return piece.bail;
  Piece stub{&table_.plain(), piece.word};
  evaluate(stub);
  stub.hot = static_cast<u32>(code_.bytes.size());
  code_.bytes.resize(stub.hot + stub.stencil->hot_size - stub.saved[0]);
  copy_part(stub, false, stub.hot, stub.stencil->hot, stub.stencil->hot_size);
  relocate_all(stub, 0);
  values_.resize(stub.first_value);
  return piece.bail = stub.hot;
}

// Functions of the program are farther away than a call reaches.
u32 Assembler::jump_to(u64 address) {
  const auto [found, is_new] = jumps_.emplace(address, 0);
  if (is_new) {
    u8 jump[14] = {0xff, 0x25};  // jmp *0(%rip)
    std::memcpy(jump + 6, &address, sizeof(address));
    found->second = append(jump, sizeof(jump));
  }
  return found->second;
}

void Assembler::jump(u32 from, u32 to) {
  const u32 distance = to - (from + kJumpBytes);
  code_.bytes[from] = 0xe9;
  copy(from + 1, reinterpret_cast<const u8*>(&distance), sizeof(distance));
}

u32 Assembler::target_of(Piece& piece, u32 next, TargetKind kind, u32 index) {
  switch (kind) {
    case TargetKind::kNext: return next;
    case TargetKind::kWord: return entry_of(pieces_[(table_.value(index, piece.word) - address_) / 4]);
    case TargetKind::kBail: return stub_of(piece);
    case TargetKind::kData: return piece.data + index;
    case TargetKind::kSymbol: return jump_to(table_.symbol(index));
    case TargetKind::kHot: return piece.hot + moved(piece, false, index);
    case TargetKind::kCold: return piece.cold + moved(piece, true, index);
    default: return 0;
  }
}

void Assembler::copy_part(const Piece& piece, bool cold, u32 to, u32 from, u32 size) {
  const std::span<const Relocation> relocations = table_.relocations(*piece.stencil);
  const u32 begin = to;
  u32 done = 0;
  for (u64 rest = piece.shortened; rest != 0; rest &= rest - 1) {
    const Relocation& one = relocations[static_cast<u32>(std::countr_zero(rest))];
    if (one.in_cold != cold) continue;
    copy(to, table_.code(from + done), one.offset - done);
    to += one.offset - done;
    // One instruction may have two short holes.
    shorten(code_.bytes[begin + moved(piece, cold, one.offset - one.back)], one.shortening);
    to += size_of(one, true);
    done = one.offset + size_of(one, false);
  }
  copy(to, table_.code(from + done), size - done);
}

void Assembler::relocate_all(Piece& piece, u32 next) {
  const std::span<const Relocation> relocations = table_.relocations(*piece.stencil);
  u32 saved[2] = {0, 0};
  for (u32 i = 0; i < relocations.size(); ++i) {
    const Relocation& one = relocations[i];
    const u32 at = (one.in_cold ? piece.cold : piece.hot) + one.offset - saved[one.in_cold];
    const bool is_short = i < 64 && (piece.shortened >> i & 1) != 0;
    u64 value = values_[piece.first_value + i];
    if (one.kind == RelocationKind::kRelative32)
      value = u64{target_of(piece, next, one.target, one.index)} - at + static_cast<u64>(one.addend);
    copy(at, reinterpret_cast<const u8*>(&value), size_of(one, is_short));
    if (is_short) saved[one.in_cold] += saved_bytes(one.shortening);
  }
}

// Where the code after a piece is. The second word of a pair caches nothing for the next one when it runs alone.
u32 Assembler::next_of(u32 index) const {
  const u32 next = next_index(index);
  if (next >= pieces_.size()) return 0;
  return is_second(index) ? entry_of(pieces_[next]) : pieces_[next].hot;
}

// Where the code after it goes.
u32 Assembler::append_loader(const Stencil& stencil, u64 slot, Piece& piece, u32 at) {
  Piece load{&stencil, {slot, piece.word.pc}};
  evaluate(load);
  load.hot = at;
  load.bail = piece.bail;
  const u32 next = at + stencil.hot_size - load.saved[0];
  copy_part(load, false, load.hot, stencil.hot, stencil.hot_size);
  relocate_all(load, next);
  values_.resize(load.first_value);
  return next;
}

// What a word finds done otherwise: registers are checked, and one is in the cache.
void Assembler::fill_loader(Piece& piece) {
  u32 at = piece.loader;
  if (piece.checks != 0) stub_of(piece);
  for (u64 rest = piece.checks; rest != 0; rest &= rest - 1)
    at = append_loader(table_.check(), static_cast<u64>(std::countr_zero(rest)) * sizeof(u64), piece, at);
  if (piece.loads_cached) at = append_loader(table_.load_cached(), piece.cached, piece, at);
  jump(at, piece.hot);
}

void Assembler::fill(Piece& piece, u32 next) {
  const Stencil& stencil = *piece.stencil;
  copy_part(piece, false, piece.hot, stencil.hot, stencil.hot_size);
  if (stencil.cold_size != 0) copy_part(piece, true, piece.cold, stencil.cold, stencil.cold_size);
  if (stencil.data_size != 0) copy(piece.data, table_.data(stencil.data), stencil.data_size);
  relocate_all(piece, next);
  for (const Access& access : table_.accesses(stencil)) {
    code_.accesses.push_back(
        {(access.in_cold ? piece.cold : piece.hot) + moved(piece, access.in_cold != 0, access.offset),
         target_of(piece, next, access.target, access.index)});
  }
}

PageCode Assembler::run(const std::array<u32, interpreter::kWordsPerPage>& words) {
  choose(words);
  place();
  for (u32 i = 0; i < pieces_.size(); ++i) fill(pieces_[i], next_of(i));
  for (u32 i = 0; i < pieces_.size(); ++i) {
    if (is_second(i)) jump(pieces_[i].hot + pieces_[i].stencil->hot_size - pieces_[i].saved[0], next_of(i));
    if (pieces_[i].loader != kNoCode) fill_loader(pieces_[i]);
  }
  for (u32 i = 0; i < words.size(); ++i) {
    const bool has_code = pieces_[i].stencil != &table_.plain();
    code_.entry_points[i] = has_code ? entry_of(pieces_[i]) : kNoCode;
    code_.words[i] = has_code ? pieces_[i].hot : kNoCode;
  }
  std::ranges::sort(code_.accesses, {}, &PageCode::Access::offset);
  return std::move(code_);
}

}  // namespace

bool are_available() {
  return KVRM_TAIL_CALLS && __builtin_cpu_supports("x86-64-v3") && table(false).is_whole() && table(true).is_whole();
}

PageCode translate_page(u64 address, const std::array<u32, interpreter::kWordsPerPage>& words, bool uses_window) {
  return Assembler(table(uses_window), address).run(words);
}

}  // namespace kvrm::translator::stencils
