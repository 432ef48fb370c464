#!/usr/bin/env python3
"""Small programs of our own, one per subject, compared with QEMU: self-modifying code, thread-local
variables, signals, jumps, the heap, shared memory, files, process start, the C library's strings, endings.

    tests/conformance/programs.py
    tests/conformance/programs.py --only signals

The sources are in guests/; builds go to build/conformance.
"""

import functools
import pathlib
import subprocess
import tempfile

import common

GUESTS = common.HERE / "guests"
WORK = common.BUILD / "conformance"
FLAGS = "-std=gnu17 -Wall -Wextra -Werror -O2 -fno-tree-vectorize -mgeneral-regs-only".split()
STYLES = {"static": ["-static"], "static-pie": ["-static-pie", "-fPIE"]}

ENDINGS = (
    "return exit quick abort load store jump undefined break halt pc align privileged ignored blocked"
).split()
ARGUMENTS = ["one", "two words", "", "--root", "-x", "ünïcode", "q" * 2000]
SIGNALS = [1, 2, 6, 8, 9, 11, 13, 14, 15, 17, 18, 28, 31]

# Name, guest, style, arguments, standard input.
CASES = [
    ("code", "code", "static", [], b""),
    ("tls", "tls", "static", [], b""),
    ("tls, static-pie", "tls", "static-pie", [], b""),
    ("signals", "signals", "static", [], b""),
    ("signals, static-pie", "signals", "static-pie", [], b""),
    ("jumps", "jumps", "static", [], b""),
    ("heap", "heap", "static", [], b""),
    ("heap, static-pie", "heap", "static-pie", [], b""),
    ("segments", "segments", "static", [], b""),
    ("files", "files", "static", [], b"a line\nand a last one"),
    ("start", "start", "static", [], b""),
    ("start, arguments", "start", "static", ARGUMENTS, b""),
    ("start, static-pie", "start", "static-pie", ["x"], b""),
    ("strings", "strings", "static", [], b""),
    ("strings, static-pie", "strings", "static-pie", [], b""),
]
CASES += [(f"ends {how}", "ends", "static", [how], b"") for how in ENDINGS]
CASES += [(f"ends by signal {number}", "ends", "static", ["raise", str(number)], b"") for number in SIGNALS]


def build(guest, style):
    """The program's path; built when a source is newer."""
    source, program = GUESTS / f"{guest}.c", WORK / style / guest
    newest = max(path.stat().st_mtime for path in (source, GUESTS / "guest.h", pathlib.Path(__file__)))
    if not program.exists() or program.stat().st_mtime < newest:
        program.parent.mkdir(parents=True, exist_ok=True)
        command = [common.CROSS_GCC, *FLAGS, *STYLES[style], str(source), "-o", str(program)]
        if subprocess.run(command).returncode:
            common.fail(f"cannot build {source}")
    return program


def check(options, case):
    name, guest, style, arguments, stdin = case
    with tempfile.TemporaryDirectory(prefix="kvrm-programs-") as folder:
        folders = {key: pathlib.Path(folder, key) for key in ("qemu", "kvrm")}
        for root in folders.values():
            root.mkdir()
        return common.compare(options, name, WORK / style / guest, arguments, folders, stdin)


def main():
    options = common.parse(common.arguments(__doc__.splitlines()[0]))
    cases = [case for case in CASES if options.only in case[0]]
    for guest, style in sorted({case[1:3] for case in cases}):
        build(guest, style)
    common.each(cases, functools.partial(check, options), options.jobs, common.Tally())


if __name__ == "__main__":
    main()
