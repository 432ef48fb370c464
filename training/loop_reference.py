#!/usr/bin/env python3
"""Writes what PyTorch computes from the loop detector's weights, for the machine's inference to be compared with.

    training/loop_reference.py --out tests/neural/loop_reference.json models/loop-detector.npy
"""

import argparse
import json
import pathlib

import numpy as np
import torch
from loop_network import LoopNetwork, chosen_words, register_inputs, word_inputs


def load(path):
    network, values, offset = LoopNetwork(), torch.from_numpy(np.load(path).astype(np.float32)), 0
    with torch.no_grad():
        for _, tensor in network.tensors():
            tensor.copy_(values[offset : offset + tensor.numel()].reshape(tensor.shape))
            offset += tensor.numel()
    return network.eval()


def sample(generator):
    """A loop of random words; most have registers, which change a little, much, or not at all."""
    words = generator.integers(0, 1 << 32, generator.integers(1, 15)).tolist()
    if generator.random() < 0.2:
        return {"words": words}
    first = [int(one) >> int(shift) for one, shift in zip(generator.integers(0, 1 << 63, 32), generator.integers(0, 63, 32))]
    second = [(one + int(step)) % (1 << 64) for one, step in zip(first, generator.choice([0, 1, -1, 8, -(1 << 40)], 32))]
    return {"words": words, "first": first} | ({"second": second} if generator.random() < 0.8 else {})


def guess(network, loop):
    words = chosen_words(loop["words"])
    bits, fields = word_inputs(words)
    inputs = [bits, fields, np.int64(len(words)), register_inputs(loop.get("first"), loop.get("second"))]
    with torch.no_grad():
        types, counter, trips = network(*(torch.from_numpy(np.asarray(one)[None]) for one in inputs))
    types = [round(float(one), 6) for one in torch.softmax(types, 1)[0]]
    return {"types": types, "counter": int(counter[0].argmax()), "trips": round(float(trips[0]) * 16, 5)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("weights", type=pathlib.Path)
    arguments = parser.parse_args()
    generator, network = np.random.default_rng(1), load(arguments.weights)
    loops = [sample(generator) for _ in range(48)]
    lines = ",\n".join(" " + json.dumps({**loop, **guess(network, loop)}) for loop in loops)
    arguments.out.write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
