#!/usr/bin/env python3
"""The benchmark sets: kvrm, qemu-aarch64 and native x86-64 in one run.

    bench/run.py                         five alternating rounds of the integer and the numeric set
    bench/run.py --set numeric           floating point and vectors alone
    bench/run.py --set real              ordinary programs, engine by engine, without a cache and with one (phases.py)
    bench/run.py --set all --phases qemu,auto-cold,auto-warm
    bench/run.py --only sieve,lua --rounds 3
    bench/run.py --json build/bench/result.json
    bench/run.py --translator            --engine jit with a warm cache; --engine auto without one

Times are wall clock of the whole process, start to exit; a program's figure is the median of its
rounds. Each round runs qemu, kvrm, native, in that order, and all outputs must be equal.
Sizes are fixed: see bench/README.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import shlex
import shutil
import sys
import tempfile

import phases
import programs
from harness import OUT, QEMU, REPO, fail, geometric_mean, machine, measured, note, spread, statistics
from programs import FILES, GUESTS, INTEGER, NUMERIC, SETS  # gpu.py and float_share.py take the tables from here

HELLO_RUNS = 20
COLD_BUDGETS = (100_000_000, 1_000_000_000)
MOST_WARM_UPS = 16  # and no fewer than phases.WARM_RUNS: the first run of a short program may have no region at all


def commands_of(options, program):
    """The program's commands for qemu, kvrm and native (None where there is none)."""
    kvrm = program.kvrm(options.kvrm, shlex.split(options.kvrm_options))
    return {"qemu": program.qemu(), "kvrm": kvrm, "native": program.native}


def statistics_of(command, *names):
    """What kvrm counts on this program, at least under these names: one extra run with --stats=json."""
    at = command.index("run") + 1
    command = command[:at] + ["--stats=json"] + command[at:]
    return statistics(measured(command, FILES), shlex.join(command), *names)


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
            taken.append(measured(command, FILES, may_stop=True).wall)
    os.environ["XDG_CACHE_HOME"] = kept
    return taken


def measure(options, program):
    name, commands = program.name, commands_of(options, program)
    told = {key: command and shlex.join(command) for key, command in commands.items()}
    for number in range(1, 1 + MOST_WARM_UPS if options.translator else 1):
        if is_warm(commands["kvrm"]) and number >= phases.WARM_RUNS:
            break
    counted = statistics_of(commands["kvrm"], "instructions")
    result = {"name": name, "set": program.part, "commands": told}
    result |= {"instructions": counted["instructions"], "fp_fast_share": fast_share(counted)}
    seconds = {key: [] for key, command in commands.items() if command}
    digests = set()
    cold_runs = []
    for number in range(options.rounds):
        for key in seconds:
            note(f"  {name}: round {number + 1} of {options.rounds}, {key}")
            done = measured(commands[key], FILES)
            seconds[key].append(done.wall)
            digests.add(done.digest)
        if options.translator and number < 3:
            note(f"  {name}: round {number + 1}, kvrm without a cache")
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
            seconds[key].append(measured(command, FILES).wall)
    return {
        "commands": {key: shlex.join(command) for key, command in commands.items()},
        "seconds": {key: spread(values) for key, values in seconds.items()},
    }


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
    for part in SETS:
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


def measure_all(options, chosen):
    """kvrm as --kvrm-options say, or the translator's usual measure: the report."""
    report = {"programs": [], "hello": None, "complete": False}
    if options.translator:
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="cache-", dir=OUT)
    try:
        report["hello"] = measure_start(options)
        for program in chosen:
            report["programs"].append(measure(options, program))
        report["complete"] = True
    except KeyboardInterrupt:
        note("interrupted; what is measured so far:")
    if options.translator:
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    return report


def print_report(report):
    print_table(report["programs"], report["hello"])
    print_cold(report["programs"], report["hello"])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", default=str(REPO / "build" / "kvrm"), help="the kvrm binary")
    parser.add_argument("--kvrm-options", default="", help='options for kvrm run, e.g. "--engine interp"')
    parser.add_argument("--translator", action="store_true", help="--engine jit, warm, and --engine auto, cold")
    parser.add_argument("--phases", help=f"some of {','.join(phases.PHASES)} (default for the real set: all of them)")
    parser.add_argument("--pin", nargs="?", type=int, const=-1, metavar="CORE", help="run everything on one core")
    parser.add_argument("--rounds", type=int, help="alternating rounds per program (default: 5; with phases 3)")
    parser.add_argument("--set", default="integer,numeric", help=f"some of {','.join(SETS)}, or all")
    parser.add_argument("--only", default="", help="only the programs whose name contains this; several with commas")
    parser.add_argument("--small", action="store_true", help="the real set at small sizes, for tests")
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()
    options.sets = programs.chosen_sets(options.set)
    if options.phases is None and "real" in options.sets and not options.translator and not options.kvrm_options:
        options.phases = ",".join(phases.PHASES)
    options.rounds = options.rounds if options.rounds is not None else 3 if options.phases else 5
    check(options)
    return options


def check(options):
    if options.rounds < 1:
        fail("--rounds must be at least 1")
    if not shutil.which(options.kvrm):
        fail(f"no kvrm at {options.kvrm} (build it, or say --kvrm PATH)")
    options.kvrm = os.path.abspath(shutil.which(options.kvrm))
    if options.phases is not None and (options.translator or "--engine" in options.kvrm_options):
        fail("--phases chooses the engines: it goes with neither --translator nor --kvrm-options --engine")
    if options.phases is not None:
        options.phases = phases.chosen(options.phases)
    if options.translator:
        options.kvrm_options += " --engine jit"


def pin(core):
    """Everything from here on runs on one core: the last one, unless it is named."""
    allowed = os.sched_getaffinity(0)
    core = max(allowed) if core == -1 else core
    if core not in allowed:
        fail(f"no core {core} here (there are {', '.join(map(str, sorted(allowed)))})")
    os.sched_setaffinity(0, {core})
    return core


def main():
    options = parse()
    chosen = programs.prepare(programs.chosen(options.sets, options.only, options.small))
    if not chosen:
        fail("none of the programs can run here")
    report = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "machine": machine()}
    report |= {"rounds": options.rounds, "pinned_to": pin(options.pin) if options.pin is not None else None}
    report |= (phases.measure_all if options.phases else measure_all)(options, chosen)
    core, cores = report["pinned_to"], report["machine"]["cores"]
    cores_used = f"{cores} cores" if core is None else f"pinned to core {core}"
    print(f"{report['machine']['cpu']}, {cores_used}; {options.rounds} rounds, medians")
    (phases.print_report if options.phases else print_report)(report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["complete"] else 130


if __name__ == "__main__":
    sys.exit(main())
