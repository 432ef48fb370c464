"""The memory oracle in the layout of src/neural/layouts.cpp."""

import torch

STEPS, FEATURES, POLICIES, LEVELS = 16, 10, 4, 8


class OracleNetwork(torch.nn.Module):
    """271,124 parameters: 10 -> 64 -> 64, two LSTM layers of 128, and three heads."""

    model = "memory-oracle"
    features = 1

    def __init__(self):
        super().__init__()
        linear, relu = torch.nn.Linear, torch.nn.ReLU()
        self.encoder = torch.nn.Sequential(linear(FEATURES, 64), relu, linear(64, 64))
        self.lstm = torch.nn.LSTM(64, 128, num_layers=2, batch_first=True)
        self.deltas = torch.nn.Sequential(linear(128, 128), relu, linear(128, 8))
        self.confidence = torch.nn.Sequential(linear(128, 64), relu, linear(64, 8))
        self.pattern = torch.nn.Sequential(linear(128, 64), relu, linear(64, 4))

    def forward(self, windows):
        """(gains [n][8], confidence [n][8], pattern [n][4]) of windows [n][16][10]."""
        last = self.lstm(self.encoder(windows))[0][:, -1]
        return self.deltas(last), self.confidence(last), self.pattern(last)

    def tensors(self):
        def linear(name, layer):
            yield f"{name}.weight", layer.weight
            yield f"{name}.bias", layer.bias

        yield from linear("encoder.0", self.encoder[0])
        yield from linear("encoder.2", self.encoder[2])
        for layer in range(2):
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                yield f"lstm.{part}_l{layer}", getattr(self.lstm, f"{part}_l{layer}")
        for name in ("deltas", "confidence", "pattern"):
            head = getattr(self, name)
            yield from linear(f"{name}.0", head[0])
            yield from linear(f"{name}.2", head[2])
