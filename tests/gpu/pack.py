#!/usr/bin/env python3
"""Packs programs and what QEMU made of them into one file, for a machine with a GPU and without compilers and QEMU.

    tests/gpu/pack.py                                    build/gpu-corpus.tar.xz
    tests/gpu/pack.py --out FILE --simd-share 1/4 --torture-share 1/4     a smaller one

What is in it (tests/gpu/README.md has the list and the sizes): gcc.c-torture (general and fp), gcc.target/aarch64's run tests,
both at -O2 (--levels) or the level a test asks for, busybox scenarios, our own conformance guests, the benchmark's lockstep guests at
a small size. QEMU gives stdout and status of every job; the instruction count is this machine's, on the CPU device. A job
whose outcome on the CPU device is not QEMU's ends the packing: such a corpus would be wrong.

Shares are fixed choices by name: the same on every machine.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import io
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "conformance"))

import busybox_scenarios
import common
import packaged
import programs
import reference
import simd
import torture

import corpus

STRIP = "aarch64-linux-gnu-strip"
# What these print depends on the folder's file system or on who runs them.
NOT_PORTABLE = {"find", "find -size", "grep -r", "stat", "ls -l"}
# Programs that run longer are left out: on a GPU a lane among strangers is slow.
MOST_INSTRUCTIONS = 100_000_000
LOCKSTEP = REPO / "build" / "bench" / "arm64" / "lockstep"


class Job:
    def __init__(self, part, name, program, args=(), stdin=b"", root=None, outcome=None):
        self.part, self.name, self.program = part, name, pathlib.Path(program)
        self.args, self.stdin, self.root = list(args), stdin, root
        self.outcome = outcome  # QEMU's, if it is known


def judged(part, cases, timeout):
    """Jobs of a GCC suite's cases that build and exit with 0 under QEMU."""
    cases = [case for case in cases if not case.skip]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(lambda case: reference.reference(case, timeout), cases)
        for case, verdict in zip(cases, verdicts):
            if not verdict["skip"]:
                yield Job(part, case.label, case.program, outcome=("exit", 0, bytes.fromhex(verdict["stdout"])))


def torture_jobs(share, levels, timeout):
    reference.unpack(torture.SUITE.parent, 4, ["gcc.c-torture/execute/*"])
    sources = [path for folder in ("", "ieee", "builtins") for path in sorted((torture.SUITE / folder).glob("*.c"))]
    sources = [path for path in sources if not path.stem.endswith("-lib") and reference.in_share(path.stem, share)]
    for kind in ("general", "fp"):
        libraries = [str(torture.build_runtime(torture.SETS[kind])), "-lgcc"]
        cases = [torture.make_case(kind, path, level, libraries) for level in levels for path in sources]
        yield from judged(f"torture-{kind}", cases, timeout)


def simd_jobs(share, levels, timeout):
    reference.unpack(simd.SUITE.parent, 4, ["gcc.target/aarch64/*"])
    cases = [
        case
        for folder in simd.FOLDERS
        for source in sorted((simd.SUITE / folder).glob("*.c"))
        for case in simd.make_cases(folder, source)
        if case.stem.parent.name in ("own", *levels) and reference.in_share(case.label, share)
    ]
    yield from judged("simd", cases, timeout)


def busybox_jobs():
    """Scenarios that change no file: they share one folder."""
    fetch = [str(REPO / "tools" / "arm64_packages.sh"), "--root", str(packaged.SYSROOT), "busybox-static"]
    if subprocess.run(fetch).returncode:
        print("left out, no arm64 package from this host's package sources: busybox-static")
        return
    for name, arguments, stdin in busybox_scenarios.SCENARIOS:
        has_newline = any("\n" in word for word in arguments)  # a line of --programs cannot carry it
        if name not in NOT_PORTABLE and not has_newline:
            yield Job("busybox", name, packaged.SYSROOT / "bin" / "busybox", arguments, stdin, root="shared")


def guest_jobs():
    for name, guest, style, arguments, stdin in programs.CASES:
        root = "own" if guest in ("files", "heap") else None  # these write files
        yield Job("guests", name, programs.build(guest, style), arguments, stdin, root)


def bench_jobs():
    if subprocess.run(["make", "-s", "-C", str(REPO / "bench"), "all"]).returncode:
        common.fail("the benchmark's guests do not build")
    yield Job("bench", "hello", LOCKSTEP.parent / "hello")
    for program in sorted(LOCKSTEP.glob("*")):
        for seed in ("1", "2"):
            yield Job("bench", f"{program.name} {seed}", program, [], f"{seed} 1\n".encode())


def qemu_outcome(job, timeout):
    """(stop, status, stdout) under QEMU; None when the job is too slow or changed files that it shares."""
    if job.outcome:
        return job.outcome
    with tempfile.TemporaryDirectory(prefix="kvrm-pack-") as folder:
        root = pathlib.Path(folder)
        if job.root == "shared":
            packaged.fill(root, busybox_scenarios.FILES)
        before = common.tree(root)
        command = common.QEMU + [str(job.program), *job.args]
        try:
            done = subprocess.run(command, input=job.stdin, capture_output=True, timeout=timeout, cwd=root, env={})
        except subprocess.TimeoutExpired:
            return None
        if job.root != "own" and common.tree(root) != before:
            return None
    if done.returncode < 0:
        return "signal", -done.returncode, done.stdout
    return "exit", done.returncode, done.stdout


class Packer:
    """Lays a corpus out in a folder."""

    def __init__(self, folder):
        self.folder, self.entries = folder, []
        self.known = {}  # digest of a program -> its name
        self.seen = set()  # jobs

    def program(self, path):
        """The program's name in the corpus: stripped, and once for equal ones."""
        stripped = self.folder / "stripped"
        subprocess.run([STRIP, "-o", str(stripped), str(path)], check=True)
        content = stripped.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self.known:
            # busybox reads its own name.
            name = f"programs/{len(self.known):04}/{path.name.removesuffix('.elf')}"
            (self.folder / name).parent.mkdir(parents=True)
            stripped.rename(self.folder / name)
            self.known[digest] = name
        stripped.unlink(missing_ok=True)
        return self.known[digest]

    def add(self, job, outcome):
        stop, status, stdout = outcome
        entry = {"set": job.part, "name": job.name, "program": self.program(job.program), "args": job.args}
        if job.stdin:
            entry["stdin"] = f"stdin/{hashlib.sha256(job.stdin).hexdigest()[:16]}"
            path = self.folder / entry["stdin"]
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(job.stdin)
        if job.root:
            entry["root"] = job.root
        entry |= {"stop": stop, "status": status} | corpus.stored(stdout)
        key = (entry["program"], *job.args, entry.get("stdin"), job.root)
        if key not in self.seen:
            self.seen.add(key)
            self.entries.append(entry)


def count_instructions(packer, options):
    """Runs everything on the CPU device, notes the counts; complains about what is not QEMU's."""
    results, problems = corpus.run_jobs(options.kvrm, "cpu", packer.folder, packer.entries, MOST_INSTRUCTIONS, 0)
    problems = list(problems)
    kept = []
    for entry, result in zip(packer.entries, results):
        if result is None:
            continue  # told among the problems
        if result["stop"] == "budget":
            print(f"left out, longer than {MOST_INSTRUCTIONS} instructions: {entry['set']}: {entry['name']}")
            continue
        entry["instructions"] = result["instructions"]
        problems += [f"{entry['set']}: {entry['name']}: {line}" for line in corpus.differences(entry, result)]
        kept.append(entry)
    packer.entries = kept
    if problems:
        common.fail("the CPU device does not do what QEMU does:\n" + "\n".join(problems))


def archive(folder, out, preset):
    """Files in a fixed order with fixed owners. The dictionary is large enough for programs to share their C library."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": 1 << 28}]

    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = packaged.MTIME
        return info

    with lzma.open(out, "wb", format=lzma.FORMAT_XZ, filters=filters) as stream:
        with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar:
            for path in sorted(folder.rglob("*")):
                tar.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary; counts instructions")
    parser.add_argument("--out", default=str(REPO / "build" / "gpu-corpus.tar.xz"))
    parser.add_argument("--torture-share", default="1/1", help="of gcc.c-torture")
    parser.add_argument("--simd-share", default="1/1", help="of gcc.target/aarch64; these are the large ones")
    parser.add_argument("--levels", default="O2", help="of GCC's tests; O0,O2,O3 has everything the conformance suites have")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a job may take under QEMU")
    parser.add_argument("--preset", type=int, default=1, help="of xz; 6 takes five times as long for a tenth")
    options = parser.parse_args()
    options.kvrm = corpus.find(options.kvrm) or common.fail(f"no kvrm at {options.kvrm} (build it, or say --kvrm PATH)")
    jobs = [*guest_jobs(), *bench_jobs(), *busybox_jobs()]
    levels = options.levels.split(",")
    jobs += torture_jobs(options.torture_share, levels, options.timeout)
    jobs += simd_jobs(options.simd_share, levels, options.timeout)
    print(f"pack: {len(jobs)} jobs under QEMU", file=sys.stderr, flush=True)
    with contextlib.ExitStack() as stack:
        folder = corpus.work_folder()
        stack.callback(shutil.rmtree, folder)
        packer = Packer(pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = pool.map(lambda job: qemu_outcome(job, options.timeout), jobs)
            for job, outcome in zip(jobs, outcomes):
                if outcome:
                    packer.add(job, outcome)
                else:
                    print(f"left out, too slow under QEMU or writes files: {job.part}: {job.name}")
        (packer.folder / "root").mkdir()
        packaged.fill(packer.folder / "root", busybox_scenarios.FILES)
        print(f"pack: {len(packer.entries)} jobs on the CPU device", file=sys.stderr, flush=True)
        count_instructions(packer, options)
        # Jobs of about the same length are neighbors: lanes of one group then end at about the same time.
        packer.entries.sort(key=lambda entry: -entry["instructions"])
        lines = [json.dumps(entry) + "\n" for entry in packer.entries]
        (packer.folder / corpus.JOBS).write_text("".join(lines))
        archive(packer.folder, options.out, options.preset)
    print(corpus.summary(packer.entries))
    print(f"{options.out}: {os.path.getsize(options.out) / (1 << 20):.1f} MiB")


if __name__ == "__main__":
    main()
