// Translation: which frame of physical memory an address means, and what may be done with it. The Linux one is the
// address space (memory/address_space.h).
//
// Addresses are all 64 bits: those of the upper half are addresses like others, and one frame may have several. Data
// addresses come without their tag (TBI).
#pragma once

#include <memory>
#include <utility>

#include "base/cpu.h"
#include "memory/freestanding/page.h"
#include "memory/listeners.h"
#include "memory/physical_memory.h"

namespace kvrm::memory {

// Why a guest does without its window (memory/window.h).
enum class WindowLoss : u8 {
  kNone,  // it has one, or never was to have one
  kRefused,  // by the host
  kAbove,  // it uses addresses above the window
  kHostWrites,  // it shares memory with the host
  kMappings,  // it needs too many mappings of the host
  kCodeChanges,  // it writes to pages with decoded code too often
  kFallbacks,  // too many of its accesses left translated code
};

class Translation {
 public:
  struct Frame {
    Trap trap;  // otherwise the rest means nothing
    u8* bytes;
    // Of Protection: what may be done from now on without another translation. kWrite does not ask whether the frame
    // holds code; it is missing where a first write has work to do.
    u32 rights;
    bool is_aliased;  // other addresses of this translation may mean this frame
  };
  // Lanes that cache what was translated.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void map_changed() = 0;  // any address may mean another frame
    virtual void page_moved(u64 address, bool held_code) = 0;  // this one does
  };

  explicit Translation(std::shared_ptr<PhysicalMemory> physical) : physical_(std::move(physical)) {}
  virtual ~Translation() = default;
  Translation(const Translation&) = delete;
  Translation& operator=(const Translation&) = delete;

  // The frame for an access to the page of this address. Does what a first access needs (a frame, a copy). After one
  // for kWrite the frame may be written once code decoded from it is forgotten.
  virtual Frame translate(u64 address, Access access) = 0;
  // The frame that the address means now; null: none yet. Changes nothing.
  virtual const u8* find(u64 address) const = 0;

  // Where address 0 lies on the host for code that accesses memory in place; null: there is no window any more.
  virtual u8* window() const { return nullptr; }
  virtual void give_up_window(WindowLoss) {}

  // Whether the host or another guest may write to pages of it at any time.
  virtual bool is_written_elsewhere() const { return false; }

  PhysicalMemory& physical() const { return *physical_; }
  Listeners<Listener>& lanes() { return lanes_; }

 private:
  const std::shared_ptr<PhysicalMemory> physical_;
  Listeners<Listener> lanes_;
};

}  // namespace kvrm::memory
