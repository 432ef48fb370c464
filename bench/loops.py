#!/usr/bin/env python3
"""Warp loops on the CPU: nanoseconds an iteration with and without bulk steps, for each kind of loop and number of
trips, alternating in one run. Both must print the same. Times are processor time, without that of the proofs.

    bench/loops.py [--kvrm build/kvrm] [--engines interp auto] [--repeat N] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ("counted", "lcg", "fill", "copy", "scan", "sum", "dot", "map", "pick")
TRIPS = (8, 32, 128, 1024, 4096, 65536)
LEAST = 1e-3  # seconds; what is shorter is not told from the start of the program
ITERATIONS = {"interp": 20_000_000, "auto": 100_000_000}


def build(folder):
    guest = folder / "loops"
    command = ["aarch64-linux-gnu-gcc", "-O2", "-static", "-o", guest, HERE / "guests/loops/loops.c"]
    subprocess.run(command, check=True)
    return guest


def measure(kvrm, engine, accelerate, arguments, home):
    """What the guest printed, and seconds of processor time."""
    command = [kvrm, "run", "--engine", engine, "--accelerate", accelerate, "--stats=json", *map(str, arguments)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(home)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    loops = json.loads(done.stderr.splitlines()[-1]).get("loops", {})
    return done.stdout, spent - loops.get("seconds", 0)


def compare(options, guest, home, engine, kind, trips):
    rounds = ITERATIONS[engine] // trips
    best = {"off": float("inf"), "on": float("inf")}
    base = {"off": float("inf"), "on": float("inf")}
    printed = set()
    for _ in range(options.repeat):
        for accelerate in best:
            text, seconds = measure(options.kvrm, engine, accelerate, (guest, kind, trips, rounds), home)
            printed.add(text)
            best[accelerate] = min(best[accelerate], seconds)
            _, seconds = measure(options.kvrm, engine, accelerate, (guest, kind, trips, 0), home)
            base[accelerate] = min(base[accelerate], seconds)
    assert len(printed) == 1, f"{kind} {trips}: {printed}"
    spent = {name: max(best[name] - base[name], LEAST) / (rounds * trips) * 1e9 for name in best}
    return {"engine": engine, "kind": kind, "trips": trips, "off_ns": spent["off"], "on_ns": spent["on"],
            "gain": spent["off"] / spent["on"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, default=HERE.parent / "build/kvrm")
    parser.add_argument("--engines", nargs="+", choices=sorted(ITERATIONS), default=sorted(ITERATIONS))
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file, too")
    options = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        guest = build(pathlib.Path(folder))
        for engine in options.engines:
            for kind in KINDS:
                for trips in TRIPS:
                    one = compare(options, guest, folder, engine, kind, trips)
                    figures.append(one)
                    print("{engine:<7}{kind:<9}{trips:>6}{off_ns:>9.3f} ns{on_ns:>9.3f} ns{gain:>8.2f}".format(**one),
                          flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
