"""Writes a network's weights: a flat .npy and the description beside it (docs/neural-dispatch.md)."""

import hashlib
import json
import pathlib

import numpy as np
from networks import describe, flatten


def save(path: pathlib.Path, network, command: str, metrics: dict, kind: str = "<f4"):
    """`kind`: how the file has its numbers, "<f4" or the shorter "<f2"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = flatten(network).astype(kind)
    np.save(path, values)
    description = {
        "model": network.model,
        "layout": 1,
        "features": network.features,
        "parameters": int(values.size),
        "tensors": describe(network),
        "training": {"command": command, "metrics": metrics},
        "checksum": "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    path.with_suffix(".json").write_text(json.dumps(description, indent=1) + "\n")
