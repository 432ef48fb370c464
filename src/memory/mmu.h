// A lane's way to memory: its TLB, and what happens when that misses. Puts a translation and its physical memory
// together for the engines.
#pragma once

#include "memory/account.h"
#include "memory/freestanding/paged.h"
#include "memory/translation.h"

namespace kvrm::memory {

// Told when decoded code may no longer be what its page holds.
class CodeListener {
 public:
  virtual ~CodeListener() = default;
  virtual void code_written(const u8* page) = 0;  // the page's bytes are about to change, or it goes away
  virtual void code_remapped() = 0;  // an address may now show another page
  virtual void other_lane_wrote_code() {}  // another lane of a shared memory may have written code
};

// Sees the accesses of a lane's instructions, after each.
class AccessListener {
 public:
  virtual ~AccessListener() = default;
  virtual void accessed(u64 address, u32 size, Access access, const void* bytes) = 0;
};

class Mmu final : private PhysicalMemory::Listener, private Translation::Listener {
 public:
  // The translation outlives it.
  explicit Mmu(Translation& translation);
  ~Mmu() override;

  Paged<Mmu> policy() { return {&tlb_, this}; }
  Tlb& tlb() { return tlb_; }
  Translation& translation() { return translation_; }

  // The backing of Paged. `cache` is this TLB.
  SlowAccess read_slow(Tlb& cache, u64 address, void* to, u32 size);
  SlowAccess write_slow(Tlb& cache, u64 address, const void* from, u32 size);
  SlowAccess exchange_slow(Tlb& cache, u64 address, const void* expected, const void* desired, void* observed,
                           u32 size);
  void fence_slow(Tlb& cache);

  // The bytes of pc's page to decode from, marked so that a write to them is noticed. The pointer identifies the frame
  // for as long as the listener is not told otherwise.
  struct CodePage {
    Trap trap;
    const u8* bytes;
  };
  CodePage code_page(u64 pc);
  void set_code_listener(CodeListener* listener);
  // While there is a listener the TLB stays empty. For the interpreter alone; null: none.
  void set_access_listener(AccessListener* listener);
  // Whether decoded code refers to any of these bytes.
  bool holds_code(u64 address, u64 size) const;

  bool is_shared() const { return physical_.is_shared(); }
  // Tells the lane of a shared memory if some lane has written where code may be since its last check.
  void check_code_version();
  const AccountPointer& account() const { return physical_.frames().account(); }

 private:
  Translation::Frame resolve(u64 address, Access access);
  Translation::Frame fill(u64 address, Access access);
  template <class Copy>
  SlowAccess each_page(u64 address, u32 size, Access access, Copy copy);

  void code_decoded(const u8* frame, const Translation& translation, u64 address, bool is_aliased) override;
  void code_written(const u8* frame) override;
  void map_changed() override;
  void page_moved(u64 address, bool held_code) override;

  Translation& translation_;
  PhysicalMemory& physical_;
  CodeListener* listener_ = nullptr;
  AccessListener* access_listener_ = nullptr;
  Tlb tlb_;
};

}  // namespace kvrm::memory
