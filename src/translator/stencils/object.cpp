#include "translator/stencils/object.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "translator/stencils/shorten.h"
#include "translator/stencils/specialize.h"

namespace kvrm::translator::stencils {
namespace {

using llvm::object::ELF64LEObjectFile;
using llvm::object::SectionRef;

// A basic block: its bytes, and relocations whose targets may be other blocks.
struct Piece {
  std::vector<u8> bytes;
  std::vector<Relocation> relocations;
  std::vector<std::pair<u32, u64>> jumps;  // relocations by number, and the sections of the blocks they lead to
  std::vector<std::pair<u32, u64>> accesses;  // to windows: their offsets, and the sections of their landings
};
constexpr u8 kJump = 0xe9;

// Reads the blocks of one function.
class Reader {
 public:
  // `relocated`: the sections that have relocations.
  Reader(Symbols& symbols, Code& code, const std::map<u64, SectionRef>& relocated)
      : symbols_(symbols), code_(code), relocated_(relocated) {}

  bool read(const SectionRef& text, const SectionRef* relocations, Piece& piece);

 private:
  bool relocation(const llvm::object::ELFRelocationRef& relocation, Piece& piece);
  bool symbol(llvm::StringRef name, bool zero_extended, Relocation& result);
  static void load_hole(Piece& piece, Relocation& hole);
  bool data(const SectionRef& section, u64 at, Relocation& result);

  Symbols& symbols_;
  Code& code_;
  const std::map<u64, SectionRef>& relocated_;
  std::map<std::pair<u64, u64>, u32> copied_;  // constants by section and offset: where their copies are
};

bool Reader::symbol(llvm::StringRef name, bool zero_extended, Relocation& result) {
  const auto number = [&](llvm::StringRef prefix) {
    return static_cast<u32>(std::stoul(name.drop_front(prefix.size()).str()));
  };
  if (name == kNextName || name == kBailName) {
    result.target = name == kNextName ? TargetKind::kNext : TargetKind::kBail;
  } else if (name.starts_with(kWordPrefix)) {
    result.target = TargetKind::kWord;
    result.index = number(kWordPrefix);
  } else if (name.starts_with(kHolePrefix)) {
    result.target = TargetKind::kHole;
    result.index = number(kHolePrefix);
  } else if (name.starts_with(kBiasedPrefix)) {
    // LLVM takes it for an address below 2^31.
    if (zero_extended) code_.is_too_bold = true;
    result.target = TargetKind::kHole;
    result.index = number(kBiasedPrefix);
    result.addend += kBias;
  } else {
    result.target = TargetKind::kSymbol;
    result.index = symbols_.number(name.str());
  }
  return true;
}

// A sum of a hole and a constant is an address to LLVM: LEA relative to the instruction's end. MOV of an immediate has
// the same size.
void Reader::load_hole(Piece& piece, Relocation& hole) {
  if (hole.target != TargetKind::kHole || hole.kind != RelocationKind::kRelative32 || hole.offset < 3) return;
  u8* const lea = piece.bytes.data() + hole.offset - 3;
  constexpr u8 kRexW = 0x48, kRexR = 0x04, kRexB = 0x01, kLea = 0x8d, kRelative = 0x05, kMov = 0xc7, kRegister = 0xc0;
  if ((lea[0] & ~kRexR) != kRexW || lea[1] != kLea || (lea[2] & 0xc7) != kRelative) return;
  lea[0] = (lea[0] & kRexR) != 0 ? kRexW | kRexB : kRexW;
  lea[1] = kMov;
  lea[2] = static_cast<u8>(kRegister | (lea[2] >> 3 & 7));
  hole.kind = RelocationKind::kAbsolute32;
  hole.addend += 4;
}

// Of a section of constants that functions share, only the one at `at` is copied.
bool Reader::data(const SectionRef& section, u64 at, Relocation& result) {
  if (result.kind != RelocationKind::kRelative32 || section.isBSS() || relocated_.contains(section.getIndex()))
    return false;
  llvm::StringRef bytes = *section.getContents();
  u64 first = 0, size = kDataAlignment;
  const auto* header = llvm::cast<ELF64LEObjectFile>(section.getObject())->getSection(section.getRawDataRefImpl());
  if ((header->sh_flags & llvm::ELF::SHF_MERGE) != 0) {
    size = header->sh_entsize;
    first = at / size * size;
    bytes = bytes.substr(first, size);
  }
  const auto [copy, is_new] = copied_.emplace(std::pair(section.getIndex(), first), 0);
  if (is_new) {
    code_.data.resize((code_.data.size() + size - 1) / size * size);
    copy->second = static_cast<u32>(code_.data.size());
    code_.data.insert(code_.data.end(), bytes.bytes_begin(), bytes.bytes_end());
  }
  result.target = TargetKind::kData;
  result.index = copy->second + static_cast<u32>(at - first);
  return true;
}

bool Reader::relocation(const llvm::object::ELFRelocationRef& from, Piece& piece) {
  Relocation result{};
  result.offset = static_cast<u32>(from.getOffset());
  result.addend = *from.getAddend();
  switch (from.getType()) {
    case llvm::ELF::R_X86_64_8: result.kind = RelocationKind::kAbsolute8; break;
    case llvm::ELF::R_X86_64_16: result.kind = RelocationKind::kAbsolute16; break;
    case llvm::ELF::R_X86_64_32:
    case llvm::ELF::R_X86_64_32S: result.kind = RelocationKind::kAbsolute32; break;
    case llvm::ELF::R_X86_64_64: result.kind = RelocationKind::kAbsolute64; break;
    case llvm::ELF::R_X86_64_PC32:
    case llvm::ELF::R_X86_64_PLT32: result.kind = RelocationKind::kRelative32; break;
    default: return false;
  }
  const auto target = from.getSymbol();
  auto section = target->getSection();
  if (!section) return false;
  bool is_good = true;
  if (*section == from.getObject()->section_end()) {
    is_good = symbol(*target->getName(), from.getType() == llvm::ELF::R_X86_64_32, result);
    load_hole(piece, result);
    const bool is_hole = result.target == TargetKind::kHole;
    is_good = is_good && is_hole != (result.kind == RelocationKind::kRelative32);
  } else if ((*section)->isText()) {
    // Jumps lead to the beginning of blocks.
    is_good = result.kind == RelocationKind::kRelative32 && result.addend == -4;
    piece.jumps.push_back({static_cast<u32>(piece.relocations.size()), (*section)->getIndex()});
  } else {
    is_good = data(**section, *target->getValue(), result);
  }
  piece.relocations.push_back(result);
  return is_good;
}

bool Reader::read(const SectionRef& text, const SectionRef* relocations, Piece& piece) {
  const llvm::StringRef bytes = *text.getContents();
  piece.bytes.assign(bytes.bytes_begin(), bytes.bytes_end());
  if (!relocations) return true;
  for (const llvm::object::RelocationRef& one : relocations->relocations()) {
    if (!relocation(llvm::object::ELFRelocationRef(one), piece)) return false;
  }
  return true;
}

// Puts the blocks of a function in order: the way from the entry to the next word is hot, the rest is cold.
class Layout {
 public:
  Layout(std::map<u64, Piece>& pieces, Code& code) : pieces_(pieces), code_(code) {}
  void run(u64 entry);

 private:
  // The relocation of the jump that ends a block; null: none does.
  static Relocation* last_jump(Piece& piece) {
    const std::size_t size = piece.bytes.size();
    if (size < 5 || piece.bytes[size - 5] != kJump) return nullptr;
    for (Relocation& one : piece.relocations)
      if (one.offset == size - 4 && one.kind == RelocationKind::kRelative32) return &one;
    return nullptr;
  }
  static const u64* block_of(const Piece& piece, const Relocation* relocation) {
    for (const auto& [number, block] : piece.jumps)
      if (&piece.relocations[number] == relocation) return &block;
    return nullptr;
  }
  void shorten_jumps(Piece& piece);
  void place_accesses(const Piece& piece, u32 at, bool cold);
  void place(u64 block, bool cold, bool drop_jump);

  std::map<u64, Piece>& pieces_;
  Code& code_;
  struct Place {
    bool cold;
    u32 offset;
  };
  std::map<u64, Place> places_;
  std::vector<std::pair<std::size_t, u64>> open_;  // relocations of the code that lead to blocks
  std::vector<std::pair<std::size_t, u64>> landings_;  // the same for accesses
};

// A jump to a block that is nothing but a jump leads to that one's target.
void Layout::shorten_jumps(Piece& piece) {
  for (std::size_t i = 0; i < piece.jumps.size();) {
    auto& [number, block] = piece.jumps[i];
    Piece& target = pieces_.at(block);
    const Relocation* jump = target.bytes.size() == 5 ? last_jump(target) : nullptr;
    const u64* farther = jump ? block_of(target, jump) : nullptr;
    if (!jump || (farther && *farther == block)) {
      ++i;
    } else if (farther) {
      block = *farther;
    } else {
      Relocation& shortened = piece.relocations[number];
      const u32 offset = shortened.offset;
      shortened = *jump;
      shortened.offset = offset;
      piece.jumps.erase(piece.jumps.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// An access whose landing is nothing but a jump to the interpreter's stub lands there.
void Layout::place_accesses(const Piece& piece, u32 at, bool cold) {
  for (const auto& [offset, landing] : piece.accesses) {
    Access access{at + offset, cold, TargetKind::kBail, 0, 0};
    Piece& target = pieces_.at(landing);
    const Relocation* jump = target.bytes.size() == 5 ? last_jump(target) : nullptr;
    if (!jump || block_of(target, jump) || jump->target != TargetKind::kBail)
      landings_.push_back({code_.accesses.size(), landing});
    code_.accesses.push_back(access);
  }
}

void Layout::place(u64 block, bool cold, bool drop_jump) {
  const Piece& piece = pieces_.at(block);
  std::vector<u8>& to = cold ? code_.cold : code_.hot;
  const auto at = static_cast<u32>(to.size());
  places_[block] = {cold, at};
  const std::size_t size = piece.bytes.size() - (drop_jump ? 5 : 0);
  to.insert(to.end(), piece.bytes.begin(), piece.bytes.begin() + static_cast<std::ptrdiff_t>(size));
  for (const Relocation& one : piece.relocations) {
    if (one.offset >= size) continue;
    if (const u64* target = block_of(piece, &one)) open_.push_back({code_.relocations.size(), *target});
    code_.relocations.push_back(one);
    code_.relocations.back().offset += at;
    code_.relocations.back().in_cold = cold;
  }
  place_accesses(piece, at, cold);
}

void Layout::run(u64 entry) {
  for (auto& [block, piece] : pieces_) shorten_jumps(piece);
  for (u64 block = entry; block != 0;) {
    Piece& piece = pieces_.at(block);
    const Relocation* jump = last_jump(piece);
    const u64* target = jump ? block_of(piece, jump) : nullptr;
    const bool goes_on = target && !places_.contains(*target) && *target != block;
    const bool to_next = jump && !target && jump->target == TargetKind::kNext;
    const u64 following = goes_on ? *target : 0;
    place(block, false, goes_on || to_next);
    block = following;
  }
  // Blocks that are still referred to; more of them turn up on the way.
  for (std::size_t i = 0, j = 0; i < open_.size() || j < landings_.size();) {
    const u64 block = i < open_.size() ? open_[i++].second : landings_[j++].second;
    if (!places_.contains(block)) place(block, true, false);
  }
  for (const auto& [number, block] : landings_) {
    const Place& at = places_.at(block);
    code_.accesses[number].target = at.cold ? TargetKind::kCold : TargetKind::kHot;
    code_.accesses[number].index = at.offset;
  }
  for (const auto& [number, block] : open_) {
    const Place& at = places_.at(block);
    code_.relocations[number].target = at.cold ? TargetKind::kCold : TargetKind::kHot;
    code_.relocations[number].index = at.offset;
  }
  std::ranges::sort(code_.relocations, {}, [](const Relocation& one) { return std::pair(one.in_cold, one.offset); });
}

}  // namespace

namespace {

// Where code may fault in a window, from __ex_table: by the section of the access its offset and the landing's section.
// Each word there is the distance to a byte of the code, whose offset in its section is the addend.
using Accesses = std::map<u64, std::vector<std::pair<u32, u64>>>;
Accesses accesses_of(const llvm::object::ObjectFile& object) {
  struct Place {
    u64 section;
    u32 offset;
  };
  Accesses result;
  for (const SectionRef& section : object.sections()) {
    auto target = section.getRelocatedSection();
    if (!target || *target == object.section_end() || *(*target)->getName() != "__ex_table") continue;
    std::map<u64, Place> words;
    for (const llvm::object::RelocationRef& word : section.relocations()) {
      const auto symbol = word.getSymbol();
      const u64 offset = *symbol->getValue() + static_cast<u64>(*llvm::object::ELFRelocationRef(word).getAddend());
      words[word.getOffset()] = {(*symbol->getSection())->getIndex(), static_cast<u32>(offset)};
    }
    for (auto word = words.begin(); word != words.end(); ++word) {
      const Place access = word->second;
      result[access.section].push_back({access.offset, (++word)->second.section});
    }
  }
  return result;
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target(std::string& error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  llvm::InitializeNativeTargetDisassembler();
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings
  options.FunctionSections = true;
  // Each block is a piece of its own, and jumps between them are relocations.
  options.BBSections = llvm::BasicBlockSection::All;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, "x86-64-v3", "", options, llvm::Reloc::Static, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

std::map<std::string, Code> compile(llvm::Module& module, llvm::TargetMachine& target, const std::string& prefix,
                                    Symbols& symbols, std::string& error) {
  std::map<std::string, Code> result;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  module.setDataLayout(target.createDataLayout());
  if (target.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    error = "LLVM cannot write object files";
    return result;
  }
  passes.run(module);
  auto object =
      llvm::object::ObjectFile::createELFObjectFile({llvm::StringRef(bytes.data(), bytes.size()), "stencils"});
  if (!object) {
    error = llvm::toString(object.takeError());
    return result;
  }
  std::map<u64, SectionRef> relocations;  // by the section that they are for
  for (const SectionRef& section : (*object)->sections()) {
    auto relocated = section.getRelocatedSection();
    if (relocated && *relocated != (*object)->section_end()) relocations.emplace((*relocated)->getIndex(), section);
  }
  const Accesses accesses = accesses_of(**object);
  const Shortener shortener(target);
  // A block's symbol is its function's, or that with a suffix.
  std::map<std::string, std::map<u64, SectionRef>> blocks;
  std::map<std::string, u64> entries;
  for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
    const llvm::StringRef name = *symbol.getName();
    auto section = symbol.getSection();
    if (!name.starts_with(prefix) || !section || *section == (*object)->section_end()) continue;
    const auto [function, part] = name.split(".__part.");
    blocks[function.str()].emplace((*section)->getIndex(), **section);
    if (part.empty()) entries[function.str()] = (*section)->getIndex();
  }
  for (const auto& [function, sections] : blocks) {
    Code& code = result[function];
    Reader reader(symbols, code, relocations);
    std::map<u64, Piece> pieces;
    for (const auto& [index, section] : sections) {
      const auto found = relocations.find(index);
      if (!reader.read(section, found == relocations.end() ? nullptr : &found->second, pieces[index]))
        code.is_usable = false;
      shortener.run(pieces[index].bytes, pieces[index].relocations);
      const auto faults = accesses.find(index);
      if (faults != accesses.end()) pieces[index].accesses = faults->second;
    }
    // The constants of stencils are placed one after another.
    code.data.resize((code.data.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment);
    if (code.is_usable) Layout(pieces, code).run(entries.at(function));
  }
  return result;
}

}  // namespace kvrm::translator::stencils
