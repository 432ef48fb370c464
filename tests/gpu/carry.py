#!/usr/bin/env python3
"""Puts everything a GPU machine needs into one folder: programs, corpora, guests, QEMU. check.py runs it there.

    tests/gpu/carry.py                  build/gpu-carry, everything
    tests/gpu/carry.py --only tools     after kvrm was built anew: the rest stays
    tests/gpu/carry.py --only bench     bench.tar.xz alone, for all parts of bench/gpu.py

    tools.tar.xz       kvrm, the oracle, lanes_check and loops_check (stripped), libfmt, the table, the guests of
                       bench/gpu.py and hostile.py, PTX of the same C (gpu.py's part native), QEMU
    bench.tar.xz       kvrm, libfmt, all guests of bench/gpu.py with the files they read, the PTX, QEMU; not among the parts
                       that are made unless told: tools.tar.xz is enough for the tests
    programs.tar.xz    tests/gpu/pack.py
    oracle-*.xz        cases with QEMU's outcomes: rows, sequences, sigill

The oracle's corpora are shares of what `make test` runs (ORACLE below): QEMU's outcomes hardly compress. The whole is run
by `oracle MODE --against cpu`, which needs no file.
"""

import argparse
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import hostile

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(REPO / "bench"))
import programs  # noqa: E402

GUESTS = REPO / "build" / "bench" / "arm64"
QEMU_PACKAGE = "qemu-user-static"
# Mode -> options: 4 words a row of 50; all written sequences and 300 random ones of 2,000; 60,000 words of 240,000.
ORACLE = {"rows": ["--words", "4"], "sequences": ["--sequences", "300"], "sigill": ["--samples", "60000"]}


def fail(message):
    sys.exit(f"carry.py: {message}")


def libraries(program):
    """Shared libraries that a plain Ubuntu has not."""
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    if "libLLVM" in told:
        fail(f"{program} needs LLVM")
    return re.findall(r"=> (/\S*lib(?:fmt|gtest)\S*) ", told)


def static_qemu(cache):
    """qemu-aarch64 without libraries, from Debian's package; None where that cannot be had."""
    program = cache / "qemu-aarch64"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            if subprocess.run(["apt-get", "download", "-q", QEMU_PACKAGE], cwd=work).returncode:
                print(f"carry.py: no package {QEMU_PACKAGE}; bench/gpu.py will have no QEMU to compare with")
                return None
            package = next(pathlib.Path(work).glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", str(package), work], check=True)
            shutil.copy(pathlib.Path(work, "usr/bin/qemu-aarch64-static"), program)
    return program


def native_programs():
    """The benchmark's programs for one GPU thread; None where clang cannot make them."""
    if not shutil.which("clang-19"):
        print("carry.py: no clang-19; bench/gpu.py will have no native programs to compare with")
        return None
    if subprocess.run(["make", "-s", "-C", str(REPO / "bench"), "native-gpu"]).returncode:
        fail("the benchmark's programs for one GPU thread do not build")
    return REPO / "build" / "bench" / "native-gpu"


def pack(folder, out, preset=2):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": 1 << 27}]
    with lzma.open(out, "wb", filters=filters) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name)


def copy_guests(target, *patterns):
    """The benchmark's guests below its folder, stripped."""
    for path in [path for pattern in patterns for path in GUESTS.glob(pattern)]:
        if path.is_file() and path.suffix != ".log":
            copy = target / path.relative_to(GUESTS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["aarch64-linux-gnu-strip", "-o", str(copy), str(path)], check=True)


def make_guests(*targets):
    if subprocess.run(["make", "-s", "-C", str(REPO / "bench"), *targets]).returncode:
        fail("the benchmark's guests do not build")


def make_bench(options, out):
    """Everything that bench/gpu.py needs, and nothing else."""
    make_guests("all", "real", "jobs", "memory")
    packages = {program.package for program in programs.every_program() if program.package}
    there = programs.fetched(packages)
    if missing := packages - there:
        print(f"carry.py: no packages {', '.join(sorted(missing))}; bench/gpu.py will leave their programs out")
    else:
        make_guests("real-packaged", "jobs-packaged")
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        kvrm = options.build / "kvrm"
        subprocess.run(["strip", "-o", str(folder / "kvrm"), str(kvrm)], check=True)
        for library in libraries(kvrm):
            shutil.copy(library, folder)
        copy_guests(folder / "bench", "*", "lockstep/*", "fleet/*", "numeric/*", "real/*", "jobs/*", "memory/*")
        for program in (programs.BASH, programs.BUSYBOX):
            if program.exists():
                (folder / "bench" / "packaged").mkdir(exist_ok=True)
                shutil.copy(program, folder / "bench" / "packaged")
        # The large text is written there: that takes a second, and it would be most of what is carried.
        programs.write_files(folder / "files", {"gzip.txt": programs.TEXT_BYTES["gzip.txt"]})
        if ptx := native_programs():
            shutil.copytree(ptx, folder / "native-gpu")
        if qemu := static_qemu(REPO / "build" / "gpu-qemu"):
            shutil.copy(qemu, folder)
            subprocess.run(["strip", str(folder / qemu.name)], check=True)
        show_sizes(folder)
        pack(folder, out / "bench.tar.xz", preset=9)


def show_sizes(folder):
    """What of a folder takes how much before it is packed."""
    for path in sorted(folder.iterdir()):
        size = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
        print(f"{size / (1 << 20):7.1f} MiB  {path.name}")


def make_tools(options, out):
    make_guests("lanes")
    hostile.build(REPO / "build" / "gpu-guests")
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        tests = options.build / "tests"
        checks = [tests / "gpu" / name for name in ("lanes_check", "loops_check")]
        for program in (options.build / "kvrm", tests / "oracle" / "oracle", *checks):
            subprocess.run(["strip", "-o", str(folder / program.name), str(program)], check=True)
            for library in libraries(program):
                shutil.copy(library, folder)
        shutil.copy(options.build / "generated" / "isa" / "a64.json", folder)
        shutil.copytree(REPO / "build" / "gpu-guests", folder / "guests")
        copy_guests(folder / "bench", "*", "lockstep/*", "fleet/*")
        if ptx := native_programs():
            shutil.copytree(ptx, folder / "native-gpu")
        if qemu := static_qemu(REPO / "build" / "gpu-qemu"):
            shutil.copy(qemu, folder)
        pack(folder, out / "tools.tar.xz")


def make_programs(options, out):
    command = [str(HERE / "pack.py"), "--kvrm", str(options.build / "kvrm"), "--out", str(out / "programs.tar.xz")]
    command += ["--levels", options.levels]
    subprocess.run(command, check=True)


def make_oracle(options, out):
    for mode, size in ORACLE.items():
        plain = out / f"oracle-{mode}"
        command = [str(options.build / "tests" / "oracle" / "oracle"), mode, *size, "--dump-corpus", str(plain)]
        subprocess.run(command, check=True)
        (out / f"oracle-{mode}.xz").write_bytes(lzma.compress(plain.read_bytes(), preset=6))
        plain.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=REPO / "build", help="where they were built")
    parser.add_argument("--out", type=pathlib.Path, default=REPO / "build" / "gpu-carry")
    parser.add_argument("--only", default="tools,oracle,programs", help="some of tools, oracle, programs, bench")
    parser.add_argument("--levels", default="O2", help="of GCC's tests among the programs; O0,O2,O3 is everything")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    parts = {"tools": make_tools, "oracle": make_oracle, "programs": make_programs, "bench": make_bench}
    for part in options.only.split(","):
        parts[part](options, options.out)
    for path in sorted(options.out.iterdir()):
        print(f"{os.path.getsize(path) / (1 << 20):7.1f} MiB  {path}")


if __name__ == "__main__":
    main()
