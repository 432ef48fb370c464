"""Every engine of kvrm on a program, without a cache and with one, against qemu-aarch64 in the same rounds.

A round runs qemu, --engine interp, --engine jit with an empty cache folder, three times more with what that run has
left there, and the same for --engine auto. Each run's time is taken by the wall clock and as CPU time (user and system,
all threads).
"""

import os
import shlex
import tempfile

from harness import OUT, fail, geometric_mean, measured, note, spread, statistics
from programs import FILES, SETS

PHASES = ("qemu", "interp", "jit-cold", "jit-warm", "auto-cold", "auto-warm")
WARM_RUNS = 3
# What --stats=json says of the translator, in the table's columns.
TRANSLATOR = {"regions": "regions", "cached_regions": "cached", "region_words": "words"}


def chosen(text):
    """The phases of a list with commas, in their order."""
    names = text.split(",")
    unknown = [name for name in names if name not in PHASES]
    if unknown:
        fail(f"no phase '{unknown[0]}' (there are {', '.join(PHASES)})")
    return [name for name in PHASES if name in names]


def command_of(options, program, label):
    """The command of a phase, or of one of its runs."""
    engine = label.split("-")[0]
    if engine == "qemu":
        return program.qemu()
    return program.kvrm(options.kvrm, [*shlex.split(options.kvrm_options), "--engine", engine, "--stats=json"])


def one_round(options, program, is_first):
    """(label, run) of each run. QEMU's first is always made: its output is the one that counts."""
    if is_first or "qemu" in options.phases:
        yield "qemu", measured(program.qemu(), FILES)
    for engine in ("interp", "jit", "auto"):
        of_engine = [phase for phase in options.phases if phase.split("-")[0] == engine]
        if not of_engine:
            continue
        command = command_of(options, program, engine)
        with tempfile.TemporaryDirectory(prefix="cache-", dir=OUT) as cache:
            environment = os.environ | {"XDG_CACHE_HOME": cache}
            first = engine if engine == "interp" else f"{engine}-cold"
            yield first, measured(command, FILES, environment)
            for number in range(WARM_RUNS if f"{engine}-warm" in of_engine else 0):
                yield f"{engine}-warm-{number + 1}", measured(command, FILES, environment)


def measure(options, program):
    """The program's figures: label -> what its runs took, and kvrm's statistics of one of them."""
    runs = {}
    expected = None
    for number in range(options.rounds):
        note(f"  {program.name}: round {number + 1} of {options.rounds}")
        for label, run in one_round(options, program, number == 0):
            note(f"    {label}: {run.wall:.2f} s, CPU {run.cpu:.2f} s")
            expected = expected or run.digest
            if run.digest != expected:
                fail(f"{program.name}: {label} does not print what {shlex.join(program.qemu())} prints")
            runs.setdefault(label, []).append(run)
    if "qemu" not in options.phases:
        del runs["qemu"]
    result = {"name": program.name, "set": program.part}
    result["commands"] = {label: shlex.join(command_of(options, program, label)) for label in runs}
    result["runs"] = {label: figures(taken, result["commands"][label]) for label, taken in runs.items()}
    counted = [figure["statistics"] for figure in result["runs"].values() if "statistics" in figure]
    result["instructions"] = counted[0]["instructions"] if counted else None
    return result


def figures(runs, command):
    """The spread of what the runs took; with kvrm's statistics of the run whose wall time is the median."""
    found = {kind: spread([getattr(run, kind) for run in runs]) for kind in ("wall", "cpu", "user", "system")}
    middle = sorted(runs, key=lambda run: run.wall)[(len(runs) - 1) // 2]
    if "--stats=json" in command:
        found["statistics"] = statistics(middle, command, "instructions")
        seconds = found["statistics"].get("translation_seconds")
        found["translating_share"] = None if seconds is None else seconds / middle.wall
    return found


def measure_all(options, programs):
    """The report; what is measured so far when it is interrupted."""
    report = {"phases": options.phases, "load_before": os.getloadavg(), "programs": [], "complete": False}
    try:
        for program in programs:
            report["programs"].append(measure(options, program))
        report["complete"] = True
    except KeyboardInterrupt:
        note("interrupted; what is measured so far:")
    report["load_after"] = os.getloadavg()
    report["summary"] = summary(report["programs"])
    return report


def median_of(result, label, kind):
    run = result["runs"].get(label)
    return run[kind]["median"] if run else None


def ratio(result, label, kind, peer):
    """QEMU's time over ours, or ours over the interpreter's; None where one of both was not measured."""
    ours, theirs = median_of(result, label, kind), median_of(result, peer, kind)
    if not ours or not theirs or label == peer:
        return None
    return theirs / ours if peer == "qemu" else ours / theirs


def labels_of(results):
    """The labels that occur, in the order of the rounds."""
    return list(dict.fromkeys(label for result in results for label in result["runs"]))


def aggregate(results, label, kind, peer):
    """The geometric mean of a ratio and its worst program; None without any."""
    ratios = {result["name"]: ratio(result, label, kind, peer) for result in results}
    ratios = {name: value for name, value in ratios.items() if value}
    if not ratios:
        return None
    worst = (min if peer == "qemu" else max)(ratios, key=ratios.get)
    mean = geometric_mean(ratios.values())
    return {"mean": mean, "worst": worst, "worst_ratio": ratios[worst], "programs": len(ratios)}


def summary(results):
    """Set -> "wall to qemu" and the like -> label -> mean and worst program."""
    found = {}
    for part in SETS:
        of_set = [result for result in results if result["set"] == part]
        for peer in ("qemu", "interp"):
            for kind in ("wall", "cpu"):
                of_kind = {label: aggregate(of_set, label, kind, peer) for label in labels_of(of_set)}
                of_kind = {label: value for label, value in of_kind.items() if value}
                if of_kind:
                    found.setdefault(part, {})[f"{kind} to {peer}"] = of_kind
    return found


def row(name, cells):
    print(f"{name:<19}" + "".join(f"{cell:>12}" for cell in cells))


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def print_seconds(results, labels, kind, title):
    row(title, ["M instr", *labels])
    for result in results:
        millions = number(result["instructions"] and result["instructions"] / 1e6, 1)
        row(result["name"], [millions, *(number(median_of(result, label, kind)) for label in labels)])
    print()


def print_ratios(report, labels, kind, peer, title):
    """The ratios to one peer, with the mean and the worst program of each set."""
    labels = [label for label in labels if label not in ("qemu", peer)]
    rows = [(result["name"], [ratio(result, label, kind, peer) for label in labels]) for result in report["programs"]]
    if not any(value for _, values in rows for value in values):
        return
    row(title, labels)
    for name, values in rows:
        row(name, map(number, values))
    for part, of_set in report["summary"].items():
        found = [of_set.get(f"{kind} to {peer}", {}).get(label) for label in labels]
        row(f"{part}, mean", [number(value and value["mean"]) for value in found])
        row(f"{part}, worst", [number(value and value["worst_ratio"]) for value in found])
        row("", [value["worst"][:11] if value else "" for value in found])
    print()


def print_translator(results, labels):
    """What was translated in each phase, and which share of the run by the wall clock that took."""
    labels = [label for label in labels if label not in ("qemu", "interp")]
    if not labels:
        return
    row("translator", ["phase", *TRANSLATOR.values(), "seconds", "% of wall"])
    for result in results:
        for label in labels:
            if label not in result["runs"]:
                continue
            counted, share = (result["runs"][label][key] for key in ("statistics", "translating_share"))
            told = [number(counted.get("translation_seconds")), number(share and 100 * share, 1)]
            row(result["name"], [label, *(counted.get(key, "-") for key in TRANSLATOR), *told])
    print()


def print_report(report):
    results = report["programs"]
    labels = labels_of(results)
    for kind, told in (("wall", "wall"), ("cpu", "CPU")):
        print_seconds(results, labels, kind, f"{told}, seconds")
        print_ratios(report, labels, kind, "qemu", f"{told}, qemu/kvrm")
        print_ratios(report, labels, kind, "interp", f"{told}, kvrm/interp")
    print_translator(results, labels)
    for moment in ("before", "after"):
        print(f"load {moment}: " + " ".join(f"{value:.2f}" for value in report[f"load_{moment}"]))
