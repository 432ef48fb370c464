#include "linux/start.h"

#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "linux/freestanding/layout.h"

namespace kvrm::linux_abi {
namespace {

using memory::kPageSize;

constexpr u64 kMaxStrings = 2 << 20;  // a quarter of the stack, as Linux limits them
constexpr u64 kMaxString = 32 * kPageSize;

// What the kernel tells the program about its machine; <elf.h> names them AT_*.
enum Auxiliary : u64 {
  kAtNull = 0,
  kAtPhdr = 3,
  kAtPhent = 4,
  kAtPhnum = 5,
  kAtPagesz = 6,
  kAtBase = 7,
  kAtFlags = 8,
  kAtEntry = 9,
  kAtUid = 11,
  kAtEuid = 12,
  kAtGid = 13,
  kAtEgid = 14,
  kAtPlatform = 15,
  kAtHwcap = 16,
  kAtClktck = 17,
  kAtSecure = 23,
  kAtRandom = 25,
  kAtHwcap2 = 26,
  kAtExecfn = 31,
  kAtMinsigstksz = 51,
};

constexpr u64 kMinSignalStack = 4720;  // the signal frame, its frame record, and 16 bytes of padding

// mov x8, #139 (rt_sigreturn); svc #0. Unwinders recognize exactly these two words.
constexpr u32 kTrampolineCode[2] = {0xd2801168, 0xd4000001};

std::string limit_error(const StackContents& contents) {
  u64 total = sizeof(u64) * (contents.args.size() + contents.env.size() + 2);
  for (const auto* list : {&contents.args, &contents.env})
    for (const auto& text : *list) {
      if (text.find('\0') != std::string::npos) return "an argument or environment string holds a zero byte";
      if (text.size() >= kMaxString) return "an argument or environment string is longer than 128 KiB";
      total += text.size() + 1;
    }
  if (contents.exec_name.size() >= kPageSize || contents.exec_name.find('\0') != std::string::npos)
    return "the program's name is longer than 4095 bytes or holds a zero byte";
  if (total > kMaxStrings) return "arguments and environment together are larger than 2 MiB";
  return {};
}

// The part of the stack that holds something, built downwards from kStackTop in a host buffer.
class Builder {
 public:
  // Puts bytes below everything so far and returns their address.
  u64 push(const void* from, u64 size) {
    top_ -= size;
    parts_.emplace_back(top_, std::string(static_cast<const char*>(from), size));
    return top_;
  }
  u64 push_text(const std::string& text) { return push(text.c_str(), text.size() + 1); }
  void align() { top_ &= ~u64{15}; }
  u64 top() const { return top_; }
  bool copy_to(memory::GuestMemory& memory) const {
    for (const auto& [address, bytes] : parts_)
      if (!memory.poke(address, bytes.data(), bytes.size())) return false;
    return true;
  }

 private:
  u64 top_ = kStackTop;
  std::vector<std::pair<u64, std::string>> parts_;
};

// The strings lie in the order arguments, environment, name, from low to high, so push them backwards.
std::vector<u64> push_all(Builder& builder, const std::vector<std::string>& texts) {
  std::vector<u64> addresses(texts.size());
  for (std::size_t i = texts.size(); i-- > 0;) addresses[i] = builder.push_text(texts[i]);
  return addresses;
}

u64 fill(Builder& builder, const StackContents& contents, const LoadedProgram& program) {
  static constexpr u64 kZero = 0;
  builder.push(&kZero, sizeof kZero);
  const u64 name = builder.push_text(contents.exec_name);
  const auto env = push_all(builder, contents.env);
  const auto args = contents.args.empty() ? push_all(builder, {std::string()}) : push_all(builder, contents.args);
  builder.align();
  const u64 platform = builder.push_text("aarch64");
  const u64 random = builder.push(contents.random, sizeof contents.random);
  builder.align();

  std::vector<u64> words;
  words.push_back(args.size());
  words.insert(words.end(), args.begin(), args.end());
  words.push_back(0);
  words.insert(words.end(), env.begin(), env.end());
  words.push_back(0);
  // In Linux's order.
  const std::array<std::pair<u64, u64>, 20> auxv = {{{kAtMinsigstksz, kMinSignalStack},
                                                     {kAtHwcap, kHwcap},
                                                     {kAtPagesz, kPageSize},
                                                     {kAtClktck, 100},
                                                     {kAtPhdr, program.phdr_address},
                                                     {kAtPhent, 56},
                                                     {kAtPhnum, program.phdr_count},
                                                     {kAtBase, 0},
                                                     {kAtFlags, 0},
                                                     {kAtEntry, program.entry},
                                                     {kAtUid, contents.uid},
                                                     {kAtEuid, contents.uid},
                                                     {kAtGid, contents.gid},
                                                     {kAtEgid, contents.gid},
                                                     {kAtSecure, 0},
                                                     {kAtRandom, random},
                                                     {kAtHwcap2, 0},
                                                     {kAtExecfn, name},
                                                     {kAtPlatform, platform},
                                                     {kAtNull, 0}}};
  for (const auto& [key, value] : auxv) {
    words.push_back(key);
    words.push_back(value);
  }
  // sp itself must be a multiple of 16, so the padding goes above the words.
  if (words.size() % 2 != 0) builder.push(&kZero, sizeof kZero);
  return builder.push(words.data(), words.size() * sizeof(u64));
}

}  // namespace

Result<u64> build_stack(const StackContents& contents, const LoadedProgram& program, bool executable_stack,
                        memory::GuestMemory& memory) try {
  if (std::string problem = limit_error(contents); !problem.empty()) return Error{std::move(problem)};
  const u32 protection = memory::kRead | memory::kWrite | (executable_stack ? u32{memory::kExecute} : 0u);
  if (!memory.map(kStackBottom, kStackSize, protection) ||
      !memory.map(kTrampoline, kPageSize, memory::kRead | memory::kExecute) ||
      !memory.poke(kTrampoline, kTrampolineCode, sizeof kTrampolineCode))
    return Error{"the stack does not fit into the guest's memory"};
  Builder builder;
  const u64 sp = fill(builder, contents, program);
  if (!builder.copy_to(memory)) return Error{"the stack does not fit into the guest's memory"};
  return sp;
} catch (const std::bad_alloc&) {
  return Error{"the host has no memory left for the stack"};
}

}  // namespace kvrm::linux_abi
