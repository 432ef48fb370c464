#!/usr/bin/env python3
"""Fit the confidence of a guessed name: the coefficients of confidence_of in src/symbols/match.cpp.

    training/symbols_confidence.py --kvrm build/kvrm [--corpus build/symbols]

A logistic regression on the calibration libraries, which are neither indexed nor evaluated: guesses from their own
older builds, right and wrong, and guesses from an index that does not have them, all wrong. Prints the coefficients,
and for some thresholds how many absent routines would be named.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = "constant content context margin log(margin) size exact size*content".split()
# Routines that are new in a library are rare there and frequent in programs; they weigh more.
NEW, FOREIGN = 8, 0.5


def inputs(case):
    size = min(8, numpy.log2(max(1, case["length"])))
    content = min(1, case["content"] - 0.1 * case["exact"])
    margin = case["margin"]
    return [1, content, case["score"] - case["content"], min(margin, 0.6), numpy.log(max(margin, 1e-3)),
            size, float(case["exact"]), size * content]  # fmt: skip


def fit(x, y, weights):
    """Newton's method."""
    b = numpy.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + numpy.exp(-x @ b))
        gradient = x.T @ (weights * (y - p)) - 1e-3 * b
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + 1e-3 * numpy.eye(len(b))
        step = numpy.linalg.solve(hessian, gradient)
        b += step
        if abs(step).max() < 1e-6:
            break
    return b


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "build" / "symbols")
    arguments = parser.parse_args()
    with tempfile.NamedTemporaryFile() as file:
        command = [arguments.kvrm, "models", "evaluate", "patterns", "--calibration", "--corpus", arguments.corpus]
        subprocess.run([*command, "--cases", file.name], check=True, stdout=subprocess.DEVNULL)
        cases = [json.loads(line) for line in pathlib.Path(file.name).read_text().splitlines()]
    cases = [case for case in cases if case["guess"]]
    x = numpy.array([inputs(case) for case in cases])
    right = numpy.array([float(case["right"] and case["part"] == 0) for case in cases])
    foreign = numpy.array([case["part"] == 1 for case in cases])
    new = numpy.array([case["part"] == 0 and case["absent"] for case in cases])
    b = fit(x, right, numpy.where(foreign, FOREIGN, numpy.where(new, NEW, 1)))
    for name, value in zip(NAMES, b):
        print(f"{name:<14}{value:8.3f}")
    p = 1 / (1 + numpy.exp(-x @ b))
    for threshold in (0.5, 0.6, 0.7, 0.8, 0.9):
        named = p >= threshold
        known = ~foreign & ~new
        print(f"threshold {threshold}: named {100 * named[known].mean():.1f} %, of these right "
              f"{100 * right[known & named].mean():.1f} %; absent routines named: {100 * named[foreign].mean():.1f} % of "
              f"other libraries, {100 * named[new].mean():.1f} % that are new in their library")  # fmt: skip


if __name__ == "__main__":
    main()
