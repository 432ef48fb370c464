#!/usr/bin/env python3
"""gcc.c-torture/execute, under QEMU and under kvrm.

Three ways to build every test, ieee/ and builtins/ included:
    general   -nostdlib -mgeneral-regs-only, on torture_runtime.c: integer registers alone
    fp        the same without -mgeneral-regs-only: floating point, and vectors at -O3
    glibc     static, with the C library and its vector code
A test that builds, and exits with 0 under QEMU, must end with the same status and output under kvrm.

    tests/conformance/torture.py                              all three at -O0, -O2 and -O3
    tests/conformance/torture.py --set fp --share 1/10        one test in ten, at -O2
    tests/conformance/torture.py --set glibc --only 20000112-1 --levels O0,O1

Binaries (the static ones take 3 GB in all) and QEMU's verdicts are kept in build/torture.
"""

import hashlib
import os
import re
import shlex
import subprocess
import sys

import common
import dejagnu
import reference

WORK = common.BUILD / "torture"
SUITE = WORK / "suite" / "execute"
RUNTIME = common.HERE / "torture_runtime.c"
BARE = ["-w", "-static", "-nostdlib", "-nostartfiles"]
RUNTIME_FLAGS = ["-O2", "-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns"]
SETS = {
    "general": BARE + ["-mgeneral-regs-only"],
    "fp": BARE,
    "glibc": ["-w", "-static", "-Wl,-s"],
}
# As builtins.exp and ieee.exp have it.
FOLDER_FLAGS = {
    "builtins": shlex.split(
        "-fno-tree-dse -fno-tree-loop-distribute-patterns -fno-tracer -fno-ipa-ra -fno-inline-functions"
    ),
    "ieee": ["-fno-inline"],
}
GLIBC_HAS = {"fileio", "signal"}


def build_runtime(flags):
    """The runtime's object file, named after its content; a second process may build it at the same time."""
    partial = WORK / f"runtime-{os.getpid()}.o"
    subprocess.run([common.CROSS_GCC, *flags, *RUNTIME_FLAGS, "-c", str(RUNTIME), "-o", str(partial)], check=True)
    target = WORK / f"runtime-{hashlib.sha256(partial.read_bytes()).hexdigest()[:16]}.o"
    partial.rename(target)
    return target


def script_flags(source):
    """Flags from a test's .x file, which says little else about this target."""
    script = source.with_suffix(".x")
    if not script.exists():
        return []
    found = re.search(r'^(?:set|lappend) additional_flags "?(-[^"\n]+)"?$', script.read_text(), re.M)
    return found[1].split() if found else []


def make_case(way, source, level, libraries):
    """One source file, built in one way at one level."""
    name = str(source.relative_to(SUITE).with_suffix(""))
    folder = source.parent.name
    sources = [source]
    if folder == "builtins":
        sources += [source.with_name(source.stem + "-lib.c"), source.parent / "lib" / "main.c"]
    flags = ["-" + level, *FOLDER_FLAGS.get(folder, [])]
    text = source.read_text(encoding="latin-1")
    asked = dejagnu.read(text, flags, GLIBC_HAS if way == "glibc" else ())
    flags += asked.flags + script_flags(source)
    return reference.Case(
        label=f"{name} -{level} ({way})",
        command=[common.CROSS_GCC, *SETS[way], *flags, *map(str, sources), *libraries],
        text="\0".join(path.read_text(encoding="latin-1") for path in sources),
        stem=WORK / way / level / name.replace("/", "-"),
        skip=asked.skip,
        files=way == "glibc" and "dg-require-effective-target fileio" in text,
    )


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--set", choices=[*SETS, "all"], default="all", help="how the tests are built")
    parser.add_argument("--share", help="a fixed choice of this share of the tests, e.g. 1/10; at -O2")
    parser.add_argument("--levels", help="optimization levels; default O0,O2,O3")
    options = common.parse(parser)
    levels = (options.levels or ("O2" if options.share else "O0,O2,O3")).split(",")
    reference.unpack(SUITE.parent, 4, ["gcc.c-torture/execute/*"])
    sources = [*SUITE.glob("*.c"), *SUITE.glob("ieee/*.c"), *SUITE.glob("builtins/*.c")]
    sources = [path for path in sorted(sources) if not path.stem.endswith("-lib")]
    sources = [path for path in sources if options.only in str(path.relative_to(SUITE).with_suffix(""))]
    if options.share:
        name = lambda path: str(path.relative_to(SUITE).with_suffix(""))
        sources = [path for path in sources if reference.in_share(name(path), options.share)]
    kinds = SETS if options.set == "all" else [options.set]
    cases = []
    for kind in kinds:
        libraries = ["-lm"] if kind == "glibc" else [str(build_runtime(SETS[kind])), "-lgcc"]
        cases += [make_case(kind, path, level, libraries) for level in levels for path in sources]
    print(f"torture: {len(cases)} builds: {', '.join(kinds)} at {', '.join(levels)}", file=sys.stderr)
    common.each(cases, lambda case: reference.check(case, options), options.jobs, common.Tally())


if __name__ == "__main__":
    main()
