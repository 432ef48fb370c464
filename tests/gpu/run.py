#!/usr/bin/env python3
"""Runs a packed corpus (tests/gpu/pack.py) on a device: every job's stdout, status and instruction count as recorded.

    tests/gpu/run.py build/gpu-corpus.tar.xz --device cuda
    tests/gpu/run.py build/gpu-corpus.tar.xz --device cpu --only simd --share 1/10
    tests/gpu/run.py build/gpu-corpus.tar.xz --keep        leaves it unpacked below /tmp, for the commands it prints

All jobs go through `kvrm fleet --programs` in one process, those that see files in a second one; each lane has its own image.
Needs Python and kvrm alone. The exit status is 0 only if all is equal.
"""

import argparse
import json
import pathlib
import shutil
import sys
import tarfile
import zlib

import corpus

REPO = pathlib.Path(__file__).resolve().parents[2]


def fail(message):
    sys.exit(f"run.py: {message}")


def in_share(entry, share):
    part, whole = (int(number) for number in share.split("/"))
    return zlib.crc32(f"{entry['set']} {entry['name']}".encode()) % whole < part


def check(options, folder):
    lines = (folder / corpus.JOBS).read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    entries = [entry for entry in entries if options.only in f"{entry['set']}: {entry['name']}"]
    entries = [entry for entry in entries if in_share(entry, options.share)]
    if not entries:
        fail("no such job")
    entries.sort(key=lambda entry: -entry["instructions"])  # the longest first, or the others wait for them
    # A job that goes astray ends, too.
    budget = 2 * max(entry["instructions"] for entry in entries) + 1_000_000
    results, problems = corpus.run_jobs(
        options.kvrm, options.device, folder, entries, budget, options.timeout, options.lanes,
        corpus.engine_options(options.engine, options.device),
    )
    failed = []
    for entry, result in zip(entries, results):
        found = corpus.differences(entry, result)
        if not found:
            continue
        failed.append(entry)
        if len(failed) <= options.show:
            command = corpus.alone(options.kvrm, options.device, folder, entry, options.engine)
            print("\n  ".join([f"FAIL {entry['set']}: {entry['name']}", *found, command]))
    if len(failed) > options.show:
        print(f"... and {len(failed) - options.show} more (--show N)")
    for problem in problems:
        print(f"PROBLEM {problem}")
    print(corpus.summary(entries, failed))
    print(f"{len(entries) - len(failed)} passed, {len(failed)} failed on {options.device}")
    return 1 if failed or problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=pathlib.Path, help="the packed file")
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--engine", choices=("interp", "jit"), help="kvrm's; default: kvrm's own")
    parser.add_argument("--only", default="", help="only jobs whose 'SET: NAME' contains this")
    parser.add_argument("--share", default="1/1", help="a fixed choice of this share of the jobs")
    parser.add_argument("--lanes", type=int, default=0, help=f"jobs at a time; default: up to {corpus.OWN_WARP}")
    parser.add_argument("--timeout", type=float, default=480, help="seconds a fleet may take; 0: no limit")
    parser.add_argument("--show", type=int, default=10, help="failures that are told in full")
    parser.add_argument("--keep", action="store_true", help="leave the unpacked corpus where it is")
    options = parser.parse_args()
    options.kvrm = corpus.find(options.kvrm) or fail(f"no kvrm at {options.kvrm} (say --kvrm PATH)")
    folder = corpus.work_folder()
    try:
        with tarfile.open(options.corpus) as tar:
            tar.extractall(folder, filter="fully_trusted")
        return check(options, pathlib.Path(folder))
    finally:
        if not options.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
