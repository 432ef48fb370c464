"""What the tests of the program share: the program itself and small guests.

A test is started as NAME_test.py build/kvrm.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

KVRM = os.path.abspath(sys.argv.pop(1))
COMPILER = shutil.which("aarch64-linux-gnu-gcc")

GUESTS = {
    "seven": "mov x8, #93\n mov x0, #7\n svc #0",
    "crash": "mov x1, #16\n movk x1, #0xdead, lsl #16\n ldr x0, [x1]",
    "undefined": "udf #0",
    "breakpoint": "brk #1",
    "forever": "0: b 0b",
    "echo": """
        sub sp, sp, #64
     0: mov x8, #63\n mov x0, #0\n mov x1, sp\n mov x2, #64\n svc #0
        cmp x0, #0\n b.le 1f
        mov x2, x0\n mov x8, #64\n mov x0, #1\n mov x1, sp\n svc #0\n b 0b
     1: mov x8, #93\n mov x0, #0\n svc #0""",
    "arguments": """
        ldr x19, [sp]\n mov x8, #93\n mov x0, x19\n svc #0""",
    # fcntl(number of arguments, F_GETFD): the errno.
    "descriptor": """
        ldr x0, [sp]\n sub x0, x0, #1\n mov x8, #25\n mov x1, #1\n svc #0
        cmp x0, #0\n csneg x0, xzr, x0, ge\n mov x8, #93\n svc #0""",
    # A letter on stderr.
    "complain": """
        mov x8, #64\n mov x0, #2\n adr x1, _start\n mov x2, #1\n svc #0\n mov x8, #93\n mov x0, #0\n svc #0""",
    # The environment, a line each.
    "environment": """
        ldr x19, [sp]\n add x20, sp, x19, lsl #3\n add x20, x20, #16
     0: ldr x1, [x20], #8\n cbz x1, 3f\n mov x2, #0
     1: ldrb w3, [x1, x2]\n cbz w3, 2f\n add x2, x2, #1\n b 1b
     2: mov x8, #64\n mov x0, #1\n svc #0
        mov x4, #10\n str x4, [sp, #-16]!\n mov x8, #64\n mov x0, #1\n mov x1, sp\n mov x2, #1\n svc #0\n b 0b
     3: mov x8, #93\n mov x0, #0\n svc #0""",
    # A hundred seconds, which take no time unless the clock is the host's.
    "sleep": """
        mov x1, #100\n stp x1, xzr, [sp, #-16]!\n mov x8, #101\n mov x0, sp\n mov x1, #0\n svc #0
        mov x8, #93\n mov x0, #0\n svc #0""",
    # Four million iterations of a loop, then echo.
    "slow": """
        movz x19, #0x40, lsl #16
     2: subs x19, x19, #1\n b.ne 2b
        sub sp, sp, #64
     0: mov x8, #63\n mov x0, #0\n mov x1, sp\n mov x2, #64\n svc #0
        cmp x0, #0\n b.le 1f
        mov x2, x0\n mov x8, #64\n mov x0, #1\n mov x1, sp\n svc #0\n b 0b
     1: mov x8, #93\n mov x0, #0\n svc #0""",
    # A million additions of doubles.
    "floats": """
        movz x19, #0x10, lsl #16\n fmov d0, #1.0\n fmov d1, d0
     2: fadd d0, d0, d1\n subs x19, x19, #1\n b.ne 2b
        mov x8, #93\n mov x0, #0\n svc #0""",
    # Maps a page at 2^40 and writes to it.
    "far": """mov x0, #0x10000000000\n mov x1, #4096\n mov x2, #3\n mov x3, #0x32\n mov x4, #-1\n mov x5, #0
        mov x8, #222\n svc #0\n str x1, [x0]
        mov x8, #93\n mov x0, #0\n svc #0""",
}


def run(*arguments, **options):
    options.setdefault("timeout", 30)
    return subprocess.run([KVRM, *map(str, arguments)], capture_output=True, **options)


class Case(unittest.TestCase):
    def expect_host_error(self, result, *words):
        """One line that says what is wrong."""
        self.assertEqual(result.returncode, 125, result.stderr)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith("kvrm: "), lines)
        for word in words:
            self.assertIn(word, lines[0])


class GuestCase(Case):
    """Builds the guests once per class."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, text in GUESTS.items():
            source = pathlib.Path(cls.folder.name, name + ".s")
            source.write_text(f".global _start\n_start:\n {text}\n")
            command = [COMPILER, "-nostdlib", "-static", "-o", source.with_suffix(""), source]
            subprocess.run(command, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def guest(self, name):
        return os.path.join(self.folder.name, name)
