"""The loop detector's corpus (loops_corpus.py) as arrays, split and without duplicates across the split."""

import functools
import json
import random
import sys

import numpy as np
from loop_network import WORDS, chosen_words, register_inputs

RUNS = 3  # of a loop's runs, so many are samples
ALIKE = 2  # of loops that differ in registers and targets only, so many are in the training set

NONE = 3  # training sees so many refused loops for each that is proved; libraries have ten, hot loops of programs two


def is_in(word, low, width, value):
    return word >> low & (1 << width) - 1 == value


@functools.lru_cache(None)
def register_fields(word):
    """The lowest bits of the fields that name general registers, and the bits that say where a branch goes."""
    if is_in(word, 26, 3, 5):
        if is_in(word, 25, 6, 0x1A):  # CBZ, CBNZ
            return (0,), 0x00FFFFE0
        if is_in(word, 25, 6, 0x1B):  # TBZ, TBNZ
            return (0,), 0x0007FFE0
        if is_in(word, 26, 5, 5):  # B, BL
            return (), 0x03FFFFFF
        return ((), 0x00FFFFE0) if is_in(word, 24, 8, 0x54) else ((5,), 0)
    if is_in(word, 26, 3, 4):  # an immediate; ADR and ADRP
        return ((0,), 0x60FFFFE0) if is_in(word, 24, 5, 0x10) else ((0, 5), 0)
    if is_in(word, 27, 1, 1) and is_in(word, 25, 1, 0):  # a load or a store
        if is_in(word, 27, 3, 3):
            return (0,), 0x00FFFFE0
        with_second = (10,) if is_in(word, 27, 3, 5) else ()
        with_offset = (16,) if is_in(word, 27, 3, 7) and not word >> 24 & 1 and word >> 21 & 1 else ()
        return (0, 5, *with_second, *with_offset), 0
    with_addend = (10,) if is_in(word, 24, 5, 0x1B) else ()
    is_immediate = is_in(word, 21, 8, 0xD2) and word >> 11 & 1
    return (0, 5, *(() if is_immediate else (16,)), *with_addend), 0


def normal_form(words):
    """Same opcodes, other registers and targets: the same form."""
    form = []
    for word in words:
        fields, target = register_fields(word)
        for low in fields:
            target |= 31 << low
        form.append(word & ~target)
    return tuple(form)


class Samples:
    """Arrays: words and how many, registers, labels. `left` is -1 where it is not known."""

    def __init__(self, loops):
        count = len(loops)
        self.words = np.zeros((count, WORDS), np.uint32)
        self.counts = np.zeros(count, np.int64)
        self.registers = np.zeros((count, 64), np.float32)
        self.types = np.array([loop["type"] for loop in loops], np.int64)
        self.counters = np.array([loop["counter"] for loop in loops], np.int64)
        self.left = np.array([loop["left"] for loop in loops], np.float32)
        for i, loop in enumerate(loops):
            words = chosen_words(loop["words"])
            self.words[i, : len(words)], self.counts[i] = words, len(words)
            self.registers[i] = register_inputs(loop.get("first"), loop.get("second"))
        self.set_fields()

    def __len__(self):
        return len(self.counts)

    def set_fields(self):
        """[sample][word][field]: which of word[4:0], [9:5], [20:16], [14:10] may be renamed."""
        self.names = np.zeros((len(self), WORDS, 4), bool)
        lows = (0, 5, 16, 10)
        for i, words in enumerate(self.words):
            if any(is_in(int(word), 25, 3, 7) for word in words):
                continue  # vector arithmetic: its fields are of many kinds
            for k, word in enumerate(words[: self.counts[i]]):
                for low in register_fields(int(word))[0]:
                    self.names[i, k, lows.index(low)] = True

    def inputs(self, chosen, generator=None):
        """(bits, fields, counts, registers, counters) of some samples; with a generator, registers are renamed."""
        words, registers, counters = self.words[chosen], self.registers[chosen], self.counters[chosen]
        if generator is not None:
            names = np.tile(np.arange(32), (len(chosen), 1))
            names[:, :29] = generator.permuted(names[:, :29], axis=1)
            rows = np.arange(len(chosen))[:, None]
            for field, low in enumerate((0, 5, 16, 10)):
                renamed = names[rows, words >> low & 31].astype(np.uint32)
                changed = words & ~np.uint32(31 << low) | renamed << np.uint32(low)
                words = np.where(self.names[chosen][:, :, field], changed, words)
            renamed = np.empty_like(registers)
            renamed[rows, names], renamed[rows, names + 32] = registers[:, :32], registers[:, 32:]
            is_renamed = self.names[chosen].any((1, 2))
            registers = np.where(is_renamed[:, None], renamed, registers)
            counters = np.where(is_renamed, names[rows[:, 0], counters], counters)
        return (*spread(words, self.counts[chosen]), self.counts[chosen], registers, counters)


def balanced(samples, generator):
    """The provable samples, and NONE times as many others; shuffled."""
    proved, others = np.flatnonzero(samples.types > 0), np.flatnonzero(samples.types == 0)
    others = generator.permutation(others)[: NONE * max(1, len(proved))]
    return generator.permutation(np.concatenate([proved, others]))


def spread(words, counts):
    """Bits and fields of words, zero where there is none."""
    there = (np.arange(WORDS) < counts[:, None])[..., None]
    bits = (words[..., None] >> np.arange(32, dtype=np.uint32) & 1) * there
    fields = np.zeros(bits.shape, np.float32)
    for low, weight in ((0, 1.0), (5, 0.5), (16, 0.25), (10, 0.125)):
        fields += weight * (np.arange(32) == (words >> low & 31)[..., None])
    return bits.astype(np.float32), (fields * there).astype(np.float32)


def read_lines(path):
    if not path.exists():
        return []
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def loops_of_side(corpus, plan, side):
    """(static loops, loops of runs): of the runs a sample for each of the first RUNS runs through a loop."""
    static, runs = [], []
    for release in plan["releases"]:
        for library in plan["libraries"][side]:
            static += read_lines(corpus / "static" / f"{release}-{library}.jsonl")
    for program in plan["programs"][side]:
        for loop in read_lines(corpus / "runs" / f"{program}.jsonl"):
            static.append(loop)
            runs += [{**loop, **run} for run in loop["runs"][:RUNS]]
    return [{key: loop[key] for key in ("words", "type", "counter")} | {"left": -1} for loop in static], runs


def without(loops, forms, most):
    """Loops whose form is none of these, at most so many of a form and each code only once, in a fixed random order."""
    loops = sorted(loops, key=lambda loop: (loop["words"], loop.get("first", [])))
    random.Random(1).shuffle(loops)
    kept, seen, codes = [], {}, set()
    for loop in loops:
        form, code = normal_form(loop["words"]), (*loop["words"], *loop.get("first", ()))
        if form in forms or seen.get(form, 0) >= most or code in codes:
            continue
        seen[form] = seen.get(form, 0) + 1
        codes.add(code)
        kept.append(loop)
    return kept


def read_corpus(corpus):
    """{side: (static samples, samples of runs)} for training, validation and evaluated."""
    plan = json.loads((corpus / "plan.json").read_text())
    found = {side: loops_of_side(corpus, plan, side) for side in ("evaluated", "validation", "training")}
    if not all(static for static, _ in found.values()):
        sys.exit(f"{corpus}: there is a side without loops; training/loops_corpus.py makes a corpus")
    forms, result = set(), {}
    for side, (static, runs) in found.items():
        most, most_of_runs = (ALIKE, ALIKE * RUNS) if side == "training" else (1, RUNS)
        kept = without(static, forms, most), without(runs, forms, most_of_runs)
        forms |= {normal_form(loop["words"]) for loop in static}
        result[side] = tuple(Samples(loops) for loops in kept)
        count = len(static), len(runs), len(kept[0]), len(kept[1])
        print("{}: {} static loops and {} of runs, of which {} and {} are used".format(side, *count), flush=True)
    return result
