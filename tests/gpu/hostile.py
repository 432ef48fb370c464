#!/usr/bin/env python3
"""Every 32nd job is hostile; all others must give exactly what they give without hostile neighbors.

    tests/gpu/hostile.py --device cuda                     4,096 jobs, a million system calls and so on
    tests/gpu/hostile.py --device cpu --jobs 256 --count 2000

Hostile jobs (guests/hostile.c) run random words, follow wild pointers, loop for ever, overflow the stack, make a million
system calls, take all the memory they can get, write without end. Where the device is not the CPU, every job of the
mixed run, the hostile ones too, is also compared with the CPU device.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import corpus

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
MODES = ("words", "pointers", "endless", "deep", "calls", "hog", "flood", "many-words")
EVERY = 32
KEYS = ("stop", "exit_status", "signal", "instructions", "stdout", "stdout_base64", "stderr", "error")


def build(guests):
    """hostile and evaluate, unless they are there."""
    sources = {"hostile": HERE / "guests" / "hostile.c", "evaluate": REPO / "bench" / "guests" / "fleet" / "evaluate.c"}
    guests.mkdir(parents=True, exist_ok=True)
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    for name, source in sources.items():
        program = guests / name
        if program.exists() and (not compiler or program.stat().st_mtime >= source.stat().st_mtime):
            continue
        if not compiler:
            sys.exit(f"hostile.py: no {program}, and no compiler to make it (--guests DIR)")
        subprocess.run([compiler, "-std=gnu17", "-O2", "-static", "-s", "-w", str(source), "-o", str(program)], check=True)


def peaceful(folder, index):
    """A job that evaluates an expression of its own."""
    a, b, c, d = (1 + index * step % 97 for step in (31, 17, 57, 7))
    text = f"{20 + index % 30} (x * {a} + gcd(x * 7)) % {b} ? sqrt(x * x * {c}) - bits(x) : abs(-x) / {d}\n"
    (folder / f"{index}.in").write_text(text)
    return {"program": "evaluate", "args": [], "stdin": f"{index}.in"}


def hostile(index, count):
    number = index // EVERY
    return {"program": "hostile", "args": [MODES[number % len(MODES)], str(number), str(count)]}


def run(options, device, folder, entries):
    """Records in order; a fleet that does not come to its end ends the test."""
    engine = options.engine if device == options.device else "interp"  # what it is compared with
    more = ["--memory", options.memory, *corpus.engine_options(engine, device), *["--no-confine"] * options.no_confine]
    results, problems = corpus.run_fleet(
        options.kvrm, device, folder, entries, None, options.budget, options.timeout, options.lanes or options.jobs, more
    )
    if problems:
        sys.exit("\n".join(problems))
    return [{key: record.get(key) for key in KEYS} if record else None for record in results]


def complain(what, indices, entries, left, right):
    """Prints the first few that differ; returns how many do."""
    wrong = [index for index in indices if left[index] != right[index]]
    for index in wrong[:5]:
        print(f"FAIL {what}: job {index}: {corpus.command_line(entries[index])}\n  {left[index]}\n  {right[index]}")
    print(f"{what}: {len(indices) - len(wrong)} of {len(indices)} jobs equal")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--engine", choices=("interp", "jit"), help="kvrm's; default: kvrm's own")
    parser.add_argument("--jobs", type=int, default=4096)
    parser.add_argument("--lanes", type=int, default=0, help="jobs at a time; default: all")
    parser.add_argument("--count", type=int, default=1_000_000, help="system calls of a job that makes many")
    parser.add_argument("--memory", default="32M", help="of a job; what all the greedy ones take must fit on the device")
    parser.add_argument("--guests", type=pathlib.Path, default=REPO / "build" / "gpu-guests", help="where the programs are")
    parser.add_argument("--no-confine", action="store_true", help="let the kernel not confine kvrm")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a fleet may take; 0: no limit")
    options = parser.parse_args()
    options.kvrm = corpus.find(options.kvrm) or sys.exit(f"hostile.py: no kvrm at {options.kvrm} (say --kvrm PATH)")
    options.budget = 200_000 + 60 * options.count  # a job that loops for ever ends here
    build(options.guests)
    with tempfile.TemporaryDirectory(prefix="kvrm-hostile-") as work:
        folder = pathlib.Path(work)
        for name in ("hostile", "evaluate"):
            shutil.copy(options.guests / name, folder)
        alone = [peaceful(folder, index) for index in range(options.jobs)]
        mixed = [hostile(index, options.count) if index % EVERY == EVERY // 2 else job for index, job in enumerate(alone)]
        indices = [index for index, job in enumerate(mixed) if job is alone[index]]
        expected = run(options, options.device, folder, alone)
        actual = run(options, options.device, folder, mixed)
        failed = complain("with and without hostile neighbors", indices, mixed, actual, expected)
        if options.device != "cpu":
            on_cpu = run(options, "cpu", folder, mixed)
            failed += complain(f"{options.device} and cpu", range(options.jobs), mixed, actual, on_cpu)
    ends = sorted({f"{job['args'][0]}: {end['stop']} {end['exit_status'] or end['signal'] or ''}".strip()
                   for job, end in zip(mixed, actual) if job["args"] and end})
    print("hostile jobs ended with: " + "; ".join(ends))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
