#!/usr/bin/env python3
"""Trains the loop detector and writes its weights.

    training/train_loops.py --corpus build/loops --out models/loop-detector.npy

Each of the seeds trains a network of its own; the one that does best on the validation libraries is written. The
metrics beside the weights have all of them, on loops of the evaluated side, which training does not see: static loops
of libraries, without registers, and loops of programs, with the registers of a run.
"""

import argparse
import copy
import pathlib
import shlex
import sys
import time

import numpy as np
import torch
from loop_data import balanced, read_corpus
from loop_network import TYPES, LoopNetwork
from torch.nn.functional import cross_entropy, smooth_l1_loss
from weights import save


def tensors(samples, chosen, generator=None):
    bits, fields, counts, registers, counters = samples.inputs(chosen, generator)
    inputs = [torch.from_numpy(part) for part in (bits, fields, counts, registers)]
    labels = [torch.from_numpy(part) for part in (samples.types[chosen], counters, samples.left[chosen])]
    return inputs, labels


def loss_of(network, inputs, labels):
    types, counters, left = network(*inputs)
    its_types, its_counters, its_left = labels
    total = cross_entropy(types, its_types)
    proved, ran = its_types > 0, its_left >= 0
    if proved.any():
        total = total + 0.5 * cross_entropy(counters[proved], its_counters[proved])
    if ran.any():
        total = total + smooth_l1_loss(left[ran] * 16, torch.log2(1 + its_left[ran])) * 0.1
    return total


def predictions(network, samples):
    """(type probabilities, counter, log2(1 + left)) of all samples."""
    network.eval()
    parts = []
    with torch.no_grad():
        for begin in range(0, len(samples), 512):
            inputs, _ = tensors(samples, np.arange(begin, min(begin + 512, len(samples))))
            types, counters, left = network(*inputs)
            parts.append((torch.softmax(types, 1).numpy(), counters.argmax(1).numpy(), left.numpy() * 16))
    network.train()
    return [np.concatenate(one) for one in zip(*parts)]


def area(chances, proved):
    """How likely a provable loop has the higher chance of two, one of which is provable."""
    if proved.all() or not proved.any():
        return 1.0
    levels, places, counts = np.unique(chances, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    many, few = int(proved.sum()), int((~proved).sum())
    return float((ranks[proved].sum() - many * (many + 1) / 2) / (many * few))


def measure(samples, types, counters, left):
    """Accuracies in percent, and the mean error of trips in powers of two."""
    if not len(samples):
        return {"samples": 0}
    best, proved, ran = types.argmax(1), samples.types > 0, samples.left >= 0
    result = {"samples": len(samples), "provable": round(100 * float(proved.mean()), 2)}
    result["type"] = round(100 * float((best == samples.types).mean()), 2)
    result["proved_or_not"] = round(100 * float(((best > 0) == proved).mean()), 2)
    result["auc"] = round(100 * area(1 - types[:, 0], proved), 2)
    for number, name in enumerate(TYPES):
        of_type = samples.types == number
        if of_type.any():
            result[f"type: {name}"] = round(100 * float((best[of_type] == number).mean()), 2)
    if proved.any():
        result["counter"] = round(100 * float((counters[proved] == samples.counters[proved]).mean()), 2)
    if ran.any():
        error = np.abs(left[ran] - np.log2(1 + samples.left[ran]))
        result["trips_error_log2"] = round(float(error.mean()), 3)
        result["trips_within_2x"] = round(100 * float((error <= 1).mean()), 2)
    return result


def train(data, seed, arguments):
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    network = LoopNetwork()
    static, runs = data["training"]
    each = [balanced(part, generator) for part in (static, runs)]
    steps = arguments.epochs * sum(len(chosen) // arguments.batch + 1 for chosen in each)
    optimizer = torch.optim.AdamW(network.parameters(), lr=arguments.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=arguments.rate, total_steps=steps, pct_start=0.15)
    best, best_score = None, -1.0
    for epoch in range(arguments.epochs):
        batches = []
        for part in (static, runs):
            chosen = balanced(part, generator)
            batches += [(part, one) for one in np.array_split(chosen, len(chosen) // arguments.batch + 1)]
        total = 0.0
        for k in generator.permutation(len(batches)):
            part, chosen = batches[k]
            loss = loss_of(network, *tensors(part, chosen, generator))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        found = measure(data["validation"][0], *predictions(network, data["validation"][0]))
        score = found["auc"] + 0.2 * found["counter"]
        print(f"seed {seed} epoch {epoch + 1}: loss {total / len(batches):.3f}, validation AUC {found['auc']:.2f}, "
              f"type {found['type']:.2f} %, counter {found['counter']:.2f} %, {time.process_time():.0f} s", flush=True)
        if score > best_score:
            best, best_score = copy.deepcopy(network), score
    return best, best_score


def trained_network(data, seed, arguments):
    """Trained now, or by an earlier call with the same arguments and corpus."""
    sizes = "-".join(str(len(part)) for part in (*data["training"], *data["validation"]))
    path = arguments.keep / f"{seed}-{arguments.epochs}-{arguments.batch}-{arguments.rate}-{sizes}.pt"
    if path.exists():
        kept, network = torch.load(path), LoopNetwork()
        network.load_state_dict(kept["state"])
        return network, kept["score"], kept["seconds"]
    begin = time.process_time()
    network, score = train(data, seed, arguments)
    kept = {"state": network.state_dict(), "score": score, "seconds": round(time.process_time() - begin)}
    arguments.keep.mkdir(parents=True, exist_ok=True)
    torch.save(kept, path)
    return network, score, kept["seconds"]


def rounded(network):
    """Its weights as halves, which the file has."""
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.copy_(tensor.half().float())
    return network


def interval(found, key):
    values = [one[key] for one in found if key in one]
    return {"mean": round(float(np.mean(values)), 3), "least": min(values), "most": max(values)} if values else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=pathlib.Path, default=pathlib.Path("build/loops"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("models/loop-detector.npy"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/loops/trained"),
                        help="where networks are kept, so that seeds can be trained by calls of their own")  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, help="part of what makes a run repeatable")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    data = read_corpus(arguments.corpus)
    trained, cpu_seconds = [], 0
    for seed in arguments.seeds:
        network, score, seconds = trained_network(data, seed, arguments)
        rounded(network)
        cpu_seconds += seconds
        on = {name: measure(part, *predictions(network, part))
              for name, part in zip(("static", "runs"), data["evaluated"])}  # fmt: skip
        print(f"seed {seed}: {on}", flush=True)
        trained.append((score, seed, network, on))
    score, seed, network, _ = max(trained, key=lambda one: one[0])
    metrics = {"seed": seed, "torch": torch.__version__.split("+")[0], "cpu_seconds": cpu_seconds}
    metrics["training_samples"] = [len(part) for part in data["training"]]
    metrics["seeds"] = [{"seed": seed, "validation_score": round(score, 2), **on} for score, seed, _, on in trained]
    keys = ("type", "proved_or_not", "auc", "counter", "trips_error_log2", "trips_within_2x")
    metrics["intervals"] = {
        name: {key: interval([on[name] for *_, on in trained], key) for key in keys} for name in ("static", "runs")
    }
    save(arguments.out, network, shlex.join(["training/train_loops.py", *sys.argv[1:]]), metrics, "<f2")
    print(f"{arguments.out}: seed {seed}, {metrics['intervals']}")


if __name__ == "__main__":
    main()
