#!/usr/bin/env python3
"""Interpreters and a database from arm64 packages, at a small size: every engine prints what QEMU prints.

    real.py --kvrm KVRM --out DIR [--kvrm-options OPTIONS] [--phases LIST]

This is the benchmark's real set as its runner runs it, without a cache and with one. Exit status 77 says that the
packages cannot be had here.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["lua", "mujs", "sqlite-file"]
PACKAGES = ["liblua5.4-dev", "libmujs-dev", "libsqlite3-dev"]
SKIPPED = 77


def fail(message):
    sys.exit(f"real: {message}")


def skip(reason):
    print(f"real: skipped: {reason}")
    sys.exit(SKIPPED)


def check_program(result, phases, translates_all):
    name, runs = result["name"], result["runs"]
    wanted = [phase for phase in phases if not phase.endswith("warm")]
    wanted += [f"{phase}-{number}" for phase in phases if phase.endswith("warm") for number in (1, 2, 3)]
    if sorted(runs) != sorted(wanted):
        fail(f"{name}: ran {sorted(runs)}, not {sorted(wanted)}")
    for label, run in runs.items():
        if not run["wall"]["median"] > 0 or not run["cpu"]["median"] > 0:
            fail(f"{name}: {label} took no time")
        if label == "qemu":
            continue
        counted = run["statistics"]
        if counted["exit_status"] != 0 or counted["engine"] != label.split("-")[0]:
            fail(f"{name}: {label} counted {counted}")
        if label in ("interp", "jit-cold", "auto-cold") and counted["cached_regions"]:
            fail(f"{name}: {label} found {counted['cached_regions']} regions in an empty cache")
    # Otherwise what a short run translates is a matter of its time.
    warm = runs.get("jit-warm-3")
    if warm and translates_all and not warm["statistics"]["cached_regions"]:
        fail(f"{name}: the last warm run of --engine jit took no region from the cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", required=True, help="the kvrm binary")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for what is built")
    parser.add_argument("--kvrm-options", default="", help='options for kvrm run, e.g. "--jit-threshold 0"')
    parser.add_argument("--phases", default="qemu,interp,jit-cold,jit-warm,auto-cold,auto-warm")
    options = parser.parse_args()
    for tool in ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64"):
        if not shutil.which(tool):
            skip(f"{tool} is not here (packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user)")
    if subprocess.run([str(REPO / "tools" / "arm64_packages.sh"), *PACKAGES]).returncode:
        skip(f"the arm64 packages {' '.join(PACKAGES)} cannot be had from this host's package sources")
    options.out.mkdir(parents=True, exist_ok=True)
    report = options.out / "report.json"
    command = [sys.executable, str(REPO / "bench" / "run.py"), "--kvrm", options.kvrm, "--set", "real", "--small"]
    command += ["--only", ",".join(PROGRAMS), "--rounds", "1", "--phases", options.phases, "--json", str(report)]
    command.append(f"--kvrm-options={options.kvrm_options}")
    done = subprocess.run(command, env=os.environ | {"KVRM_BENCH_OUT": str(options.out.resolve())})
    if done.returncode:
        fail(f"bench/run.py ended with {done.returncode}")
    results = json.loads(report.read_text())["programs"]
    if [result["name"] for result in results] != PROGRAMS:
        fail(f"ran {[result['name'] for result in results]}, not {PROGRAMS}")
    for result in results:
        check_program(result, options.phases.split(","), "--jit-threshold 0" in options.kvrm_options)
    print(f"real: {len(results)} programs, outputs equal to QEMU's in every run")


if __name__ == "__main__":
    main()
