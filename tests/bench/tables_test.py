#!/usr/bin/env python3
"""The tables and the picture made from bench/results: which figure counts, and that the committed ones are current."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "bench"))
sys.dont_write_bytecode = True
import newest  # noqa: E402
import tables  # noqa: E402


def gpu_report(date, *figures):
    return {"date": date, "engine": "jit", "figures": [dict(figure, part="one") for figure in figures]}


def loop(seconds, engine="jit"):
    program = {"name": "crc32", "set": "integer", "instructions": 100}
    program["commands"] = {"kvrm": f"kvrm run --engine {engine}"}
    program["seconds"] = {"qemu": {"median": 2.0}, "kvrm": {"median": seconds}, "native": None}
    return {"date": "2026-01-01", "programs": [program], "hello": {"seconds": {"kvrm": {"median": 0.01}}}}


class Newest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="kvrm-tables-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, report):
        (self.folder / f"{name}.json").write_text(json.dumps(report))

    def test_a_newer_report_replaces_an_older_one_whatever_its_file_is_called(self):
        self.write("2026-01-02-b", gpu_report("2026-01-02T09", {"name": "crc32", "ips": 1}))
        self.write("2026-01-02-a", {"runs": gpu_report("2026-01-02T10", {"name": "crc32", "ips": 2})})
        figures = newest.gpu(newest.reports(self.folder))
        self.assertEqual(figures["jit", "one", "crc32"]["ips"], 2)
        self.assertEqual(figures["jit", "one", "crc32"]["file"], "2026-01-02-a.json")

    def test_of_two_runs_in_a_file_the_longer_counts(self):
        runs = [{"name": "crc32", "ips": 1, "instructions": 20}, {"name": "crc32", "ips": 2, "instructions": 10}]
        self.write("2026-01-02", gpu_report("2026-01-02", *runs))
        self.assertEqual(newest.gpu(newest.reports(self.folder))["jit", "one", "crc32"]["ips"], 1)

    def test_engines_have_figures_of_their_own(self):
        self.write("2026-01-01-a", loop(4.0, "interp"))
        self.write("2026-01-01-b", loop(1.0))
        loops = newest.loops(newest.reports(self.folder))
        self.assertEqual(loops["integer", "jit"]["crc32"]["ratio"], 2.0)
        self.assertEqual(loops["integer", "interp"]["crc32"]["ratio"], 0.5)

    def test_both_formats_of_the_real_set_are_read(self):
        self.write("2026-01-01", {"programs": {"lua": {"qemu": {"wall": 3.0}, "auto-3": {"wall": 2.0}}}})
        runs = {"qemu": {"wall": {"median": 3.0}}, "interp": {"wall": {"median": 6.0}}}
        self.write("2026-01-02", {"date": "2026-01-02", "programs": [{"name": "awk", "set": "real", "runs": runs}]})
        real = newest.real(newest.reports(self.folder))
        self.assertEqual(real["lua"]["ratios"], {"auto, fourth run": 1.5})
        self.assertEqual(real["awk"]["ratios"], {"interp": 0.5})


class Pages(unittest.TestCase):
    def test_a_table_replaces_what_stands_between_its_marks(self):
        class Sample:
            def text(self, name):
                return f"{name}\n"

        page = "a\n<!-- table: one-lane -->\nold\n<!-- end of table -->\nb\n"
        self.assertEqual(
            tables.written(page, Sample()), "a\n<!-- table: one-lane -->\none-lane\n<!-- end of table -->\nb\n"
        )

    def test_tables_and_picture_are_current(self):
        for script in ("bench/tables.py", "docs/images/speeds.py", "docs/images/loops.py"):
            done = subprocess.run([sys.executable, str(REPO / script), "--check"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
