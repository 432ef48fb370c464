"""Every distinct input of the dispatch networks and its class, from the table the machine is generated from.

A word's class depends on word[31:24] and twelve bits (src/isa/routing.py), so 256 x 4,096 inputs stand for all 2^32
words.
"""

import json
import pathlib

import numpy as np


class Routing:
    def __init__(self, table: pathlib.Path):
        facts = json.loads(table.read_text())
        self.rows = facts["rows"]
        self.classes = facts["routing"]["classes"]
        self.bits = facts["routing"]["bits"]
        self._nodes = np.array(facts["routing"]["nodes"], dtype=np.int64)

    def words(self) -> np.ndarray:
        """[opcode][features]: one word for each input, its other bits zero."""
        cell = np.arange(1 << 20, dtype=np.int64)
        word = (cell >> 12) << 24
        for i, bit in enumerate(self.bits):
            word |= ((cell >> i) & 1) << bit
        return word.reshape(256, 4096)

    def class_of(self, words: np.ndarray) -> np.ndarray:
        """Walks the class tree, as isa::routing_class() does."""
        words = words.astype(np.int64)
        node = np.full(words.shape, self._nodes[0])
        while (inner := node >> 31 == 0).any():
            at, word = node[inner], words[inner]
            node[inner] = self._nodes[(at >> 9) + ((word >> (at & 31)) & ((1 << (at >> 5 & 15)) - 1))]
        return node & 0x7FFFFFFF

    def features(self) -> np.ndarray:
        """The 4,096 values of the twelve features, as 0 and 1."""
        return ((np.arange(4096)[:, None] >> np.arange(12)) & 1).astype(np.float32)
