"""The table as the tests of this folder see it, and representative words of its rows."""

import dataclasses
import json
import pathlib
import random

# System registers and operations by their encoding: a random value would nearly always be Undefined.
NAMED_VALUES = {
    "sysreg": [0x5A10, 0x5A16, 0x5A20, 0x5A21, 0x5E82, 0x5E83, 0x5F02, 0x5F00, 0x4020],
    "sysop": [0x1BA1, 0x1BA9, 0x1BD1],  # DC ZVA, IC IVAU, DC CVAC
}


@dataclasses.dataclass
class Row:
    name: str
    group: str
    flow: str
    header: str
    mask: int
    bits: int
    excluded: list
    fields: list

    def accepts(self, word):
        return word & self.mask == self.bits and not any(word & m == b for m, b in self.excluded)

    def word(self, values):
        word = self.bits
        for field, value in zip(self.fields, values):
            for lo, word_lo, width in field["slices"]:
                word |= (value >> lo & ((1 << width) - 1)) << word_lo
        return word


def implemented_rows(build):
    """The rows with a meaning, from <build>/generated/isa/a64.json."""
    table = json.loads((pathlib.Path(build) / "generated/isa/a64.json").read_text())
    return [
        Row(r["name"], r["group"], r["flow"], r["implemented"], r["mask"], r["bits"], r["excluded"], r["fields"])
        for r in table["rows"]
        if r["implemented"]
    ]


def words_of(row, count):
    """At most `count` different words the row accepts: edges of its fields first, then random ones."""
    generator = random.Random(row.name)
    named = [NAMED_VALUES.get(field["name"]) for field in row.fields]

    def pick(field, names):
        top = (1 << field["width"]) - 1
        if names:
            return generator.choice(names)
        return generator.choice([0, top, top // 2, generator.randint(0, top), generator.randint(0, top)])

    found = {}
    for attempt in range(200 * count):
        if attempt == 0:
            values = [n[0] if n else 0 for n in named]
        elif attempt == 1:
            values = [n[-1] if n else (1 << f["width"]) - 1 for f, n in zip(row.fields, named)]
        else:
            values = [pick(f, n) for f, n in zip(row.fields, named)]
        word = row.word(values)
        if row.accepts(word):
            found[word] = None
        if len(found) == count:
            break
    if not found:
        raise ValueError(f"{row.name}: no accepted word found")
    return list(found)
