// Random calls on a guest's memory, as the system-call layer might make them; the same seed makes the same calls. What
// they return is gathered as text, so that two memories are compared by comparing texts.
#pragma once

#include <sstream>
#include <string>

#include "simulated.h"

namespace kvrm::backend::test {

inline constexpr u64 kBase = 0x10000, kPages = 24;

inline std::string digest(const std::vector<u8>& bytes) {
  u64 hash = 0xcbf29ce484222325;
  for (const u8 byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return std::to_string(hash);
}

// With what the system-call layer remembers of it; the rest is the memory's own.
inline std::string describe(const memory::Area& area) {
  std::ostringstream text;
  text << area.start << '-' << area.end << ' ' << area.protection << ' ' << (area.flags & memory::kBackingFlags) << ' ';
  if (area.flags & memory::kAreaBacked) text << area.image << ':' << area.source << ' ';
  return text.str();
}

// One call; `largest` bounds copies.
inline std::string random_operation(Random& random, memory::GuestMemory& memory, u64 largest) {
  using memory::kPageSize;
  std::ostringstream text;
  const u64 page = kBase + kPageSize * below(random, kPages);
  const u64 pages = kPageSize * (1 + below(random, 5));
  const u64 address = (kBase + below(random, kPages * kPageSize)) | (below(random, 8) == 0 ? u64{0xa5} << 56 : 0);
  const u64 size = below(random, 4) == 0 ? below(random, largest) : below(random, 64);
  const u32 protection = below(random, 4) == 0 ? u32(below(random, 8)) : u32{memory::kRead | memory::kWrite};
  std::vector<u8> bytes(size);
  switch (below(random, 17)) {
    case 0:
    case 1:
      text << "read " << memory.read(address, bytes.data(), size);
      if (memory.accessible(address, size, memory::kRead) == size) text << ' ' << digest(bytes);
      break;
    case 2:
    case 3:
      fill_randomly(random, bytes.data(), size);
      text << "write " << memory.write(address, bytes.data(), size);
      break;
    case 4:
      if (memory.peek(address, bytes.data(), size)) text << "peek " << digest(bytes);
      break;
    case 5:
      fill_randomly(random, bytes.data(), size);
      text << "poke " << memory.poke(address, bytes.data(), size);
      break;
    case 6:
      text << "accessible "
           << memory.accessible(address, below(random, 8) == 0 ? u64{3} << 20 : size,
                                memory::Protection(below(random, 8)));
      break;
    case 7: text << "map " << memory.map(page, pages, protection); break;
    case 8: text << "unmap " << memory.unmap(page, pages); break;
    case 9: text << "protect " << memory.protect(page, pages, protection); break;
    case 10: text << "move " << memory.move(page, pages, page + kPageSize * 8, pages + kPageSize); break;
    case 11: text << "discard " << memory.discard(page, pages); break;
    case 12: text << "free " << memory.is_free(page, pages) << " mapped " << memory.is_mapped(page, pages); break;
    case 13: {
      const auto found = memory.find_free(pages, kBase, kBase + kPages * kPageSize);
      text << "find " << (found ? *found : 0);
      break;
    }
    case 14: {
      const memory::Backing backing{u32(below(random, 64)) & memory::kBackingFlags, 1 + below(random, 3), page};
      text << "map backed " << memory.map_backed(page, pages, protection, backing);
      break;
    }
    case 15: {
      const auto area = memory.next_area(below(random, 8) == 0 ? ~u64{0} : page);
      text << "next " << (area ? describe(*area) : "none");
      break;
    }
    default:
      for (const auto& area : memory.areas()) text << describe(area);
  }
  text << '\n';
  return text.str();
}

// The map and the contents.
inline std::string describe(const memory::GuestMemory& memory) {
  std::ostringstream text;
  for (const auto& area : memory.areas()) {
    std::vector<u8> bytes(area.end - area.start);
    text << describe(area) << memory.peek(area.start, bytes.data(), bytes.size()) << digest(bytes) << '\n';
  }
  return text.str();
}

}  // namespace kvrm::backend::test
