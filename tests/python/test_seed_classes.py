"""The seeds' classes: the same calls as their snippets, and their corners."""

import time

import numpy as np
import pytest

import kvrm
import kvrm_metal
from mlx_kernel.cpu_kernel_v2 import MLXKernelCPUv2
from words import COUNTING, add, b, hlt, movz, program, stores_after, svc

MEBIBYTE = 1 << 20


def counting(cpu):
    cpu.load_program(COUNTING, 0)
    cpu.set_pc(0)
    return cpu


def test_mlx_kernel():
    cpu = counting(MLXKernelCPUv2(memory_size=4 * MEBIBYTE))
    result = cpu.execute(max_cycles=10_000)
    assert (result.cycles, result.stop_reason_name) == (10_000, "MAX_CYCLES") and result.ips > 0
    assert cpu.read_memory_64(0x1000) == cpu.get_register(0) == stores_after(10_000)
    cpu.write_memory_8(0x2000, 0x1FF)
    cpu.write_memory_32(0x2004, -1)
    cpu.write_memory_64(0x2008, 1 << 40)
    assert (cpu.read_memory_8(0x2000), cpu.read_memory_32(0x2004), cpu.read_memory_64(0x2008)) == (255, 2**32 - 1, 1 << 40)
    assert cpu.read_memory_64(4 * MEBIBYTE - 8) == 0
    with pytest.raises(kvrm.Error):
        cpu.read_memory_64(4 * MEBIBYTE)


@pytest.mark.parametrize("words, name", [((hlt(),), "HALT"), ((svc(0),), "SYSCALL"), ((0,), "UNDEFINED")])
def test_why_it_stopped(words, name):
    cpu = kvrm_metal.MetalCPU()
    cpu.load_program(program(movz(3, 1), *words), 0x100)
    cpu.set_pc(0x100)
    assert cpu.execute(100).stop_reason_name == name
    assert cpu.get_register(3) == 1 and cpu.get_register(31) == 0


def test_continuous():
    cpu = counting(kvrm_metal.ContinuousMetalCPU(cycles_per_batch=1000))
    result = cpu.execute_continuous(max_batches=10)
    assert (result.total_cycles, result.batches) == (10_000, 10)
    assert cpu.execute_mega(total_cycles=5_000).total_cycles == 5_000
    assert cpu.read_memory_u64(0x1000) == stores_after(15_000)


def test_async():
    cpu = counting(kvrm_metal.AsyncMetalCPU())
    with pytest.raises(kvrm.Error, match="nothing"):
        cpu.wait()
    cpu.start(max_cycles=2_000_000)
    while cpu.is_running():
        assert 0 <= cpu.poll().cycles_executed <= 2_000_000
        time.sleep(0.001)
    result = cpu.wait()
    assert result.cycles_executed == 2_000_000 and cpu.wait() is result
    cpu.start(max_cycles=10)
    assert cpu.wait().cycles_executed == 10
    cpu.start(max_cycles=1 << 62)
    cpu.cancel()
    assert cpu.wait().stop_reason_name == "CANCELLED"


def test_parallel():
    cpu = kvrm_metal.ParallelMetalCPU(num_lanes=8, memory_size=MEBIBYTE)
    cpu.write_memory(0x100, program(add(0, 0, 1), hlt()))
    for lane in range(8):
        cpu.set_pc(lane, 0x100)
        cpu.set_register(lane, 0, -lane)
    result = cpu.execute(100)
    assert result.cycles == 8 and all(stop.reason == "halt" for stop in result.stops)
    assert [cpu.get_register(lane, 0) for lane in range(8)] == [(1 - lane) % 2**64 for lane in range(8)]
    assert cpu.get_pc(7) == 0x104


def test_pure_gpu():
    cpu = kvrm_metal.PyPureGPUCPU(num_lanes=1, memory_size=16 * MEBIBYTE)
    cpu.load_dispatch_weights(kvrm.built_in_weights().values.tolist())
    cpu.write_memory(0x1000, program(movz(0, 10), movz(1, 2), movz(2, 3), hlt()))
    cpu.set_pc(0, 0x1000)
    result = cpu.execute(1000)
    assert [cpu.get_register(0, n) for n in range(3)] == [10, 2, 3] and result.final_pc == 0x100C
    assert cpu.prediction_statistics().mode == "neural"


def test_loaded_weights_keep_the_state():
    cpu = kvrm_metal.PyNeuralMetalCPU(num_lanes=2, memory_size=MEBIBYTE)
    cpu.write_memory(0x100, program(add(0, 0, 1), b(-1)))
    cpu.machine.write(0x8000, b"lane one", lane=1)
    cpu.set_pc(0, 0x100)
    cpu.set_pc(1, 0x100)
    cpu.execute(10)
    with pytest.warns(UserWarning, match="hybrid"):
        cpu.load_dispatch_weights([0.0] * 10279)
    cpu.execute(10)
    assert cpu.get_register(0, 0) == cpu.get_register(1, 0) == 10
    assert cpu.read_memory(0x8000, 8, lane=1) == b"lane one" and cpu.read_memory(0x8000, 1) == b"\0"
    assert cpu.prediction_statistics().confusion.sum() > 0
    cpu.load_dispatch_weights([0.0] * 135)
    assert cpu.prediction_statistics().mode == "hybrid"


def test_weight_collection():
    numbers = np.random.default_rng(3)
    weights = kvrm_metal.NeuralWeightCollection()
    embedding = kvrm_metal.ModelWeights(weights=kvrm.built_in_weights().values.tolist(), shape=[10279])
    weights.set_embedding_weights(embedding)
    weights.set_loop_detector_weights(kvrm_metal.ModelWeights(numbers.normal(size=1_083_397), [1_083_397]))
    weights.set_memory_oracle_weights(kvrm_metal.ModelWeights(numbers.normal(size=271_124), [271_124]))
    weights.set_pattern_recognizer_weights(kvrm_metal.ModelWeights(numbers.normal(size=508_161), [508_161]))
    cpu = kvrm_metal.PyNeuralMetalCPU(num_lanes=4, memory_size=MEBIBYTE, weights=weights)
    assert cpu.prediction_statistics().mode == "neural" and len(cpu.pattern_weights) == 508_161
    assert cpu.memory_weights.model == "memory-oracle" and cpu.prefetch_choices == []
    with pytest.raises(kvrm.Error, match="nowhere"):
        cpu.choose_prefetches("/nowhere")
    with pytest.raises(ValueError, match="shape"):
        kvrm_metal.ModelWeights([1.0], [2])
    with pytest.raises(ValueError, match="dispatch-embedding, not of loop-detector"):
        weights.set_loop_detector_weights(embedding)
    with pytest.raises(kvrm.Error, match="no model"):
        cpu.load_loop_weights([1.0])


def test_loop_weights_rank_loops(monkeypatch):
    monkeypatch.setenv("KVRM_DEVICE", "cpu")
    cpu = kvrm_metal.PyNeuralMetalCPU(num_lanes=1, memory_size=MEBIBYTE)
    assert cpu.loop_statistics()["ranked"] == 0
    cpu.write_memory(0x100, program(0xF1000400, 0x54FFFFE1, hlt()))  # 1: subs x0, x0, #1; b.ne 1b
    cpu.set_pc(0, 0x100)
    cpu.set_register(0, 0, 5_000_000)
    cpu.load_loop_weights(kvrm.built_in_weights("loop-detector").values.tolist())
    result = cpu.execute(50_000_000)
    assert (result.cycles, result.stop_reason_name, cpu.get_register(0, 0)) == (10_000_000, "HALT", 0)
    seen = cpu.loop_statistics()
    if not seen["found"]:
        pytest.skip("this build has no translator, which proofs need")
    assert (seen["proved"], seen["ranked"], seen["guessed"]) == (1, 1, 1)
    assert seen["instructions"] > 5_000_000


def test_device_is_the_environments(monkeypatch):
    monkeypatch.setenv("KVRM_DEVICE", "moon")
    with pytest.raises(ValueError, match="moon"):
        kvrm_metal.MetalCPU()
