#!/usr/bin/env python3
"""The template compiler must refuse what it cannot mean."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "isa"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "isa" / "disassembler"))

import generate  # noqa: E402
import generate_asm  # noqa: E402

TABLE = """
KVRM_ROW(ONE, "00000000000000000000 sf 0 Rn_sp Rd", "", group, next, system)
KVRM_ROW(TWO, "10000000000000000000 sf 0 Rn_sp Rd", "", group, next, system)
"""


def compile_templates(text):
    with tempfile.TemporaryDirectory() as folder:
        table, asm = pathlib.Path(folder, "table.inc"), pathlib.Path(folder, "asm.inc")
        table.write_text(TABLE)
        asm.write_text(text)
        templates = generate_asm.Templates(generate.read_table(table))
        templates.read(asm)
        without = templates.fill_in()
        generate_asm.table_header(templates, without)
        return templates, without


class Refusals(unittest.TestCase):
    def refuses(self, text, reason):
        with self.assertRaisesRegex(generate.TableError, reason):
            compile_templates(text)

    def test_unknown_names(self):
        self.refuses('KVRM_ASM(ONE, "", "{Rm}")', "no field Rm")
        self.refuses('KVRM_ASM(ONE, "imm == 0", "x")', "no field imm")
        self.refuses('KVRM_ASM(ONE, "", "{sf:@missing}")', "no list missing")
        self.refuses('KVRM_ASM(ONE, "", "$missing")', "no macro")
        self.refuses('KVRM_ASM(ONE, "", "{open(sf)}")', "cannot use open")
        self.refuses('KVRM_ASM(ONE, "", "{sf / 2}")', "cannot use sf / 2")

    def test_order(self):
        self.refuses('KVRM_ASM(ONE, "", "x")\nKVRM_ASM(ONE, "sf", "y")', "has no condition")

    def test_shape(self):
        self.refuses('KVRM_ASM(ONE, "", "<sf?x")', "not closed")
        self.refuses("KVRM_ASM(ONE)", "not a template")
        self.refuses('KVRM_ASM(ONE, "",', "no end")
        self.refuses('KVRM_ASM_NAMES(l, "1.2.3.4=a")\nKVRM_ASM_NAMES(l, "1.2.3.4=b")', "twice")


class Acceptance(unittest.TestCase):
    def test_templates_without_a_row_are_named(self):
        templates, _ = compile_templates('KVRM_ASM(THREE ONE other:* group:*, "", "x")')
        self.assertEqual(templates.strangers, ["THREE", "other:*"])

    def test_rows_without_a_template_are_named(self):
        _, without = compile_templates('KVRM_ASM(ONE, "", "{m}\\t{Rd}, {Rn}")')
        self.assertEqual(without, ["TWO"])

    def test_a_pattern_leaves_settled_rows_alone(self):
        templates, without = compile_templates('KVRM_ASM(ONE, "", "x")\nKVRM_ASM(group:*, "", "y")')
        self.assertEqual(without, [])
        self.assertEqual([len(lines) for lines in templates.lines.values()], [1, 1])


if __name__ == "__main__":
    unittest.main()
