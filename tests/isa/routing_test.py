#!/usr/bin/env python3
"""The deciding bits: enough for the table as it is, and no other twelve cost fewer exceptions."""

import collections
import itertools
import pathlib
import sys
import unittest

ISA = pathlib.Path(__file__).resolve().parents[2] / "src" / "isa"
sys.path.insert(0, str(ISA))
sys.dont_write_bytecode = True
import generate  # noqa: E402
import routing  # noqa: E402


def wished(row):
    """The class a row's operation asks for."""
    return routing.EXCEPTIONS.get(row.name, row.routing)


def exceptions_needed(rows, bits):
    """How many rows must leave their class so that rows which the bits cannot tell apart have the same one."""
    seen = routing.TOP | sum(1 << bit for bit in bits)
    parent = {row.name: row.name for row in rows}

    def find(name):
        while parent[name] != name:
            name = parent[name]
        return name

    # Rows of one class that collide belong together too, but only where rows of another class do.
    for a, b in routing.colliding(rows, seen, lambda row: row.name):
        parent[find(a)] = find(b)
    together = collections.defaultdict(collections.Counter)
    for row in rows:
        together[find(row.name)][wished(row)] += 1
    return sum(classes.total() - max(classes.values()) for classes in together.values())


class Routing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = generate.read_table(ISA / "a64.inc")
        by_byte = collections.defaultdict(set)
        for row in cls.rows:
            for byte in range(256):
                if ((byte << 24) ^ row.bits) & row.mask & routing.TOP == 0:
                    by_byte[byte].add(wished(row))
        mixed = {byte for byte, classes in by_byte.items() if len(classes) > 1}
        cls.mixed = [r for r in cls.rows if any(((b << 24) ^ r.bits) & r.mask & routing.TOP == 0 for b in mixed)]

    def test_classes_never_meet(self):
        self.assertEqual(routing.colliding(self.rows), [])
        self.assertEqual(len(routing.BITS), 12)

    def test_the_exceptions_are_needed(self):
        met = {name for pair in routing.colliding(self.rows, class_of=wished) for name in pair}
        self.assertLessEqual(set(routing.EXCEPTIONS), met)
        self.assertEqual(exceptions_needed(self.mixed, routing.BITS), len(routing.EXCEPTIONS))

    def test_bits_10_to_23_need_no_exception(self):
        """So a better choice of twelve could only be among these: where classes collide, lower bits are registers."""
        self.assertEqual(routing.colliding(self.rows, routing.TOP | 0xFFFC00, wished), [])
        lower = [(a, b) for a, b in routing.colliding(self.rows, routing.TOP, wished)]
        rows = {row.name: row for row in self.rows}
        for a, b in lower:
            a, b = rows[a], rows[b]
            self.assertEqual((a.bits ^ b.bits) & a.mask & b.mask & 0x3FF, 0, f"{a.name} and {b.name}")

    def test_no_other_choice_is_better(self):
        for bits in itertools.combinations(range(10, 24), 12):
            needed = exceptions_needed(self.mixed, bits)
            self.assertGreaterEqual(needed, len(routing.EXCEPTIONS), bits)

    def test_every_row_keeps_its_class(self):
        """The tree against the rows, on the rows' own words."""
        tree = routing.ClassTree(self.rows)
        for row in self.rows:
            for mask, bits in routing.shadow(row, 0xFFFFFFFF):
                word = routing.uncovered(mask, bits, row.excluded)
                self.assertEqual(routing.CLASSES[tree.class_of(word)], row.routing, row.name)


if __name__ == "__main__":
    unittest.main()
