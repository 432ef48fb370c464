#!/usr/bin/env python3
"""Jobs that take too long are stopped; all others must give exactly what they give on the CPU device.

    tests/gpu/timeout.py --device cuda                  1,024 jobs, every 16th of them without end
    tests/gpu/timeout.py --device cpu --jobs 64

Jobs without end run a loop, write or make system calls for ever, or sleep on the host's clock. Fewer lanes than jobs: a
lane whose job was stopped must take another one.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import corpus
import hostile

REPO = pathlib.Path(__file__).resolve().parents[2]
MODES = ("endless", "sleep", "flood", "calls")
EVERY = 16
FOR_EVER = str(10**12)


def run(options, folder, entries, device, more):
    """Records in order, and the statistics."""
    listed, out = folder / "programs", folder / f"{device}.jsonl"
    listed.write_text("".join(corpus.command_line(entry) + "\n" for entry in entries))
    command = [options.kvrm, "fleet", "--device", device, "--programs", str(listed), "--out", str(out), "--clock", "host"]
    command += ["--memory", "32M", "--max-output", "1M", "--stats=json", *more]
    done = subprocess.run(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=options.limit, cwd=folder)
    if done.returncode:
        sys.exit(f"exit status {done.returncode}: {' '.join(command)}\n{done.stderr.decode(errors='replace')}")
    return corpus.read_records(out, len(entries)), json.loads(done.stderr.decode().splitlines()[-1])


def problem_of(entry, record, right):
    """What is wrong with a record, or nothing."""
    if record is None:
        return "no record"
    if right is not None:
        differs = [key for key in hostile.KEYS if record.get(key) != right.get(key)]
        return f"{differs[0]}: {record.get(differs[0])!r}, on the CPU device {right.get(differs[0])!r}" if differs else None
    if record.get("stop") != "timeout" or "signal" in record or "error" in record:
        return f"ended with {record.get('stop')} {record.get('signal', '')} {record.get('error', '')}"
    if record["instructions"] < 100:
        return f"{record['instructions']} instructions"
    if entry["args"][0] == "flood" and set(record["stdout"]) != {"x"}:
        return "other output than was written"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--engine", choices=("interp", "jit"), help="kvrm's; default: kvrm's own")
    parser.add_argument("--jobs", type=int, default=1024)
    parser.add_argument("--lanes", type=int, default=0, help="jobs at a time; default: few, which take several each")
    parser.add_argument("--seconds", type=float, default=1, help="the time limit; other jobs must not need it")
    parser.add_argument("--guests", type=pathlib.Path, default=REPO / "build" / "gpu-guests", help="where the programs are")
    parser.add_argument("--limit", type=float, default=300, help="seconds a fleet may take")
    options = parser.parse_args()
    options.kvrm = corpus.find(options.kvrm) or sys.exit(f"timeout.py: no kvrm at {options.kvrm} (say --kvrm PATH)")
    hostile.build(options.guests)
    with tempfile.TemporaryDirectory(prefix="kvrm-timeout-") as work:
        folder = pathlib.Path(work)
        for name in ("hostile", "evaluate"):
            shutil.copy(options.guests / name, folder)
        jobs = [hostile.peaceful(folder, index) for index in range(options.jobs)]
        indices = range(EVERY // 2, options.jobs, EVERY)
        for number, index in enumerate(indices):
            jobs[index] = {"program": "hostile", "args": [MODES[number % len(MODES)], str(number), FOR_EVER]}
        quiet = [job for index, job in enumerate(jobs) if index not in indices]
        right = iter(run(options, folder, quiet, "cpu", ["--engine", "interp"])[0])
        expected = [None if index in indices else next(right) for index in range(options.jobs)]
        (folder / "cpu.jsonl").unlink()
        lanes = options.lanes or max(1, options.jobs // 32)
        more = ["--timeout", str(options.seconds), "--lanes", str(lanes), *corpus.engine_options(options.engine, options.device)]
        records, counted = run(options, folder, jobs, options.device, more)
    wrong = [(index, problem_of(*three)) for index, three in enumerate(zip(jobs, records, expected)) if problem_of(*three)]
    for index, problem in wrong[:10]:
        print(f"FAIL job {index}: {corpus.command_line(jobs[index])}\n  {problem}")
    print(f"{options.jobs - len(wrong)} of {options.jobs} jobs right, {len(indices)} of them without end, {lanes} lanes; "
          f"{counted['seconds']:.1f} s, {counted['launches']} launches; {counted['endings']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
