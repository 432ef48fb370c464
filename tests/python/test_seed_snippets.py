"""The seeds' own snippets, as they are written, after a prelude that defines what they take for granted."""

import pathlib
import re
import warnings

import numpy as np
import pytest

import kvrm
import kvrm_metal
from seed_blocks import SEEDS, blocks, is_python
from words import COUNTING, hlt, movz, program, stores_after

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "from-the-seeds.md"
# "X0 = 10 (expected: 10), X1 = 2 (expected: 2), X2 = 3 (expected: 3)"
THREE_NUMBERS = program(movz(0, 10), movz(1, 2), movz(2, 3), hlt())

ALL = dict(blocks())
VALID = [name for name, text in ALL.items() if is_python(text)]


def after_ten(state, output):
    assert state["x0"] == 10
    assert [state["cpu"].get_register(0, n) for n in range(3)] == [10, 2, 3]
    assert state["result"].cycles == 3 and state["result"].stop_reason_name == "HALT"


def after_ten_with_all_weights(state, output):
    after_ten(state, output)
    assert state["final_pc"] == 0x100C
    assert len(state["cpu"].loop_weights) == 1_083_397 and len(state["cpu"].memory_weights) == 271_124


def after_mlx(state, output):
    assert "Executed 10,000,000 instructions\n" in output
    assert re.search(r"^IPS: [\d,]+$", output, re.M) and "Stop reason: MAX_CYCLES\n" in output
    assert state["value"] == stores_after(10_000_000)


def after_embedding(state, output):
    assert state["cpu"].get_register(0, 0) == 42, "MOVZ X0, #42"
    assert state["result"].cycles == 1 and state["result"].final_pc == 0x1004
    assert state["result"].stop_reason_name == "UNDEFINED", "what follows is no instruction"
    assert len(state["weights"].embedding_weights) == 10279


def after_async(state, output):
    progress = [int(number.replace(",", "")) for number in re.findall(r"^Progress: ([\d,]+)$", output, re.M)]
    assert progress == sorted(progress)
    assert re.search(r"^Total: 100,000,000 @ [\d,]+ IPS$", output, re.M)
    assert state["cpu"].read_memory_u64(0x1000) == stores_after(100_000_000)


def after_continuous(state, output):
    assert state["result"].cycles == 100_000_000 and state["result"].batches == 1
    assert state["cpu"].machine.statistics().instructions == 200_000_000, "ten batches, then one of all"
    assert state["cpu"].read_memory_u64(0x1000) == stores_after(200_000_000)


# For each block: its program, and what must hold when it has run.
EXPECTED = {
    "mlx-kernel-v2-results-1": (COUNTING, after_mlx),
    "phase-8a-embedding-dispatch-1": (b"", after_embedding),
    "pure-gpu-execution-1": (THREE_NUMBERS, after_ten),
    "pure-gpu-execution-2": (THREE_NUMBERS, after_ten_with_all_weights),
    "zero-sync-roadmap-1": (COUNTING, after_async),
    "zero-sync-roadmap-2": (COUNTING, after_continuous),
}

needs_seeds = pytest.mark.skipif(not SEEDS.is_dir(), reason=f"the seeds' reports are not here ({SEEDS})")


def weight_files(folder, dispatch):
    numbers = np.random.default_rng(1)
    folder.mkdir()
    np.save(folder / "dispatch_weights_embedding_100pct.npy", dispatch)
    np.save(folder / "loop_detector_v2_weights.npy", numbers.normal(size=1_083_397).astype(np.float32))
    np.save(folder / "memory_oracle_lstm_weights.npy", numbers.normal(size=271_124).astype(np.float32))


def prelude(program_bytes, dispatch):
    return {
        "program_bytes": program_bytes,
        "weights": dispatch.tolist(),
        "PyPureGPUCPU": kvrm_metal.PyPureGPUCPU,
        "do_other_work": lambda: None,
    }


@needs_seeds
@pytest.mark.parametrize("dispatch", ["proven", "old"])
@pytest.mark.parametrize("name", VALID or [pytest.param("none", marks=pytest.mark.skip(reason="no seeds here"))])
def test_snippet(name, dispatch, tmp_path, monkeypatch, capsys):
    words, check = EXPECTED[name]
    own = kvrm.built_in_weights().values
    numbers = own if dispatch == "proven" else np.random.default_rng(2).normal(size=own.size).astype(np.float32)
    weight_files(tmp_path / "weights", numbers)
    monkeypatch.chdir(tmp_path)
    state = prelude(words, numbers)
    with warnings.catch_warnings():
        if dispatch == "old":
            warnings.filterwarnings("ignore", "memory: old weights", UserWarning)
        else:
            warnings.simplefilter("error")
        exec(compile(ALL[name], name, "exec"), state)
    check(state, capsys.readouterr().out)


@needs_seeds
def test_every_block_is_accounted_for():
    assert sorted(VALID) == sorted(EXPECTED)
    listed = re.findall(r"^\| `([\w.-]+-\d+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(set(ALL) - set(VALID)), "docs/from-the-seeds.md lists the blocks that mix languages"
