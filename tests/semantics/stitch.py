#!/usr/bin/env python3
"""Stitches every implemented row into a small optimized region and fails if the state stays in memory.

    stitch.py --build DIR [--clang clang++-19] [-j N] [--row NAME ...] [--words N] [--keep DIR]

A region is a function that runs constant words of a few rows on a local state. After -O2, for x86-64 and for nvptx64,
no alloca and no unlisted call may be left in it: then a translator will hold guest registers in machine registers.
Rows of a region that fails are stitched again one by one, to name the guilty.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import compilers
import ir
import words

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
FLAGS = [*compilers.FREESTANDING, *compilers.DEVICE_FLAGS, "-O2", "-S", "-emit-llvm", "-fno-discard-value-names"]
POLICIES = {"Flat": "memory::Flat", "Paged": "FarPaged"}
ROWS_PER_REGION = 4  # bringing the state in and out is most of the compiler's work
REGIONS_PER_FILE = 25
SAMPLES = 12  # functions in must_fail.cpp


def uses_memory(row):
    """The policy only matters to rows that access memory, and only headers that do name it."""
    return "memory." in (SOURCE / "src/semantics" / row.header).read_text() or row.group.startswith(
        ("load_", "simd_load", "atomic", "compare_and_swap")
    )


def pieces(items, size):
    return [items[start : start + size] for start in range(0, len(items), size)]


def region_source(regions, policy, count):
    """regions: lists of rows. The n-th becomes the function region_n."""
    lines = ['#include "region.h"', "using namespace kvrm;", "using namespace kvrm::stitch;"]
    for number, rows in enumerate(regions):
        steps = [f"Step<isa::{row.name}, {word:#010x}u>" for row in rows for word in words.words_of(row, count)]
        lines.append(f'extern "C" u64 region_{number}(Cpu* io, {policy}* memory, bool traps_leave) {{')
        lines.append(f"  return region<{policy}, " + ",\n                ".join(steps) + ">(io, memory, traps_leave);\n}")
    return "\n".join(lines) + "\n"


class Stitch:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.failures = []

    def compile(self, files):
        """files: (key, path). Gives back (key, target, IR text) for every target."""
        base = [self.arguments.clang, *FLAGS, *compilers.include_flags(SOURCE, self.arguments.build)]
        commands = []
        for key, path in files:
            for target, flags in compilers.TARGETS.items():
                output = path.with_suffix(f".{target}.ll")
                commands.append(((key, target, output), [*base, *flags, str(path), "-o", str(output)]))
        for (key, target, output), status, text in compilers.run_all(commands, self.arguments.jobs):
            if status:
                sys.exit(f"stitch: {key} does not compile for {target}:\n{text}")
            yield key, target, output.read_text()

    def prove_itself(self):
        """The check must see every bad sample and no good one."""
        for _, target, text in self.compile([("must_fail.cpp", self.copy("must_fail.cpp"))]):
            seen = {name: ir.complaints(lines) for name, lines in ir.functions(text)}
            samples = [name for name in seen if name.startswith(("bad_", "good_"))]
            if len(samples) != SAMPLES:
                sys.exit(f"stitch: only the samples {samples} were found for {target}")
            for name in samples:
                if bool(seen[name]) != name.startswith("bad_"):
                    sys.exit(f"stitch: the check is wrong about {name} ({target}): {seen[name]}")

    def copy(self, name):
        path = self.folder / name
        path.write_text((HERE / name).read_text())
        return path

    def stitch(self, regions, policy, name):
        """Gives back (rows, target, complaints) for every region and target."""
        files = []
        for number, part in enumerate(pieces(regions, REGIONS_PER_FILE)):
            path = self.folder / f"{name}_{policy}_{number}.cpp"
            path.write_text(region_source(part, POLICIES[policy], self.arguments.words))
            files.append((part, path))
        for part, target, text in self.compile(files):
            found = dict(ir.functions(text))
            for number, rows in enumerate(part):
                yield rows, target, ir.complaints(found[f"region_{number}"])

    def check_rows(self, rows, policy):
        regions = pieces(rows, ROWS_PER_REGION)
        suspects = {}
        for together, target, bad in self.stitch(regions, policy, "regions"):
            if bad:
                suspects.update({row.name: row for row in together})
                self.failures.append((together, policy, target, bad))
        if suspects:
            alone = list(self.stitch([[row] for row in suspects.values()], policy, "alone"))
            guilty = [(row, policy, target, bad) for row, target, bad in alone if bad]
            if guilty:
                self.failures = [failure for failure in self.failures if failure[1] != policy] + guilty
        return len(regions) * len(compilers.TARGETS)


def report(stitch):
    for rows, policy, target, bad in stitch.failures:
        print(f"\n{target}, {policy} memory:")
        for row in rows:
            shown = " ".join(f"{word:#010x}" for word in words.words_of(row, stitch.arguments.words))
            print(f"  {row.name} (src/semantics/{row.header}), words {shown}")
        for why, line in bad[:6]:
            print(f"    {why}: {line}")
        if len(bad) > 6:
            print(f"    and {len(bad) - 6} lines more")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--row", action="append", help="only this row (may be repeated)")
    parser.add_argument("--words", type=int, default=3, help="words per row")
    parser.add_argument("--keep", type=pathlib.Path, help="leave sources and IR in this folder")
    arguments = parser.parse_args()

    rows = words.implemented_rows(arguments.build)
    if arguments.row:
        rows = [row for row in rows if row.name in arguments.row]
    if not rows:
        sys.exit("stitch: no row to check")
    with tempfile.TemporaryDirectory(prefix="kvrm-stitch-") as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        stitch = Stitch(arguments, folder)
        stitch.prove_itself()
        regions = stitch.check_rows(rows, "Flat")
        regions += stitch.check_rows([row for row in rows if uses_memory(row)], "Paged")
    report(stitch)
    print(f"\nstitch: {len(rows)} rows, {regions} regions, {len(stitch.failures)} keep state in memory")
    sys.exit(1 if stitch.failures else 0)


if __name__ == "__main__":
    main()
