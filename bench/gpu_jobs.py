"""bench/gpu.py's part `jobs`: fleets of ordinary jobs against QEMU and against kvrm's CPU device, both on all cores.

The guests (guests/jobs) are programs of the real set that take a line of stdin: a seed, a size, and for calc a program.
Every job has a line of its own, so its data, its length and its control flow are its own: 1 to 10 million instructions.
"""

import os
import random
import shutil
import tempfile
from typing import NamedTuple

import gpu_fleets
import gpu_real

STEADY = ["--jit-budget", "0"]
CPU_RUNS = 3  # the first with an empty cache
VARIABLES = 4  # of a program for calc, before the counters of its loops


class Job(NamedTuple):
    """A guest with the sizes its jobs have, and the package it needs."""

    name: str
    least: int
    most: int
    package: str | None = None


JOBS = [
    Job("records", 150, 1_100),
    Job("calc", 140_000, 400_000),  # steps of the stack machine
    Job("lua", 2, 8, "liblua5.4-dev"),
    Job("lz", 3_000, 18_000),
    Job("zlib", 7_000, 39_000, "zlib1g-dev"),
    Job("words", 20, 140),
    Job("trees", 5, 12),
]


def value(source, variables, depth):
    """(text, steps) of a random expression without comparison."""
    if depth == 0 or source.random() < 0.25:
        if source.random() < 0.4:
            return str(1 + int(source.random() * 999)), 1
        return variables[int(source.random() * len(variables))], 1
    (left, before), (right, after) = (value(source, variables, depth - 1) for _ in range(2))
    return f"({left} {'+-+*/%'[int(source.random() * 6)]} {right})", before + after + 1


def simple(source, variables):
    """(text, steps) of an assignment or a print."""
    text, cost = value(source, variables, 2)
    if source.random() < 0.3:
        return f"print {text};", cost + 1
    name = variables[int(source.random() * VARIABLES)]
    return f"{name} = ({name} + {text}) % 1000003;", cost + 5


def statements(source, variables, loops, count):
    """(text, steps) of so many random statements; `loops` are the counters that loops may still use."""
    texts, steps = [], 0
    for _ in range(count):
        kind = source.random()
        if kind < 0.4 and loops:
            turns = 2 + int(source.random() * 11)
            body, each = statements(source, [*variables, loops[0]], loops[1:], 1 + int(source.random() * 3))
            texts.append(f"{loops[0]} = 0; while {loops[0]} < {turns} {{ {body} {loops[0]} = {loops[0]} + 1; }}")
            steps += turns * (each + 9)
        elif kind < 0.7:
            text, cost = value(source, variables, 2)
            (yes, first), (no, second) = (simple(source, variables) for _ in range(2))
            texts.append(f"if {text} % 3 < 1 {{ {yes} }} else {{ {no} }}")
            steps += cost + 5 + (first + second) // 2
        else:
            text, cost = simple(source, variables)
            texts.append(text)
            steps += cost
    return " ".join(texts), steps


def calc_line(source, number, size):
    """A program, and how often it takes for about so many steps of the machine."""
    variables = ["seed", "a", "b", "c"]
    start = " ".join(f"{name} = {int(source.random() * 1000)};" for name in variables[1:])
    body, steps = statements(source, variables, ["i", "j", "k"], 5)
    return f"{number} {max(1, size // (steps + 4 * len(body)))} {start} {body} print a + b + c;"


def make_lines(job, count):
    """The same lines on every machine, and the first of them whatever the count."""
    source = random.Random(job.name)
    lines = []
    for number in range(1, count + 1):
        size = job.least + int(source.random() * (job.most - job.least))
        lines.append(calc_line(source, number, size) if job.name == "calc" else f"{number} {size}")
    return lines


def measure(bench):
    """Every guest's fleet; its peers; and the geometric means of the ratios."""
    wanted = [job for job in JOBS if bench.is_wanted(job.name)]
    gpu_real.build("jobs", packages=[(job.package, f"jobs/{job.name}") for job in wanted if job.package])
    ratios = {}
    for job in wanted:
        if gpu_real.is_there(bench, "jobs", job.name, f"jobs/{job.name}"):
            for name, figure in measure_job(bench, job).items():
                ratios.setdefault(name, []).append(figure)
    for name, figures in ratios.items():
        bench.mean("jobs", f"geometric mean: {name}", figures, "ratio")


def measure_job(bench, job):
    """kvrm's runs, and those of the CPU device and of QEMU on the first of the jobs. Returns the ratios to these."""
    lines = make_lines(job, bench.options.jobs)
    engine = bench.options.engine
    ours, records = fleets(bench, job, "kvrm", lines, bench.options.device, engine, 1 if engine == "interp" else 2)
    counts = [record["instructions"] for record in records]
    bench.add("jobs", f"{job.name}: a job", "", least=min(counts), most=max(counts), each=sum(counts) / len(counts))
    some = lines[: bench.options.cpu_jobs]
    cpu, expected = fleets(bench, job, f"kvrm on {os.cpu_count()} cores", some, "cpu", "auto", CPU_RUNS)
    for index, right in enumerate(expected):
        if any(records[index].get(key) != right.get(key) for key in gpu_real.KEYS):
            raise SystemExit(f"gpu.py: {job.name}: job {index}: {records[index]}\n  on the CPU device: {right}")
    peers = {"kvrm on the CPU": {**cpu, "interp": cpu["warm"]}}
    if bench.options.qemu:
        peers["QEMU"] = dict.fromkeys(ours, run_qemu(bench, job, lines[: bench.options.qemu_jobs], records))
    else:
        print("jobs: no qemu-aarch64 here (--qemu PATH)")
    ratios = {}
    for peer, theirs in peers.items():
        for kind, figure in ours.items():
            ratio = figure["inputs_per_second"] / theirs[kind]["inputs_per_second"]
            ratios[f"{kind} / {peer}"] = bench.add("jobs", f"{job.name}: {kind} / {peer}", "", ratio=ratio)
    return ratios


def fleets(bench, job, who, lines, device, engine, runs):
    """So many runs over the lines, the first of them with an empty cache folder: kind -> figure, and the last records.
    With jit the later runs look for nothing to translate, as in the other fleets. Of warm runs the last one counts."""
    figures = {}
    lanes = bench.options.fleet_lanes if who == "kvrm" else 0
    with tempfile.TemporaryDirectory(prefix="cache-", dir=bench.work) as cache:
        for number in range(runs):
            kind = "interp" if engine == "interp" else "warm" if number else "cold"
            steady = STEADY if number and engine == "jit" else []
            command, wall, counted, records = bench.fleet_once(
                bench.guests / "jobs" / job.name, lines, lanes, device, engine,
                environment={"XDG_CACHE_HOME": cache}, tag="jobs", options=steady,
            )  # fmt: skip
            for index, record in enumerate(records):
                if record["stop"] != "exit" or record["exit_status"]:
                    raise SystemExit(f"gpu.py: {job.name}: job {index} ({lines[index][:80]}): {record}")
            figures[kind] = (command, wall, counted)
    return {kind: add(bench, f"{job.name}: {who}, {kind}", len(lines), *run) for kind, run in figures.items()}, records


def add(bench, name, count, command, wall, counted):
    return bench.add(
        "jobs", name, command, wall=wall, ips=counted["ips"], ips_wall=counted["instructions"] / wall,
        instructions=counted["instructions"], seconds=counted["seconds"], inputs=count, inputs_per_second=count / wall,
        inputs_per_second_inside=count / counted["seconds"], launches=counted["launches"], lanes=counted["lanes"],
        regions=counted["regions"], cached_regions=counted["cached_regions"], statistics=counted,
    )  # fmt: skip


def run_qemu(bench, job, lines, records):
    """QEMU on all cores, a process each; its outputs must be kvrm's."""
    command = [shutil.which(bench.options.qemu), "-cpu", "neoverse-n1", str(bench.guests / "jobs" / job.name)]
    wall, outputs = gpu_fleets.run_qemu(command, lines)
    for index, output in enumerate(outputs):
        if output != records[index]["stdout"]:
            raise SystemExit(f"gpu.py: {job.name}: job {index}: {records[index]['stdout']!r}, QEMU {output!r}")
    instructions = sum(record["instructions"] for record in records[: len(lines)])
    return bench.add(
        "jobs", f"{job.name}: qemu on {os.cpu_count()} cores", " ".join(command) + " <JOB, a process each", wall=wall,
        ips=instructions / wall, instructions=instructions, inputs=len(lines), inputs_per_second=len(lines) / wall,
    )  # fmt: skip
