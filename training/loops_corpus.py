#!/usr/bin/env python3
"""Make the corpus of the loop detector: loops of static libraries, and of programs that run.

    training/loops_corpus.py [--kvrm build/kvrm] [--out build/loops] [--symbols build/symbols]

training/loops_plan.json says which libraries and programs there are and on which side of the split each is; it was
fixed before the first training. Libraries are Debian's, as training/symbols_corpus.py fetches them, which this calls.
Programs for training are compiled here (training/loop_guests), the evaluated ones are those of bench/programs.py.
The prover itself gives the labels:

    OUT/static/RELEASE-LIBRARY.jsonl   kvrm loops --static: words, and what the prover says
    OUT/runs/PROGRAM.jsonl             kvrm loops --profile: the same with counts, registers and trips of a run
    OUT/plan.json

What is there already is not made again.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PLAN = HERE / "loops_plan.json"
GUESTS = HERE / "loop_guests"
MOST_INSTRUCTIONS = "6e7"
sys.path.insert(0, str(ROOT / "bench"))


def ask(command, to, folder=None):
    """kvrm's lines go to a file, which is there only if all went well."""
    partial = to.with_suffix(".partial")
    with partial.open("wb") as out:
        done = subprocess.run(["nice", *map(str, command)], stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              cwd=folder)
    if done.returncode:
        print(f"{to.stem}: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}", flush=True)
        return
    partial.rename(to)
    with to.open() as lines:
        loops = [json.loads(line) for line in lines]
    print(f"{to.stem}: {len(loops)} loops, {sum(loop['proved'] for loop in loops)} proved", flush=True)


def static_work(plan, arguments):
    libraries = sorted({name for names in plan["libraries"].values() for name in names})
    subprocess.run([HERE / "symbols_corpus.py", "--out", arguments.symbols, "--only", ",".join(libraries)], check=True)
    for release in plan["releases"]:
        for library in libraries:
            files = sorted((arguments.symbols / release / library).glob("*.a"))
            to = arguments.out / "static" / f"{release}-{library}.jsonl"
            if files and not to.exists():
                yield [arguments.kvrm, "loops", "--static", *files], to


def build(name, plan, folder):
    """A training program: SOURCE-COMPILER-LEVEL."""
    source, compiler, level = name.rsplit("-", 2)
    to = folder / name
    if to.exists():
        return to
    sysroot = ROOT / "build" / "arm64-sysroot"
    if source in plan["packages"]:
        subprocess.run([ROOT / "tools" / "arm64_packages.sh", "--root", sysroot, plan["packages"][source]], check=True)
    start = ["aarch64-linux-gnu-gcc"] if compiler == "gcc" else ["clang", "--target=aarch64-linux-gnu"]
    include, libraries = sysroot / "usr/include", sysroot / "usr/lib/aarch64-linux-gnu"
    with_library = [] if source not in plan["links"] else [
        f"-I{include}/aarch64-linux-gnu", f"-idirafter{include}", f"-DLIBRARY_{source.upper()}",
        *(str(libraries / f"lib{one}.a") for one in plan["links"][source]), "-lm", "-lpthread"]  # fmt: skip
    file = GUESTS / ("kernels.c" if source == "kernels" else "libraries.c")
    command = [*start, f"-O{level}", "-static", "-w", "-o", to, file, *with_library]
    if subprocess.run(command).returncode:
        print(f"{name}: it does not build", flush=True)
        return None
    return to


def run_work(plan, arguments):
    import programs

    options = [arguments.kvrm, "loops", "--profile", "--max-instructions", MOST_INSTRUCTIONS]
    folder = arguments.out / "guests"
    folder.mkdir(parents=True, exist_ok=True)
    for name in plan["programs"]["training"]:
        to = arguments.out / "runs" / f"{name}.jsonl"
        guest = None if to.exists() else build(name, plan, folder)
        if guest:
            yield [*options, guest], to, None
    wanted = [one for one in programs.every_program(small=True) if one.name in plan["programs"]["evaluated"]]
    for one in programs.prepare(wanted):
        to = arguments.out / "runs" / f"{one.name}.jsonl"
        granted = ["--root", programs.FILES] if one.granted else []
        if not to.exists():
            yield [*options, *granted, *one.guest], to, programs.FILES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, default=ROOT / "build" / "kvrm")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "loops")
    parser.add_argument("--symbols", type=pathlib.Path, default=ROOT / "build" / "symbols")
    parser.add_argument("--only", choices=["static", "runs"], help="a part of it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    for name in ("kvrm", "out", "symbols"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    plan = json.loads(PLAN.read_text())
    for part in ("static", "runs"):
        (arguments.out / part).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PLAN, arguments.out / "plan.json")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = []
        if arguments.only != "static":
            waiting += [pool.submit(ask, *work) for work in run_work(plan, arguments)]
        if arguments.only != "runs":
            waiting += [pool.submit(ask, *work) for work in static_work(plan, arguments)]
        for one in waiting:
            one.result()


if __name__ == "__main__":
    main()
