#!/usr/bin/env python3
"""Writes what PyTorch computes from weight files, for the machine's inference to be compared with.

    reference.py --out tests/neural/reference.json models/dispatch-embedding.npy models/dispatch-small.npy
"""

import argparse
import json
import pathlib

import numpy as np
import torch
from networks import EmbeddingNetwork, SmallNetwork

BITS = (10, 11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23)


def load(path):
    """The network of a weight file, from its description."""
    model = json.loads(path.with_suffix(".json").read_text())["model"]
    network = {kind.model: kind for kind in (EmbeddingNetwork, SmallNetwork)}[model]()
    values, offset = torch.from_numpy(np.load(path)), 0
    with torch.no_grad():
        for _, tensor in network.tensors():
            tensor.copy_(values[offset : offset + tensor.numel()].reshape(tensor.shape))
            offset += tensor.numel()
    return network


def logits(network, word):
    bits = torch.tensor([[float(word >> bit & 1) for bit in (BITS if network.features == 2 else range(24, 32))]])
    with torch.no_grad():
        result = network(torch.tensor([word >> 24]), bits) if network.features == 2 else network(bits)
    return [round(float(value), 6) for value in result.flatten()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("weights", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    words = np.random.default_rng(1).integers(0, 1 << 32, 64).tolist()
    everything = {}
    for path in arguments.weights:
        network = load(path)
        everything[path.stem] = [{"word": word, "logits": logits(network, word)} for word in words]
    listed = {name: ",\n".join(f"  {json.dumps(sample)}" for sample in samples) for name, samples in everything.items()}
    lines = [f' "{name}": [\n{samples}\n ]' for name, samples in listed.items()]
    arguments.out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
