// The stencil compiler: a program of the build. It reads the rows' bitcode and writes the table of stencils.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "isa/a64_names.h"
#include "semantics/meaning.h"
#include "translator/stencils/object.h"
#include "translator/stencils/pairs.h"
#include "translator/stencils/specialize.h"
#include "translator/stencils/variant.h"

namespace kvrm::translator::stencils {
namespace {

constexpr const char* kPrefix = "kvrm_stencil_of_";

// The functions of a row, by variant.
std::vector<llvm::Function*> variants_of(llvm::Module& module, const char* row) {
  std::vector<llvm::Function*> result;
  const llvm::GlobalVariable* array = module.getGlobalVariable(std::string("kvrm_variants_") + row);
  if (!array) return result;
  const auto* functions = llvm::cast<llvm::GlobalVariable>(array->getInitializer()->stripPointerCasts());
  for (const llvm::Use& use : functions->getInitializer()->operands())
    result.push_back(module.getFunction(use->stripPointerCasts()->getName()));
  return result;
}

class Table {
 public:
  // `opaque`: the names of stencils with opaque holes.
  Table(llvm::Module& module, llvm::TargetMachine& target, const std::set<std::string>& opaque)
      : module_(module), target_(target), opaque_(opaque), specializer_(module, target) {}

  bool build(std::string& error);
  // Stencils that took biased holes for addresses.
  const std::set<std::string>& too_bold() const { return too_bold_; }
  void write(const char* path);

 private:
  struct Planned {
    std::string name;
    Registers registers;
    // Numbers of planned stencils until build() replaces them.
    std::vector<Alternative> alternatives = {};
    u32 unchecked = kNoStencil;
  };

  void plan();
  void plan_pairs();
  void plan_pair(Request& request);
  u32 plan(Request request, Registers& registers);
  u32 plan_with_alternatives(const Request& request, Registers& registers);
  bool compile(std::string& error);
  u32 add(const Code& code);
  void describe(const Planned& planned, Stencil& stencil, const std::vector<u32>& numbers);

  llvm::Module& module_;
  llvm::TargetMachine& target_;
  const std::set<std::string>& opaque_;
  std::set<std::string> too_bold_;
  Specializer specializer_;
  std::vector<Planned> planned_;
  std::map<std::string, Code> codes_;
  Symbols symbols_;
  Header header_{};
  std::vector<Stencil> stencils_;
  std::vector<Relocation> relocations_;
  std::vector<Access> accesses_;
  std::vector<Alternative> alternatives_;
  std::vector<Written> written_;
  std::vector<Choice> choices_;  // numbers of planned stencils until build() replaces them
  std::vector<RowStencils> rows_;
  std::vector<Pair> pairs_;
  std::vector<u32> slots_;
  std::vector<u8> code_, data_;
};

// And one more that does not ask for what is known.
u32 Table::plan(Request request, Registers& registers) {
  Request unchecked = request;
  unchecked.is_unchecked = true;
  request.name = kPrefix + request.name +
                 (request.form == kFar       ? "_far"
                  : request.form == kForward ? "_forward"
                                             : "") +
                 (request.writes == Writes::kNotZero ? "" : "_other") +
                 (request.cached ? "_cached_" + std::to_string(*request.cached) : "") +
                 (request.is_unchecked ? "_unchecked" : "");
  request.opaque = opaque_.contains(request.name);
  if (!specializer_.make(request, registers)) return kNoStencil;
  const auto number = static_cast<u32>(planned_.size());
  planned_.push_back({request.name, registers});
  if (registers.checked != kNone && !request.is_unchecked) {
    Registers ignored;
    planned_[number].unchecked = plan(unchecked, ignored);
  }
  return number;
}

// And one more for each register that it could take from the cache.
u32 Table::plan_with_alternatives(const Request& request, Registers& registers) {
  const u32 number = plan(request, registers);
  if (number == kNoStencil) return number;
  for (const u32 slot : registers.read) {
    Request with_cache = request;
    with_cache.cached = slot;
    Registers ignored;
    const u32 alternative = plan(with_cache, ignored);
    if (alternative != kNoStencil) planned_[number].alternatives.push_back({slot, alternative});
  }
  return number;
}

// One function for each stencil.
void Table::plan() {
  for (u32 row = 0; row < isa::kRowCount; ++row) {
    rows_.push_back({static_cast<u32>(choices_.size()), 0});
    const isa::Flow flow = isa::facts(static_cast<isa::Row>(row)).flow;
    if (flow == isa::Flow::kTrap) continue;
    for (llvm::Function* meaning : variants_of(module_, isa::kRowNames[row])) {
      const std::string name = isa::kRowNames[row] + ("_" + std::to_string(rows_.back().variants++));
      for (const Form form : {kNear, kFar, kForward}) {
        Choice choice{kNoStencil, kNoStencil, static_cast<u32>(slots_.size()), 0};
        Request request{.name = name, .meaning = meaning, .flow = flow, .form = form};
        Registers registers, of_other;
        const std::vector<u32>& slots = registers.written;
        if (form == kNear || (form == kFar ? flow != isa::Flow::kNext : has_forward_form(static_cast<isa::Row>(row))))
          choice.stencil = plan_with_alternatives(request, registers);
        if (choice.stencil != kNoStencil && !slots.empty()) {
          request.writes = slots.size() == 1 ? Writes::kOnlyZero : Writes::kAny;
          choice.other = plan_with_alternatives(request, of_other);
          choice.slots = static_cast<u32>(slots.size());
          slots_.insert(slots_.end(), slots.begin(), slots.end());
        }
        choices_.push_back(choice);
      }
    }
  }
}

void Table::plan_pair(Request& request) {
  for (const Form form : {kNear, kFar, kForward}) {
    Choice choice{kNoStencil, kNoStencil, static_cast<u32>(slots_.size()), 0};
    Registers registers, of_other;
    const std::vector<u32>& slots = registers.written;
    request.form = form;
    request.writes = Writes::kNotZero;
    choice.stencil = plan_with_alternatives(request, registers);
    request.writes = Writes::kOnlyZero;
    if (choice.stencil != kNoStencil) choice.other = plan_with_alternatives(request, of_other);
    choice.slots = static_cast<u32>(slots.size());
    slots_.insert(slots_.end(), slots.begin(), slots.end());
    choices_.push_back(choice);
  }
}

void Table::plan_pairs() {
  for (const PairOfRows& pair : kPairs) {
    const auto first = static_cast<u32>(pair.first), second = static_cast<u32>(pair.second);
    pairs_.push_back({first, second, static_cast<u32>(choices_.size())});
    u32 number = 0;
    for (llvm::Function* meaning : variants_of(module_, isa::kRowNames[first])) {
      const bool is_wanted = number++ % pair.modulus == pair.rest;
      u32 number_of_second = 0;
      for (llvm::Function* then : variants_of(module_, isa::kRowNames[second])) {
        const std::string name = std::string(isa::kRowNames[first]) + "_" + std::to_string(number - 1) + "_" +
                                 isa::kRowNames[second] + "_" + std::to_string(number_of_second++);
        Request request{.name = name, .meaning = meaning, .second = then, .flow = isa::facts(pair.second).flow};
        if (is_wanted) {
          plan_pair(request);
        } else {
          choices_.insert(choices_.end(), kForms, {kNoStencil, kNoStencil, 0, 0});
        }
      }
    }
  }
}

// Compiles the stencils alone.
bool Table::compile(std::string& error) {
  for (llvm::GlobalVariable& global : llvm::make_early_inc_range(module_.globals())) {
    if (!global.getName().starts_with("kvrm_variants_")) continue;
    global.eraseFromParent();
  }
  // What remains is used by nothing: drafts are gone, and constants that stencils refer to are needed.
  std::vector<llvm::Function*> others;
  for (llvm::Function& function : module_) {
    if (!function.isDeclaration() && !function.getName().starts_with(kPrefix)) others.push_back(&function);
  }
  for (llvm::Function* function : others) {
    function->deleteBody();
    function->setComdat(nullptr);
  }
  codes_ = stencils::compile(module_, target_, kPrefix, symbols_, error);
  return error.empty();
}

u32 Table::add(const Code& code) {
  const auto place = [](std::vector<u8>& to, const std::vector<u8>& from, u32 align) {
    to.resize((to.size() + align - 1) / align * align);
    const auto at = static_cast<u32>(to.size());
    to.insert(to.end(), from.begin(), from.end());
    return at;
  };
  const u32 hot = place(code_, code.hot, 1), cold = place(code_, code.cold, 1);
  const u32 data = place(data_, code.data, kDataAlignment);
  stencils_.push_back({hot, static_cast<u32>(code.hot.size()), cold, static_cast<u32>(code.cold.size()), data,
                       static_cast<u32>(code.data.size()), static_cast<u32>(relocations_.size()),
                       static_cast<u32>(code.relocations.size()), static_cast<u32>(accesses_.size()),
                       static_cast<u32>(code.accesses.size()), kNothingCached, 0, 0, 0, 0, kNone, kNoStencil, 0});
  relocations_.insert(relocations_.end(), code.relocations.begin(), code.relocations.end());
  accesses_.insert(accesses_.end(), code.accesses.begin(), code.accesses.end());
  return static_cast<u32>(stencils_.size() - 1);
}

void Table::describe(const Planned& planned, Stencil& stencil, const std::vector<u32>& numbers) {
  const Registers& registers = planned.registers;
  stencil.goes_on = registers.goes_on;
  stencil.checked = registers.checked;
  stencil.unchecked = planned.unchecked == kNoStencil ? kNoStencil : numbers[planned.unchecked];
  stencil.first_written = static_cast<u32>(written_.size());
  stencil.written = static_cast<u32>(registers.effects.size());
  written_.insert(written_.end(), registers.effects.begin(), registers.effects.end());
  stencil.cached_after = registers.cached_after;
  stencil.first_alternative = static_cast<u32>(alternatives_.size());
  for (const Alternative& one : planned.alternatives) {
    if (numbers[one.stencil] != kNoStencil) alternatives_.push_back({one.slot, numbers[one.stencil]});
  }
  stencil.alternatives = static_cast<u32>(alternatives_.size()) - stencil.first_alternative;
}

bool Table::build(std::string& error) {
  plan();
  plan_pairs();
  specializer_.make_plain(std::string(kPrefix) + "plain");
  specializer_.make_go_on(std::string(kPrefix) + "go_on");
  specializer_.make_load_cached(std::string(kPrefix) + "load_cached");
  specializer_.make_check(std::string(kPrefix) + "check");
  if (!compile(error)) return false;
  std::vector<u32> numbers;
  std::size_t unusable = 0;
  for (const Planned& planned : planned_) {
    const Code& code = codes_[planned.name];
    if (code.is_too_bold) too_bold_.insert(planned.name);
    unusable += !code.is_usable;
    numbers.push_back(code.is_usable && !code.is_too_bold ? add(code) : kNoStencil);
  }
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (numbers[i] != kNoStencil) describe(planned_[i], stencils_[numbers[i]], numbers);
  }
  const auto number = [&](u32 planned) { return planned == kNoStencil ? kNoStencil : numbers[planned]; };
  for (Choice& choice : choices_)
    choice = {number(choice.stencil), number(choice.other), choice.first_slot, choice.slots};
  for (const char* stub : {"plain", "go_on", "load_cached", "check"}) {
    const Code& code = codes_[std::string(kPrefix) + stub];
    if (!code.is_usable || !code.cold.empty()) return error = "a stub is not usable", false;
  }
  header_.plain = add(codes_[std::string(kPrefix) + "plain"]);
  header_.go_on = add(codes_[std::string(kPrefix) + "go_on"]);
  header_.load_cached = add(codes_[std::string(kPrefix) + "load_cached"]);
  header_.check = add(codes_[std::string(kPrefix) + "check"]);
  if (too_bold_.empty())
    std::printf("stencils: %zu with %zu bytes of code, %zu left out\n", stencils_.size(), code_.size(), unusable);
  return true;
}

template <class T>
void put(std::ofstream& to, const std::vector<T>& values) {
  to.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void Table::write(const char* path) {
  std::vector<u32> names;
  std::vector<u8> text;
  for (const std::string& name : symbols_.names()) {
    names.push_back(static_cast<u32>(text.size()));
    text.insert(text.end(), name.begin(), name.end());
    text.push_back(0);
  }
  const auto count = [](const auto& values) { return static_cast<u32>(values.size()); };
  header_.magic = kMagic;
  header_.rows = count(rows_);
  header_.choices = count(choices_);
  header_.slots = count(slots_);
  header_.stencils = count(stencils_);
  header_.relocations = count(relocations_);
  header_.expressions = count(specializer_.expressions().expressions());
  header_.steps = count(specializer_.expressions().steps());
  header_.symbols = count(names);
  header_.accesses = count(accesses_);
  header_.pairs = count(pairs_);
  header_.alternatives = count(alternatives_);
  header_.written = count(written_);
  header_.code_bytes = count(code_);
  header_.data_bytes = count(data_);
  header_.symbol_bytes = count(text);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  put(file, std::vector{header_});
  put(file, specializer_.expressions().steps());
  put(file, relocations_);
  put(file, specializer_.expressions().expressions());
  put(file, stencils_);
  put(file, choices_);
  put(file, rows_);
  put(file, pairs_);
  put(file, accesses_);
  put(file, alternatives_);
  put(file, written_);
  put(file, slots_);
  put(file, names);
  put(file, text);
  put(file, code_);
  put(file, data_);
}

int fail(const std::string& message) {
  std::fprintf(stderr, "stencil_compiler: %s\n", message.c_str());
  return 1;
}

// Twice if need be: the second time with opaque holes where LLVM made too much of the others.
int run(const char* bitcode, const char* out) {
  auto buffer = llvm::MemoryBuffer::getFile(bitcode);
  if (!buffer) return fail(std::string("cannot read ") + bitcode);
  std::string error;
  const auto target = make_target(error);
  if (!target) return fail(error);
  std::set<std::string> opaque;
  for (int i = 0; i < 2; ++i) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile((*buffer)->getMemBufferRef(), context);
    if (!module) return fail(llvm::toString(module.takeError()));
    Table table(**module, *target, opaque);
    if (!table.build(error)) return fail(error);
    if (!table.too_bold().empty()) {
      opaque = table.too_bold();
      continue;
    }
    table.write(out);
    return 0;
  }
  return fail("a hole is taken for an address even where it is opaque");
}

}  // namespace
}  // namespace kvrm::translator::stencils

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: stencil_compiler ROWS.bc STENCILS.bin\n");
    return 2;
  }
  return kvrm::translator::stencils::run(arguments[1], arguments[2]);
}
