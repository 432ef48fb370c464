#!/usr/bin/env python3
"""The benchmark sets: kvrm, qemu-aarch64 and native x86-64 in one run.

    bench/run.py                         five alternating rounds of everything
    bench/run.py --set numeric           floating point and vectors alone; --set integer: the rest alone
    bench/run.py --only sieve --rounds 3
    bench/run.py --json build/bench/result.json
    bench/run.py --translator            kvrm is --engine jit with a warm cache; --engine auto without one is measured, too

Times are wall clock of the whole process, start to exit; a program's figure is the median of its
rounds. Each round runs qemu, kvrm, native, in that order, and all outputs must be equal.
Sizes are fixed: see bench/README.md.
"""

import argparse
import datetime
import hashlib
import json
import math
import os
import pathlib
import platform
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPO = pathlib.Path(__file__).resolve().parents[1]
OUT = REPO / "build" / "bench"
SYSROOT = REPO / "build" / "arm64-sysroot"
BUSYBOX = SYSROOT / "bin" / "busybox"
BASH = SYSROOT / "bin" / "bash-static"
FILES = OUT / "files"
GUESTS = OUT / "arm64"
QEMU = ["qemu-aarch64", "-cpu", "neoverse-n1"]
TEXT_BYTES = {"gzip.txt": 2_000_000, "sha256sum.txt": 10_000_000}
HELLO_RUNS = 20
COLD_BUDGETS = (100_000_000, 1_000_000_000)
MOST_WARM_UPS = 16
WORDS = "the lane engine device region proposal proof and of to in memory kernel machine branch".split()

# Name, guest program, its arguments; one list per set.
INTEGER = [
    ("crc32", "crc32", []),
    ("sha256", "sha256", []),
    ("quicksort", "quicksort", []),
    ("sieve", "sieve", []),
    ("matmul", "matmul", []),
    ("list-1Ki", "list", ["1024"]),
    ("list-1Mi", "list", ["1048576"]),
    ("strsearch", "strsearch", []),
    ("dhry", "dhry", []),
    ("json", "json", []),
]
NUMERIC = [(name, f"numeric/{name}", []) for name in "nbody fft lu mandelbrot spectral fmatmul".split()]
# Packaged programs, in the integer set.
PACKAGED = [
    ("busybox-gzip", BUSYBOX, ["gzip", "-c", "gzip.txt"]),
    ("busybox-sha256sum", BUSYBOX, ["sha256sum", "sha256sum.txt"]),
    ("bash-loop", BASH, ["loop.sh"]),
]


def fail(message):
    sys.exit(f"bench: {message}")


def note(message):
    print(message, file=sys.stderr, flush=True)


def prepare():
    """Build the guests, fetch the packages, write the files. Returns whether the packages are there."""
    for tool in ("make", "gcc", "aarch64-linux-gnu-gcc", QEMU[0]):
        if not shutil.which(tool):
            fail(f"{tool} is needed (packages make gcc gcc-aarch64-linux-gnu qemu-user)")
    if subprocess.run(["make", "-s", "-C", str(REPO / "bench"), "all"]).returncode:
        fail("the guests do not build")
    FILES.mkdir(parents=True, exist_ok=True)
    for name, size in TEXT_BYTES.items():
        path = FILES / name
        if not path.exists() or path.stat().st_size != size:
            path.write_bytes(text(size))
        os.utime(path, (1_000_000_000, 1_000_000_000))
    shutil.copy(REPO / "bench" / "guests" / "loop.sh", FILES)
    fetch = [str(REPO / "tools" / "arm64_packages.sh"), "--root", str(SYSROOT), "busybox-static", "bash-static"]
    return subprocess.run(fetch).returncode == 0


def text(size):
    """Lines of words, the same on every machine."""
    source = random.Random(1)
    lines = []
    length = 0
    while length < size:
        words = [WORDS[int(source.random() * len(WORDS))] for _ in range(9)]
        lines.append(f"{int(source.random() * 1e6)} " + " ".join(words) + "\n")
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


def programs(options, packages):
    """Name -> its set and the commands for qemu, kvrm and native (None where there is none)."""
    kvrm = [options.kvrm, "run", *shlex.split(options.kvrm_options)]
    table = {}
    for part, guests in (("integer", INTEGER), ("numeric", NUMERIC)):
        for name, program, arguments in guests:
            guest = [str(GUESTS / program), *arguments]
            native = [str(OUT / "native" / program), *arguments]
            table[name] = part, {"qemu": QEMU + guest, "kvrm": kvrm + guest, "native": native}
    for name, program, arguments in PACKAGED if packages else []:
        guest = [str(program), *arguments]
        granted = ["--root", str(FILES)]
        table[name] = "integer", {"qemu": QEMU + guest, "kvrm": kvrm + granted + guest, "native": None}
    chosen = ("integer", "numeric") if options.set == "all" else (options.set,)
    return {name: row for name, row in table.items() if row[0] in chosen and options.only in name}


def timed(command, may_stop=False):
    """(seconds, output digest); a program that fails ends the benchmark. It may stop because it has run enough."""
    began = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=FILES)
    seconds = time.perf_counter() - began
    stopped = may_stop and done.returncode == 125 and b"stopped after" in done.stderr
    if done.returncode and not stopped:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [""]
        fail(f"exit status {done.returncode}: {shlex.join(command)}: {last[0]}")
    return seconds, hashlib.sha256(done.stdout).hexdigest()


def statistics_of(command, *names):
    """What kvrm counts on this program, at least under these names: one extra run with --stats=json."""
    at = command.index("run") + 1
    command = command[:at] + ["--stats=json"] + command[at:]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=FILES)
    try:
        counted = json.loads(done.stderr.splitlines()[-1])
    except (IndexError, ValueError):
        counted = {}
    if any(name not in counted for name in names):
        fail(f"no statistics from: {shlex.join(command)}")
    return counted


def is_warm(command):
    """Runs the program; whether every region it used came from the cache."""
    counted = statistics_of(command, "regions", "cached_regions")
    return counted["regions"] == counted["cached_regions"]


def fast_share(counted):
    """The share of FP operations on the fast path, where kvrm counts that."""
    fast, slow = counted.get("fp_fast"), counted.get("fp_slow")
    return fast / (fast + slow) if fast is not None and slow is not None and fast + slow else None


def cold(options, commands):
    """Seconds of --engine auto with an empty cache: up to the first budget, and to the end."""
    at = commands["kvrm"].index("--engine")
    auto = commands["kvrm"][: at + 1] + ["auto"] + commands["kvrm"][at + 2 :]
    limited = auto[:at] + ["--max-instructions", str(COLD_BUDGETS[0])] + auto[at:]
    taken = []
    kept = os.environ["XDG_CACHE_HOME"]
    for command in (limited, auto):
        with tempfile.TemporaryDirectory(dir=OUT) as empty:
            os.environ["XDG_CACHE_HOME"] = empty
            taken.append(timed(command, may_stop=True)[0])
    os.environ["XDG_CACHE_HOME"] = kept
    return taken


def spread(seconds):
    median = statistics.median(seconds)
    return {"median": median, "min": min(seconds), "max": max(seconds), "runs": len(seconds)}


def measure(options, name, part, commands):
    told = {key: command and shlex.join(command) for key, command in commands.items()}
    for _ in range(MOST_WARM_UPS if options.translator else 0):
        if is_warm(commands["kvrm"]):
            break
    counted = statistics_of(commands["kvrm"], "instructions")
    result = {"name": name, "set": part, "commands": told}
    result |= {"instructions": counted["instructions"], "fp_fast_share": fast_share(counted)}
    seconds = {key: [] for key, command in commands.items() if command}
    digests = set()
    cold_runs = []
    for turn in range(options.rounds):
        for key in seconds:
            note(f"  {name}: round {turn + 1} of {options.rounds}, {key}")
            taken, digest = timed(commands[key])
            seconds[key].append(taken)
            digests.add(digest)
        if options.translator and turn < 3:
            note(f"  {name}: round {turn + 1}, kvrm without a cache")
            cold_runs.append(cold(options, commands))
    if len(digests) != 1:
        fail(f"{name}: the outputs differ: {shlex.join(commands['qemu'])} and {shlex.join(commands['kvrm'])}")
    result["seconds"] = {key: spread(values) for key, values in seconds.items()}
    if cold_runs:
        result["cold_seconds"] = {
            "limited": spread([runs[0] for runs in cold_runs]),
            "whole": spread([runs[1] for runs in cold_runs]),
        }
    return result


def measure_start(options):
    """Start-up: a static hello, in seconds."""
    guest = str(GUESTS / "hello")
    commands = {
        "qemu": QEMU + [guest],
        "kvrm": [options.kvrm, "run", *shlex.split(options.kvrm_options), guest],
    }
    seconds = {key: [] for key in commands}
    note(f"  hello: {HELLO_RUNS} runs each")
    for _ in range(HELLO_RUNS):
        for key, command in commands.items():
            seconds[key].append(timed(command)[0])
    return {
        "commands": {key: shlex.join(command) for key, command in commands.items()},
        "seconds": {key: spread(values) for key, values in seconds.items()},
    }


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def ratio(result, peer):
    """kvrm's speed in units of the peer's; None where the peer did not run."""
    times = result["seconds"]
    return times[peer]["median"] / times["kvrm"]["median"] if peer in times else None


def at_budget(result, start, budget):
    """(kvrm cold, qemu): seconds for so many instructions of the program. QEMU cannot stop there and takes its share of
    the whole run; where the program is shorter, kvrm goes on as it does when warm."""
    total = result["instructions"]
    times = result["seconds"]
    qemu = start["qemu"]["median"] + (times["qemu"]["median"] - start["qemu"]["median"]) * budget / total
    if budget == COLD_BUDGETS[0]:
        return result["cold_seconds"]["limited"]["median"], qemu
    rate = total / times["kvrm"]["median"]
    return result["cold_seconds"]["whole"]["median"] + (budget - total) / rate, qemu


def print_cold(results, hello):
    for budget in COLD_BUDGETS:
        pairs = [at_budget(result, hello["seconds"], budget) for result in results if "cold_seconds" in result]
        if not pairs:
            return
        kvrm, qemu = (sum(pair[i] for pair in pairs) for i in (0, 1))
        print(f"cold --engine auto, {len(pairs)} programs of {budget // 1_000_000} M instructions: "
              f"kvrm {kvrm:.2f} s, qemu {qemu:.2f} s, {kvrm / qemu:.2f} times its time")


def print_table(results, hello):
    columns = f"{'M instr':>9}{'kvrm MIPS':>11}{'qemu MIPS':>11}{'kvrm/qemu':>11}{'kvrm/native':>13}"
    print(f"{'program':<19}{columns}")
    for result in results:
        millions = result["instructions"] / 1e6
        times = result["seconds"]
        native = ratio(result, "native")
        print(
            f"{result['name']:<19}{millions:>9.1f}"
            f"{millions / times['kvrm']['median']:>11.1f}{millions / times['qemu']['median']:>11.1f}"
            f"{ratio(result, 'qemu'):>11.4f}" + (f"{native:>13.5f}" if native else f"{'-':>13}")
            + (f"  {result['fp_fast_share']:.1%} of FP on the fast path" if result["fp_fast_share"] else "")
        )
    for part in ("integer", "numeric"):
        for peer in ("qemu", "native"):
            ratios = [ratio(result, peer) for result in results if result["set"] == part]
            ratios = [value for value in ratios if value]
            if ratios:
                mean = geometric_mean(ratios)
                told = f"{mean:.4f} (1/{1 / mean:.1f}) over {len(ratios)} programs"
                print(f"{part} set, geometric mean kvrm/{peer}: {told}")
    if hello:
        kvrm, qemu = (hello["seconds"][key]["median"] * 1000 for key in ("kvrm", "qemu"))
        print(f"start-up of a static hello, median of {HELLO_RUNS}: kvrm {kvrm:.1f} ms, qemu {qemu:.1f} ms")


def version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def machine():
    model = platform.processor() or platform.machine()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "qemu": version(QEMU[0]),
        "gcc": version("aarch64-linux-gnu-gcc"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary")
    parser.add_argument("--kvrm-options", default="", help='options for kvrm run, e.g. "--engine interp"')
    parser.add_argument("--translator", action="store_true", help="--engine jit, warm, and --engine auto, cold")
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds per program")
    parser.add_argument("--set", choices=["integer", "numeric", "all"], default="all", help="which programs")
    parser.add_argument("--only", default="", help="only the programs whose name contains this")
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()
    if options.rounds < 1:
        fail("--rounds must be at least 1")
    if not shutil.which(options.kvrm):
        fail(f"no kvrm at {options.kvrm} (build it, or say --kvrm PATH)")
    options.kvrm = os.path.abspath(shutil.which(options.kvrm))
    if options.translator:
        options.kvrm_options += " --engine jit"
    packages = prepare()
    if options.translator:
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="cache-", dir=OUT)
    if not packages:
        note("bench: no arm64 busybox and bash here; their three programs are left out")
    table = programs(options, packages)
    if not table:
        fail(f"no program's name contains {options.only}")
    report = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "machine": machine()}
    report.update({"rounds": options.rounds, "programs": [], "hello": None, "complete": False})
    try:
        report["hello"] = measure_start(options)
        for name, (part, commands) in table.items():
            report["programs"].append(measure(options, name, part, commands))
        report["complete"] = True
    except KeyboardInterrupt:
        note("interrupted; what is measured so far:")
    print(f"{report['machine']['cpu']}, {report['machine']['cores']} cores; {options.rounds} rounds, medians")
    print_table(report["programs"], report["hello"])
    print_cold(report["programs"], report["hello"])
    if options.translator:
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["complete"] else 130


if __name__ == "__main__":
    sys.exit(main())
