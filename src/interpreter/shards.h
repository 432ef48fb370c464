// The shards of the table: each makes entries for its own rows.
#pragma once

#include "interpreter/entry.h"
#include "isa/decode.h"

namespace kvrm::interpreter {

// Fills entry and returns true if the row belongs to the shard.
using MakeEntry = bool (*)(isa::Row row, u32 word, u32 index_in_page, Entry& entry);

bool make_entry_of_shard_0(isa::Row row, u32 word, u32 index_in_page, Entry& entry);
bool make_entry_of_shard_1(isa::Row row, u32 word, u32 index_in_page, Entry& entry);
bool make_entry_of_shard_2(isa::Row row, u32 word, u32 index_in_page, Entry& entry);
bool make_entry_of_shard_3(isa::Row row, u32 word, u32 index_in_page, Entry& entry);
bool make_entry_of_shard_4(isa::Row row, u32 word, u32 index_in_page, Entry& entry);
bool make_entry_of_shard_5(isa::Row row, u32 word, u32 index_in_page, Entry& entry);

inline constexpr MakeEntry kShards[] = {make_entry_of_shard_0, make_entry_of_shard_1, make_entry_of_shard_2,
                                        make_entry_of_shard_3, make_entry_of_shard_4, make_entry_of_shard_5};

}  // namespace kvrm::interpreter
