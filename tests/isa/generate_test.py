#!/usr/bin/env python3
"""The generator: tables it must refuse, exclusion cubes that say exactly what `where` says, and lists of handlers."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ISA = pathlib.Path(__file__).resolve().parents[2] / "src" / "isa"
sys.path.insert(0, str(ISA))
sys.dont_write_bytecode = True
import generate  # noqa: E402


def row(name="A", pattern="00000000 size:2 1 Rm 000000 Rn Rd", where="", flow="next", routing="arithmetic"):
    return f'KVRM_ROW({name}, "{pattern}", "{where}", group, {flow}, {routing})\n'


GOOD = row()

# what the message must contain -> the table
MUST_FAIL = {
    "bits, not 32": row(pattern="00000000 size:2 1 Rm 00000 Rn Rd"),
    "33 bits, not 32": row(pattern="00000000 size:2 11 Rm 000000 Rn Rd"),
    "bad token '0-2'": row(pattern="00000000 0-2 1 Rm 000000 Rn Rd"),
    "bad token 'size:'": row(pattern="00000000 size: 1 Rm 000000 Rn Rd"),
    "the slices of imm do not": row(pattern="00000000 imm[4:3] 1 imm[1:0] 000 000000 Rn Rd"),
    "the slices of Rd do not": row(pattern="00000000 size:2 1 Rd 000000 Rn Rd"),
    "operands need 9 bytes": row(pattern="a b c d e f g h i 00000000000000000000000"),
    "unknown flow sideways": row(flow="sideways"),
    "unknown class magic": row(routing="magic"),
    "where names sise": row(where="sise != 3"),
    "where names True": row(where="True"),
    "where does not evaluate": row(where="size !="),
    "where refuses every word": row(where="size > 3"),
    "A is there twice": row() + row(pattern="10000000 size:2 1 Rm 000000 Rn Rd"),
    "A and B overlap": row() + row("B"),
    "overlap: both accept 0x00e00000": row(where="size != 0") + row("B", where="size in (0, 3)"),
    "B and C overlap": row("B", "1 op:2 00000 size:2 1 Rm 000000 Rn Rd", "op != size")
    + row("C", "1 op:2 00000 size:2 1 Rm 000000 Rn Rd", "op == size or op == 2"),
    "not a row": "KVRM_ROW(A)\n",
    "not a row: KVRM_ROW(A-B": row("A-B"),
}

MUST_PASS = {
    "one row": GOOD,
    "comments": "// a comment\n\n" + GOOD,
    "fixed bits differ": row() + row("B", "10000000 size:2 1 Rm 000000 Rn Rd"),
    "conditions differ": row(where="size < 2") + row("B", where="size >= 2"),
    "conditions over two fields": row("B", "1 op:2 00000 size:2 1 Rm 000000 Rn Rd", "op != size")
    + row("C", "1 op:2 00000 size:2 1 Rm 000000 Rn Rd", "op == size"),
    "a row in a hole of another": row(where="size != 3") + row("B", "00000000 11 1 Rm 000000 Rn Rd"),
}

SIZE = 'KVRM_DIMENSION(size, "size", "b h s d", "op.size", "op.size = value;")\n'
PARTS = 'KVRM_DIMENSION(part, "", "upper lower", "op.Rm < 16", "KVRM_ASSUME((op.Rm < 16) == (value == 1));")\n'

# what the message must contain -> specialize.inc
MUST_FAIL_TO_SPECIALIZE = {
    "neither a dimension nor a hot or warm row": "KVRM_HOT(A)\n",
    "dimension size is there twice": SIZE + SIZE,
    "A is there twice": 2 * 'KVRM_HOT(A, "", "")\n',
    "specialize.inc:2: A is there twice": 'KVRM_WARM(A)\nKVRM_HOT(A, "", "")\n',
    "B is not a row": 'KVRM_HOT(B, "", "")\n',
    "specialize.inc:1: B is not a row": "KVRM_WARM(B)\n",
    "A: unknown dimension size": 'KVRM_HOT(A, "size", "")\n',
    "A: size has no value q": SIZE + 'KVRM_HOT(A, "size:q", "")\n',
    "A has no handler _q": SIZE + 'KVRM_HOT(A, "size", "b q")\n',
    "A has no sf for the dimension width": 'KVRM_DIMENSION(width, "size", "w x", "op.sf", "op.sf = value;")\n',
    "specialize.inc:1: A has no handler _b": 'KVRM_HOT(A, "", "b")\n',
}


class Generator(unittest.TestCase):
    def run_generator(self, table, specialized=""):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "table.inc").write_text(table)
            (path / "specialize.inc").write_text(specialized)
            (path / "semantics").mkdir()
            command = [sys.executable, ISA / "generate.py", "--table", path / "table.inc"]
            command += ["--specialize", path / "specialize.inc"]
            command += ["--semantics", path / "semantics", "--out", path / "out"]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.returncode, done.stderr, (path / "out").exists()

    def test_must_fail(self):
        for message, table in MUST_FAIL.items():
            with self.subTest(message):
                status, errors, wrote = self.run_generator(table)
                self.assertEqual(status, 1, errors)
                self.assertTrue(errors.startswith("generate.py: "), errors)
                self.assertIn(message, errors)
                self.assertFalse(wrote, "wrote files for a table it refused")

    def test_must_pass(self):
        for title, table in MUST_PASS.items():
            with self.subTest(title):
                status, errors, _ = self.run_generator(table)
                self.assertEqual((status, errors), (0, ""))

    def test_specialize_must_fail(self):
        for message, specialized in MUST_FAIL_TO_SPECIALIZE.items():
            with self.subTest(message):
                status, errors, wrote = self.run_generator(GOOD, specialized)
                self.assertEqual((status, wrote), (1, False), errors)
                self.assertIn(message, errors)

    def test_handlers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "table.inc").write_text(GOOD)
            (path / "specialize.inc").write_text(SIZE + PARTS + 'KVRM_HOT(A, "size part:lower", "b d_lower")\n')
            rows = generate.read_table(path / "table.inc")
            dimensions, hot, warm = generate.specialize.read(path / "specialize.inc", rows)
        self.assertIn("Dimensions<BySize> kDimensions<A>", generate.specialize.variants_header(rows, dimensions))
        text = generate.specialize.hot_rows_header(hot, warm)
        text = text[: text.index("KVRM_LONE_BRANCHES")]
        suffixes = generate.re.findall(r"X\(A, (\w+), \{", text)
        self.assertEqual(suffixes, ["_b", "_h", "_s", "_d", "_b_lower", "_h_lower", "_s_lower", "_d_lower"])
        self.assertIn("X(A, _d, { op.size = 3; })", text)
        self.assertIn("X(A, _h_lower, { op.size = 1; KVRM_ASSUME((op.Rm < 16) == (1 == 1)); })", text)
        self.assertIn("X(A, _b, 1u * (op.size) + 4u * ((op.Rm < 16) == 1))", text)
        self.assertIn("X(A_d_lower)", text)

    def test_handlers_of_a_lone_lane(self):
        """No handlers by width or condition."""
        specialize = generate.specialize
        size = specialize.Dimension(None, "size", "", "b h s d", "op.size", "op.size = value;")
        width = specialize.Dimension(None, "width", "", "w x", "op.sf", "op.sf = value;")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "table.inc").write_text(GOOD)
            row = generate.read_table(path / "table.inc")[0]
        hot, warm = specialize.Hot(row, [(width, None), (size, None)], ""), specialize.Hot(row, [], "")
        text = specialize.hot_rows_header([hot], [warm])
        lone = text[text.index("KVRM_LONE_BRANCHES") :]
        self.assertEqual(generate.re.findall(r"X\(A, (\w*), \{", lone), ["_b", "_h", "_s", "_d", ""])
        self.assertIn("X(A, _b, 1u * (op.size))", lone)
        self.assertIn("KVRM_WARM_ROWS(X) \\\n  X(A) \\", lone)

    def test_semantics_without_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "table.inc").write_text(GOOD)
            (path / "specialize.inc").write_text("")
            (path / "group.h").write_text("KVRM_INLINE void B(Cpu& cpu) {}\n")
            command = [sys.executable, ISA / "generate.py", "--table", path / "table.inc"]
            command += ["--specialize", path / "specialize.inc"]
            command += ["--semantics", path, "--out", path / "out"]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("semantics without a row: B", done.stderr)


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = generate.read_table(ISA / "a64.inc")

    def test_exclusions_say_what_where_says(self):
        """Every combination of the fields that `where` reads, evaluated afresh."""
        seen = set()
        for row in self.rows:
            fields = [f for f in row.fields.values() if f.name in set(generate.re.findall(r"\w+", row.where))]
            key = (row.where, tuple((f.name, tuple(f.slices)) for f in fields))
            if key in seen:
                continue
            seen.add(key)
            condition = compile(row.where or "True", row.name, "eval")
            for values in generate.itertools.product(*(range(1 << f.width) for f in fields)):
                word = row.bits | generate.sum_or(f.insert(v) for f, v in zip(fields, values))
                expected = bool(eval(condition, {}, {f.name: v for f, v in zip(fields, values)}))
                self.assertEqual(row.accepts(word), expected, f"{row.name} {word:#010x}")

    def test_fields_come_back(self):
        for row in self.rows:
            for field in row.fields.values():
                self.assertEqual(field.insert((1 << field.width) - 1), field.word_mask, row.name)
                for bit in range(field.width):
                    self.assertEqual(field.value(field.insert(1 << bit)), 1 << bit, f"{row.name}.{field.name}")

    def test_decoder_fits(self):
        """What the generated arrays can hold (see decode.h)."""
        tree = generate.Tree(self.rows)
        self.assertLess(len(tree.nodes), 1 << 22)
        self.assertLess(len(tree.candidates), 1 << 16)
        self.assertLessEqual(max(node & 255 for node in tree.nodes if node & tree.LEAF), 16)
        self.assertLessEqual(max(len(row.excluded) for row in self.rows), 255)


if __name__ == "__main__":
    unittest.main()
