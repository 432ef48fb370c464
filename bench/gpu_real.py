"""bench/gpu.py's parts `real-one` and `real-lockstep`: ordinary programs on one lane and in lockstep."""

import pathlib
import shlex
import shutil
import statistics
import tempfile
from typing import NamedTuple

import programs
from programs import GUESTS

WARM_RUNS = 2
KEYS = ("stop", "exit_status", "signal", "instructions", "stdout")  # of a job's record, equal on every device


class Lockstep(NamedTuple):
    """A program that all lanes run alike: its guest, arguments and a line of stdin."""

    name: str
    guest: str
    arguments: str = ""
    line: str = ""
    package: str | None = None
    files: bool = False


# The real set at 2 to 10 million instructions a lane. records and trees do more than that at size 1, so they are the
# jobs' guests. sqlite-file is left out: all lanes would write one file.
LOCKSTEP = [
    Lockstep("records", "jobs/records", line="1 600"),
    Lockstep("calc", "real/calc", "60"),
    Lockstep("lz", "real/lz", "10000"),
    Lockstep("zlib", "real/zlib", "6000", package="zlib1g-dev"),
    Lockstep("zstd", "real/zstd", "3000", package="libzstd-dev"),
    Lockstep("words", "real/words", "80"),
    Lockstep("trees", "jobs/trees", line="1 9"),
    Lockstep("argmin", "real/argmin", "30"),
    Lockstep("sums", "real/sums", "36"),
    Lockstep("lua", "real/lua", "script.lua 8", package="liblua5.4-dev", files=True),
    Lockstep("mujs", "real/mujs", "script.js 1", package="libmujs-dev", files=True),
    Lockstep("jim", "real/jim", "script.tcl 6", package="libjim-dev", files=True),
    Lockstep("sqlite-memory", "real/sqlite", ":memory: script.sql 4", package="libsqlite3-dev", files=True),
    Lockstep("bash", "packaged/bash-static", "script.sh 2", package="bash-static", files=True),
    Lockstep("awk", "packaged/busybox", "awk -v size=6 -f script.awk gzip.txt", package="busybox-static", files=True),
]
NAMES = {program.name for program in programs.every_program()}


def build(*targets, packages=()):
    """Builds guests where the cross compiler is; those that need a package, if the package can be had."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        return
    if not programs.made(*targets):
        raise SystemExit("gpu.py: the guests do not build")
    for package, guest in packages:
        there = programs.fetched({package})
        if there and guest.startswith("packaged/"):
            (GUESTS / "packaged").mkdir(parents=True, exist_ok=True)
            shutil.copy(programs.SYSROOT / "bin" / pathlib.Path(guest).name, GUESTS / "packaged")
        elif there:
            programs.made(str(GUESTS / guest))


def guest_of(program):
    """A guest's path below the folder of guests: those of packages are in `packaged`."""
    guest = pathlib.Path(program.guest[0])
    return str(guest.relative_to(GUESTS)) if guest.is_relative_to(GUESTS) else f"packaged/{guest.name}"


def files_of(bench):
    """The folder that programs see as their root, beside the guests."""
    folder = bench.guests.parent / "files"
    read = " ".join(argument for program in chosen(bench) for argument in program.guest[1:])
    texts = {name: size for name, size in programs.TEXT_BYTES.items() if name in read or name == "gzip.txt"}
    programs.write_files(folder, texts)
    return folder


def is_there(bench, part, name, guest):
    """Whether the guest is on this machine; a line says that it is not."""
    if (bench.guests / guest).exists():
        return True
    print(f"{part}: {name} left out: no {bench.guests / guest}")
    return False


def build_sets(bench):
    packages = [(program.package, guest_of(program)) for program in chosen(bench) if program.package]
    build("real", *(["all"] if {"integer", "numeric"} & set(bench.options.sets) else []), packages=packages)


def chosen(bench):
    everything = programs.every_program(bench.options.small)
    return [program for program in everything if program.part in bench.options.sets and bench.is_wanted(program.name)]


def measure_one(bench):
    """Each program for so many instructions on one lane: with an empty cache folder, then with what that run left."""
    build_sets(bench)
    root = files_of(bench)
    taken = {}
    for program in chosen(bench):
        if is_there(bench, "real-one", program.name, guest_of(program)):
            for kind, figure in runs_of(bench, program, root).items():
                taken.setdefault((program.part, kind), []).append(figure)
    for (part, kind), figures in taken.items():
        bench.mean("real-one", f"geometric mean: {part}, {kind}", figures)


def runs_of(bench, program, root):
    """The figures of a program: cold and warm, or interp. Their output is the CPU device's."""
    limit = str(bench.options.real_instructions)

    def command(device, engine):
        told = [bench.kvrm, "run", "--device", device, "--engine", engine, "--stats=json", "--max-instructions", limit]
        granted = ["--root", str(root)] if program.granted else []
        return [*told, *granted, str(bench.guests / guest_of(program)), *program.guest[1:]]

    engine = bench.options.engine
    with tempfile.TemporaryDirectory(prefix="cache-", dir=bench.work) as cache:
        def run(told):
            for rest in root.glob("*.db*"):  # a run that was stopped leaves a journal, which the next one would replay
                rest.unlink()
            return bench.run_for_output(told, environment={"XDG_CACHE_HOME": cache}, may_stop=True)

        told = command(bench.options.device, engine)
        runs = [run(told) for _ in range(1 if engine == "interp" else 1 + WARM_RUNS)]
        right = run(command("cpu", "interp" if bench.options.small else "auto"))
    for _, output, counted in runs:
        if (output, counted["instructions"]) != (right[1], right[2]["instructions"]):
            raise SystemExit(f"gpu.py: {program.name}: not what the CPU device does: {shlex.join(told)}")
    if engine == "interp":
        return {"interp": add_run(bench, program.name, "interp", told, runs)}
    kinds = {"cold": runs[:1], "warm": runs[1:]}
    return {kind: add_run(bench, program.name, kind, told, of_kind) for kind, of_kind in kinds.items()}


def add_run(bench, name, kind, told, runs):
    """A figure of runs of one kind: medians, and all that the last one counted."""
    counted = runs[-1][2]
    keys = ("instructions", "launches", "regions", "cached_regions", "translation_seconds", "link_seconds")
    speeds = [run[2]["ips"] for run in runs]
    wall = statistics.median(run[0] for run in runs)
    return bench.add(
        "real-one", f"{name}, {kind}", shlex.join(told), wall=wall, ips=statistics.median(speeds),
        least=min(speeds), most=max(speeds), ips_wall=counted["instructions"] / wall, seconds=counted["seconds"],
        **{key: counted[key] for key in keys if key in counted}, **shares(counted), statistics=counted,
    )  # fmt: skip


def shares(counted):
    """The share of the instructions that each tier ran, where kvrm tells."""
    tiers = counted.get("tiers", {})
    return {f"share_{name}": tier["instructions"] / counted["instructions"] for name, tier in tiers.items()}


def measure_lockstep(bench):
    """The same program with the same input on all lanes."""
    wanted = [program for program in LOCKSTEP if bench.is_wanted(program.name)]
    build("real", "jobs", packages=[(program.package, program.guest) for program in wanted if program.package])
    root = files_of(bench)
    for lanes in bench.options.lane_counts:
        figures = {}
        for program in wanted:
            if is_there(bench, "real-lockstep", program.name, program.guest):
                figures[program] = lockstep_of(bench, program, lanes, root)
        bench.mean("real-lockstep", f"geometric mean x {lanes}", list(figures.values()))
        without = [figure for program, figure in figures.items() if not program.files]
        bench.mean("real-lockstep", f"geometric mean x {lanes}, no files", without)


def lockstep_of(bench, program, lanes, root):
    guest, inputs = bench.guests / program.guest, [program.line] * lanes
    more = {"options": ["--root", str(root)] if program.files else [], "arguments": program.arguments.split()}
    command, wall, counted, records = bench.fleet(guest, inputs, lanes, **more)
    kinds = {tuple(record.get(key) for key in KEYS) for record in records}
    if len(kinds) != 1 or records[0]["stop"] != "exit":
        raise SystemExit(f"gpu.py: {program.name}: {len(kinds)} kinds of lanes: {list(kinds)[:2]}")
    checked = bench.check_lanes(guest, inputs, records, **more)
    return bench.add(
        "real-lockstep", f"{program.name} x {lanes}", command, wall=wall, ips=counted["ips"],
        instructions=counted["instructions"], each=records[0]["instructions"], seconds=counted["seconds"],
        launches=counted["launches"], cached_regions=counted["cached_regions"], lanes=lanes, checked=checked,
        statistics=counted,
    )  # fmt: skip
