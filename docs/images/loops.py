#!/usr/bin/env python3
"""Draws docs/images/loops.svg: how many times as fast loops are with bulk steps, by kind and number of trips, from the
newest figures of bench/loops.py in bench/results.

    docs/images/loops.py            writes the picture
    docs/images/loops.py --check    fails if it is not current
"""

import argparse
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "bench/results"
OUT = HERE / "loops.svg"
PANEL, GAP, LEFT, TOP, HEIGHT = 300, 60, 56, 70, 260
COLORS = ("#2a7f62", "#c8553d", "#3266a8", "#8a6d1d", "#7b4fa3", "#2d8f9e", "#a33f6a", "#5b6b2f", "#444c56")
INK, FAINT = "#1f2328", "#d0d7de"
TITLES = {"auto": "beside translated code", "interp": "beside the interpreter"}


def text(x, y, words, anchor="start", size=11, color=INK, weight="normal"):
    style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{color}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{words}</text>'


def panel(figures, engine, left, most, kinds):
    """The curves of one engine; both axes are logarithmic."""
    trips = sorted({one["trips"] for one in figures})
    least = 0.5

    def at(trip, gain):
        x = left + PANEL * math.log(trip / trips[0]) / math.log(trips[-1] / trips[0])
        y = TOP + HEIGHT * (1 - math.log(min(max(gain, least), most) / least) / math.log(most / least))
        return x, y

    lines = [text(left, TOP - 14, TITLES[engine], size=12, weight="bold")]
    for gain in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if gain > most:
            continue
        y = at(trips[0], gain)[1]
        color = INK if gain == 1 else FAINT
        lines.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}" stroke="{color}"/>')
        lines.append(text(left - 6, y + 4, f"{gain:g}", "end"))
    for trip in trips:
        lines.append(text(at(trip, 1)[0], TOP + HEIGHT + 18, f"{trip:,}", "middle"))
    for kind, color in zip(kinds, COLORS):
        points = [at(one["trips"], one["gain"]) for one in figures if one["kind"] == kind]
        if not points:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>' for x, y in points]
    return lines


def newest_figures():
    """Of each engine, those of the newest file that has it."""
    newest = {}
    for path in sorted(RESULTS.glob("*-cpu-loops*.json")):
        figures = json.loads(path.read_text())
        for engine in {one["engine"] for one in figures}:
            newest[engine] = [one for one in figures if one["engine"] == engine]
    return [one for figures in newest.values() for one in figures]


def picture(figures):
    engines = [engine for engine in TITLES if any(one["engine"] == engine for one in figures)]
    kinds = list(dict.fromkeys(one["kind"] for one in figures))
    width = LEFT + len(engines) * (PANEL + GAP) + 90
    most = 1.2 * max(one["gain"] for one in figures)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + HEIGHT + 50}"'
        f' viewBox="0 0 {width} {TOP + HEIGHT + 50}" font-family="system-ui, sans-serif">',
        f'<rect width="{width}" height="{TOP + HEIGHT + 50}" rx="8" fill="#ffffff"/>',
        text(20, 26, "Loops with bulk steps: times as fast, by trips of the loop", size=16, weight="bold"),
    ]
    for number, engine in enumerate(engines):
        mine = [one for one in figures if one["engine"] == engine]
        lines += panel(mine, engine, LEFT + number * (PANEL + GAP), most, kinds)
    for number, (kind, color) in enumerate(zip(kinds, COLORS)):
        lines.append(text(width - 100, TOP + 14 + 18 * number, kind, size=12, color=color, weight="bold"))
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the picture is not current")
    options = parser.parse_args()
    drawn = picture(newest_figures())
    if options.check:
        if not OUT.exists() or OUT.read_text() != drawn:
            sys.exit("loops: docs/images/loops.svg is not current; run docs/images/loops.py")
        return
    OUT.write_text(drawn)


if __name__ == "__main__":
    main()
