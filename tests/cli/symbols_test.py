#!/usr/bin/env python3
"""kvrm symbols, kvrm disasm --guess-names, kvrm models evaluate patterns: on a small library that is compiled here.

    symbols_test.py build/kvrm
"""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from common import COMPILER, Case, run

# Functions of one shape each, so that no two are alike.
LIBRARY = """
unsigned table[64];
int text_of(const char *);
unsigned hash_bytes(const unsigned char *p, unsigned n) {
  unsigned h = 2166136261u; while (n--) h = (h ^ *p++) * 16777619u; return h; }
unsigned sum_squares(const unsigned *p, unsigned n) {
  unsigned s = 0; for (unsigned i = 0; i < n; ++i) s += p[i] * p[i]; return s; }
void reverse(char *a, unsigned n) {
  for (unsigned i = 0, j = n; i + 1 < j; ++i) { char t = a[i]; a[i] = a[--j]; a[j] = t; } }
int parse(const char *s) {
  int v = 0, sign = 1; if (*s == '-') { sign = -1; ++s; }
  while (*s >= '0' && *s <= '9') v = v * 10 + (*s++ - '0'); return v * sign; }
unsigned fill(unsigned seed) {
  for (int i = 0; i < 64; ++i) { seed = seed * 1103515245u + 12345u; table[i] = seed >> 16 ^ table[63 - i]; } return seed; }
int report(int code) { return code > 3 ? text_of("the code is too large") : text_of("all is well here"); }
unsigned combine(const unsigned char *p, unsigned n) { return hash_bytes(p, n) ^ fill(n) ^ parse((const char *)p); }
int text_of(const char *s) { int n = 0; while (s[n]) ++n; return n; }
"""
PROGRAM = """
unsigned combine(const unsigned char *, unsigned), sum_squares(const unsigned *, unsigned);
void reverse(char *, unsigned); int report(int);
static __attribute__((noinline)) double unknown(double a, double b) {
  for (int i = 0; i < 9; ++i) { a = a * b + 0.5; b = b / (a + 1) - a; } return a > b ? a : b; }
void _start(void) {
  static char text[16] = "12345"; static unsigned words[4];
  unsigned code = combine((unsigned char *)text, 5) + sum_squares(words, 4) + report(3) + (unsigned)unknown(code, 2);
  reverse(text, 5);
  register long x8 __asm__("x8") = 93, x0 __asm__("x0") = code & 1;
  __asm__ volatile("svc #0" : : "r"(x8), "r"(x0)); for (;;); }
"""
NAMES = {"hash_bytes", "sum_squares", "reverse", "fill", "report", "combine"}


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Symbols(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        (cls.root / "library.c").write_text(LIBRARY)
        (cls.root / "program.c").write_text(PROGRAM)
        cls.compile("library.c", "-c", "-o", "old.o")
        # A later build of it: hints at each function, and another order of some code.
        cls.compile("library.c", "-c", "-mbranch-protection=standard", "-fno-tree-ch", "-o", "new.o")
        cls.compile("program.c", "new.o", "-nostdlib", "-static", "-o", "full")
        strip = shutil.which("aarch64-linux-gnu-strip")
        subprocess.run([strip, "-o", cls.root / "program", cls.root / "full"], check=True)
        subprocess.run([strip, "-R", ".eh_frame", "-o", cls.root / "bare", cls.root / "full"], check=True)
        cls.index = cls.root / "small.index"
        done = run("symbols", "--build-index", cls.index, "--library", f"lib@1.0={cls.root / 'old.o'}")
        assert done.returncode == 0, done.stderr

    @classmethod
    def compile(cls, *words):
        subprocess.run([COMPILER, "-O2", "-ffreestanding", "-fno-inline", *words], cwd=cls.root, check=True)

    def addresses(self):
        listed = subprocess.run(["aarch64-linux-gnu-nm", self.root / "full"], capture_output=True, text=True, check=True)
        return {int(line.split()[0], 16): line.split()[2] for line in listed.stdout.splitlines()}

    def guesses(self, program, *options):
        done = run("symbols", "--index", self.index, "--json", *options, self.root / program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_names_are_found(self):
        true = self.addresses()
        for program in ("program", "bare"):
            found = self.guesses(program, "--all")
            right = {one["guess"] for one in found["routines"] if true.get(one["address"]) == one.get("guess")}
            self.assertLessEqual(NAMES, right, program)
            best = {one["guess"]: one for one in found["routines"] if one["named"]}
            self.assertEqual((best["combine"]["library"], best["combine"]["version"]), ("lib", "1.0"))

    def test_routines_that_are_not_indexed_stay_unnamed(self):
        true = self.addresses()
        named = {true[one["address"]] for one in self.guesses("program")["routines"]}
        self.assertNotIn("unknown", named)
        self.assertNotIn("_start", named)

    def test_threshold(self):
        self.assertEqual(self.guesses("program", "--threshold", "1")["routines"], [])
        none = self.guesses("program", "--threshold", "0")
        self.assertEqual(len(none["routines"]), none["found"])

    def test_table(self):
        text = run("symbols", "--index", self.index, self.root / "program").stdout.decode()
        self.assertIn("~hash_bytes", text)
        self.assertIn("lib 1.0", text)
        self.assertIn("every name is a guess", text)

    def test_built_in_index(self):
        done = run("symbols", "--json", self.root / "program")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["routines"], [])

    def test_disasm(self):
        text = run("disasm", "--guess-names", "--index", self.index, self.root / "program").stdout.decode()
        self.assertIn("<~sum_squares>:", text)
        # Where there are symbols, they stay.
        text = run("disasm", "--guess-names", "--index", self.index, self.root / "full").stdout.decode()
        self.assertIn("<sum_squares>:", text)
        self.assertNotIn("<~sum_squares>:", text)

    def test_crash_report(self):
        source = "#include <string.h>\nint main(void) { return strlen((char *)16); }\n"
        (self.root / "crash.c").write_text(source)
        subprocess.run([COMPILER, "-O2", "-fno-builtin", "-static", "-no-pie", "-o", "crash", "crash.c"], cwd=self.root, check=True)
        self.assertRegex(run("run", self.root / "crash").stderr.decode(), r"kvrm: in \w*strlen\w*\+0x")
        subprocess.run(["aarch64-linux-gnu-strip", self.root / "crash"], check=True)
        done = run("run", self.root / "crash")
        self.assertEqual(done.returncode, 128 + 11)
        self.assertRegex(done.stderr.decode(), r"kvrm: in ~\w*strlen\w*\+0x\w+, a guess\n")

    def test_evaluate(self):
        corpus = self.root / "corpus"
        plan = {"releases": {"one": "One", "two": "Two"}, "libraries": {"lib": {"role": "index"}, "new": {"role": "absent"}}}
        for release, name, source in (("one", "lib", "old.o"), ("two", "lib", "new.o"), ("two", "new", "full.o")):
            folder = corpus / release / name
            folder.mkdir(parents=True)
            if source == "full.o":
                self.compile("program.c", "-c", "-o", source)
            subprocess.run(["aarch64-linux-gnu-ar", "rc", folder / "lib.a", self.root / source], check=True)
        (corpus / "plan.json").write_text(json.dumps(plan))
        done = run("models", "evaluate", "patterns", "--corpus", corpus, "--json", "--cases", self.root / "cases")
        self.assertEqual(done.returncode, 0, done.stderr)
        same, absent = (part["libraries"][0] for part in json.loads(done.stdout)["parts"][:2])
        self.assertEqual((same["routines"], same["absent"]), (8, 0))
        self.assertGreaterEqual(same["top1"], 7)
        self.assertEqual((absent["routines"], absent["absent"]), (0, 2))
        self.assertEqual(len((self.root / "cases").read_text().splitlines()), 10)
        text = run("models", "evaluate", "patterns", "--corpus", corpus).stdout.decode()
        self.assertIn("3-grams", text)

    def test_bad_command_lines(self):
        self.expect_host_error(run("symbols"), "PROGRAM")
        self.expect_host_error(run("symbols", "/no/such/file"), "/no/such/file")
        self.expect_host_error(run("symbols", self.root / "program.c"), "ELF")
        self.expect_host_error(run("symbols", self.root / "old.o"), "linked")
        self.expect_host_error(run("symbols", "--threshold", "2", self.root / "program"), "--threshold")
        self.expect_host_error(run("symbols", "--index", self.root / "program", self.root / "program"), "index")
        self.expect_host_error(run("symbols", "--library", "a=b", self.root / "program"), "--build-index")
        self.expect_host_error(run("symbols", "--build-index", self.root / "x"), "--library")
        self.expect_host_error(run("symbols", "--build-index", self.root / "x", "--library", "nothing"), "NAME")
        self.expect_host_error(run("symbols", "--build-index", self.root / "x", "--library", f"a={self.root / 'program.c'}"), "ELF")
        self.expect_host_error(run("disasm", "--index", self.index, self.root / "program"), "--guess-names")
        self.expect_host_error(run("models", "evaluate", "tea"), "tea")
        self.expect_host_error(run("models", "evaluate", "patterns", "--corpus", self.root), "plan.json")


if __name__ == "__main__":
    unittest.main()
