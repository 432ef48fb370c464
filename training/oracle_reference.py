#!/usr/bin/env python3
"""Writes what PyTorch answers for the memory oracle's weights, for the machine's inference to be compared with.

    oracle_reference.py --out tests/neural/oracle_reference.json models/memory-oracle.npy

Window n has at step i and feature j the number ((7919 n + 31 i + 17 j) mod 201 - 100) / 100.
"""

import argparse
import json
import pathlib

import numpy as np
import torch
from oracle_network import FEATURES, STEPS, OracleNetwork

SAMPLES = 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("weights", type=pathlib.Path)
    arguments = parser.parse_args()
    network = OracleNetwork()
    values, offset = torch.from_numpy(np.load(arguments.weights)), 0
    numbers = np.add.outer(np.add.outer(7919 * np.arange(SAMPLES), 31 * np.arange(STEPS)), 17 * np.arange(FEATURES))
    windows = torch.from_numpy(((numbers % 201 - 100) / 100).astype(np.float32))
    with torch.no_grad():
        for _, tensor in network.tensors():
            tensor.copy_(values[offset : offset + tensor.numel()].reshape(tensor.shape))
            offset += tensor.numel()
        answers = torch.cat(network(windows), 1)
    rows = [f" {json.dumps([round(float(value), 6) for value in row])}" for row in answers]
    arguments.out.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
