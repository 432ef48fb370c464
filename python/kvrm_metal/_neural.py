"""Machines whose instructions are routed by a network, and the weights they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import kvrm

from ._window import ManyLanes, MEBIBYTE


class ModelWeights:
    """Numbers, flat, and the shape they had."""

    def __init__(self, weights: Sequence[float], shape: Sequence[int]):
        self.weights = [float(value) for value in weights]
        self.shape = [int(extent) for extent in shape]
        if math.prod(self.shape) != len(self.weights):
            raise ValueError(f"{len(self.weights)} weights do not have the shape {self.shape}")

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"<ModelWeights, {len(self)} parameters, shape {self.shape}>"


class NeuralWeightCollection:
    """The weights of several networks; each may be missing. A set_*() refuses numbers that are not of its model."""

    def __init__(self) -> None:
        self.dispatch_weights: ModelWeights | None = None
        self.embedding_weights: ModelWeights | None = None
        self.loop_detector_weights: ModelWeights | None = None
        self.memory_oracle_weights: ModelWeights | None = None
        self.pattern_recognizer_weights: ModelWeights | None = None

    def set_dispatch_weights(self, weights: ModelWeights) -> None:
        _of_model(weights.weights, "dispatch-small")
        self.dispatch_weights = weights

    def set_embedding_weights(self, weights: ModelWeights) -> None:
        _of_model(weights.weights, "dispatch-embedding")
        self.embedding_weights = weights

    def set_loop_detector_weights(self, weights: ModelWeights) -> None:
        _of_model(weights.weights, "loop-detector")
        self.loop_detector_weights = weights

    def set_memory_oracle_weights(self, weights: ModelWeights) -> None:
        _of_model(weights.weights, "memory-oracle")
        self.memory_oracle_weights = weights

    def set_pattern_recognizer_weights(self, weights: ModelWeights) -> None:
        _of_model(weights.weights, "pattern-recogniser")
        self.pattern_recognizer_weights = weights


def _of_model(numbers: Sequence[float], *models: str) -> kvrm.Weights:
    weights = kvrm.make_weights(numbers)
    if weights.model not in models:
        raise ValueError(f"{len(weights)} weights are those of {weights.model}, not of {' or '.join(models)}")
    return weights


def _router(numbers: Sequence[float]) -> tuple[str, kvrm.Weights]:
    """How instructions are routed with these numbers. A network decides only if it was proven right."""
    weights = _of_model(numbers, "dispatch-embedding", "dispatch-small")
    own = kvrm.built_in_weights(weights.model)
    if np.array_equal(own.values, weights.values):
        weights = own
    # Old weights of the embedding network are the machine's to judge: it warns and lets the table decide.
    return "neural" if weights.verified or weights.model == "dispatch-embedding" else "hybrid", weights


class PyNeuralMetalCPU(ManyLanes):
    """Many lanes, routed by the network that comes with kvrm or by the weights that are loaded."""

    def __init__(
        self, num_lanes: int = 1, memory_size: int = 16 * MEBIBYTE, weights: NeuralWeightCollection | None = None
    ):
        super().__init__(num_lanes, memory_size, "neural")
        self._routing: tuple[str, kvrm.Weights | None] = ("neural", None)
        self.loop_weights: kvrm.Weights | None = None
        self.memory_weights: kvrm.Weights | None = None
        self.prefetch_choices: list[tuple[int, str, int]] = []
        self.pattern_weights: kvrm.Weights | None = None
        if weights is not None:
            self._take(weights)

    def _take(self, weights: NeuralWeightCollection) -> None:
        dispatch = weights.embedding_weights or weights.dispatch_weights
        if dispatch:
            self.load_dispatch_weights(dispatch.weights)
        if weights.loop_detector_weights:
            self.load_loop_weights(weights.loop_detector_weights.weights)
        if weights.memory_oracle_weights:
            self.load_memory_weights(weights.memory_oracle_weights.weights)
        if weights.pattern_recognizer_weights:
            self.load_pattern_weights(weights.pattern_recognizer_weights.weights)

    def load_dispatch_weights(self, weights: Sequence[float]) -> None:
        """135 or 10,279 numbers. Unless they were proven right the table decides and predictions are recorded."""
        self._routing = _router(weights)
        self._remake(*self._routing)

    def load_memory_weights(self, weights: Sequence[float]) -> None:
        """271,124 numbers of the memory oracle, which choose_prefetches() asks; otherwise those that come with kvrm."""
        self.memory_weights = _of_model(weights, "memory-oracle")

    def choose_prefetches(self, program: str, arguments: Sequence[str] = (), accesses: int = 8_000_000) -> int:
        """Runs a Linux program on the interpreter, its output dropped, and asks the memory oracle what is worth
        prefetching for each load that misses often: `prefetch_choices` has (pc, policy, distance). Returns how many
        loads prefetch anything. kvrm.Machine(prefetch="network", prefetch_choices=...) uses them on a GPU."""
        self.prefetch_choices = kvrm.choose_prefetches(program, list(arguments), accesses, self.memory_weights)
        return sum(policy != "none" for _, policy, _ in self.prefetch_choices)

    def load_loop_weights(self, weights: Sequence[float]) -> None:
        """1,083,397 numbers. Loops run in bulk steps from now on (CPU device); the network says which are proved first.
        Results never depend on it."""
        self.loop_weights = _of_model(weights, "loop-detector")
        self._more = {
            "accelerate": True,
            "proof_share": 1.0,
            "loop_ranking": "network",
            "loop_weights": self.loop_weights,
        }
        self._remake(*self._routing)

    def loop_statistics(self) -> dict[str, Any]:
        """Loops found, proposed, proved and refused, instructions in bulk steps; `ranked`: loops that the network was
        asked about; `guessed_right` of `guessed`: how often the prover agreed that a loop can be proved, or not."""
        return dict(self.machine.statistics().loops)

    # These are checked and kept; nothing asks these networks yet.

    def load_pattern_weights(self, weights: Sequence[float]) -> None:
        self.pattern_weights = _of_model(weights, "pattern-recogniser")

    def prediction_statistics(self) -> kvrm.DispatchStatistics:
        """Words by class and, where the table decides, how often the network agreed."""
        return self.machine.dispatch_statistics()


class PyPureGPUCPU(PyNeuralMetalCPU):
    """The same; one call of the device runs the whole program."""
