#!/usr/bin/env python3
"""Warp loops: nanoseconds an iteration with and without bulk steps, for each kind of loop and number of trips,
alternating in one run. Both must print the same. Times on the CPU are processor time, without that of the proofs.

    bench/loops.py [--kvrm build/kvrm] [--engines interp auto] [--repeat N] [--json FILE]
    bench/loops.py --device cuda [--engines interp jit] [--guest FILE]
    bench/loops.py --build FILE             the guest alone, for a machine without a compiler

memcpy and strlen are the C library's, of 64 KB; their trips are bytes.
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
LIBRARY = ("memcpy", "strlen")
LIBRARY_BYTES = 65536
# Iterations of a measurement. A GPU samples for a while before it knows what is hot.
ITERATIONS = {
    "cpu": {"interp": 20_000_000, "auto": 100_000_000},
    "cuda": {"interp": 4_000_000, "jit": 50_000_000},
}


def build(guest):
    command = ["aarch64-linux-gnu-gcc", "-O2", "-static", "-o", guest, HERE / "guests/loops/loops.c"]
    subprocess.run(command, check=True)
    return guest


def measure(options, engine, accelerate, arguments, home):
    """What the guest printed, and seconds: on the CPU of processor time."""
    command = [options.kvrm, "run", "--device", options.device, "--engine", engine, "--accelerate", accelerate]
    command += ["--stats=json", *map(str, arguments)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(home)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    statistics = json.loads(done.stderr.splitlines()[-1])
    if options.device == "cuda":
        return done.stdout, statistics["seconds"]
    return done.stdout, spent - statistics.get("loops", {}).get("proof_seconds", 0)


def compare(options, guest, home, engine, kind, trips):
    rounds = ITERATIONS[options.device][engine] // trips
    best = {"off": float("inf"), "on": float("inf")}
    base = {"off": float("inf"), "on": float("inf")}
    printed = set()
    for _ in range(options.repeat):
        for accelerate in best:
            text, seconds = measure(options, engine, accelerate, (guest, kind, trips, rounds), home)
            printed.add(text)
            best[accelerate] = min(best[accelerate], seconds)
            _, seconds = measure(options, engine, accelerate, (guest, kind, trips, 0), home)
            base[accelerate] = min(base[accelerate], seconds)
    assert len(printed) == 1, f"{kind} {trips}: {printed}"
    spent = {name: max(best[name] - base[name], LEAST) / (rounds * trips) * 1e9 for name in best}
    return {"engine": engine, "kind": kind, "trips": trips, "off_ns": spent["off"], "on_ns": spent["on"],
            "gain": spent["off"] / spent["on"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, default=HERE.parent / "build/kvrm")
    parser.add_argument("--device", choices=sorted(ITERATIONS), default="cpu")
    parser.add_argument("--engines", nargs="+", choices=("auto", "interp", "jit"), help="default: those of the device")
    parser.add_argument("--kinds", nargs="+", choices=KINDS + LIBRARY, default=KINDS + LIBRARY)
    parser.add_argument("--guest", type=pathlib.Path, help="what --build made")
    parser.add_argument("--build", type=pathlib.Path, help="build the guest into this file, and do nothing else")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file, too")
    options = parser.parse_args()
    if options.build:
        build(options.build)
        return
    engines = options.engines or sorted(ITERATIONS[options.device])
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        guest = options.guest or build(pathlib.Path(folder) / "loops")
        for engine in engines:
            for kind in options.kinds:
                for trips in (LIBRARY_BYTES,) if kind in LIBRARY else TRIPS:
                    one = compare(options, guest, folder, engine, kind, trips)
                    figures.append(one)
                    print("{engine:<7}{kind:<9}{trips:>6}{off_ns:>9.3f} ns{on_ns:>9.3f} ns{gain:>8.2f}".format(**one),
                          flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
