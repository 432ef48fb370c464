#!/usr/bin/env python3
"""kvrm run --strace, and what is said of calls that are not supported.

    strace_test.py build/kvrm
"""

import os
import signal
import subprocess
import unittest

from common import COMPILER, GUESTS, KVRM, GuestCase, run

GUESTS.update(
    {
        # Opens a file that is not there, writes, ends.
        "traced": """
            mov x0, #-100\n adr x1, name\n mov x2, #0x80000\n mov x8, #56\n svc #0
            mov x0, #1\n adr x1, text\n mov x2, #40\n mov x8, #64\n svc #0
            mov x0, #3\n mov x8, #94\n svc #0
         name: .asciz "/etc/x"
         text: .ascii "hello\\n6789012345678901234567890123456789"
         """,
        # pause(), as libcs make it.
        "pause": "mov x0, #0\n mov x1, #0\n mov x2, #0\n mov x3, #0\n mov x8, #73\n svc #0",
        # A thread, which there is not, and then a crash.
        "threads": "mov x0, #0x10000\n mov x8, #220\n svc #0\n mov x1, #16\n ldr x0, [x1]",
    }
)

TRACE = [
    'openat(AT_FDCWD, "/etc/x", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)',
    'write(1, "hello\\n67890123456789012345678901"..., 40) = 40',
    "exit_group(3) = ?",
    "+++ exited with 3 +++",
]


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Strace(GuestCase):
    def trace(self, *arguments):
        return run("run", *arguments).stderr.decode().splitlines()

    def test_calls_and_the_end(self):
        plain, traced = run("run", self.guest("traced")), run("run", "--strace", self.guest("traced"))
        self.assertEqual(traced.stderr.decode().splitlines(), TRACE)
        self.assertEqual((traced.returncode, traced.stdout), (plain.returncode, plain.stdout))
        self.assertEqual(plain.stderr, b"")

    def test_engines_agree(self):
        for engine in ("interp", "jit", "auto"):
            self.assertEqual(self.trace("--strace", "--engine", engine, self.guest("traced")), TRACE, engine)

    def test_lanes_are_named(self):
        result = run("run", "--strace", "--lanes", "3", self.guest("traced"), input=b"")
        lines = result.stderr.decode().splitlines()
        for lane in range(3):
            prefix = f"[lane {lane}] "
            self.assertEqual([line[len(prefix) :] for line in lines if line.startswith(prefix)], TRACE)
        self.assertEqual((len(lines), result.returncode), (3 * len(TRACE), 3))

    def test_signals(self):
        lines = self.trace("--strace", self.guest("crash"))
        self.assertEqual(lines[0], "--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0xdead0010} ---")
        self.assertEqual(lines[1], "+++ killed by SIGSEGV +++")
        self.assertTrue(lines[2].startswith("kvrm: the program was killed by signal 11"))

    def test_stderr_that_fails(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([KVRM, "run", "--strace", self.guest("traced")], stdout=subprocess.PIPE, stderr=full)
        self.assertEqual((result.returncode, len(result.stdout)), (3, 40))
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([KVRM, "run", "--strace", self.guest("traced")], stdout=subprocess.PIPE, stderr=writer)
        os.close(writer)
        self.assertEqual((result.returncode, len(result.stdout)), (3, 40))

    def test_check_traces_once(self):
        lines = self.trace("--strace", "--check", "1000", self.guest("traced"))
        self.assertEqual([line for line in lines if line in TRACE], TRACE)


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class NotSupported(GuestCase):
    def test_a_crash_names_the_call(self):
        result = run("run", self.guest("threads"))
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assertIn("kvrm: clone is not supported: threads and processes\n", result.stderr.decode())
        self.assertNotIn("not supported", run("run", self.guest("crash")).stderr.decode())

    def test_pause_waits_for_a_signal(self):
        result = run("run", self.guest("pause"))
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        self.assertIn("can never happen: a signal, with no timer running\n", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
