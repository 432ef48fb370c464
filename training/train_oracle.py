#!/usr/bin/env python3
"""Trains the memory oracle and writes its weights.

    train_oracle.py --kvrm build/kvrm --out models/memory-oracle.npy

Learns from the training programs of training/oracle_programs.json alone (training/oracle_corpus.py builds them; --kvrm
runs them and writes their windows into build/oracle/windows unless they are there). Splits are by program: each seed
keeps three other training programs apart, on which it is measured (CORPUS/seedN.npy). The weights that are written
learned from all of them, with seed 1. The evaluated programs are not touched. Minutes on one core.
"""

import argparse
import hashlib
import pathlib
import shlex
import subprocess
import sys
import time

import numpy as np
import torch
from oracle_network import FEATURES, LEVELS, POLICIES, STEPS, OracleNetwork
from weights import save

OPTIONS = POLICIES * LEVELS
RECORD = STEPS * FEATURES + 2 * OPTIONS + 1
MOST_WINDOWS = 2500  # of one program
PREFETCH_COST = 0.23  # of a prefetch and of looking at the miss, in the time a covered miss saves: 120 of 530 cycles
LEAST_GAIN, LEAST_CONFIDENCE = 0.1, -0.4  # src/neural/freestanding/oracle_network.h


class Program:
    """The records of one program: windows, and by policy and distance the time saved, the prefetches and the gain."""

    def __init__(self, path):
        self.name = path.stem
        records = np.fromfile(path, dtype="<f4").reshape(-1, RECORD)
        order = np.random.default_rng(int(hashlib.sha256(self.name.encode()).hexdigest()[:8], 16)).permutation(len(records))
        records = records[np.sort(order[:MOST_WINDOWS])]
        self.windows = torch.from_numpy(records[:, : STEPS * FEATURES].reshape(-1, STEPS, FEATURES).copy())
        outcome = records[:, STEPS * FEATURES : -1].reshape(-1, 2, POLICIES, LEVELS)
        saved, issued = outcome[:, 0], outcome[:, 1]
        self.gain = torch.from_numpy(saved - PREFETCH_COST * np.maximum(issued, saved))
        self.right = torch.from_numpy(np.where(issued > 0, np.clip(saved / np.maximum(issued, 1e-6), 0, 1), 0))

    def targets(self):
        """(policy shares, gains of the best policy at each distance, how often it is right there)."""
        best = self.gain.amax(2)
        policy = best.argmax(1)
        rows = torch.arange(len(policy))
        return torch.softmax(best / 0.05, 1), self.gain[rows, policy], self.right[rows, policy]


def choice(gains, confidence, pattern):
    """What src/prefetch/scheme.cpp makes of an answer: (policy, distance), and whether to prefetch at all."""
    level = gains.argmax(1)
    rows = torch.arange(len(level))
    does = (gains[rows, level] >= LEAST_GAIN) & (confidence[rows, level] >= LEAST_CONFIDENCE)
    return pattern.argmax(1), level, does


def measure(network, programs):
    """The mean gain of the network's choices, of the best choice for each window, and of the best single one."""
    got, best, fixed = [], [], []
    with torch.no_grad():
        for program in programs:
            policy, level, does = choice(*network(program.windows))
            chosen = program.gain[torch.arange(len(policy)), policy, level]
            got.append(float((chosen * does).mean()))
            best.append(float(program.gain.flatten(1).amax(1).clamp(min=0).mean()))
            fixed.append(program.gain.flatten(1).mean(0))
    single = float(torch.stack(fixed).mean(0).max().clamp(min=0))
    return {"network": float(np.mean(got)), "best_choice": float(np.mean(best)), "best_single_policy": single}


def train(programs, seed, epochs, deadline):
    torch.manual_seed(seed)
    network = OracleNetwork()
    windows = torch.cat([program.windows for program in programs])
    targets = [torch.cat(parts) for parts in zip(*(program.targets() for program in programs), strict=True)]
    # Each program counts the same, a small one not more than twice.
    share = torch.cat([torch.full((len(p.windows),), 1 / max(len(p.windows), MOST_WINDOWS // 4)) for p in programs])
    batch, steps = 128, epochs * len(windows) // 128
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps + 1)
    picks = torch.Generator().manual_seed(seed)
    for step in range(steps):
        if time.monotonic() > deadline:
            print(f"seed {seed}: stopped after {step} of {steps} steps", flush=True)
            return network, step
        chosen = torch.multinomial(share, batch, replacement=True, generator=picks)
        gains, confidence, pattern = network(windows[chosen])
        policies, gain, right = (target[chosen] for target in targets)
        loss = torch.nn.functional.cross_entropy(pattern, policies)
        loss = loss + 4 * torch.nn.functional.smooth_l1_loss(gains, gain)
        loss = loss + torch.nn.functional.binary_cross_entropy_with_logits(confidence, right)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"seed {seed}: step {step} of {steps}, loss {float(loss.detach()):.3f}", flush=True)
    return network, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--kvrm", type=pathlib.Path, default=pathlib.Path("build/kvrm"))
    parser.add_argument("--corpus", type=pathlib.Path, default=pathlib.Path("build/oracle"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=20, help="of training, for all seeds together")
    parser.add_argument("--threads", type=int, default=1, help="part of what makes a run repeatable")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    folder = arguments.corpus / "windows"
    if not folder.is_dir():
        evaluate = [arguments.kvrm, "models", "evaluate", "oracle", "--training", "--corpus", arguments.corpus]
        subprocess.run([*evaluate, "--windows", folder], check=True)
    programs = [program for program in map(Program, sorted(folder.glob("*.f32"))) if len(program.windows) >= 8]
    command = shlex.join(["training/train_oracle.py", *sys.argv[1:]])
    results = []
    for seed in range(1, arguments.seeds + 1):
        apart = [programs[i] for i in np.random.default_rng(seed).permutation(len(programs))[:3]]
        rest = [program for program in programs if program not in apart]
        deadline = time.monotonic() + 60 * arguments.minutes / arguments.seeds
        network, steps = train(rest, seed, arguments.epochs, deadline)
        found = {"seed": seed, "steps": steps, "apart": [program.name for program in apart]}
        found |= {"held_out": measure(network, apart), "learned": measure(network, rest)}
        results.append(found)
        print(found, flush=True)
        save(arguments.corpus / f"seed{seed}.npy", network, command, found)

    network, steps = train(programs, 1, arguments.epochs, time.monotonic() + 60 * arguments.minutes)
    gains = np.array([found["held_out"]["network"] / max(found["held_out"]["best_choice"], 1e-9) for found in results])
    metrics = {
        "windows": sum(len(program.windows) for program in programs),
        "programs": [program.name for program in programs],
        "steps": steps,
        "learned": measure(network, programs),
        "seeds": results,
        "held_out_share_of_best": {"mean": float(gains.mean()), "least": float(gains.min()), "most": float(gains.max())},
        "torch": torch.__version__.split("+")[0],
    }
    save(arguments.out, network, command, metrics)
    print(f"{arguments.out}: the seeds get {gains.min():.2f} to {gains.max():.2f} of the best choice where it is unknown")


if __name__ == "__main__":
    main()
