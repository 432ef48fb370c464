#!/usr/bin/env python3
"""Compares the machine code of two GPU kernels (compute capability 7.0 or newer), function by function.

    compare_kernels.py BEFORE.o AFTER.o [--logs BEFORE.o.txt AFTER.o.txt] [--refuse-growth]

Give it the relocatable cubins that the build leaves in generated/backend/cuda: their calls are not resolved yet, so
functions whose bytes and relocations are equal are the same code up to names. For the others it prints
instructions, memory accesses and the longest loop. The logs are what `ptxas -v` printed; they add registers, stack and
spills.
Needs no disassembler: it reads the ELF file and counts opcodes.
"""

import argparse
import collections
import pathlib
import re
import struct
import sys

INSTRUCTION = 16  # bytes
# Opcodes without the bits that tell the form of the operands.
FORM = 0x1FF
BRA, NOP = 0x147, 0x118
CLASSES = {
    "local loads": {0x183},
    "local stores": {0x187},
    "shared accesses": {0x184, 0x188},
    "global accesses": {0x181, 0x186, 0x180, 0x185},
    "branches": {BRA, 0x149},
    "calls": {0x143, 0x144, 0x14A},
    "convergence": {0x145, 0x141, 0x148},
}
GROWTH = ("registers", "stack bytes", "spill stores", "spill loads", "local loads", "local stores")


class Function:
    def __init__(self, name, code):
        self.name, self.code = name, code
        self.relocations = ()
        self.properties = {}

    def key(self):
        return self.code, self.relocations

    def words(self):
        return struct.iter_unpack("<QQ", self.code)

    def longest_loop(self):
        longest = 0
        for low, _ in self.words():
            # The offset in words is relative to the next instruction: bits 16 to 23, then 34 and up. A branch to itself
            # only fills the end of a function.
            high = (low >> 34 ^ 1 << 29) - (1 << 29)
            bytes_back = -4 * (high << 8 | low >> 16 & 0xFF)
            if low & FORM == BRA and bytes_back > INSTRUCTION:
                longest = max(longest, bytes_back // INSTRUCTION)
        return longest

    def counts(self):
        opcodes = collections.Counter(low & FORM for low, _ in self.words())
        found = {**self.properties, "instructions": sum(opcodes.values()) - opcodes[NOP]}
        found["longest loop"] = self.longest_loop()
        return found | {label: sum(opcodes[one] for one in group) for label, group in CLASSES.items()}


def read(path):
    """{name: Function} of an ELF file."""
    data = pathlib.Path(path).read_bytes()
    if data[:5] != b"\x7fELF\x02":
        sys.exit(f"compare_kernels: {path} is no cubin")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    strings = sections[names_at][4]

    def name_of(section):
        start = strings + section[0]
        return data[start : data.index(b"\0", start)].decode()

    functions = {}
    for section in sections:
        name = name_of(section)
        if name.startswith(".text."):
            functions[name[6:]] = Function(name[6:], data[section[4] : section[4] + section[5]])
    for section in sections:
        name, kind = name_of(section), section[1]
        target = functions.get(re.sub(r"^\.rela?\.text\.", "", name))
        if target and kind in (4, 9):  # with and without addends; the symbol is in the upper half of the second word
            rows = struct.iter_unpack("<QQq" if kind == 4 else "<QQ", data[section[4] : section[4] + section[5]])
            target.relocations += tuple(sorted((row[0], row[1] & 0xFFFFFFFF, *row[2:]) for row in rows))
    return functions


def read_log(path, functions):
    name = None
    for line in pathlib.Path(path).read_text().splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            name = match[1]
        elif name in functions and (match := re.search(r"(\d+) bytes stack.* (\d+) bytes spill s.* (\d+) bytes", line)):
            functions[name].properties = dict(zip(GROWTH[1:4], map(int, match.groups())))
        elif name in functions and (match := re.search(r"Used (\d+) registers", line)):  # of kernels only
            functions[name].properties["registers"] = int(match[1])


def words_of(name):
    return set(re.findall(r"[A-Za-z_]{4,}", name))


def pair(before, after):
    """Functions of the same name, else of the same code, else of the most similar name; and those that are left."""
    pairs = [(before[name], after[name]) for name in before if name in after]
    old = [function for name, function in before.items() if name not in after]
    new = [function for name, function in after.items() if name not in before]
    for one in list(old):
        same = next((other for other in new if other.key() == one.key()), None)
        if same:
            pairs.append((one, same))
            old.remove(one)
            new.remove(same)
    for one in list(old):
        likely = max(new, key=lambda other: len(words_of(one.name) & words_of(other.name)), default=None)
        if likely:
            pairs.append((one, likely))
            old.remove(one)
            new.remove(likely)
    return pairs, old, new


def print_difference(one, other):
    """True if something grew that makes a kernel slower."""
    first, second = one.counts(), other.counts()
    print(f"\n{other.name}" + (f"\n  was {one.name}" if one.name != other.name else ""))
    for label, value in first.items():
        now = second.get(label, value)
        if value or now:
            print(f"  {label:16} {value:7} -> {now:7}" + (f"  {now - value:+d}" if now != value else ""))
    return any(second.get(label, 0) > first.get(label, 0) for label in GROWTH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--logs", nargs=2, metavar=("BEFORE", "AFTER"), help="what ptxas -v printed")
    parser.add_argument("--refuse-growth", action="store_true", help="fail where registers, stack or spills grew")
    arguments = parser.parse_args()
    before, after = read(arguments.before), read(arguments.after)
    for log, functions in zip(arguments.logs or (), (before, after)):
        read_log(log, functions)
    pairs, gone, new = pair(before, after)
    different = [(one, other) for one, other in pairs if one.key() != other.key()]
    print(f"{len(before)} functions before, {len(after)} after; {len(pairs) - len(different)} identical up to names")
    for label, functions in (("only before", gone), ("only after", new)):
        for function in functions:
            print(f"{label}: {function.name}, {len(function.code) // INSTRUCTION} instructions")
    grew = [print_difference(one, other) for one, other in different]
    sys.exit(1 if arguments.refuse_growth and any(grew) else 0)


if __name__ == "__main__":
    main()
