#!/usr/bin/env python3
"""gcc.c-torture/execute, under QEMU and under kvrm.

Every test is built -nostdlib -mgeneral-regs-only with torture_runtime.c, at each level. A test
that builds, and exits with 0 under QEMU, must end with the same status and output under kvrm.

    tests/conformance/torture.py                     everything at -O0, -O2 and -O3
    tests/conformance/torture.py --share 1/10        one test in ten, at -O2
    tests/conformance/torture.py --only 20000112-1 --levels O0,O1

Binaries and QEMU's verdicts are kept in build/torture.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import common
import dejagnu

WORK = common.BUILD / "torture"
SUITE = WORK / "suite" / "execute"
RUNTIME = common.HERE / "torture_runtime.c"
TARBALLS = "gcc-12*/gcc-12*.tar.xz"
FLAGS = ["-w", "-mgeneral-regs-only", "-static", "-nostdlib", "-nostartfiles"]
RUNTIME_FLAGS = ["-O2", "-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns"]
# As builtins.exp has it.
BUILTINS_FLAGS = shlex.split(
    "-fno-tree-dse -fno-tree-loop-distribute-patterns -fno-tracer -fno-ipa-ra -fno-inline-functions"
)


def unpack():
    """Take the suite, and nothing else, out of the source package."""
    done = WORK / "suite" / "complete"
    if done.exists():
        return
    tarballs = sorted(pathlib.Path("/usr/src").glob(TARBALLS))
    if not tarballs:
        common.fail("no GCC 12 sources below /usr/src (package gcc-12-source)")
    done.parent.mkdir(parents=True, exist_ok=True)
    command = ["tar", "-C", str(done.parent), "--strip-components=4", "--wildcards", "-xf", str(tarballs[0])]
    if subprocess.run(command + ["*/gcc/testsuite/gcc.c-torture/execute/*"]).returncode:
        common.fail(f"cannot unpack {tarballs[0]}")
    done.touch()


def version(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def build_runtime(key):
    """The runtime's object file; a second process may build it at the same time."""
    target = WORK / f"runtime-{key[:16]}.o"
    if not target.exists():
        partial = WORK / f"runtime-{key[:16]}-{os.getpid()}.o"
        command = [common.CROSS_GCC, *FLAGS, *RUNTIME_FLAGS, "-c", str(RUNTIME), "-o", str(partial)]
        subprocess.run(command, check=True)
        partial.rename(target)
    return target


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def script_flags(source):
    """Flags from a test's .x file, which says little else about this target."""
    script = source.with_suffix(".x")
    found = re.search(r"^set additional_flags (-\S+)$", script.read_text(), re.M) if script.exists() else None
    return [found[1]] if found else []


class Test:
    """One source file at one level."""

    def __init__(self, source, level):
        self.name = str(source.relative_to(SUITE).with_suffix(""))
        self.level = level
        self.sources = [source]
        flags = ["-" + level]
        if source.parent.name == "builtins":
            self.sources += [source.with_name(source.stem + "-lib.c"), source.parent / "lib" / "main.c"]
            flags += BUILTINS_FLAGS
        text = source.read_text(encoding="latin-1")
        extra, self.skip = dejagnu.read(text, flags)
        self.flags = flags + extra + script_flags(source)
        self.text = "\0".join(path.read_text(encoding="latin-1") for path in self.sources)
        stem = WORK / level / self.name.replace("/", "-")
        self.program = stem.with_name(stem.name + ".elf")
        self.verdict = stem.with_name(stem.name + ".json")

    def command(self, runtime):
        sources = [str(path) for path in self.sources]
        return [common.CROSS_GCC, *FLAGS, *self.flags, *sources, str(runtime), "-lgcc", "-o", str(self.program)]


def why_not(stderr):
    """The reason a test does not build, in words that group well."""
    text = stderr.decode("utf-8", "replace")
    for sign in ("floating-point types", "vector types", "decimal floating-point"):
        if sign in text:
            return f"does not build: {sign} without FP registers"
    return "does not link" if "undefined reference" in text else "does not build"


def reference(test, runtime, timeout):
    """Build the test and ask QEMU, or recall what came out earlier."""
    command = test.command(runtime)
    key = digest(test.text, runtime.name, *command)
    if test.verdict.exists():
        known = json.loads(test.verdict.read_text())
        if known["key"] == key and (known["skip"] or test.program.exists()):
            return known
    test.program.parent.mkdir(parents=True, exist_ok=True)
    known = {"key": key, "skip": None, "stdout": ""}
    built = subprocess.run(command, capture_output=True)
    if built.returncode:
        known["skip"] = why_not(built.stderr)
    else:
        status, stdout, _ = common.run(common.QEMU + [str(test.program)], timeout)
        known["stdout"] = stdout.hex()
        if status != 0:
            known["skip"] = "fails under QEMU"
    test.verdict.write_text(json.dumps(known))
    return known


def check(test, runtime, options):
    label = f"{test.name} -{test.level}"
    if test.skip:
        return label, "skip", test.skip
    known = reference(test, runtime, options.timeout)
    if known["skip"]:
        return label, "skip", known["skip"]
    command = common.kvrm_command(options, test.program)
    status, stdout, stderr = common.run(command, options.timeout)
    expected = bytes.fromhex(known["stdout"])
    found = [common.difference("status", 0, status), common.difference("stdout", expected, stdout)]
    found = [line for line in found if line]
    if not found:
        return label, "pass", ""
    found.append(f"  stderr: {common.shown(stderr)}")
    found.append(f"  source: {test.sources[0]}")
    found.append(f"  qemu:   {shlex.join(common.QEMU + [str(test.program)])}")
    found.append(f"  kvrm:   {shlex.join(command)}")
    return label, "fail", "\n".join(found)


def in_share(name, share):
    part, whole = (int(number) for number in share.split("/"))
    return int(digest(name)[:8], 16) % whole < part


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--share", help="a fixed choice of this share of the tests, e.g. 1/10; at -O2")
    parser.add_argument("--levels", help="optimisation levels; default O0,O2,O3")
    options = common.parse(parser)
    levels = (options.levels or ("O2" if options.share else "O0,O2,O3")).split(",")
    unpack()
    sources = [*SUITE.glob("*.c"), *SUITE.glob("ieee/*.c"), *SUITE.glob("builtins/*.c")]
    sources = [path for path in sorted(sources) if not path.stem.endswith("-lib")]
    tests = [Test(path, level) for level in levels for path in sources]
    tests = [test for test in tests if options.only in test.name]
    if options.share:
        tests = [test for test in tests if in_share(test.name, options.share)]
    tools = version([common.CROSS_GCC, "--version"]) + version([common.QEMU[0], "--version"])
    runtime = build_runtime(digest(RUNTIME.read_text(), tools, *FLAGS, *RUNTIME_FLAGS))
    print(f"torture: {len(tests)} tests at {', '.join(levels)}", file=sys.stderr)
    common.each(tests, lambda test: check(test, runtime, options), options.jobs, common.Tally())


if __name__ == "__main__":
    main()
