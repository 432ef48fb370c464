#!/usr/bin/env python3
"""The integer set for one GPU thread, as far as it can be tested without a GPU.

    native_gpu.py --out DIR [--ptxas PTXAS]

Every guest becomes PTX with one entry that calls nothing from outside, and ptxas takes it. With the same small C
library on the host a guest prints what the usual native build prints.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = "crc32 sha256 quicksort sieve matmul list strsearch dhry json".split()


def fail(message):
    sys.exit(f"native_gpu: {message}")


def build(out):
    folder = os.path.relpath(out, REPO / "bench")  # make cannot have spaces in a name, the folders above may
    targets = ["native-gpu", "native-gpu-host", *(f"{folder}/native/{program}" for program in PROGRAMS)]
    subprocess.run(["make", "-s", "-C", str(REPO / "bench"), f"OUT={folder}", *targets], check=True)


def verify_ptx(path, ptxas):
    text = path.read_text()
    if re.findall(r"\.entry (\w+)", text) != ["native_run"] or ".extern" in text:
        fail(f"{path}: not one entry, or something is missing")
    if ptxas:
        subprocess.run([ptxas, "-arch=sm_90", "-o", f"{path}.cubin", str(path)], check=True)


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for what is built")
    parser.add_argument("--ptxas", help="NVIDIA's assembler")
    options = parser.parse_args()
    out = options.out.resolve()
    build(out)
    for program in PROGRAMS:
        verify_ptx(out / "native-gpu" / f"{program}.ptx", options.ptxas)
        arguments = ["4096"] if program == "list" else []
        usual, small = (run(out / kind / program, *arguments) for kind in ("native", "native-gpu-host"))
        if usual != small or usual[0]:
            fail(f"{program}: {small}; the usual build: {usual}")
    if run(out / "native-gpu-host" / "list", "100000000") != (1, b"out of memory\n"):
        fail("list does not say that its memory is too small")
    assembled = "assembled" if options.ptxas else "not assembled: there is no ptxas here"
    print(f"native_gpu: {len(PROGRAMS)} programs, outputs equal, PTX {assembled}")


if __name__ == "__main__":
    main()
