"""bench/gpu.py's part `memory`: one lane, programs with more memory than the L2 cache, with and without prefetching."""

import shlex
import shutil
import statistics

import programs

# Name, arguments, arguments for a trial; the last runs walk what the first have built.
PROGRAMS = [
    ("tree", "", "4096 4096"),
    ("hash_join", "", "4096 4096"),
    ("bfs", "", "4096"),
    ("second_pass", "2097152 8", "4096 2"),
    ("sort", "", "16384"),
    ("sqlite", ":memory: script.sql 6000", ":memory: script.sql 20"),
]
MODES = ("off", "counters", "network")
ROUNDS = 3


def guest_of(bench, name):
    return bench.guests / ("real" if name == "sqlite" else "memory") / name


def build():
    if not shutil.which("aarch64-linux-gnu-gcc"):
        return
    if not programs.made("memory"):
        raise SystemExit("gpu.py: the guests do not build")
    if programs.fetched({"libsqlite3-dev"}):
        programs.made(str(programs.GUESTS / "real" / "sqlite"))


def choices(bench, name, guest, arguments, root):
    """The options for the network's choices, or None if it has none here."""
    out = bench.work / f"prefetch-{name}.json"
    command = [bench.kvrm, "models", "prefetch", "--out", str(out), "--accesses", "2e7", *root, str(guest), *arguments]
    done = bench.run_quietly(command)
    if not done or '"pc"' not in out.read_text():
        print(f"memory: the network chooses nothing for {name}")
        return None
    return ["--prefetch-choices", str(out)]


def measure(bench):
    """Alternating runs; the ratios are of the least wall times, to the end of the program."""
    build()
    files = bench.guests.parent / "files"
    programs.write_files(files, {})
    for name, usual, small in PROGRAMS:
        guest = guest_of(bench, name)
        if not guest.exists():
            print(f"memory: {name} left out: no {guest}")
            continue
        arguments = shlex.split(small if bench.options.small else usual)
        root = ["--root", str(files)] if name == "sqlite" else []
        extra = {"off": [], "counters": [], "network": choices(bench, name, guest, arguments, root)}
        walls = {mode: [] for mode in MODES if extra[mode] is not None}
        commands, outputs, counted = {}, set(), {}
        for turn in range(ROUNDS + 1):
            for mode in walls:
                commands[mode] = [bench.kvrm, "run", "--device", bench.options.device, "--engine", bench.options.engine]
                commands[mode] += ["--prefetch", mode, *extra[mode], *root, "--stats=json", str(guest), *arguments]
                wall, output, counted[mode] = bench.run_for_output(commands[mode])
                outputs.add((output, counted[mode]["instructions"]))
                if turn != 0:  # the first run translates
                    walls[mode].append(wall)
        if len(outputs) != 1:
            raise SystemExit(f"gpu.py: {name} differs with prefetching")
        for mode, found in walls.items():
            ratio = min(walls["off"]) / min(found)
            figures = {"wall": min(found), "median": statistics.median(found), "ratio": ratio}
            figures["instructions"] = counted[mode]["instructions"]
            bench.add("memory", f"{name}, {mode}", shlex.join(commands[mode]), **figures)
