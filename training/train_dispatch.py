#!/usr/bin/env python3
"""Trains the dispatch networks on the whole of the table and writes their weights.

    train_dispatch.py --network embedding --table build/generated/isa/a64.json --out models/dispatch-embedding.npy
    train_dispatch.py --network small --table build/generated/isa/a64.json --out models/dispatch-small.npy

There is no validation set: the 2^20 inputs are all there are, and the embedding network is done when it is right about
every one of them by a margin. `kvrm models verify dispatch` proves that again with the machine's own inference. The
small network sees the top byte only and cannot be right everywhere; it gets as close as it can.
"""

import argparse
import pathlib
import shlex
import sys
import time

import numpy as np
import torch
from networks import EmbeddingNetwork, SmallNetwork
from table import Routing
from torch.nn.functional import cross_entropy
from weights import save


def gaps(logits, classes):
    """By how much the right class beats the best of the others."""
    right = logits.gather(-1, classes[..., None])[..., 0]
    others = logits.scatter(-1, classes[..., None], float("-inf")).amax(-1)
    return right - others


class EmbeddingTrainer:
    """Top bytes with several classes are what is hard; the others cost one small batch a step."""

    def __init__(self, routing, seed):
        torch.manual_seed(seed)
        self.network = EmbeddingNetwork()
        self.features = torch.from_numpy(routing.features())
        self.classes = torch.from_numpy(routing.class_of(routing.words()))
        mixed = [o for o in range(256) if len(self.classes[o].unique()) > 1]
        self.mixed = torch.tensor(mixed)
        self.plain = torch.tensor([o for o in range(256) if o not in set(mixed)])
        self.steps = 0

    def run(self, steps, rate, batch, loss):
        optimiser = torch.optim.Adam(self.network.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=rate, total_steps=steps, pct_start=0.1)
        classes = self.classes[self.mixed]
        for _ in range(steps):
            chosen = torch.randperm(4096)[:batch]
            hard = loss(self.network(self.mixed, self.features[chosen]), classes[:, chosen])
            few = chosen[:8]
            easy = loss(self.network(self.plain, self.features[few]), self.classes[self.plain][:, few])
            total = hard.mean() + hard.flatten().topk(hard.numel() // 50).values.mean() + easy.mean()
            optimiser.zero_grad()
            total.backward()
            optimiser.step()
            schedule.step()
            self.steps += 1

    def measure(self):
        """(errors, smallest gap) over all inputs."""
        with torch.no_grad():
            parts = [torch.arange(i, i + 16) for i in range(0, 256, 16)]
            all_gaps = torch.cat([gaps(self.network(p, self.features), self.classes[p]).flatten() for p in parts])
        return int((all_gaps <= 0).sum()), float(all_gaps.min())

    def train(self, goal, report):
        def entropy(logits, classes):
            return cross_entropy(logits.reshape(-1, 7), classes.reshape(-1), reduction="none")

        def content():
            report(self)
            errors, gap = self.measure()
            return errors == 0 and gap >= goal

        self.run(12000, 1e-2, 1024, entropy)
        # If that was not enough: nothing but the inputs that are not yet right by the margin.
        for _ in range(8):
            if content():
                return
            self.run(1500, 2e-3, 2048, lambda logits, classes: torch.relu(2 * goal - gaps(logits, classes)))
        report(self)


class SmallTrainer:
    def __init__(self, routing, seed):
        torch.manual_seed(seed)
        self.network = SmallNetwork()
        classes = routing.class_of(routing.words())
        counts = np.stack([np.bincount(of, minlength=7) for of in classes])
        self.share = torch.from_numpy(counts / counts.sum()).float()
        self.bits = torch.from_numpy(((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float32))
        self.steps = 0

    def train(self, _, report):
        optimiser = torch.optim.Adam(self.network.parameters(), lr=2e-2)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=2e-2, total_steps=4000)
        for _ in range(4000):
            loss = -(self.share * torch.log_softmax(self.network(self.bits), -1)).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            self.steps += 1
        report(self)

    def measure(self):
        """(wrong inputs, smallest gap between the two best)."""
        with torch.no_grad():
            logits = self.network(self.bits)
        right = self.share.gather(1, logits.argmax(1, keepdim=True)).sum()
        best = logits.topk(2).values
        return round((1 - float(right)) * (1 << 20)), float((best[:, 0] - best[:, 1]).min())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=["embedding", "small"], required=True)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--margin", type=float, default=1.0, help="the smallest gap to be content with")
    parser.add_argument("--threads", type=int, default=1, help="part of what makes a run repeatable")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    routing = Routing(arguments.table)
    trainer = (EmbeddingTrainer if arguments.network == "embedding" else SmallTrainer)(routing, arguments.seed)
    begin = time.time()

    def report(state):
        errors, gap = state.measure()
        print(f"step {state.steps}: {errors} of {1 << 20} inputs wrong, smallest gap {gap:.3f}", flush=True)

    trainer.train(arguments.margin, report)
    errors, gap = trainer.measure()
    command = shlex.join(["training/train_dispatch.py", *sys.argv[1:]])
    metrics = {"inputs": 1 << 20, "errors": errors, "accuracy": 1 - errors / (1 << 20), "smallest_gap": gap}
    metrics |= {"steps": trainer.steps, "torch": torch.__version__.split("+")[0]}
    save(arguments.out, trainer.network, command, metrics)
    print(f"{arguments.out}: {errors} errors, smallest gap {gap:.3f}, {time.time() - begin:.0f} s")
    if arguments.network == "embedding" and errors:
        sys.exit("train_dispatch: not right everywhere; try another --seed")


if __name__ == "__main__":
    main()
