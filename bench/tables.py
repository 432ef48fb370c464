#!/usr/bin/env python3
"""Writes the tables of docs/performance.md and README.md from the newest figures in bench/results.

    bench/tables.py            writes them
    bench/tables.py --check    fails if they are not current

A table stands between <!-- table: NAME --> and <!-- end of table -->.
"""

import argparse
import pathlib
import re
import sys

import newest

REPO = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/performance.md")
BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.S)
LANES = 50688


def ratio(value):
    return "-" if value is None else f"{value:.2f}" if value < 9.95 else f"{value:.1f}"


def rate(value, unit=1e6):
    return "-" if value is None else f"{value / unit:,.0f}" if value / unit >= 100 else f"{value / unit:.3g}"


def table(titles, rows):
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def sources(figures):
    """The files that figures come from, with their dates."""
    files = sorted({figure["file"] for figure in figures}, key=lambda name: pathlib.PurePath(name).stem)
    return "\n".join(["", "From " + ",\n".join(f"`bench/results/{file}`" for file in files) + ".", ""])


class Tables:
    def __init__(self, folder=newest.RESULTS):
        everything = newest.reports(folder)
        self.loops = newest.loops(everything)
        self.real = newest.real(everything)
        self.gpu = newest.gpu(everything)

    def cpu_loops(self):
        """The integer and numeric sets."""
        rows, used = [], []
        titles = ["program", "M instructions", "interp", "auto, first run", "jit, warm", "jit, M/s", "jit / native"]
        for part in ("integer", "numeric"):
            interp, jit = (self.loops.get((part, engine), {}) for engine in ("interp", "jit"))
            used += [*interp.values(), *jit.values()]
            for name, figure in jit.items():
                seconds = figure["seconds"]
                native = seconds["native"] / seconds["kvrm"] if "native" in seconds else None
                slow = interp[name]["ratio"] if name in interp else None
                speed = rate(figure["instructions"] / seconds["kvrm"])
                cells = [ratio(slow), ratio(figure["cold_ratio"]), ratio(figure["ratio"]), speed, ratio(native)]
                rows.append([name, f"{figure['instructions'] / 1e6:.0f}", *cells])
            means = [newest.mean(figure["ratio"] for figure in interp.values())]
            means += [newest.mean(figure[key] for figure in jit.values()) for key in ("cold_ratio", "ratio")]
            rows.append([f"**{part} set, geometric mean**", "", *(f"**{ratio(value)}**" for value in means), "", ""])
        return table(titles, rows) + sources(used)

    def cpu_real(self):
        """The real set."""
        runs = list(newest.REAL_RUNS)
        rows = [
            [name, f"{figure['qemu']:.1f} s", *(ratio(figure["ratios"].get(run)) for run in runs)]
            for name, figure in self.real.items()
        ]
        means = [newest.mean(figure["ratios"].get(run) for figure in self.real.values()) for run in runs]
        rows.append(["**geometric mean**", "", *(f"**{ratio(value)}**" for value in means)])
        return table(["program", "QEMU takes", *runs], rows) + sources(self.real.values())

    def of_gpu(self, part, engine):
        """Name -> figure, without the sums."""
        found = {name: figure for (e, p, name), figure in self.gpu.items() if (e, p) == (engine, part)}
        return {name: figure for name, figure in found.items() if "geometric" not in name and "ratio" not in figure}

    def gpu_one_lane(self):
        interp, jit = self.of_gpu("one", "interp"), self.of_gpu("one", "jit")
        native = {key[2]: value for key, value in self.gpu.items() if key[1] == "native" and "seconds" in value}
        rows, means = [], [[], [], [], []]
        for name in interp:
            speeds = [source[name]["ips"] if name in source else None for source in (interp, jit, native)]
            share = speeds[1] / speeds[2] if speeds[1] and speeds[2] else None
            rows.append([name, *map(rate, speeds), ratio(share), jit[name]["date"] if name in jit else ""])
            for values, value in zip(means, [*speeds, share]):
                values.append(value)
        *speeds, share = map(newest.mean, means)
        rows.append(["**geometric mean**", *(f"**{rate(value)}**" for value in speeds), f"**{ratio(share)}**", ""])
        titles = ["one lane, M/s", "interp", "jit, warm", "native, one GPU thread", "jit / native", "jit measured"]
        return table(titles, rows) + sources([*interp.values(), *jit.values(), *native.values()])

    def gpu_lockstep(self):
        ending = f" x {LANES}"
        interp, jit = self.of_gpu("lockstep", "interp"), self.of_gpu("lockstep", "jit")
        rows, used, means = [], [], [[], []]
        for name in [name for name in interp if name.endswith(ending)]:
            pair = [source.get(name) for source in (interp, jit)]
            used += [figure for figure in pair if figure]
            speeds = [figure["ips"] if figure else None for figure in pair]
            rows.append([name.removesuffix(ending), *(rate(speed, 1e9) for speed in speeds)])
            for values, value in zip(means, speeds):
                values.append(value)
        rows.append(["**geometric mean**", *(f"**{rate(newest.mean(values), 1e9)}**" for values in means)])
        return table([f"{LANES:,} lanes in lockstep, G/s", "interp", "jit, warm"], rows) + sources(used)

    def fleet(self, engine, part):
        """kvrm's figure and QEMU's of the same run; None where there is none."""
        kvrm = self.gpu.get((engine, part, "kvrm"))
        qemu = next((f for (e, p, name), f in self.gpu.items() if (e, p) == (engine, part) and "qemu on" in name), None)
        return (kvrm, qemu) if kvrm and qemu else None

    def gpu_fleets(self):
        rows, used = [], []
        for part in ("short", "long"):
            for engine in ("interp", "jit"):
                pair = self.fleet(engine, part)
                if not pair:
                    continue
                used += pair
                kvrm, qemu = (figure["inputs_per_second"] for figure in pair)
                each = pair[0]["instructions"] / pair[0]["inputs"]
                cells = [f"{each:,.0f}", f"{pair[0]['inputs']:,}", rate(kvrm, 1), rate(qemu, 1), ratio(kvrm / qemu)]
                rows.append([f"{part}, `--engine {engine}`", *cells, pair[0]["date"]])
        titles = ["fleet", "instructions an input", "inputs", "inputs/s", "QEMU, 16 cores", "ratio", "measured"]
        return table(titles, rows) + sources(used)

    def starts(self):
        """Engine or device -> (seconds of kvrm, seconds of QEMU or None, figure) of a static hello."""
        figure = next(iter(self.loops["integer", "jit"].values()))
        gpu = self.gpu["interp", "start", "hello again"]
        return {"cpu": (figure["hello"]["kvrm"], figure["hello"]["qemu"], figure), "gpu": (gpu["wall"], None, gpu)}

    def summary(self):
        """(what, measured, peer, ratio, date): README's table, and the bars of its picture."""
        rows = []
        for part, what in (("integer", "integer loops"), ("numeric", "floating-point loops")):
            figures = self.loops[part, "jit"]
            mean, date = newest.mean(f["ratio"] for f in figures.values()), max(f["date"] for f in figures.values())
            rows.append((f"{len(figures)} {what}, warm", "CPU", "QEMU", mean, date))
        for run, what in (("auto, fourth run", "fourth run"), ("auto, first run", "first run")):
            mean = newest.mean(figure["ratios"][run] for figure in self.real.values())
            date = max(figure["date"] for figure in self.real.values())
            rows.append((f"{len(self.real)} ordinary programs, {what}", "CPU", "QEMU", mean, date))
        for part in ("short", "long"):
            kvrm, qemu = self.fleet("jit", part)
            ours, theirs = (figure["inputs_per_second"] for figure in (kvrm, qemu))
            millions = kvrm["instructions"] / kvrm["inputs"] / 1e6
            what = f"{kvrm['inputs']:,} inputs of {millions:.2g} M instructions"
            peer = f"QEMU on 16 cores: {theirs:,.0f}/s"
            rows.append((what, f"GPU: {ours:,.0f}/s", peer, ours / theirs, kvrm["date"]))
        return rows

    def readme(self):
        rows = []
        for what, device, peer, value, date in self.summary():
            rows.append([what, device, peer, f"**{ratio(value)}**", date])
        kvrm, qemu, figure = self.starts()["cpu"]
        rows.append(["start of a static hello", f"CPU: {kvrm * 1e3:.1f} ms", f"QEMU: {qemu * 1e3:.1f} ms",
                     f"**{ratio(qemu / kvrm)}**", figure["date"]])  # fmt: skip
        return table(["what", "KVRM", "peer, same run", "speed against the peer", "measured"], rows)

    def text(self, name):
        return getattr(self, name.replace("-", "_"))()


def written(page, tables):
    """A page's text with its tables made anew."""
    return BLOCK.sub(lambda found: found[1] + tables.text(found[2]) + found[3], page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not current")
    options = parser.parse_args()
    tables = Tables()
    old = []
    for page in PAGES:
        path = REPO / page
        text = path.read_text()
        new = written(text, tables)
        if not BLOCK.search(text):
            sys.exit(f"tables: {page} has no table")
        if new != text:
            old.append(page)
            if not options.check:
                path.write_text(new)
    if options.check and old:
        sys.exit(f"tables: not current: {', '.join(old)}; run bench/tables.py")
    print(f"tables: {'checked' if options.check else 'written'}")


if __name__ == "__main__":
    main()
