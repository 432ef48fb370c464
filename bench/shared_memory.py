#!/usr/bin/env python3
"""What a memory that lanes share costs one lane: a loop of two loads and two stores, private and shared, both engines,
in one run.

    PYTHONPATH=build/python bench/shared_memory.py [--device cpu|cuda] [--rounds N] [--json FILE]
"""

import argparse
import json
import pathlib
import time

import kvrm

CODE, DATA = 0x10000, 0x40000
LOOPS = {"cpu": 5_000_000, "cuda": 500_000}
# ldr x1, [x0]; add x1, x1, #1; str x1, [x0]; ldr x2, [x0, #8]; add x1, x1, x2; str x1, [x0, #16];
# subs x3, x3, #1; b.ne; hlt
WORDS = (0xF9400001, 0x91000421, 0xF9000001, 0xF9400402, 0x8B020021, 0xF9000801, 0xF1000463, 0x54FFFF21, 0xD4400000)


def speed(device, engine, shared):
    """Instructions a second."""
    machine = kvrm.Machine(device=device, engine=engine, shared_memory=shared)
    machine.load_code(b"".join(word.to_bytes(4, "little") for word in WORDS), CODE)
    machine.map(DATA, 4096)
    machine.pc = CODE
    machine.set_x(0, DATA)
    machine.set_x(3, LOOPS[device])
    began = time.perf_counter()
    stop = machine.run()
    assert stop.reason == "halt"
    return stop.instructions / (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=sorted(LOOPS), default="cpu")
    parser.add_argument("--rounds", type=int, default=5, help="the best of so many counts")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file, too")
    options = parser.parse_args()
    kinds = [(engine, shared) for engine in ("interp", "jit") for shared in (False, True)]
    best = dict.fromkeys(kinds, 0.0)
    for _ in range(options.rounds):
        for kind in kinds:
            best[kind] = max(best[kind], speed(options.device, *kind))
    figures = []
    for engine, shared in kinds:
        ratio = best[engine, shared] / best[engine, False]
        ips = best[engine, shared]
        figures.append({"device": options.device, "engine": engine, "shared": shared, "ips": ips, "ratio": ratio})
        print(f"{engine:<8}{'shared' if shared else 'private':<9}{ips / 1e6:>9.0f} M/s{ratio:>7.2f} of private")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
