"""The two dispatch networks, in the layouts of src/neural/layouts.cpp."""

import numpy as np
import torch


class EmbeddingNetwork(torch.nn.Module):
    """10,279 parameters: the opcode's 32 values and twelve features, 44 -> 32 -> 16 -> 7."""

    model = "dispatch-embedding"
    features = 2

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(256, 32)
        self.fc1 = torch.nn.Linear(44, 32)
        self.fc2 = torch.nn.Linear(32, 16)
        self.fc3 = torch.nn.Linear(16, 7)

    def forward(self, opcodes, features):
        """Logits [opcode][features][class]; the first layer's two halves are computed once each."""
        first, second = self.fc1.weight[:, :32], self.fc1.weight[:, 32:]
        hidden = (self.embedding(opcodes) @ first.T)[:, None, :] + (features @ second.T + self.fc1.bias)[None]
        return self.fc3(torch.relu(self.fc2(torch.relu(hidden))))

    def tensors(self):
        yield "embedding", self.embedding.weight
        for name in ("fc1", "fc2", "fc3"):
            layer = getattr(self, name)
            yield f"{name}.weight", layer.weight
            yield f"{name}.bias", layer.bias


class SmallNetwork(torch.nn.Module):
    """135 parameters: the eight bits of word[31:24], 8 -> 8 (tanh) -> 7."""

    model = "dispatch-small"
    features = 1

    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(8, 8)
        self.fc2 = torch.nn.Linear(8, 7)

    def forward(self, bits):
        return self.fc2(torch.tanh(self.fc1(bits)))

    def tensors(self):
        for name in ("fc1", "fc2"):
            layer = getattr(self, name)
            yield f"{name}.weight", layer.weight
            yield f"{name}.bias", layer.bias


def flatten(network) -> np.ndarray:
    return np.concatenate([t.detach().numpy().astype("<f4").ravel() for _, t in network.tensors()])


def describe(network) -> list:
    """Names, offsets and shapes, as the description beside a weight file has them."""
    offset, found = 0, []
    for name, tensor in network.tensors():
        found.append({"name": name, "offset": offset, "shape": list(tensor.shape)})
        offset += tensor.numel()
    return found
