"""The newest figure of everything that bench/results holds.

A figure replaces an older one of the same name. Where one file measured the same thing twice, the longer run counts.
Speeds are ratios: the peer's time over KVRM's, so more than 1 means that KVRM is faster.
"""

import json
import pathlib

from harness import geometric_mean

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# The columns of the real set: the name here -> the name in phases.py, and in the file of 2026-11-17.
REAL_RUNS = {
    "interp": ("interp", "interp"),
    "auto, first run": ("auto-cold", "auto-0"),
    "auto, fourth run": ("auto-warm-3", "auto-3"),
}


# Programs of the real set that had another name in older files.
RENAMED = {"sqlite": "sqlite-memory"}


def reports(folder=RESULTS):
    """(file name, date, report) of each report in each file, the oldest first."""
    found = []

    def walk(path, value):
        if not isinstance(value, dict):
            return
        if isinstance(value.get("figures"), list) or "programs" in value:
            found.append((path.name, str(value.get("date", path.name))[:10], value))
            return
        for part in value.values():
            walk(path, part)

    for path in sorted(folder.glob("*.json"), key=lambda path: path.stem):
        walk(path, json.loads(path.read_text()))
    return sorted(found, key=lambda report: (report[1], str(report[2].get("date", ""))))


class Figure(dict):
    """What was measured, with `file` and `date`."""

    def __init__(self, values, file, date):
        super().__init__(values, file=file, date=date)


def loops(everything):
    """(set, engine) -> program -> figure of bench/run.py; engine is interp or jit."""
    newest = {}
    for file, date, report in everything:
        if not isinstance(report.get("programs"), list):
            continue
        for program in report["programs"]:
            if "kvrm" not in program.get("seconds", {}):
                continue
            engine = "jit" if "--engine jit" in program["commands"]["kvrm"] else "interp"
            seconds = {kind: times["median"] for kind, times in program["seconds"].items() if times}
            values = {"instructions": program["instructions"], "seconds": seconds}
            values["ratio"] = seconds["qemu"] / seconds["kvrm"]
            cold = (program.get("cold_seconds") or {}).get("whole")
            values["cold_ratio"] = seconds["qemu"] / cold["median"] if cold else None
            values["hello"] = {kind: times["median"] for kind, times in report["hello"]["seconds"].items()}
            newest.setdefault((program["set"], engine), {})[program["name"]] = Figure(values, file, date)
    return newest


def real_runs(program):
    """The median wall seconds of each run, in the names of REAL_RUNS and qemu; program is of either format."""
    runs = program.get("runs", program)
    seconds = {}
    for name, labels in {"qemu": ("qemu", "qemu"), **REAL_RUNS}.items():
        run = next((runs[label] for label in labels if label in runs), None)
        if run:
            seconds[name] = run["wall"]["median"] if isinstance(run["wall"], dict) else run["wall"]
    return seconds


def real(everything):
    """Program -> figure of the real set."""
    newest = {}
    for file, date, report in everything:
        programs = report.get("programs")
        if isinstance(programs, list):
            programs = {program["name"]: program for program in programs if program.get("set") == "real"}
        for name, program in (programs or {}).items():
            seconds = real_runs(program)
            if "qemu" in seconds:
                ratios = {run: seconds["qemu"] / value for run, value in seconds.items() if run != "qemu"}
                newest[RENAMED.get(name, name)] = Figure({"qemu": seconds["qemu"], "ratios": ratios}, file, date)
    return newest


def gpu(everything):
    """(engine, part, name) -> figure of bench/gpu.py."""
    newest = {}
    for file, date, report in everything:
        for figure in report.get("figures") if isinstance(report.get("figures"), list) else []:
            key = (report.get("engine", "interp"), figure.get("part"), figure.get("name"))
            before = newest.get(key)
            longer = before and before["file"] == file and before.get("instructions", 0) > figure.get("instructions", 0)
            if not longer:
                newest.pop(key, None)  # the order is that of the newest file
                newest[key] = Figure(figure, file, date)
    return newest


def mean(values):
    values = [value for value in values if value]
    return geometric_mean(values) if values else None
