#!/usr/bin/env python3
"""Everything that the label `gpu` runs, in one command, from the folder that carry.py made.

    tests/gpu/check.py --device cuda                              build/gpu-carry
    tests/gpu/check.py --device cuda --parts programs,hostile     parts of it
    tests/gpu/check.py --parts oracle-corpus --dispatch neural    the network routes every word of the oracle's cases
    tests/gpu/check.py --engine jit                               all of it with translated code
    tests/gpu/check.py --device cpu --small                       a trial without a GPU
    tests/gpu/check.py --unpack DIR --parts none                  only unpack the tools, or bench.tar.xz, for bench/gpu.py

    programs          every packed program: stdout, status and instruction count as recorded (run.py)
    oracle-corpus     cases with QEMU's outcomes, each on a lane of its own
    oracle            all cases of the oracle's default runs, compared with the CPU device in everything; with jit a share
    hostile           hostile jobs among others (hostile.py)
    timeout           jobs that take too long (timeout.py)
    lanes             lanes that share one memory, starts and cancels (lanes_check.cpp)
    loops             generated loops with bulk steps against the CPU's interpreter (loops_check.cpp)
    slices            lanes in launches of 2 ms

Needs Python alone. The exit status is 0 only if everything passed; 77 with --skip where there is no GPU.
"""

import argparse
import json
import lzma
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
MODES = ("rows", "sequences", "sigill")
PARTS = ("programs", "oracle-corpus", "oracle", "hostile", "timeout", "lanes", "loops", "slices")
SMALL = {"rows": ["--words", "2", "--states", "10"], "sequences": ["--sequences", "50"], "sigill": ["--samples", "5000"]}
# Every word becomes a region of its own; with all of them sigill alone was not done after 5 minutes.
TRANSLATED = {**SMALL, "sequences": ["--sequences", "200"]}
SKIPPED = 77


def has_gpu(kvrm):
    """(whether kvrm can use one, what it says of it)."""
    done = subprocess.run([kvrm, "info", "--json"], capture_output=True, text=True, check=True)
    cuda = next(device for device in json.loads(done.stdout)["devices"] if device["name"] == "cuda")
    return cuda["available"], json.dumps(cuda)


def rows_in_shares(table, shares):
    """The oracle's options for each share of the rows: what is slow about a case is the host's part of it."""
    names = [row["name"] for row in json.loads(pathlib.Path(table).read_text())["rows"]]
    return [[option for name in names[share::shares] for option in ("--row", name)] for share in range(shares)]


def commands(options, tools):
    """(name, commands that run side by side) of everything that was asked for."""
    kvrm, table = str(tools / "kvrm"), ["--table", str(tools / "a64.json")]
    oracle = [str(tools / "oracle"), *table, "--device", options.device, "--lanes", str(options.lanes)]
    oracle += ["--dispatch", options.dispatch, "--engine", options.engine]
    python, engine = [sys.executable], ["--engine", options.engine]
    if "programs" in options.parts:
        more = ["--share", "1/10"] if options.small else []
        run = [str(HERE / "run.py"), str(options.carry / "programs.tar.xz"), "--kvrm", kvrm, "--device", options.device]
        yield "programs", [python + run + engine + more]
    if "oracle-corpus" in options.parts:
        corpora = {mode: tools / f"oracle-{mode}" for mode in MODES}
        for mode, plain in corpora.items():
            plain.write_bytes(lzma.decompress((options.carry / f"oracle-{mode}.xz").read_bytes()))
        yield "oracle-corpus", [[*oracle, "--corpus", str(plain)] for plain in corpora.values()]
    if "oracle" in options.parts:
        sizes = SMALL if options.small else TRANSLATED if options.engine == "jit" else dict.fromkeys(MODES, [])
        against = {mode: [*oracle, mode, "--against", "cpu", *sizes[mode]] for mode in MODES}
        shares = rows_in_shares(table[1], min(8, os.cpu_count()))
        yield "oracle", [*([*against["rows"], *rows] for rows in shares), against["sequences"], against["sigill"]]
    if "hostile" in options.parts:
        run = [str(HERE / "hostile.py"), "--kvrm", kvrm, "--device", options.device, "--guests", str(tools / "guests")] + engine
        sizes = {"hostile": ("512", "1000000", "32M"), "hostile, full warps": ("67584", "5000", "2M")}
        for name, (jobs, count, memory) in {"hostile": ("256", "2000", "32M")}.items() if options.small else sizes.items():
            yield name, [[*python, *run, "--jobs", jobs, "--count", count, "--memory", memory]]
    if "timeout" in options.parts:
        run = [str(HERE / "timeout.py"), "--kvrm", kvrm, "--device", options.device, "--guests", str(tools / "guests")] + engine
        yield "timeout", [[*python, *run, *(["--jobs", "64"] if options.small else [])]]
    check = [f"KVRM_TEST_DEVICE={options.device}", f"KVRM_TEST_ENGINE={options.engine}", str(tools / "lanes_check"), "--gtest_brief=1"]
    if "lanes" in options.parts:
        yield "lanes", [["env", *check]]
    if "loops" in options.parts:
        count = "KVRM_TEST_LOOPS=" + ("64" if options.small else "2048")
        yield "loops", [["env", count, *check[:2], str(tools / "loops_check"), "--gtest_brief=1"]]
    if "slices" in options.parts:
        yield "lanes in slices", [["env", "KVRM_SLICE_MS=2", *check]]


def stop(process):
    """Ends it, with the programs it has started, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run_side_by_side(commands, timeout):
    """What they print, each in one piece, and the first status that is not 0."""
    began = time.monotonic()
    running, status = [], 0
    try:
        for command in commands:
            told = " ".join(command)
            print(f"  {told if len(told) < 400 else told[:400] + ' ...'}", flush=True)
            alone = len(commands) == 1
            pipes = {} if alone else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            running.append(subprocess.Popen(command, start_new_session=True, **pipes))
        for process in running:
            try:
                output, _ = process.communicate(timeout=max(0.1, timeout - (time.monotonic() - began)))
                print(output or "", end="", flush=True)
                status = status or process.returncode
            except subprocess.TimeoutExpired:
                stop(process)
                status = status or f"not done after {timeout:.0f} s"
    finally:
        for process in running:
            stop(process)
    return status


def run_all(options, tools):
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{tools}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    os.environ.update(environment)
    if options.skip:
        there, told = has_gpu(str(tools / "kvrm"))
        if not there:
            print(f"skipped, no GPU: {told}")
            return SKIPPED
    table, failed, start = [], 0, time.monotonic()
    for name, side_by_side in commands(options, tools):
        print(f"== {name}", flush=True)
        began = time.monotonic()
        status = run_side_by_side(side_by_side, options.timeout)
        failed += status != 0
        table.append(f"{name:<24}{time.monotonic() - began:>8.1f} s  {'passed' if status == 0 else f'FAILED ({status})'}")
        print(table[-1], flush=True)
    if table:
        table.append(f"{'all':<24}{time.monotonic() - start:>8.1f} s  {f'{failed} failed' if failed else 'passed'}")
    print("\n".join(table))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--carry", type=pathlib.Path, default=REPO / "build" / "gpu-carry", help="what carry.py made")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}; or none")
    parser.add_argument("--lanes", type=int, default=8192, help="cases of the oracle at a time")
    parser.add_argument("--dispatch", default="table", help="of the oracle's machines: table, neural or hybrid")
    parser.add_argument("--engine", default="interp", choices=("interp", "jit"), help="of all parts")
    parser.add_argument("--timeout", type=float, default=480, help="seconds a part may take")
    parser.add_argument("--small", action="store_true", help="a share of everything")
    parser.add_argument("--skip", action="store_true", help="where kvrm sees no GPU, say so and exit with 77")
    parser.add_argument("--unpack", type=pathlib.Path, help="unpack the tools into this folder, and keep it")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started ends, too
    packed = options.carry / "tools.tar.xz"
    if options.parts == ["none"] and not packed.exists():
        packed = options.carry / "bench.tar.xz"
    if not packed.exists():
        print(f"check.py: no {options.carry}/tools.tar.xz (tests/gpu/carry.py makes it)")
        return SKIPPED if options.skip else 1
    with tempfile.TemporaryDirectory(prefix="kvrm-check-") as work:
        tools = options.unpack or pathlib.Path(work)
        tools.mkdir(parents=True, exist_ok=True)
        with tarfile.open(packed) as tar:
            tar.extractall(tools, filter="fully_trusted")
        return run_all(options, tools.resolve())


if __name__ == "__main__":
    sys.exit(main())
