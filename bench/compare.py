#!/usr/bin/env python3
"""Two builds of kvrm, or two sets of options, on the same programs in alternating runs.

    bench/compare.py --a OLD/kvrm --b NEW/kvrm [--rounds 10] [--set integer] [--only NAME] [--json FILE]
    bench/compare.py --a build/kvrm --b build/kvrm --b-options "--dispatch neural"
    bench/compare.py --a kvrm --b kvrm --b-options "--dispatch neural" --guests DIR --instructions 5e6

Prints, per program, the median of B's time over A's in the rounds, and the geometric mean: 1.02 means B is 2 % slower.
With --guests nothing is built and only the guests in that folder are run, so it works on a machine that has Python and
kvrm alone.
"""

import argparse
import json
import math
import os
import pathlib
import shlex
import statistics

import harness
import programs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--a", required=True, help="the first kvrm binary")
    parser.add_argument("--b", required=True, help="the second")
    parser.add_argument("--a-options", default="", help="options for the first's kvrm run")
    parser.add_argument("--b-options", default="", help="and for the second's")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--set", default="integer", help=f"some of {','.join(programs.SETS)}, or all")
    parser.add_argument("--only", default="", help="only the programs whose name contains this")
    parser.add_argument("--guests", help="run the guests in this folder; build and fetch nothing")
    parser.add_argument("--instructions", type=lambda text: int(float(text)), help="stop each program after so many")
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()

    if options.guests:
        programs.GUESTS, programs.FILES = pathlib.Path(options.guests).absolute(), pathlib.Path.cwd()
    chosen = programs.chosen(programs.chosen_sets(options.set), options.only)
    if options.guests:
        chosen = [program for program in chosen if program.package is None]
    else:
        chosen = programs.prepare(chosen)
    stop = ["--max-instructions", str(options.instructions)] if options.instructions else []
    sides = [
        (os.path.abspath(kvrm), shlex.split(extra) + stop)
        for kvrm, extra in ((options.a, options.a_options), (options.b, options.b_options))
    ]

    ratios = {}
    for program in chosen:
        name, times = program.name, ([], [])
        for round_number in range(options.rounds):
            harness.note(f"{name}: round {round_number + 1} of {options.rounds}")
            for side in (0, 1) if round_number % 2 == 0 else (1, 0):
                done = harness.measured(program.kvrm(*sides[side]), programs.FILES, may_stop=bool(stop))
                times[side].append(done.wall)
        # Runs next to each other are compared: a machine that others use changes its speed all the time.
        ratios[name] = statistics.median(b / a for a, b in zip(*times))
        print(f"{name:20} {ratios[name]:.4f}", flush=True)
    if not ratios:
        harness.fail("none of the programs can run here")
    mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
    print(f"geometric mean B/A   {mean:.4f} over {len(ratios)} programs, {options.rounds} alternating rounds")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"a": options.a, "b": options.b, "ratios": ratios, "mean": mean}, file, indent=1)


if __name__ == "__main__":
    main()
