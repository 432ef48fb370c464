#!/usr/bin/env python3
"""bench/gpu.py's parts about ordinary programs, on the CPU device at small sizes.

    gpu_test.py --kvrm KVRM --out DIR

The runner itself compares every output with QEMU's and the CPU device's; here its figures are looked at. No program
that needs an arm64 package is among them.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["records", "calc", "trees"]
TOOLS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64")
SKIPPED = 77


def fail(message):
    sys.exit(f"gpu_test: {message}")


def expected(engine):
    """(part, name) of the figures that must be there."""
    kinds = ["interp"] if engine == "interp" else ["cold", "warm"]
    for name in PROGRAMS:
        yield from (("real-one", f"{name}, {kind}") for kind in kinds)
        yield from (("real-lockstep", f"{name} x {lanes}") for lanes in (8, 32))
        yield from (("jobs", f"{name}: kvrm, {kind}") for kind in kinds)
        yield from (("jobs", f"{name}: {kind} / {peer}") for kind in kinds for peer in ("QEMU", "kvrm on the CPU"))
    yield from (("real-one", f"geometric mean: real, {kind}") for kind in kinds)
    yield from (("jobs", f"geometric mean: {kind} / QEMU") for kind in kinds)


def check(report, engine):
    figures = {(figure["part"], figure["name"]): figure for figure in report["figures"]}
    for key in expected(engine):
        figure = figures.get(key)
        if not figure:
            fail(f"{engine}: no figure {key}; there are {list(figures)}")
        if not figure.get("ips", figure.get("ratio", 0)) > 0:
            fail(f"{engine}: {key}: {figure}")
    for name in PROGRAMS:
        job = figures["jobs", f"{name}: a job"]
        if not 1e6 <= job["least"] < job["most"] <= 12e6:
            fail(f"{name}: jobs of {job['least']} to {job['most']} instructions")
    return len(figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", required=True, help="the kvrm binary")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for what is built")
    parser.add_argument("--engines", default="interp", help="with commas between them")
    options = parser.parse_args()
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        print(f"gpu_test: skipped: {missing[0]} is not here")
        sys.exit(SKIPPED)
    out = options.out.resolve()
    for engine in options.engines.split(","):
        report = out / f"{engine}.json"
        command = [sys.executable, str(REPO / "bench" / "gpu.py"), "--kvrm", options.kvrm, "--device", "cpu", "--small"]
        command += ["--engine", engine, "--parts", "real-one,real-lockstep,jobs", "--programs", ",".join(PROGRAMS)]
        done = subprocess.run([*command, "--json", str(report)], env=os.environ | {"KVRM_BENCH_OUT": str(out)})
        if done.returncode:
            fail(f"bench/gpu.py --engine {engine} ended with {done.returncode}")
        count = check(json.loads(report.read_text()), engine)
        print(f"gpu_test: --engine {engine}: {count} figures")


if __name__ == "__main__":
    main()
