"""Two fleets whose control flow differs per input: kvrm against QEMU on all cores.

The guest is guests/fleet/evaluate.c: a number of rounds and an expression, on one line. Every input has an expression
of its own, about 160 characters, and its own number of rounds.
"""

import multiprocessing
import os
import pathlib
import random
import shutil
import tempfile
import time

# About 100 thousand and 21 million instructions an input.
SHORT_TURNS = (10, 20)
SHARED_LANES = 4096
LONG_TURNS = (2800, 3400)
# Inputs that QEMU runs, of all: enough for some seconds on every core.
QEMU_INPUTS = {"short": 8192, "long": 2048}
TEXT = 160  # characters


def expression(source, size):
    """A random expression of about so many characters."""
    if size < 6:
        return "x" if source.random() < 0.4 else str(int(source.random() * 1000))
    kind = int(source.random() * 10)
    if kind < 2:
        name = ("abs", "bits", "gcd", "sqrt")[int(source.random() * 4)]
        return f"{name}({expression(source, size - 6)})"
    if kind == 2:
        third = size // 3
        return f"({expression(source, third)} % 2 ? {expression(source, third)} : {expression(source, third)})"
    left = 2 + int(source.random() * (size - 5))
    sign = "++-**/%"[int(source.random() * 7)]
    return f"({expression(source, left)} {sign} {expression(source, size - 4 - left)})"


def make_inputs(rounds, count):
    source = random.Random(4)
    least, most = rounds
    return [f"{least + int(source.random() * (most - least))} {expression(source, TEXT)}" for _ in range(count)]


def qemu_worker(job):
    """Runs inputs one after the other; their outputs."""
    command, inputs, folder = job
    given, taken = os.path.join(folder, f"{os.getpid()}.in"), os.path.join(folder, f"{os.getpid()}.out")
    outputs = []
    for line in inputs:
        with open(given, "w", encoding="utf-8") as file:
            file.write(line + "\n")
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, taken, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ]
        os.waitpid(os.posix_spawn(command[0], command, {}, file_actions=actions), 0)
        outputs.append(pathlib.Path(taken).read_text(encoding="utf-8"))
    return outputs


def run_qemu(command, inputs):
    """(wall seconds, outputs in order) of all inputs on all cores, a process each."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    cores = os.cpu_count()
    shares = max(1, len(inputs) // (cores * 8))
    with tempfile.TemporaryDirectory(prefix="kvrm-bench-", dir=shared) as folder, multiprocessing.Pool(cores) as pool:
        jobs = [(command, inputs[at : at + shares], folder) for at in range(0, len(inputs), shares)]
        began = time.perf_counter()
        outputs = pool.map(qemu_worker, jobs, chunksize=1)
        return time.perf_counter() - began, [output for share in outputs for output in share]


def add_kvrm(bench, part, name, program, inputs, lanes, environment=None):
    command, wall, counted, records = bench.fleet(program, inputs, lanes, environment=environment, tag=part)
    checked = bench.check_lanes(program, inputs, records)
    figure = bench.add(
        part, name, command, wall=wall,
        ips=counted["ips"], instructions=counted["instructions"], seconds=counted["seconds"],
        inputs=len(inputs), inputs_per_second=len(inputs) / wall,
        inputs_per_second_inside=len(inputs) / counted["seconds"],
        launches=counted["launches"], lanes=lanes, checked=checked,
    )
    return figure, records


def measure(bench, part, rounds, count):
    program = bench.guests / "fleet" / "evaluate"
    inputs = make_inputs(rounds, count)
    kvrm, records = add_kvrm(bench, part, "kvrm", program, inputs, bench.options.fleet_lanes)
    if part == "short":
        # Lanes that share warps, 32 in each: what the rule is for.
        some = inputs[: SHARED_LANES // 8 if bench.options.small else SHARED_LANES]
        on = {"KVRM_LANES_PER_WARP": "32"}
        off = {**on, "KVRM_RECONVERGE": "0"}
        with_rule, _ = add_kvrm(bench, part, "kvrm, shared warps", program, some, len(some), on)
        without, _ = add_kvrm(bench, part, "kvrm, no reconvergence rule", program, some, len(some), off)
        bench.add(part, "reconvergence rule gains", "", ratio=without["seconds"] / with_rule["seconds"])
    if not bench.options.qemu:
        print(f"{part}: no qemu-aarch64 here (--qemu PATH)")
        return
    command = [shutil.which(bench.options.qemu), "-cpu", "neoverse-n1", str(program)]
    chosen = inputs[: QEMU_INPUTS[part]]
    wall, outputs = run_qemu(command, chosen)
    for index, output in enumerate(outputs):
        if output != records[index]["stdout"]:
            raise SystemExit(f"gpu.py: input {index}: {records[index]['stdout']!r}, QEMU {output!r}: {chosen[index]}")
    instructions = sum(record["instructions"] for record in records[: len(chosen)])
    bench.add(
        part, f"qemu on {os.cpu_count()} cores", " ".join(command) + " <INPUT, a process each", ips=instructions / wall,
        instructions=instructions, wall=wall, inputs=len(chosen), inputs_per_second=len(chosen) / wall,
    )
    bench.add(part, "kvrm/qemu, inputs/s", "", ratio=kvrm["inputs_per_second"] * wall / len(chosen))
