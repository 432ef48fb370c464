"""The routing class of every 32-bit word, from the rows.

A row has a class; a word that is no instruction has one too. The class depends on word[31:24] and on BITS alone, so
that a network that sees those can be right about every word. generate.py refuses a table where it does not.

Words without a row: a top byte with rows of one class has that class throughout. Where classes share one, the tree below
asks bits only until the rows that remain agree, and words in between go where it leads them. A top byte without rows
has the class of its group in the manual's top-level table (word[28:25]).
"""

import collections
import itertools


class TableError(Exception):
    pass


CLASSES = ["arithmetic", "logical", "load_store", "branch", "multiply_divide", "extend_shift", "system"]

# The deciding bits beside word[31:24]. Bits 0 to 9 are registers wherever classes share a top byte. Of bits 10 to 23 no other
# choice of twelve costs as few exceptions (tests/isa/routing_test.py).
BITS = (10, 11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23)
TOP = 0xFF000000
MASK = TOP | sum(1 << bit for bit in BITS)

# Rows that would have another class if bits 17 and 18 were among the twelve: what their operation asks for.
EXCEPTIONS = {
    "FMOV_s": "logical",
    "FSQRT_s": "multiply_divide",
    "FCVT_s": "extend_shift",
    "FMOV_to_gen": "logical",
    "FMOV_from_gen": "logical",
}

# By word[28:25].
GROUPS = {0b0000: "system", 0b0001: "system", 0b0010: "system", 0b0011: "system"}
GROUPS |= {0b1000: "arithmetic", 0b1001: "arithmetic", 0b1010: "branch", 0b1011: "branch"}
GROUPS |= {0b0101: "arithmetic", 0b1101: "arithmetic", 0b0111: "arithmetic", 0b1111: "arithmetic"}
GROUPS |= dict.fromkeys((0b0100, 0b0110, 0b1100, 0b1110), "load_store")


def uncovered(mask, bits, cubes):
    """A word of the cube (mask, bits) that none of the cubes holds, or None. Exact: splits until it knows."""
    near = [(m, b) for m, b in cubes if (b ^ bits) & m & mask == 0]
    if not near:
        return bits
    open_bits = [m & ~mask for m, _ in near]
    if 0 in open_bits:
        return None
    bit = open_bits[0] & -open_bits[0]
    word = uncovered(mask | bit, bits, near)
    return word if word is not None else uncovered(mask | bit, bits | bit, near)


def shadow(row, seen=MASK):
    """What is left of a row when only the bits in `seen` count: (mask, bits) cubes, exact."""
    asked = 0
    for mask, _ in row.excluded:
        asked |= mask
    split = [1 << bit for bit in range(32) if (asked & seen & ~row.mask) >> bit & 1]
    cubes = []
    for values in itertools.product((0, 1), repeat=len(split)):
        mask = row.mask | sum(split)
        bits = row.bits | sum(bit for bit, value in zip(split, values) if value)
        if uncovered(mask, bits, row.excluded) is not None:
            cubes.append((mask & seen, bits & seen))
    return cubes


def colliding(rows, seen=MASK, class_of=lambda row: row.routing):
    """Pairs of rows of different classes that the bits in `seen` cannot tell apart."""
    by_byte = collections.defaultdict(list)
    for row in rows:
        cubes = shadow(row, seen)
        for byte in range(256):
            if ((byte << 24) ^ row.bits) & row.mask & TOP == 0:
                by_byte[byte].append((row, cubes))
    found = set()
    for members in by_byte.values():
        for (a, of_a), (b, of_b) in itertools.combinations(members, 2):
            if class_of(a) == class_of(b) or (a.name, b.name) in found or (a.bits ^ b.bits) & a.mask & b.mask & seen:
                continue
            if any((x ^ y) & m & n == 0 for m, x in of_a for n, y in of_b):
                found.add((a.name, b.name))
    return sorted(found)


class ClassTree:
    """A decision tree: inner nodes as in the decoder's tree, leaves LEAF | class. The first node asks the top byte."""

    LEAF = 1 << 31

    def __init__(self, rows):
        self.nodes = [24 | 8 << 5 | 1 << 9] + [0] * 256
        self.memo = {}
        cubes = [(mask, bits, CLASSES.index(row.routing)) for row in rows for mask, bits in shadow(row)]
        for byte in range(256):
            there = {
                (mask & ~TOP, bits & ~TOP, of) for mask, bits, of in cubes if ((byte << 24) ^ bits) & mask & TOP == 0
            }
            group = self.LEAF | CLASSES.index(GROUPS[byte >> 1 & 15])
            self.nodes[1 + byte] = self.build(frozenset(there)) if there else group

    def build(self, cubes):
        if cubes not in self.memo:
            classes = {of for _, _, of in cubes}
            self.memo[cubes] = self.LEAF | classes.pop() if len(classes) == 1 else self.ask(cubes)
        return self.memo[cubes]

    def ask(self, cubes):
        _, bit = min((self.mixture(cubes, bit), bit) for bit in BITS if self.useful(cubes, bit))
        halves = [self.half(cubes, bit, value) for value in (0, 1)]
        if not all(halves):
            return self.build(halves[0] or halves[1])
        base = len(self.nodes)
        self.nodes += [0, 0]
        for value in (0, 1):
            self.nodes[base + value] = self.build(halves[value])
        return bit | 1 << 5 | base << 9

    @staticmethod
    def useful(cubes, bit):
        return any(mask >> bit & 1 for mask, _, _ in cubes)

    @staticmethod
    def half(cubes, bit, value):
        """The cubes where the bit has the value; from there on it is not asked for."""
        one = 1 << bit
        return frozenset(
            (mask & ~one, bits & ~one, of) for mask, bits, of in cubes if not mask & one or bits >> bit & 1 == value
        )

    def mixture(self, cubes, bit):
        """How mixed the halves are: Gini's measure, by words."""
        total = 0.0
        for value in (0, 1):
            words = collections.Counter()
            for mask, _, of in self.half(cubes, bit, value):
                words[of] += 1 << (len(BITS) - mask.bit_count())
            size = words.total()
            total += size - sum(count * count for count in words.values()) / size if size else 0
        return total

    def class_of(self, word):
        node = self.nodes[0]
        while not node & self.LEAF:
            node = self.nodes[(node >> 9) + (word >> (node & 31) & ((1 << (node >> 5 & 15)) - 1))]
        return node & ~self.LEAF
