#!/usr/bin/env python3
"""Draws which opcodes ended up near each other in the dispatch network's embedding.

    plot_embedding.py --weights models/dispatch-embedding.npy --table build/generated/isa/a64.json \\
        --out docs/images/dispatch-embedding.svg

What counts is what the first layer makes of an embedding, so that is what is drawn: 32 values for each of the 256 top
bytes, in the plane of their two largest principal components. Colours are classes; rings hold several.
"""

import argparse
import pathlib

import matplotlib
import numpy as np
from table import Routing

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "kvrm"  # the same file from the same weights
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=pathlib.Path, required=True)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    routing = Routing(arguments.table)
    weights = np.load(arguments.weights)
    embedding = weights[:8192].reshape(256, 32)
    points = embedding @ weights[8192:9600].reshape(32, 44)[:, :32].T
    points -= points.mean(0)
    _, sizes, directions = np.linalg.svd(points, full_matrices=False)
    plane = points @ directions[:2].T
    shown = 100 * (sizes[:2] ** 2).sum() / (sizes**2).sum()

    classes = [np.unique(of) for of in routing.class_of(routing.words())]
    figure, axes = plt.subplots(figsize=(11, 8))
    for number, name in enumerate(routing.classes):
        single = [o for o in range(256) if list(classes[o]) == [number]]
        axes.scatter(*plane[single].T, s=26, color=COLOURS[number], label=f"{name} ({len(single)})")
    mixed = [o for o in range(256) if len(classes[o]) > 1]
    axes.scatter(*plane[mixed].T, s=90, facecolors="none", edgecolors="black", label=f"several classes ({len(mixed)})")
    for opcode in mixed:
        axes.annotate(f"{opcode:02x}", plane[opcode], fontsize=8, xytext=(5, 4), textcoords="offset points")
    axes.set_title(f"256 top bytes as the first layer sees them; {shown:.0f} % of the variance")
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second principal component")
    axes.legend(fontsize=8)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.out, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
