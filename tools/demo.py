#!/usr/bin/env python3
"""The demo: one C program on every engine that is here, then a fleet of a thousand inputs.

    tools/demo.py build/kvrm [--size N] [--inputs N]

Needs aarch64-linux-gnu-gcc. qemu-aarch64 and a GPU take part where they are found.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "guests" / "primes.c"


def short_number(value):
    for unit in ("", " k", " M", " G"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g} T"


def compile_guest(folder):
    guest = folder / SOURCE.stem
    command = ["aarch64-linux-gnu-gcc", "-O2", "-static", str(SOURCE), "-o", str(guest)]
    print("$ " + " ".join(["aarch64-linux-gnu-gcc -O2 -static", "examples/guests/primes.c"]), flush=True)
    subprocess.run(command, check=True)
    return guest


def run(command):
    """(wall-clock seconds, stdout, stderr) of a command that must succeed."""
    start = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"demo: {' '.join(map(str, command))}\n{done.stderr}exit status {done.returncode}")
    return time.monotonic() - start, done.stdout, done.stderr


def has_gpu(kvrm):
    devices = json.loads(run([kvrm, "info", "--json"])[1])["devices"]
    return any(device["name"] == "cuda" and device["available"] for device in devices)


def contenders(kvrm, guest):
    """(what runs the guest, its command)."""
    run_cpu = [kvrm, "run", "--device", "cpu"]
    yield "interpreter", [*run_cpu, "--engine", "interp", guest]
    yield "translator", [*run_cpu, "--engine", "jit", guest]
    yield "neural dispatch", [*run_cpu, "--dispatch", "neural", guest]
    if has_gpu(kvrm):
        yield "GPU, one lane", [kvrm, "run", "--device", "cuda", guest]
    if shutil.which("qemu-aarch64"):
        yield "qemu-aarch64", ["qemu-aarch64", guest]


def compare(kvrm, guest, size):
    command = [kvrm, "run", "--device", "cpu", "--stats=json", guest, size]
    _, expected, statistics = run(command)
    instructions = json.loads(statistics.splitlines()[-1])["instructions"]
    print(f"$ kvrm run primes {size}\n{expected}")
    print(f"{'the same ' + short_number(instructions) + ' instructions on':<32}{'time':>10}{'rate':>14}")
    for name, command in contenders(kvrm, guest):
        run([*command, 10])  # loads or compiles what is made once
        seconds, output, _ = run([*command, size])
        if output != expected:
            sys.exit(f"demo: {name} printed {output!r} instead of {expected!r}")
        print(f"  {name:<30}{seconds:>8.2f} s{short_number(instructions / seconds) + '/s':>14}", flush=True)


def fleet(kvrm, guest, folder, inputs):
    arguments, results = folder / "arguments.txt", folder / "results.jsonl"
    arguments.write_text("".join(f"{1000 * (i + 1)}\n" for i in range(inputs)))
    results.unlink(missing_ok=True)
    print(f"\n$ kvrm fleet --args-file arguments.txt --out results.jsonl primes    # {inputs:,} inputs", flush=True)
    command = [kvrm, "fleet", "--progress", "--args-file", arguments, "--out", results, guest]
    subprocess.run(list(map(str, command)), check=True)
    records = [json.loads(line) for line in results.read_text().splitlines()]
    print("  " + max((r for r in records if "index" in r), key=lambda r: r["index"])["stdout"].strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kvrm", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=20_000_000, help="the largest number that is tried")
    parser.add_argument("--inputs", type=int, default=1000, help="of the fleet")
    arguments = parser.parse_args()
    kvrm = arguments.kvrm.resolve()
    folder = kvrm.parent / "demo"
    folder.mkdir(exist_ok=True)
    guest = compile_guest(folder)
    compare(kvrm, guest, arguments.size)
    fleet(kvrm, guest, folder, arguments.inputs)
    print(f"\nThe program is {arguments.kvrm}; try: {arguments.kvrm} run --help")


if __name__ == "__main__":
    main()
