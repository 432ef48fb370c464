"""The loop detector: its inputs, and its network in the layout of src/neural/layouts.cpp.

An input is up to eight words of a loop and its registers at the head, when the branch back was taken for the first and
the second time (docs/co-processors.md; the same in src/neural/freestanding/loop_network.h):

- words: of a longer loop the last eight branches and, if these are fewer, the last of the other words; in order.
- fields: for each word 32 numbers, one a register: 1 where word[4:0] names it, plus 1/2 for word[9:5], 1/4 for
  word[20:16] and 1/8 for word[14:10], whether or not the instruction has such a field.
- registers: X0 to X30 and SP, first sign * log2(1 + magnitude) / 64 of each; then its presence: 0 if it is unknown, 1,
  or, if it changed from the first time to the second, 1 + sign * (1 + log2(1 + magnitude)) / 16 of the change.
"""

import numpy as np
import torch

WORDS = 8
TYPES = ("none", "count up", "count down", "memory fill")
TREE_INPUTS = WORDS * 65 + 64
FIELDS = ((0, 1.0), (5, 0.5), (16, 0.25), (10, 0.125))


def chosen_words(words):
    is_branch = [word >> 26 & 7 == 5 for word in words]
    chosen = [i for i in range(len(words)) if is_branch[i]][-WORDS:]
    for i in reversed(range(len(words))):
        if not is_branch[i] and len(chosen) < WORDS:
            chosen.append(i)
    return [words[i] for i in sorted(chosen)]


def signed(value):
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def scaled(value):
    return float(np.sign(value)) * float(np.log2(1.0 + abs(float(value))))


def word_inputs(words):
    """(bits, fields) of chosen words, at the front."""
    bits, fields = np.zeros((WORDS, 32), np.float32), np.zeros((WORDS, 32), np.float32)
    for i, word in enumerate(words):
        bits[i] = word >> np.arange(32) & 1
        for low, weight in FIELDS:
            fields[i, word >> low & 31] += weight
    return bits, fields


def register_inputs(first=None, second=None):
    values = np.zeros(64, np.float32)
    if first is None:
        return values
    for i, value in enumerate(first):
        values[i] = scaled(signed(value)) / 64
        change = signed(second[i] - value) if second else 0
        values[32 + i] = 1 + (np.sign(change) + scaled(change)) / 16 if change else 1
    return values


def tree_inputs(bits, fields, count, registers):
    """The same numbers for a tree: words at the back, whether each is there, registers."""
    shifted = np.zeros((WORDS, 65), np.float32)
    for i in range(count):
        at = WORDS - count + i
        shifted[at, 0], shifted[at, 1:33], shifted[at, 33:] = 1, bits[i], fields[i]
    return np.concatenate([shifted.ravel(), registers])


class LoopNetwork(torch.nn.Module):
    """1,083,397 parameters."""

    model = "loop-detector"
    features = 1

    def __init__(self):
        super().__init__()
        linear, norm = torch.nn.Linear, torch.nn.LayerNorm
        self.instruction = torch.nn.Sequential(linear(32, 128), norm(128), torch.nn.ReLU(), linear(128, 128))
        self.register_fields = linear(32, 96)
        self.lstm = torch.nn.LSTM(128, 128, 2, batch_first=True, bidirectional=True)
        self.registers = torch.nn.Sequential(linear(64, 128), norm(128), torch.nn.ReLU(), linear(128, 128))
        self.cross_attention = torch.nn.MultiheadAttention(256, 4, batch_first=True)
        self.types = torch.nn.Sequential(linear(384, 128), torch.nn.ReLU(), linear(128, 4))
        self.counter = linear(256, 32)
        self.iterations = torch.nn.Sequential(linear(416, 128), torch.nn.ReLU(), linear(128, 1))
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, bits, fields, counts, registers):
        """Logits of the types, of the counter registers, and log2(1 + times the branch back is taken) / 16."""
        code = self.instruction(bits)
        packed = torch.nn.utils.rnn.pack_padded_sequence(code, counts, batch_first=True, enforce_sorted=False)
        steps, _ = torch.nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=WORDS)
        there = torch.arange(WORDS)[None] < counts[:, None]
        # What the sequence says asks what the words' register fields say.
        keys = torch.cat([code, self.register_fields(fields), fields], 2)
        found, _ = self.cross_attention(steps, keys, keys, key_padding_mask=~there, need_weights=False)
        pooled = ((steps + found) * there[..., None]).sum(1) / counts[:, None]
        both = self.dropout(torch.cat([pooled, self.registers(registers)], 1))
        counter = self.counter(both[:, :256])
        return self.types(both), counter, self.iterations(torch.cat([both, torch.softmax(counter, 1)], 1))[:, 0]

    def tensors(self):
        for name, tensor in self.named_parameters():
            yield name.replace("types.", "type."), tensor  # a module's `type` is something else
