#!/usr/bin/env python3
"""The benchmark's runner on programs that are none: which runs it makes, what it compares, and its figures."""

import argparse
import contextlib
import hashlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

REPO = pathlib.Path(__file__).resolve().parents[2]
FOLDER = tempfile.TemporaryDirectory(prefix="kvrm-bench-")
ROOT = pathlib.Path(FOLDER.name)
os.environ["KVRM_BENCH_OUT"] = str(ROOT)
sys.path.insert(0, str(REPO / "bench"))
sys.dont_write_bytecode = True
import harness  # noqa: E402
import phases  # noqa: E402
import programs  # noqa: E402
import run  # noqa: E402

# Counts, as kvrm does with --stats=json, what it finds in its cache folder, and leaves a file more there. It logs the
# engine and that count.
KVRM = """#!/bin/sh
found=$(ls "$XDG_CACHE_HOME" | wc -l)
: >"$XDG_CACHE_HOME/$found"
while [ "$1" != --engine ]; do shift; done
echo "$2 $found" >>{log}
if [ "$2" = "$WRONG" ]; then echo wrong; else echo right; fi
echo "{{\\"instructions\\":7,\\"cached_regions\\":$found,\\"translation_seconds\\":0.0}}" >&2
"""
QEMU = """#!/bin/sh
echo qemu >>{log}
echo right
"""


def script(name, text):
    path = ROOT / name
    path.write_text(text.format(log=ROOT / "log"))
    path.chmod(0o755)
    return str(path)


def result(name, part="real", **walls):
    """A program's figures, with the same seconds by the wall clock and of the CPU."""
    runs = {label: {kind: {"median": value} for kind in ("wall", "cpu")} for label, value in walls.items()}
    runs = {label.replace("_", "-"): run for label, run in runs.items()}
    return {"name": name, "set": part, "runs": runs, "instructions": 1}


class Rounds(unittest.TestCase):
    def setUp(self):
        self.kvrm = script("kvrm", KVRM)
        script("qemu-aarch64", QEMU)
        (ROOT / "log").write_text("")
        (ROOT / "files").mkdir(exist_ok=True)
        os.environ["PATH"] = f"{ROOT}:{os.environ['PATH']}"
        os.environ["WRONG"] = ""
        self.program = programs.Program("sample", "real", ["guest"], granted=True)

    def measure(self, chosen, rounds=1):
        options = argparse.Namespace(kvrm=self.kvrm, kvrm_options="", phases=phases.chosen(chosen), rounds=rounds)
        with contextlib.redirect_stderr(io.StringIO()):
            return phases.measure(options, self.program)

    def log(self):
        return (ROOT / "log").read_text().splitlines()

    def test_cold_runs_have_an_empty_cache_and_warm_runs_keep_it(self):
        found = self.measure("qemu,interp,jit-cold,jit-warm,auto-cold,auto-warm", rounds=2)
        once = ["qemu", "interp 0"] + [f"{engine} {count}" for engine in ("jit", "auto") for count in range(4)]
        self.assertEqual(self.log(), once * 2)
        for label, count in (("jit-cold", 0), ("auto-warm-3", 3)):
            self.assertEqual(found["runs"][label]["statistics"]["cached_regions"], count)
        self.assertEqual(found["runs"]["auto-warm-3"]["wall"]["runs"], 2)
        self.assertEqual([path for path in ROOT.iterdir() if path.name.startswith("cache-")], [])

    def test_output_that_differs_from_qemu_ends_the_benchmark(self):
        os.environ["WRONG"] = "auto"
        with self.assertRaisesRegex(SystemExit, "sample: auto-cold does not print what qemu-aarch64"):
            self.measure("interp,auto-cold")

    def test_qemu_is_run_once_for_its_output_where_it_is_not_measured(self):
        found = self.measure("interp", rounds=3)
        self.assertEqual(self.log(), ["qemu", "interp 0", "interp 0", "interp 0"])
        self.assertEqual(list(found["runs"]), ["interp"])

    def test_a_program_that_fails_ends_the_benchmark(self):
        self.kvrm = script("kvrm", "#!/bin/sh\necho no memory >&2\nexit 3\n")
        with self.assertRaisesRegex(SystemExit, "exit status 3: .*: no memory"):
            self.measure("interp")

    def test_cpu_time_is_that_of_the_program(self):
        busy = harness.measured([sys.executable, "-c", "sum(range(3000000))"], ROOT)
        idle = harness.measured(["sleep", "0.3"], ROOT)
        self.assertGreater(busy.cpu, 0)
        self.assertLess(idle.cpu, idle.wall)

    def test_a_pinned_run_has_one_core(self):
        asked = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
        before = os.sched_getaffinity(0)
        try:
            self.assertIn(run.pin(-1), before)
            one = harness.measured(asked, ROOT)
        finally:
            os.sched_setaffinity(0, before)
        self.assertEqual(one.digest, hashlib.sha256(b"1\n").hexdigest())


class Figures(unittest.TestCase):
    def setUp(self):
        self.results = [
            result("fast", qemu=2.0, interp=4.0, auto_cold=1.0),
            result("slow", qemu=2.0, interp=4.0, auto_cold=8.0),
            result("old", part="integer", qemu=3.0, interp=3.0, auto_cold=1.0),
        ]

    def test_sets_have_means_and_worst_programs_of_their_own(self):
        found = phases.summary(self.results)
        self.assertEqual(list(found), ["integer", "real"])
        real = found["real"]["wall to qemu"]["auto-cold"]
        self.assertAlmostEqual(real["mean"], (2.0 * 0.25) ** 0.5)
        self.assertEqual((real["worst"], real["worst_ratio"], real["programs"]), ("slow", 0.25, 2))
        interp = found["real"]["cpu to interp"]["auto-cold"]
        self.assertEqual((interp["worst"], interp["worst_ratio"]), ("slow", 2.0))
        self.assertAlmostEqual(found["integer"]["wall to qemu"]["auto-cold"]["mean"], 3.0)

    def test_a_phase_that_was_not_measured_has_no_ratio(self):
        del self.results[1]["runs"]["qemu"]
        self.assertIsNone(phases.ratio(self.results[1], "auto-cold", "wall", "qemu"))
        self.assertEqual(phases.summary(self.results)["real"]["wall to qemu"]["auto-cold"]["programs"], 1)

    def test_the_table_names_the_worst_program(self):
        for entry in self.results:
            entry["runs"]["auto-cold"] |= {"statistics": {"regions": 5}, "translating_share": 0.125}
        report = {"programs": self.results, "summary": phases.summary(self.results)}
        report |= {"load_before": (0, 0, 0), "load_after": (0, 0, 0)}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            phases.print_report(json.loads(json.dumps(report)))
        lines = out.getvalue().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("real, worst"))
        self.assertEqual(lines[at].split()[2:], ["0.50", "0.25"])
        self.assertEqual(lines[at + 1].split(), ["fast", "slow"])
        self.assertTrue(any(line.split() == ["fast", "auto-cold", "5", "-", "-", "-", "12.5"] for line in lines))


class Choices(unittest.TestCase):
    def test_phases_come_in_the_order_of_a_round(self):
        self.assertEqual(phases.chosen("auto-warm,qemu"), ["qemu", "auto-warm"])

    def test_what_is_not_known_is_refused(self):
        for choose, told in (
            (lambda: phases.chosen("qemu,hot"), "no phase 'hot'"),
            (lambda: programs.chosen_sets("integer,odd"), "no set 'odd'"),
            (lambda: programs.chosen(("real",), "nosuch"), "no program's name contains nosuch"),
        ):
            with self.assertRaisesRegex(SystemExit, told):
                choose()

    def test_programs_are_chosen_by_parts_of_their_names(self):
        names = [program.name for program in programs.chosen(("real", "integer"), "sqlite,sieve")]
        self.assertEqual(names, ["sieve", "sqlite-memory", "sqlite-file"])
        self.assertEqual([program.name for program in programs.chosen(programs.SETS, "lu")], ["lu"])

    def test_small_sizes_are_for_the_real_set_alone(self):
        whole, small = ({p.name: p.guest for p in programs.every_program(small)} for small in (False, True))
        changed = {name for name in whole if whole[name] != small[name]}
        self.assertEqual(changed, {row[0] for row in programs.REAL})


if __name__ == "__main__":
    unittest.main()
