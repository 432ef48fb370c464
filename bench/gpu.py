#!/usr/bin/env python3
"""What one GPU does: single lanes, lockstep, fleets against qemu-aarch64.

    bench/gpu.py --json build/bench/gpu.json              everything
    bench/gpu.py --parts one,start                        parts of it; bench/README.md names them
    bench/gpu.py --engine jit --parts one,lockstep        the same with the translator: a first run, then from its cache
    bench/gpu.py --engine jit --parts one,native          one lane against the same C compiled for one GPU thread
    bench/gpu.py --engine jit --parts real-one,jobs       ordinary programs: one lane cold and warm, fleets
    bench/gpu.py --device cpu --small                     a trial without a GPU: small sizes

Needs the guests (bench/Makefile; built here where the cross compiler is) and Python alone, so it also runs on a machine
that has nothing else; --guests and --qemu say where things are. The file of --json is written anew after every figure.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import time

import gpu_fleets
import gpu_jobs
import gpu_memory
import gpu_native
import gpu_real
from harness import OUT, geometric_mean
from programs import INTEGER, chosen_sets

REPO = pathlib.Path(__file__).resolve().parents[1]
PARTS = ("start", "one", "native", "lanes128", "lockstep", "short", "long")
PARTS += ("real-one", "real-lockstep", "jobs", "memory")
LOCKSTEP = ("crc32", "sha256", "quicksort", "sieve", "matmul", "list", "strsearch", "dhry", "json")
LANE_COUNTS = (2112, 16896, 33792, 67584, 131072)
PASS = 900_000  # instructions, about
STEADY = ["--jit-budget", "0"]  # translated code comes from the cache, and nothing is looked for
CHECKED = 16  # lanes of a fleet that are compared with the CPU device
HELLO_RUNS = 7


class Bench:
    def __init__(self, options):
        self.options = options
        self.kvrm = options.kvrm
        self.guests = pathlib.Path(options.guests)
        self.work = pathlib.Path(options.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.warm = set()  # what has run before, with the translator
        self.report = {
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "machine": {"system": platform.platform(), "cores": os.cpu_count(), "kvrm": self.info()},
            "device": options.device,
            "engine": options.engine,
            "figures": [],
        }

    def info(self):
        done = subprocess.run([self.kvrm, "info"], capture_output=True, text=True)
        return done.stdout.splitlines()

    def add(self, part, name, command, **figures):
        """One figure. What limits it is for a person to find out and write down."""
        figure = {"part": part, "name": name, "command": command, **figures, "limiter": ""}
        self.report["figures"].append(figure)
        plain = {key: value for key, value in figures.items() if not isinstance(value, dict)}
        shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in plain.items()}
        told = " ".join(f"{key} {value}" for key, value in shown.items())
        print(f"{part:<14}{name:<30}  {told}", flush=True)
        if self.options.json:
            path = pathlib.Path(self.options.json)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.report, indent=2) + "\n")
        return figure

    def run(self, command, stdin=None, environment=None, may_stop=False):
        """(wall seconds, statistics) of a kvrm command with --stats=json; a failure ends the benchmark."""
        wall, _, counted = self.run_for_output(command, stdin, environment, may_stop)
        return wall, counted

    def run_quietly(self, command):
        """Whether a command of kvrm's that runs no guest on the device succeeds."""
        return subprocess.run(command, capture_output=True).returncode == 0

    def run_for_output(self, command, stdin=None, environment=None, may_stop=False):
        """The same with what the guest printed: (wall seconds, stdout, statistics)."""
        began = time.perf_counter()
        env = {**os.environ, **(environment or {})}
        done = subprocess.run(command, input=stdin or b"", capture_output=True, env=env)
        wall = time.perf_counter() - began
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [""]
        if done.returncode and not (may_stop and done.returncode == 125 and "stopped after" in lines[0]):
            sys.exit(f"gpu.py: exit status {done.returncode}: {shlex.join(command)}\n  " + "\n  ".join(lines[-3:]))
        return wall, done.stdout, json.loads(lines[-1])

    def fleet(self, program, inputs, lanes, device=None, **more):
        """Runs a program over lines. (command, wall seconds, statistics, records in order)."""
        device, ours, engine = device or self.options.device, not device, self.options.engine
        steady = []
        if engine == "jit" and ours:
            if (program, lanes) not in self.warm:
                self.warm.add((program, lanes))
                name = f"{program.name} x {lanes or 'all'}"
                self.add_first(name, *self.fleet_once(program, inputs, lanes, device, engine, **more)[:3])
            steady = STEADY
        more["options"] = [*steady, *more.get("options", [])]
        return self.fleet_once(program, inputs, lanes, device, engine, **more)

    def fleet_once(
        self, program, inputs, lanes, device, engine, environment=None, tag="fleet", options=(), arguments=()
    ):
        """The same, one run; `options` are kvrm's, `arguments` the program's."""
        listed, out = self.work / f"{tag}.txt", self.work / f"{tag}.jsonl"
        listed.write_text("".join(line + "\n" for line in inputs))
        out.unlink(missing_ok=True)
        command = [self.kvrm, "fleet", *options, "--device", device, "--engine", engine]
        command += [*(["--lanes", str(lanes)] if lanes else []), "--stats=json", "--stdin-lines", str(listed)]
        command += ["--out", str(out), str(program), *arguments]
        wall, counted = self.run(command, environment=environment)
        records = [None] * len(inputs)
        with open(out, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                if "index" in record:  # the first line says what the results belong to
                    records[record["index"]] = record
        told = " ".join([f"{key}={value}" for key, value in (environment or {}).items()] + [shlex.join(command)])
        return told, wall, counted, records

    def add_first(self, name, command, wall, counted):
        """A run that has to find out what to translate."""
        keys = ("launches", "regions", "region_words", "translation_seconds", "link_seconds", "ips")
        self.add("first", name, command, wall=wall, **{key: counted[key] for key in keys if key in counted})

    def check_lanes(self, program, inputs, records, **more):
        """A few lanes against the CPU device, bit for bit; returns how many."""
        indexes = sorted({len(inputs) * i // CHECKED for i in range(min(CHECKED, len(inputs)))})
        expected = self.fleet(program, [inputs[index] for index in indexes], 1, device="cpu", tag="check", **more)[3]
        keys = gpu_real.KEYS
        for index, right in zip(indexes, expected):
            if [records[index].get(key) for key in keys] != [right.get(key) for key in keys]:
                sys.exit(f"gpu.py: input {index} ({inputs[index]}): {records[index]}\n  on the CPU device: {right}")
        return len(indexes)

    def is_wanted(self, name):
        return not self.options.programs or name in self.options.programs

    def mean(self, part, name, figures, key="ips"):
        if figures:
            value = geometric_mean([figure[key] for figure in figures])
            self.add(part, name, "", **{key: value, "programs": len(figures)})


def measure_start(bench):
    """Wall time of a hello from start to end: the first run, and those after it."""
    command = [bench.kvrm, "run", "--device", bench.options.device, "--engine", bench.options.engine, "--stats=json"]
    command += [str(bench.guests / "hello")]
    walls = [bench.run(command)[0] for _ in range(HELLO_RUNS)]
    bench.add("start", "first hello", shlex.join(command), wall=walls[0])
    later = walls[1:]
    spread = {"wall": statistics.median(later), "least": min(later), "most": max(later)}
    bench.add("start", "hello again", shlex.join(command), **spread)


def measure_one(bench):
    """One lane, each program of the integer set for so many instructions."""
    figures = []
    for name, program, arguments in INTEGER:
        def run(limit, *more):
            command = [bench.kvrm, "run", "--device", bench.options.device]
            command += ["--engine", bench.options.engine, "--stats=json"]
            command += [*more, "--max-instructions", str(limit), str(bench.guests / program), *arguments]
            return shlex.join(command), *bench.run(command, may_stop=True)

        if not bench.is_wanted(name):
            continue
        limit = bench.options.instructions
        if bench.options.engine == "jit":
            bench.add_first(name, *run(limit // 2))
            before = run(limit // 8, *STEADY)[2]
        command, wall, counted = run(limit, *(STEADY if bench.options.engine == "jit" else []))
        if bench.options.engine == "jit":
            # Without the start, which is short against an interpreter and long against translated code.
            did, took = (counted[key] - before[key] for key in ("instructions", "seconds"))
            if did > 0 and took > 0:
                counted["ips"] = did / took
        figures.append(measured(bench, "one", name, command, wall, counted))
    bench.mean("one", "geometric mean", figures)


def measured(bench, part, name, command, wall, counted, **more):
    return bench.add(
        part, name, command, wall=wall,
        ips=counted["ips"], instructions=counted["instructions"], seconds=counted["seconds"],
        launches=counted["launches"], cached_regions=counted["cached_regions"], **more
    )


def lockstep_inputs(bench, lanes):
    """A number of its own for each lane, and passes for about the asked-for seconds at the speed we hope for."""
    speed = min(50e6, 600e9 / lanes) if bench.options.engine == "jit" else min(8e6, 250e9 / lanes)  # a lane's
    passes = max(1, round(bench.options.seconds * speed / PASS))
    return [f"{lane + 1:06} {passes}" for lane in range(lanes)]


def measure_lockstep(bench, part, counts):
    for lanes in counts:
        figures = []
        for name in filter(bench.is_wanted, LOCKSTEP):
            program, inputs = bench.guests / "lockstep" / name, lockstep_inputs(bench, lanes)
            command, wall, counted, records = bench.fleet(program, inputs, lanes)
            checked = bench.check_lanes(program, inputs, records)
            distinct = len({record["stdout"] for record in records})
            facts = {"lanes": lanes, "checked": checked, "outputs": distinct}
            figures.append(measured(bench, part, f"{name} x {lanes}", command, wall, counted, **facts))
        bench.mean(part, f"geometric mean x {lanes}", figures)
    means = [figure for figure in bench.report["figures"] if figure["part"] == part and "mean" in figure["name"]]
    if len(means) > 1:
        best = max(means, key=lambda figure: figure["ips"])
        bench.add(part, "best " + best["name"], "", ips=best["ips"])


def print_table(report):
    print(f"\n{'part':<14}{'figure':<44}{'M instr/s':>12}{'ratio':>8}{'seconds':>10}{'wall s':>9}{'inputs/s':>11}")
    for figure in report["figures"]:
        cells = [
            f"{figure['ips'] / 1e6:.1f}" if "ips" in figure else "-",
            next((f"{figure[key]:.3f}" for key in ("ratio", "ratio_whole") if key in figure), "-"),
            f"{figure['seconds']:.2f}" if "seconds" in figure else "-",
            f"{figure['wall']:.2f}" if "wall" in figure else "-",
            f"{figure['inputs_per_second']:.1f}" if "inputs_per_second" in figure else "-",
        ]
        numbers = f"{cells[0]:>12}{cells[1]:>8}{cells[2]:>10}{cells[3]:>9}{cells[4]:>11}"
        print(f"{figure['part']:<14}{figure['name']:<44}{numbers}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    engines = ("interp", "jit", "auto")
    parser.add_argument("--engine", choices=engines, default="interp", help="jit: the second run counts")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--set", default="real", help="sets that real-one measures: integer,numeric,real, or all")
    parser.add_argument("--programs", help="of one, lockstep, real-* and jobs, some of theirs: crc32,sieve")
    parser.add_argument("--json", help="write the figures to this file, too")
    parser.add_argument("--guests", default=str(OUT / "arm64"), help="where the guests are")
    parser.add_argument("--work", default=str(OUT / "gpu"), help="for inputs and results")
    parser.add_argument("--qemu", default="qemu-aarch64", help="QEMU; without it its figures are left out")
    counts = "of a program on one lane; default: 50 million, with jit 800"
    parser.add_argument("--instructions", type=lambda text: int(float(text)), help=counts)
    parser.add_argument("--seconds", type=float, default=4, help="about so long for a program in lockstep")
    parser.add_argument("--lane-counts", default=",".join(map(str, LANE_COUNTS)), help="for lockstep")
    parser.add_argument("--short-inputs", type=int, default=131_072)
    parser.add_argument("--long-inputs", type=int, default=33_792)
    counts = "of a program in real-one; default: 700 million, with interp 50"
    parser.add_argument("--real-instructions", type=lambda text: int(float(text)), help=counts)
    parser.add_argument("--jobs", type=int, default=33_792, help="jobs of a fleet of the part jobs")
    parser.add_argument("--cpu-jobs", type=int, default=4096, help="of these, how many the CPU device runs, too")
    parser.add_argument("--qemu-jobs", type=int, default=2048, help="of these, how many QEMU runs, too")
    parser.add_argument("--fleet-lanes", type=int, default=0, help="lanes of a fleet; default: as many as kvrm chooses")
    parser.add_argument("--small", action="store_true", help="sizes for a trial on a CPU")
    options = parser.parse_args()
    if options.small:
        options.instructions, options.seconds, options.lane_counts = 2_000_000, 0.2, "8,32"
        options.short_inputs, options.long_inputs = 64, 2
        options.real_instructions = options.real_instructions or 2_000_000
        options.jobs, options.cpu_jobs, options.qemu_jobs = 6, 4, 4
    interp = options.engine == "interp"
    options.instructions = options.instructions or (800_000_000 if options.engine == "jit" else 50_000_000)
    options.real_instructions = options.real_instructions or (50_000_000 if interp else 700_000_000)
    options.lane_counts = [int(count) for count in options.lane_counts.split(",")]
    options.sets = chosen_sets(options.set)
    options.parts = options.parts.split(",")
    options.programs = options.programs.split(",") if options.programs else []
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    if unknown := set(options.programs) - {name for name, *_ in INTEGER} - set(LOCKSTEP) - gpu_real.NAMES:
        parser.error(f"no such program: {', '.join(unknown)}")
    return with_tools(options, parser)


def with_tools(options, parser):
    """The options with absolute paths of kvrm and QEMU; builds the guests where that can be done."""
    if not shutil.which(options.kvrm):
        parser.error(f"no kvrm at {options.kvrm}")
    options.kvrm = os.path.abspath(shutil.which(options.kvrm))
    options.qemu = shutil.which(options.qemu)
    make = ["make", "-s", "-C", str(REPO / "bench"), f"OUT={OUT}"]
    if shutil.which("aarch64-linux-gnu-gcc"):
        subprocess.run([*make, "lanes"], check=True)
    if "native" in options.parts and shutil.which("clang-19"):
        subprocess.run([*make, "native-gpu"], check=True)
    return options


def main():
    bench = Bench(parse())
    parts = {
        "start": lambda: measure_start(bench),
        "one": lambda: measure_one(bench),
        "native": lambda: gpu_native.measure(bench),
        "lanes128": lambda: measure_lockstep(bench, "lanes128", [8 if bench.options.small else 128]),
        "lockstep": lambda: measure_lockstep(bench, "lockstep", bench.options.lane_counts),
        "short": lambda: gpu_fleets.measure(bench, "short", gpu_fleets.SHORT_TURNS, bench.options.short_inputs),
        "long": lambda: gpu_fleets.measure(bench, "long", gpu_fleets.LONG_TURNS, bench.options.long_inputs),
        "real-one": lambda: gpu_real.measure_one(bench),
        "real-lockstep": lambda: gpu_real.measure_lockstep(bench),
        "jobs": lambda: gpu_jobs.measure(bench),
        "memory": lambda: gpu_memory.measure(bench),
    }
    try:
        for part in PARTS:
            if part in bench.options.parts:
                parts[part]()
    finally:
        print_table(bench.report)


if __name__ == "__main__":
    main()
