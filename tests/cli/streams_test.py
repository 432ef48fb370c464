#!/usr/bin/env python3
"""kvrm's standard streams: full, closed, broken, endless, a terminal; and what a signal leaves.

    streams_test.py build/kvrm
"""

import errno
import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest

from common import COMPILER, KVRM, Case, GuestCase, run

FULL = "/dev/full"


def broken_pipe():
    """The write end of a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def closed(number, *arguments):
    """kvrm started with a descriptor closed."""
    script = f"import os, sys; os.close({number}); os.execv(sys.argv[1], sys.argv[1:])"
    command = ["python3", "-c", script, KVRM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=30)


class Messages(Case):
    """What kvrm says on stderr is a courtesy."""

    def test_a_full_stderr_changes_no_status(self):
        with open(FULL, "wb") as full:
            for arguments, status in ((["run", "/no/such"], 125), (["fly"], 125), (["run", "--bogus", "x"], 125), ([], 125)):
                self.assertEqual(subprocess.run([KVRM, *arguments], stderr=full, timeout=30).returncode, status)

    def test_results_that_cannot_be_written_are_an_error(self):
        for arguments in (["info"], ["info", "--json"], ["--help"], ["help", "run"], ["--version"], ["disasm", "--word", "0"], ["cache", "list"], ["models", "list"]):
            with open(FULL, "wb") as full:
                result = subprocess.run([KVRM, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=30)
            self.expect_host_error(result, "stdout", os.strerror(errno.ENOSPC))

    def test_a_broken_pipe_is_silent(self):
        writer = broken_pipe()
        result = subprocess.run([KVRM, "info"], stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (128 + signal.SIGPIPE, b""))

    def test_a_closed_stdout_is_an_error(self):
        self.expect_host_error(closed(1, "info"), "stdout")
        self.assertEqual(closed(2, "run", "/no/such").returncode, 125)


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Guests(GuestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def lines(self, count):
        path = self.here / "lines"
        path.write_text("".join(f"line {i}\n" for i in range(count)))
        return path

    def test_statistics_without_a_place(self):
        with open(FULL, "wb") as full:
            for more in ([], ["--stats"], ["--stats=json"], ["--progress"]):
                self.assertEqual(subprocess.run([KVRM, "run", *more, self.guest("seven")], stderr=full, timeout=30).returncode, 7)
            self.assertEqual(subprocess.run([KVRM, "run", self.guest("crash")], stderr=full, timeout=30).returncode, 139)

    def test_a_fleet_goes_on_without_its_stderr(self):
        out, writer = self.here / "r.jsonl", broken_pipe()
        command = [KVRM, "fleet", "--progress", "--stats", "--stdin-lines", self.lines(20), "--out", out, self.guest("slow")]
        self.assertEqual(subprocess.run(command, stderr=writer, timeout=60).returncode, 0)
        os.close(writer)
        self.assertEqual(len(out.read_text().splitlines()), 21)

    def test_lanes_that_cannot_write(self):
        with open(FULL, "wb") as full:
            command = [KVRM, "run", "--lanes", "3", self.guest("echo")]
            result = subprocess.run(command, input=b"text", stdout=full, stderr=subprocess.PIPE, timeout=30)
            self.expect_host_error(result, "stdout", os.strerror(errno.ENOSPC))
            result = subprocess.run([KVRM, "run", "--lanes", "3", self.guest("complain")], stdin=subprocess.DEVNULL, stderr=full, timeout=30)
            self.assertEqual(result.returncode, 125)
        writer = broken_pipe()
        result = subprocess.run(command, input=b"text", stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (128 + signal.SIGPIPE, b""))

    def test_a_guest_whose_reader_went_away(self):
        writer = broken_pipe()
        result = subprocess.run([KVRM, "run", self.guest("echo")], input=b"text", stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (128 + signal.SIGPIPE, b""))

    def test_closed_descriptors_stay_closed_for_the_guest(self):
        for number in range(3):
            arguments = ["x"] * number
            self.assertEqual(run("run", self.guest("descriptor"), *arguments, input=b"").returncode, 0)
            self.assertEqual(closed(number, "run", self.guest("descriptor"), *arguments).returncode, errno.EBADF)
            # The others are there.
            self.assertEqual(closed((number + 1) % 3, "run", self.guest("descriptor"), *arguments).returncode, 0)

    def test_nothing_takes_the_number_of_a_closed_descriptor(self):
        # The guest's file would be its stdin.
        self.assertEqual(closed(0, "run", self.guest("echo")).stdout, b"")
        # The results would be its stderr.
        out = self.here / "r.jsonl"
        result = closed(2, "fleet", "--stats", "--stdin-lines", self.lines(3), "--out", out, self.guest("echo"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual([json.loads(line).get("index") is not None for line in out.read_text().splitlines()], [False, True, True, True])
        # Lanes have no stdin then.
        result = closed(0, "run", "--lanes", "2", self.guest("echo"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_endless_input_has_a_bound(self):
        for more in (["--lanes", "2"], ["--check", "1000"]):
            with open("/dev/zero", "rb") as zero:
                self.expect_host_error(run("run", *more, self.guest("echo"), stdin=zero, timeout=120), more[0], "stdin", "MiB")

    def test_a_terminal_is_told_that_it_is_read(self):
        ours, theirs = pty.openpty()
        command = [KVRM, "run", "--lanes", "2", self.guest("echo")]
        process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(theirs)
        message = process.stderr.readline()
        self.assertIn(b"stdin", message)
        self.assertIn(b"Ctrl-D", message)
        os.write(ours, b"typed\n\x04")
        output, more = process.communicate(timeout=30)
        os.close(ours)
        self.assertEqual((process.returncode, output, more), (0, b"typed\n" * 2, b""))

    def interrupted(self, number, *arguments):
        process = subprocess.Popen([KVRM, "run", *arguments, self.guest("forever")], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.5)
        process.send_signal(number)
        _, message = process.communicate(timeout=20)
        self.assertIn(b"interrupted", message)
        return process.returncode

    def test_signals(self):
        for arguments in ([], ["--lanes", "3"]):
            self.assertEqual(self.interrupted(signal.SIGTERM, *arguments), 143)
            self.assertEqual(self.interrupted(signal.SIGINT, *arguments), 130)

    def test_a_fleet_keeps_its_results(self):
        out = self.here / "r.jsonl"
        command = [KVRM, "fleet", "--device=cpu", "--stdin-lines", str(self.lines(300)), "--out", str(out), self.guest("slow")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and (not out.exists() or out.read_bytes().count(b"\n") < 4):
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 143)
        records = [json.loads(line) for line in out.read_text().splitlines()][1:]
        self.assertTrue(3 <= len(records) < 300)
        self.assertTrue(all(record["stop"] == "exit" for record in records))
        self.assertIn(f"interrupted; {len(records)} of 300", message.decode())
        self.assertEqual(run(*command[1:-1], "--resume", command[-1], timeout=120).returncode, 0)
        self.assertEqual(len(out.read_text().splitlines()), 301)


if __name__ == "__main__":
    unittest.main(verbosity=1)
