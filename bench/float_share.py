#!/usr/bin/env python3
"""How many floating-point operations of the numeric guests the inline fast path serves.

    bench/float_share.py                   all six guests; builds kvrm with KVRM_COUNT_FLOAT in build-count first
    bench/float_share.py --only nbody
    bench/float_share.py --json build-count/float_share.json

An operation is one on an element: FADD of four singles counts four times. Moves, FABS, FNEG and selections are not
counted. Slow is every operation that went on to a function named ..._cold: those that hardware still does there
(flushing; programs that were exact until now) as well as those in software.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import run as bench

BUILD = bench.REPO / "build-count"


def fail(message):
    sys.exit(f"float_share: {message}")


def must(command, log):
    """A step that ends the program when it fails; its output goes to a file."""
    bench.note("  " + shlex.join(command))
    with log.open("a") as out:
        if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode:
            fail(f"failed: {shlex.join(command)}; its output is in {log}")


def build():
    """kvrm with the counters, and the guests."""
    for tool in ("cmake", "clang++-19", "make", "gcc", "aarch64-linux-gnu-gcc"):
        if not shutil.which(tool):
            fail(f"{tool} is needed (tools/setup.sh bench installs what is missing)")
    BUILD.mkdir(exist_ok=True)
    log = BUILD / "build.log"
    log.unlink(missing_ok=True)
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=clang++-19", "-DKVRM_COUNT_FLOAT=ON"]
    source = ["-S", str(bench.REPO), "-B", str(BUILD), "-G", "Ninja"]
    must(["cmake", *source, *options, "-DKVRM_BUILD_TESTS=OFF"], log)
    must(["cmake", "--build", str(BUILD), "-j", str(os.cpu_count())], log)
    must(["make", "-s", "-C", str(bench.REPO / "bench"), "all"], log)
    return BUILD / "kvrm"


def count(kvrm, name, program, arguments):
    command = [str(kvrm), "run", "--stats=json", str(bench.OUT / "arm64" / program), *arguments]
    bench.note("  " + shlex.join(command))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        fail(f"exit status {done.returncode}: {shlex.join(command)}")
    counted = json.loads(done.stderr.splitlines()[-1])
    if "fp_fast" not in counted:
        fail(f"{kvrm} does not count (it needs a build with -DKVRM_COUNT_FLOAT=ON)")
    return {"name": name, **{key: counted[key] for key in ("instructions", "fp_fast", "fp_slow")}}


def percent(fast, slow):
    """Cut off, not rounded: 100 % means that nothing was slow."""
    return f"{fast * 1_000_000 // (fast + slow) / 10_000:.4f} %" if fast + slow else "-"


def print_table(results):
    print("| guest | guest instructions | FP operations | slow | on the fast path |")
    print("|---|---|---|---|---|")
    for result in results:
        fast, slow = result["fp_fast"], result["fp_slow"]
        print(f"| {result['name']} | {result['instructions']:,} | {fast + slow:,} | {slow:,} | {percent(fast, slow)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", help="a kvrm built with -DKVRM_COUNT_FLOAT=ON (default: build one in build-count)")
    parser.add_argument("--only", default="", help="only the guests whose name contains this")
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()
    chosen = [row for row in bench.NUMERIC if options.only in row[0]]
    if not chosen:
        fail(f"no numeric guest's name contains {options.only}")
    kvrm = pathlib.Path(options.kvrm).absolute() if options.kvrm else build()
    results = [count(kvrm, *row) for row in chosen]
    print_table(results)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
