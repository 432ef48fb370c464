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
    Job("calc", 120_000, 480_000),  # steps of the stack machine
    Job("lua", 2, 10, "liblua5.4-dev"),
    Job("lz", 3_000, 18_000),
    Job("zlib", 7_000, 42_000, "zlib1g-dev"),
    Job("words", 20, 140),
    Job("trees", 4, 13),
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


