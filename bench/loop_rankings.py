#!/usr/bin/env python3
"""Programs with each order of proofs (kvrm run --loop-ranking): processor milliseconds, the least of several runs that
alternate.

    bench/loop_rankings.py [--kvrm build/kvrm] [--engines interp auto] [--only NAMES] [--repeat N] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile

import programs

ROOT = pathlib.Path(__file__).resolve().parents[1]
RANKINGS = ("hot", "tree", "network")
NAMES = "argmin,lua,zstd,sqlite-memory,mujs,words"


def seconds(command, home):
    """User and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=programs.FILES,
                          env={**os.environ, "HOME": str(home)})  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, default=ROOT / "build/kvrm")
    parser.add_argument("--engines", nargs="+", choices=["interp", "auto"], default=["interp", "auto"])
    parser.add_argument("--only", default=NAMES, help="programs of bench/programs.py, with commas; small sizes")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file, too")
    options = parser.parse_args()
    wanted = [one for one in programs.every_program(small=True) if one.name in options.only.split(",")]
    figures = []
    with tempfile.TemporaryDirectory() as home:
        for engine in options.engines:
            for program in programs.prepare(wanted):
                best, printed = {}, set()
                for ranking in RANKINGS * options.repeat:
                    more = ["--device", "cpu", "--engine", engine, "--accelerate", "on", "--loop-ranking", ranking]
                    taken, text = seconds(program.kvrm(options.kvrm.resolve(), more), home)
                    best[ranking] = min(best.get(ranking, float("inf")), taken)
                    printed.add(text)
                assert len(printed) == 1, f"{program.name}: its output depends on the ranking"
                figures.append({"engine": engine, "program": program.name, **best})
                shown = "".join(f"{1e3 * best[ranking]:9.0f}" for ranking in RANKINGS)
                print(f"{engine:<8}{program.name:<16}{shown}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
