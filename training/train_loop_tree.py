#!/usr/bin/env python3
"""Fits the decision trees that the loop detector is compared with, on the same inputs and samples.

    training/train_loop_tree.py --corpus build/loops --out models/loop-tree.json

Three trees: type, counter register, trips. Their size is what does best on the validation libraries. Needs
scikit-learn.
"""

import argparse
import json
import pathlib
import shlex
import sys

import numpy as np
from loop_data import balanced, read_corpus
from loop_network import tree_inputs
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from train_loops import measure

LEAVES = (100, 300, 1000)


def features(samples, chosen, generator=None):
    bits, fields, counts, registers, counters = samples.inputs(chosen, generator)
    rows = [tree_inputs(*row) for row in zip(bits, fields, counts, registers)]
    return np.array(rows, np.float32).reshape(len(chosen), -1), counters


class Trees:
    def __init__(self, data, leaves):
        x, counters, types, left = data
        proved, ran = types > 0, left >= 0
        options = {"max_leaf_nodes": leaves, "min_samples_leaf": 3, "random_state": 1}
        self.types = DecisionTreeClassifier(**options).fit(x, types)
        self.counter = DecisionTreeClassifier(**options).fit(x[proved], counters[proved])
        self.trips = DecisionTreeRegressor(**options).fit(x[ran], np.log2(1 + left[ran]))

    def measure(self, samples):
        x, _ = features(samples, np.arange(len(samples)))
        if not len(samples):
            return {"samples": 0}
        return measure(samples, self.types.predict_proba(x), self.counter.predict(x), self.trips.predict(x))

    def described(self):
        return {"types": describe(self.types, lambda value: value / value.sum()),
                "counter": describe(self.counter, lambda value: [self.counter.classes_[value.argmax()]]),
                "trips": describe(self.trips, lambda value: value)}  # fmt: skip


def describe(fitted, value_of):
    tree = fitted.tree_
    return {"feature": tree.feature.tolist(), "threshold": [round(float(one), 5) for one in tree.threshold],
            "low": tree.children_left.tolist(), "high": tree.children_right.tolist(),
            "value": [[round(float(one), 4) for one in value_of(value[0])] for value in tree.value]}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=pathlib.Path, default=pathlib.Path("build/loops"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("models/loop-tree.json"))
    arguments = parser.parse_args()
    data = read_corpus(arguments.corpus)
    generator = np.random.default_rng(1)
    # Each sample as it is and once with its registers renamed, which the network sees anew in each epoch.
    parts = []
    for samples in data["training"]:
        chosen = balanced(samples, generator)
        for renaming in (None, generator):
            x, counters = features(samples, chosen, renaming)
            parts.append((x, counters, samples.types[chosen], samples.left[chosen]))
    whole = tuple(np.concatenate(one) for one in zip(*parts))
    fitted = {leaves: Trees(whole, leaves) for leaves in LEAVES}
    scores = {leaves: trees.measure(data["validation"][0]) for leaves, trees in fitted.items()}
    best = max(LEAVES, key=lambda leaves: scores[leaves]["auc"] + 0.2 * scores[leaves]["counter"])
    metrics = {"leaves": best, "validation": scores[best]}
    metrics |= {name: fitted[best].measure(part) for name, part in zip(("static", "runs"), data["evaluated"])}
    command = shlex.join(["training/train_loop_tree.py", *sys.argv[1:]])
    text = json.dumps({"training": {"command": command, "metrics": metrics}, **fitted[best].described()})
    arguments.out.write_text(text.replace('}, "', '},\n"') + "\n")
    print(f"{arguments.out}: {metrics}")


if __name__ == "__main__":
    main()
