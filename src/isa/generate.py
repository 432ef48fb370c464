#!/usr/bin/env python3
"""Reads a64.inc and writes everything that is derived from its rows.

    generate.py --table a64.inc --specialize specialize.inc --semantics DIR --out DIR

Written: a64_rows.h (row numbers and facts), a64_operands.h (one operand struct per row),
a64_decoder.h (the decision trees), a64_implemented.h (the rows that have a meaning in DIR),
a64_variants.h and a64_hot_rows.h (the handlers of the CPU and of the GPU, see specialize.inc)
and a64.json (the same facts for the tests and the coverage page).
"""

import argparse
import collections
import functools
import itertools
import json
import pathlib
import re
import sys

import routing
import specialize
from routing import CLASSES, TableError, uncovered

REGISTER = re.compile(r"^([RV])([a-z]\d?)(_sp)?$")
SHARDS = 6
FLOWS = ["next", "direct", "conditional", "indirect", "call", "return", "trap"]


class Field:
    """A named operand: slices of the word, most significant first, as (field_lo, word_lo, width)."""

    def __init__(self, token_name):
        match = REGISTER.match(token_name)
        self.name = token_name.removesuffix("_sp")
        self.kind = "unsigned"
        if match:
            self.kind = "vector" if match[1] == "V" else "general_sp" if match[3] else "general"
        elif token_name.startswith("simm"):
            self.kind = "signed"
        self.slices = []

    @property
    def width(self):
        return max(lo + width for lo, _, width in self.slices)

    @property
    def word_mask(self):
        return sum(((1 << width) - 1) << word_lo for _, word_lo, width in self.slices)

    def value(self, word):
        return sum(((word >> word_lo) & ((1 << width) - 1)) << lo for lo, word_lo, width in self.slices)

    def insert(self, value):
        return sum(((value >> lo) & ((1 << width) - 1)) << word_lo for lo, word_lo, width in self.slices)

    @property
    def ctype(self):
        size = 8 if self.width <= 8 else 16 if self.width <= 16 else 32
        return f"{'i' if self.kind == 'signed' else 'u'}{size}"

    @property
    def bytes(self):
        return int(self.ctype[1:]) // 8

    def extraction(self):
        """A C++ expression for the operand's value, with register 31 settled."""
        parts = []
        for lo, word_lo, width in self.slices:
            part = f"(word >> {word_lo} & {(1 << width) - 1:#x}u)"
            parts.append(f"{part} << {lo}" if lo else part)
        raw = " | ".join(parts)
        if self.kind == "signed":
            return f"sign_extend_field<{self.width}>({raw})"
        if self.kind == "general_sp":
            return f"stack_slot({raw})"
        return raw


class Row:
    def __init__(self, name, pattern, where, group, flow, routing, line):
        self.name, self.pattern, self.where = name, pattern, where
        self.group, self.flow, self.routing, self.line = group, flow, routing, line
        if flow not in FLOWS:
            raise TableError(f"line {line}: {name}: unknown flow {flow}")
        if routing not in CLASSES:
            raise TableError(f"line {line}: {name}: unknown class {routing}")
        self._parse_pattern()
        self.excluded = self._excluded_cubes()

    def _parse_pattern(self):
        self.mask = self.bits = 0
        self.fields = {}
        position = 32
        for token in self.pattern.split():
            if re.fullmatch(r"[01]+", token):
                position -= len(token)
                self.mask |= ((1 << len(token)) - 1) << position
                self.bits |= int(token, 2) << position
                continue
            match = re.fullmatch(r"(\w+?)(?::(\d+)|\[(\d+):(\d+)\]|\[(\d+)\])?", token)
            if not match:
                raise TableError(f"line {self.line}: {self.name}: bad token {token!r}")
            name, width, high, low, single = match.groups()
            field = self.fields.setdefault(name.removesuffix("_sp"), Field(name))
            if single is not None:
                lo, count = int(single), 1
            elif high is not None:
                lo, count = int(low), int(high) - int(low) + 1
            else:
                lo, count = 0, int(width) if width else 5 if REGISTER.match(name) else 1
            position -= count
            field.slices.append((lo, position, count))
        if position != 0:
            raise TableError(f"line {self.line}: {self.name}: {32 - position} bits, not 32")
        for field in self.fields.values():
            bits = sorted(bit for lo, _, width in field.slices for bit in range(lo, lo + width))
            if not bits or bits != list(range(len(bits))):
                raise TableError(f"line {self.line}: {self.name}: the slices of {field.name} do not make it up")
        size = sum(f.bytes for f in self.fields.values())
        if size > 8:
            raise TableError(f"line {self.line}: {self.name}: operands need {size} bytes, over 8")

    def _excluded_cubes(self):
        """The words the pattern matches but `where` refuses, as (mask, bits) cubes."""
        if not self.where:
            return []
        names = [n for n in self.fields if re.search(rf"\b{n}\b", self.where)]
        unknown = set(re.findall(r"[A-Za-z_]\w*", self.where)) - set(names) - {"and", "or", "not", "in"}
        if unknown:
            raise TableError(f"line {self.line}: {self.name}: where names {', '.join(sorted(unknown))}")
        key = tuple((name, tuple(self.fields[name].slices)) for name in names)
        try:
            excluded = refused_cubes(self.where, key)
        except Exception as error:
            raise TableError(f"line {self.line}: {self.name}: where does not evaluate: {error}") from error
        if uncovered(self.mask, self.bits, excluded) is None:
            raise TableError(f"line {self.line}: {self.name}: where refuses every word")
        return excluded

    def accepts(self, word):
        return word & self.mask == self.bits and not any(word & m == b for m, b in self.excluded)


@functools.lru_cache(None)
def refused_cubes(where, named_slices):
    """The values of the fields for which `where` does not hold, as (mask, bits) cubes of the word."""
    condition = compile(where, "where", "eval")
    values = [(0, dict.fromkeys((name for name, _ in named_slices), 0))]  # (word, value of each field)
    positions = []
    for bit in range(32):
        for name, slices in named_slices:
            for lo, word_lo, width in slices:
                if word_lo <= bit < word_lo + width:
                    positions.append(bit)
                    add = 1 << (lo + bit - word_lo)
                    values += [(word | 1 << bit, {**v, name: v[name] | add}) for word, v in values]
    refused = [not eval(condition, {}, v) for _, v in values]

    def cubes(mask, bits, free, start):
        """Halves values[start:][: 2 ** free], which leaves the lowest `free` positions open."""
        inside = refused[start : start + (1 << free)]
        if not any(inside):
            return []
        if all(inside):
            return [(mask, bits)]
        bit = 1 << positions[free - 1]
        upper = start + (1 << (free - 1))
        return cubes(mask | bit, bits, free - 1, start) + cubes(mask | bit, bits | bit, free - 1, upper)

    return minimize(cubes(0, 0, len(positions), 0))


def shared_word(a, b):
    """A word that both rows accept, or None."""
    if (a.bits ^ b.bits) & a.mask & b.mask:
        return None
    return uncovered(a.mask | b.mask, a.bits | b.bits, a.excluded + b.excluded)


def minimize(cubes):
    """Merges cubes that differ in one bit, until none do."""
    cubes = set(cubes)
    merged = True
    while merged:
        merged = False
        for (ma, ba), (mb, bb) in itertools.combinations(sorted(cubes), 2):
            difference = ba ^ bb
            if ma == mb and difference and difference & (difference - 1) == 0:
                cubes -= {(ma, ba), (mb, bb)}
                cubes.add((ma & ~difference, ba & ~difference))
                merged = True
                break
    return sorted(cubes)


ROW = re.compile(
    r'^KVRM_ROW\(\s*(\w+)\s*,\s*"([^"]*)"\s*,\s*"([^"]*)"\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*\)\s*$'
)


def read_table(path):
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("//"):
            continue
        match = ROW.match(line)
        if not match:
            raise TableError(f"{path}:{number}: not a row: {line.strip()[:60]}")
        rows.append(Row(*match.groups(), line=number))
    for name, count in collections.Counter(row.name for row in rows).items():
        if count > 1:
            raise TableError(f"{path}: {name} is there twice")
    for a, b in itertools.combinations(rows, 2):
        word = shared_word(a, b)
        if word is not None:
            raise TableError(f"{path}: {a.name} and {b.name} overlap: both accept {word:#010x}")
    for a, b in routing.colliding(rows):
        raise TableError(f"{path}: {a} and {b} have different classes, and the bits of routing.py cannot tell them apart")
    return rows


def read_implemented(folder):
    """Row names with a function in the semantics headers."""
    found = {}
    for header in sorted(folder.glob("*.h")):
        for name in re.findall(r"^KVRM_INLINE (?:void|Trap) ([A-Z]\w*)\(Cpu&", header.read_text(), re.M):
            found[name] = header.name
    return found


# --- the decision tree -------------------------------------------------------------------------------


class Tree:
    """Inner node: shift(5) | bits(4) << 5 | child base << 9, top bit clear.
    Leaf: top bit set, first candidate << 8 | count. A root for each class, which leads to the class's rows alone."""

    LEAF = 1 << 31

    def __init__(self, rows):
        self.rows = rows
        self.nodes = [0] * len(CLASSES)
        self.candidates = []
        self.memo = {}
        for number, name in enumerate(CLASSES):
            members = tuple(i for i, row in enumerate(rows) if row.routing == name)
            self.nodes[number] = self.build(members, 0)

    def leaf(self, indices):
        key = ("leaf", indices)
        if key not in self.memo:
            self.memo[key] = self.LEAF | len(self.candidates) << 8 | len(indices)
            self.candidates += indices
        return self.memo[key]

    def build(self, indices, known):
        key = (indices, known & self.interest(indices))
        if key in self.memo:
            return self.memo[key]
        choice = None if len(indices) <= 1 else self.choose(indices, known)
        if choice is None:
            node = self.leaf(indices)
        else:
            shift, bits = choice
            base = len(self.nodes)
            self.nodes += [0] * (1 << bits)
            node = shift | bits << 5 | base << 9
            for value, subset in enumerate(self.split(indices, shift, bits)):
                child = self.build(subset, known | ((1 << bits) - 1) << shift)
                self.nodes[base + value] = child
        self.memo[key] = node
        return node

    def interest(self, indices):
        return sum_or(self.rows[i].mask for i in indices)

    def split(self, indices, shift, bits):
        full = (1 << bits) - 1
        for value in range(1 << bits):
            yield tuple(
                i
                for i in indices
                if ((value << shift) ^ self.rows[i].bits) & self.rows[i].mask & (full << shift) == 0
            )

    def part_sizes(self, indices, shift, bits):
        """How many rows split() would put in each part."""
        window = ((1 << bits) - 1) << shift
        kinds = collections.Counter((self.rows[i].mask & window, self.rows[i].bits & window) for i in indices)
        sizes = [0] * (1 << bits)
        for (mask, fixed), count in kinds.items():
            mask, fixed = mask >> shift, fixed >> shift
            for value in range(1 << bits):
                if (value ^ fixed) & mask == 0:
                    sizes[value] += count
        return sizes

    def choose(self, indices, known):
        """The slice of undecided bits that leaves the fewest candidates, for its size."""
        useful = 0
        for a, b in itertools.pairwise(indices):
            useful |= self.rows[a].mask | self.rows[b].mask
        useful &= ~known
        best = None
        for bits in range(1, 7):
            for shift in range(33 - bits):
                window = ((1 << bits) - 1) << shift
                if window & known or not window & useful:
                    continue
                parts = self.part_sizes(indices, shift, bits)
                if max(parts) >= len(indices):
                    continue
                cost = sum(n * n for n in parts) / len(parts) + 0.02 * len(indices) * (1 << bits) / 8
                if best is None or cost < best[0]:
                    best = (cost, shift, bits)
        return best and best[1:]


def sum_or(values):
    result = 0
    for value in values:
        result |= value
    return result


# --- output ------------------------------------------------------------------------------------------

HEADER = "// Generated by src/isa/generate.py from a64.inc. Do not edit.\n#pragma once\n\n"


def array(ctype, name, values, per_line=8, form="{}"):
    lines = [f"inline constexpr {ctype} {name}[] = {{"]
    values = list(values) or [0]
    for start in range(0, len(values), per_line):
        lines.append("    " + ", ".join(form.format(v) for v in values[start : start + per_line]) + ",")
    return "\n".join(lines) + "\n};\n"


def camel(name):
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def rows_header(rows, groups):
    out = [HEADER, '#include "base/types.h"\n\nnamespace kvrm::isa {\n\n']
    out.append("enum class Row : u16 {\n")
    out += [f"  {row.name},\n" for row in rows]
    out.append("  kNone,  // unallocated\n};\n\n")
    out.append(f"inline constexpr u32 kRowCount = {len(rows)};\n\n")
    for title, names in (("Group", groups), ("Flow", FLOWS), ("Class", CLASSES)):
        out.append(f"enum class {title} : u8 {{ {', '.join(camel(n) for n in names)} }};\n")
    out.append("\nstruct RowFacts {\n  u32 mask, bits;\n  Group group;\n  Flow flow;\n  Class routing;\n")
    out.append("  u8 exclusions;\n  u16 first_exclusion;\n};\n\ninline constexpr RowFacts kRowFacts[] = {\n")
    cubes = []
    for row in rows:
        out.append(
            f"    {{{row.mask:#010x}, {row.bits:#010x}, Group::{camel(row.group)}, Flow::{camel(row.flow)}, "
            f"Class::{camel(row.routing)}, {len(row.excluded)}, {len(cubes)}}},  // {row.name}\n"
        )
        cubes += row.excluded
    out.append("};\n\n// Words a row's pattern matches and its condition refuses.\n")
    out.append("struct Exclusion {\n  u32 mask, bits;\n};\ninline constexpr Exclusion kExclusions[] = {\n")
    out += [f"    {{{mask:#010x}, {bits:#010x}}},\n" for mask, bits in cubes or [(0, 1)]]
    out.append("};\n\n}  // namespace kvrm::isa\n")
    return "".join(out)


def names_header(rows, groups):
    out = [HEADER, "namespace kvrm::isa {\n\n"]
    for title, names in (
        ("kRowNames", [row.name for row in rows]),
        ("kGroupNames", groups),
        ("kFlowNames", FLOWS),
        ("kClassNames", CLASSES),
    ):
        out.append(array("const char*", title, names, 6, '"{}"'))
    out.append("\n}  // namespace kvrm::isa\n")
    return "".join(out)


def operands_header(rows):
    out = [HEADER, '#include "isa/operand_fields.h"\n#include "isa/a64_rows.h"\n\nnamespace kvrm::isa {\n\n']
    for row in rows:
        fields = sorted(row.fields.values(), key=lambda f: -f.bytes)
        out.append(f"struct {row.name} {{\n  static constexpr Row kRow = Row::{row.name};\n")
        out += [f"  {f.ctype} {f.name};\n" for f in fields]
        word = "u32 word" if fields else "u32"
        out.append(f"  static constexpr {row.name} decode({word}) {{\n    return {{")
        out.append(", ".join(f"static_cast<{f.ctype}>({f.extraction()})" for f in fields))
        out.append("};\n  }\n};\n")
    out.append("\n#define KVRM_FOR_EACH_ROW(X) \\\n")
    out += [f"  X({row.name}) \\\n" for row in rows]
    out.append("\n\n}  // namespace kvrm::isa\n")
    return "".join(out)


def decoder_header(tree, classes):
    out = [HEADER, '#include "base/types.h"\n\nnamespace kvrm::isa {\n\n']
    out.append("// The bits that decide a word's class, beside word[31:24].\n")
    out.append(array("u8", "kRoutingBits", routing.BITS, 12))
    out.append(array("u32", "kClassNodes", classes.nodes, 8, "{:#x}u"))
    out.append("// The first ones are the roots of the classes' decoders.\n")
    out.append(array("u32", "kDecoderNodes", tree.nodes, 8, "{:#x}u"))
    out.append(array("u16", "kDecoderCandidates", tree.candidates, 16))
    out.append("\n}  // namespace kvrm::isa\n")
    return "".join(out)


def shard_of(group):
    """Which source file drives a group's rows: the general instructions in one, the rest spread out."""
    if not group.startswith(("simd_", "float_", "convert_", "crypto_")):
        return 0
    return 1 + sum(map(ord, group)) % (SHARDS - 1)


def implemented_header(rows, implemented):
    out = [HEADER]
    out += [f'#include "semantics/{header}"\n' for header in sorted(set(implemented.values()))]
    out.append("\n// Rows with a meaning in src/semantics; the others raise Undefined. Drivers that compile a function per\n")
    out.append("// row do so shard by shard, a source file each.\n")
    chosen = [row for row in rows if row.name in implemented]
    for shard in range(SHARDS):
        out.append(f"#define KVRM_FOR_EACH_ROW_OF_SHARD_{shard}(X) \\\n")
        out += [f"  X({row.name}) \\\n" for row in chosen if shard_of(row.group) == shard]
        out.append("\n")
    out.append("#define KVRM_FOR_EACH_IMPLEMENTED_ROW(X) \\\n")
    out += [f"  KVRM_FOR_EACH_ROW_OF_SHARD_{shard}(X) \\\n" for shard in range(SHARDS)]
    out.append("\n")
    return "".join(out)


def table_json(rows, implemented, classes):
    return {
        "routing": {"classes": CLASSES, "bits": routing.BITS, "nodes": classes.nodes},
        "rows": [
            {
                "name": row.name,
                "pattern": row.pattern,
                "where": row.where,
                "group": row.group,
                "flow": row.flow,
                "class": row.routing,
                "mask": row.mask,
                "bits": row.bits,
                "excluded": row.excluded,
                "implemented": implemented.get(row.name),
                "fields": [
                    {"name": f.name, "kind": f.kind, "width": f.width, "slices": f.slices}
                    for f in row.fields.values()
                ],
            }
            for row in rows
        ]
    }


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--specialize", type=pathlib.Path, required=True)
    parser.add_argument("--semantics", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    try:
        rows = read_table(arguments.table)
        implemented = read_implemented(arguments.semantics)
        strangers = set(implemented) - {row.name for row in rows}
        if strangers:
            raise TableError(f"semantics without a row: {', '.join(sorted(strangers))}")
        dimensions, hot, warm = specialize.read(arguments.specialize, rows)
    except TableError as error:
        sys.exit(f"generate.py: {error}")
    groups = list(dict.fromkeys(row.group for row in rows))
    classes = routing.ClassTree(rows)
    arguments.out.mkdir(parents=True, exist_ok=True)
    outputs = {
        "a64_rows.h": rows_header(rows, groups),
        "a64_names.h": names_header(rows, groups),
        "a64_operands.h": operands_header(rows),
        "a64_decoder.h": decoder_header(Tree(rows), classes),
        "a64_implemented.h": implemented_header(rows, implemented),
        "a64_variants.h": specialize.variants_header(rows, dimensions),
        "a64_hot_rows.h": specialize.hot_rows_header(hot, warm),
        "a64.json": json.dumps(table_json(rows, implemented, classes), indent=1) + "\n",
    }
    for name, text in outputs.items():
        write_if_changed(arguments.out / name, text)


if __name__ == "__main__":
    main()
