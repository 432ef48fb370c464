#!/usr/bin/env python3
"""Draws docs/images/speeds.svg: KVRM's speed against QEMU's, from the newest figures in bench/results.

    docs/images/speeds.py            writes the picture
    docs/images/speeds.py --check    fails if it is not current
"""

import argparse
import html
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parents[1] / "bench"))
import tables  # noqa: E402

OUT = HERE / "speeds.svg"
WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 860, 300, 70, 64, 34, 20
LEAST, MOST = 0.25, 64
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
FASTER, SLOWER, INK, FAINT = "#2a7f62", "#c8553d", "#1f2328", "#d0d7de"


def x_of(value):
    share = math.log(value / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def text(x, y, words, anchor="start", size=13, weight="normal"):
    style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{INK}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(words)}</text>'


def bar(row, what, peer, value):
    y = TOP + row * ROW
    start, end = sorted((x_of(1), x_of(min(max(value, LEAST), MOST))))
    color = FASTER if value >= 1 else SLOWER
    anchor, x = ("start", end + 6) if value >= 1 else ("end", start - 6)
    return [
        text(LEFT - 14, y + 9, what, "end"),
        text(LEFT - 14, y + 22, f"against {peer}", "end", size=10),
        f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR}" rx="3" fill="{color}"/>',
        text(x, y + 15, f"{tables.ratio(value)}x", anchor, weight="bold"),
    ]


def picture(rows):
    height = TOP + len(rows) * ROW + 34
    bottom = TOP + len(rows) * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="system-ui, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        text(20, 26, "Speed of KVRM against QEMU in the same run", size=16, weight="bold"),
        text(20, 44, "logarithmic; bars to the right of 1 are faster than QEMU, bars to the left are slower", size=11),
    ]
    for tick in TICKS:
        x = x_of(tick)
        lines.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" stroke="{FAINT}"/>')
        lines.append(text(x, bottom + 16, f"{tick:g}", "middle", size=11))
    for row, (what, device, peer, value, _) in enumerate(rows):
        lines += bar(row, f"{device.split(':')[0]}: {what}", peer.split(":")[0], value)
    lines.append(f'<line x1="{x_of(1):.1f}" y1="{TOP - 8}" x2="{x_of(1):.1f}" y2="{bottom}" stroke="{INK}"/>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the picture is not current")
    options = parser.parse_args()
    drawn = picture(tables.Tables().summary())
    if options.check:
        if not OUT.exists() or OUT.read_text() != drawn:
            sys.exit("speeds: docs/images/speeds.svg is not current; run docs/images/speeds.py")
        return
    OUT.write_text(drawn)


if __name__ == "__main__":
    main()
