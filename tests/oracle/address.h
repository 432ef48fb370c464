// Which memory a word will touch, as far as its input registers decide: enough to aim it at the data area.
#pragma once

#include <cstdint>
#include <optional>

#include "case.h"
#include "random.h"
#include "table.h"

namespace kvrm::oracle {

struct AddressForm {
  unsigned base = 0;         // slot of the base register
  int64_t offset = 0;        // immediate part of the address
  unsigned size = 8;         // bytes from first to last
  std::optional<unsigned> index;  // slot of the index register
  unsigned extend = 3;       // option field: 2 UXTW, 3 LSL, 6 SXTW, 7 SXTX
  unsigned shift = 0;
};

std::optional<AddressForm> address_form(const Row& row, uint32_t word);

// Points the word's base register somewhere: mostly into the data area, sometimes across an edge of it.
void aim(Random& random, const Row& row, uint32_t word, const Memory& memory, Input& input);

// An address in or around the data area for an access of that size.
uint64_t data_address(Random& random, unsigned size);

// Where an indirect branch may go: filler, data, holes; never the case itself.
uint64_t branch_target(Random& random);

}  // namespace kvrm::oracle
