"""Weights, dispatch by network, and what it records."""

import json
import warnings

import numpy as np
import pytest

import kvrm
from words import BASE, add, hlt, movz, program


def run(device, **options):
    machine = kvrm.Machine(device=device, **options)
    machine.load(program(movz(0, 42), add(1, 0, 1), hlt()), BASE)
    machine.pc = BASE
    assert machine.run().reason == "halt" and machine.get_x(1) == 43
    return machine.dispatch_statistics()


def test_built_in_weights():
    weights = kvrm.built_in_weights()
    assert weights.model == "dispatch-embedding" and weights.features == 2 and weights.verified
    assert len(weights) == 10279 and weights.values.dtype == np.float32
    assert weights.tensors["embedding"].shape == (256, 32)
    assert np.shares_memory(weights.tensors["fc1.bias"], weights.values)
    assert "dispatch-small" in kvrm.built_in_models()
    with pytest.raises(ValueError, match="read-only"):
        weights.values[0] = 1


def test_network_decides(device):
    statistics = run(device, dispatch="neural")
    assert statistics.mode == "neural" and statistics.verified and "built in" in statistics.weights
    assert sum(statistics.routed.values()) == 3


def test_network_is_recorded(device):
    statistics = run(device, dispatch="hybrid")
    assert statistics.confusion.shape == (7, 7)
    assert statistics.confusion.sum() == statistics.confusion.trace() == 3
    assert json.loads(json.dumps(statistics.as_dict()))["mode"] == "hybrid"


def test_old_weights_run_as_hybrid_with_a_warning(device, tmp_path):
    numbers = np.random.default_rng(1).normal(size=10279).astype(np.float32)
    np.save(tmp_path / "old.npy", numbers)
    for weights in (numbers, tmp_path / "old.npy", str(tmp_path / "old.npy"), kvrm.load_weights(tmp_path / "old.npy")):
        with pytest.warns(UserWarning, match="hybrid"):
            assert run(device, dispatch="neural", weights=weights).mode == "hybrid"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            kvrm.Machine(device=device, dispatch="neural", weights=numbers)


def test_unproven_weights_do_not_decide():
    with pytest.raises(kvrm.Error, match="verification"):
        kvrm.Machine(device="cpu", dispatch="neural", weights=np.zeros(135))


@pytest.mark.parametrize("numbers, text", [([1.0] * 7, "no model"), ([float("nan")] * 135, "finite")])
def test_bad_numbers_are_refused(numbers, text):
    with pytest.raises(kvrm.Error, match=text):
        kvrm.make_weights(numbers)


def test_proof_on_the_cpu():
    report = kvrm.verify_dispatch(kvrm.built_in_weights())
    assert report["words"] == 1 << 32 and report["errors"] == 0 and report["margin"] > 0


def test_statistics_of_one_lane():
    machine = kvrm.Machine(device="cpu", lanes=2, dispatch="hybrid")
    machine.load(program(movz(0, 1), hlt()), BASE)
    machine.pc = BASE
    machine.run(lane=1)
    assert sum(machine.dispatch_statistics(0).routed.values()) == 0
    assert sum(machine.dispatch_statistics(1).routed.values()) == 2
