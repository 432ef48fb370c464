#!/usr/bin/env python3
"""Guests that change names below --root, and guests that hoard what all of them share.

    sandbox_test.py build/kvrm
"""

import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import tempfile
import unittest

from common import COMPILER, GUESTS, KVRM, GuestCase, run

GUESTS["swap"] = """
    // unlink /program, make it a link to the first argument, then four bytes of /proc/self/exe
        mov x8, #35\n mov x0, #-100\n adr x1, program\n mov x2, #0\n svc #0
        mov x8, #36\n ldr x0, [sp, #16]\n mov x1, #-100\n adr x2, program\n svc #0
        mov x8, #56\n mov x0, #-100\n adr x1, self\n mov x2, #0\n svc #0
        mov x8, #63\n sub sp, sp, #16\n mov x1, sp\n mov x2, #4\n svc #0
        mov x2, x0\n mov x8, #64\n mov x0, #1\n mov x1, sp\n svc #0
        mov x8, #93\n mov x0, #0\n svc #0
    program: .asciz "/program"
    self: .asciz "/proc/self/exe"
    """
GUESTS["hoard"] = """
    // With an argument: pipes until there are no more, held for a while. Without: one pipe. The errno of that.
        ldr x20, [sp]\n sub sp, sp, #16
     0: mov x8, #59\n mov x0, sp\n mov x1, #0\n svc #0
        neg x0, x0\n cmp x20, #1\n b.eq 2f
        cbz x0, 0b
        movz x19, #0x800, lsl #16
     1: subs x19, x19, #1\n b.ne 1b
     2: mov x8, #93\n svc #0"""
# A line on stdout that is longer than a pipe holds.
GUESTS["long"] = """
        sub sp, sp, #0x20, lsl #12\n mov x8, #64\n mov x0, #1\n mov x1, sp\n mov x2, #0x20000\n svc #0
        mov x8, #93\n mov x0, #0\n svc #0"""


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Sandbox(GuestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        self.root = self.here / "root"
        self.root.mkdir()
        self.out = self.here / "results.jsonl"

    def write(self, name, text):
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, guest):
        """A copy that guests may replace."""
        path = self.root / "program"
        path.write_bytes(pathlib.Path(self.guest(guest)).read_bytes())
        return path

    def records(self):
        return [json.loads(line) for line in self.out.read_text().splitlines()[1:]]

    def test_lanes_read_the_program_that_was_loaded(self):
        secret = self.write("secret", "secret")
        result = run("run", "--root", self.root, "--lanes", 12, self.program("swap"), secret)
        self.assertEqual(result.stdout, b"\x7fELF" * 12)

    def test_later_jobs_run_the_program_that_was_loaded(self):
        program = self.program("swap")
        lines = self.write("arguments", f"{self.guest('seven')}\n" * 40)
        fleet = ["fleet", "--root", self.root, "--lanes", 1, "--devices", "0,0", "--device", "cpu", "--out", self.out]
        for inputs in (["--args-file", lines, program], ["--programs", self.write("programs", f"{program} x\n" * 40)]):
            result = run(*fleet, *inputs)
            self.assertEqual(result.returncode, 0, result.stderr)
            records = self.records()
            self.assertEqual(len(records), 40)
            self.assertEqual({(record["exit_status"], record["stdout"]) for record in records}, {(0, "\x7fELF")})
            self.out.unlink()
            program.unlink()
            self.program("swap")

    def test_what_kvrm_opens_does_not_lie_below_the_root(self):
        inside = self.write("root/inside/one", "text\n").parent
        corpus = self.write("corpus/one", "text\n").parent
        (self.here / "link").symlink_to(inside)
        (self.root / "back").symlink_to(corpus)
        (self.here / "later").symlink_to(self.root / "later")
        programs = self.write("programs", f"{self.guest('echo')} <{inside / 'one'}\n")
        good = {"--stdin-dir": corpus, "--out": self.out, "--root": self.root}
        bad = [
            ({"--stdin-dir": inside}, "--stdin-dir"),
            ({"--stdin-dir": self.here / "link"}, "--stdin-dir"),
            ({"--stdin-dir": self.root}, "--stdin-dir"),
            ({"--stdin-dir": self.here}, "--stdin-dir"),
            ({"--stdin-dir": self.root / "back"}, "--stdin-dir"),  # a guest may have made that link
            ({"--stdout-dir": self.root / "new"}, "--stdout-dir"),
            ({"--stdout-dir": self.here / "link"}, "--stdout-dir"),
            ({"--stdout-dir": self.here}, "--stdout-dir"),
            ({"--out": self.root / "results"}, "--out"),
            ({"--out": self.here / "later"}, "--out"),
            ({"--root": "/"}, "--out"),
        ]
        for change, option in bad:
            words = [str(word) for pair in {**good, **change}.items() for word in pair]
            self.expect_host_error(run("fleet", *words, self.guest("echo")), option, "--root")
        self.expect_host_error(
            run("fleet", "--root", self.root, "--out", self.out, "--programs", programs), "--root", str(inside / "one"))
        self.assertFalse((self.root / "new").exists() or (self.root / "later").exists())

    def test_output_replaces_what_has_its_name(self):
        corpus = self.write("corpus/a", "one\n").parent
        self.write("corpus/b", "two\n")
        secret = self.write("secret", "secret")
        output = self.here / "output"
        output.mkdir()
        (output / "000000.out").symlink_to(secret)
        os.mkfifo(output / "000001.out")
        (output / ".000001.out.part").symlink_to(secret)
        result = run("fleet", "--stdin-dir", corpus, "--stdout-dir", output, "--out", self.out, self.guest("echo"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(secret.read_text(), "secret")
        self.assertEqual(sorted(os.listdir(output)), ["000000.out", "000001.out"])
        self.assertEqual([(output / f"00000{i}.out").read_text() for i in range(2)], ["one\n", "two\n"])
        self.assertFalse((output / "000000.out").is_symlink())

    def test_inputs_are_regular_files(self):
        corpus = self.write("corpus/one", "text\n").parent
        os.mkfifo(corpus / "pipe")
        fleet = ["fleet", "--out", self.out, "--stdin-dir", corpus, self.guest("echo")]
        self.assertEqual(run(*fleet).returncode, 0)
        self.assertEqual([record["name"] for record in self.records()], ["one"])
        (corpus / "link").symlink_to(self.write("secret", "secret"))
        self.out.unlink()
        self.expect_host_error(run(*fleet), str(corpus / "link"), "symbolic link")
        programs = self.write("programs", f"{self.guest('echo')} <{corpus / 'pipe'}\n")
        self.out.unlink(missing_ok=True)
        self.assertEqual(run("fleet", "--out", self.out, "--programs", programs).returncode, 0)
        self.assertIn("not a regular file", self.records()[0]["error"])

    def test_a_reader_that_takes_nothing_does_not_keep_a_fleet(self):
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        lines = self.write("lines", "x\n" * 8)
        command = ["fleet", "--stdin-lines", lines, "--out", pipe, self.guest("long")]
        process = subprocess.Popen([KVRM, *map(str, command)], stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        # It fills the pipe and waits.
        self.assertTrue(select.select([reader], [], [], 20)[0])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 143)

    def test_a_job_that_hoards_descriptors_starves_itself_alone(self):
        lines = self.write("arguments", "hoard\n" + "\n" * 29)
        limits = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (96, 256))
        command = ["fleet", "--device", "cpu", "--args-file", lines, "--out", self.out, self.guest("hoard")]
        result = run(*command, preexec_fn=limits)
        self.assertEqual(result.returncode, 0, result.stderr)
        statuses = {record["index"]: record["exit_status"] for record in self.records()}
        self.assertEqual(statuses, {0: 24, **{i: 0 for i in range(1, 30)}})


if __name__ == "__main__":
    unittest.main()
