"""MLXKernelCPUv2: one lane, one window of memory, one call for everything."""

from __future__ import annotations

from kvrm_metal import ExecutionResult
from kvrm_metal._window import MEBIBYTE, OneLane

__all__ = ["ExecutionResult", "MLXKernelCPUv2"]


class MLXKernelCPUv2(OneLane):
    """Reads and writes memory in numbers of 8, 32 and 64 bits."""

    def __init__(self, memory_size: int = 4 * MEBIBYTE):
        super().__init__(memory_size)

    def execute(self, max_cycles: int = 10_000_000) -> ExecutionResult:
        return super().execute(max_cycles)

    def read_memory_8(self, address: int) -> int:
        return self._read_number(address, 1, 0)

    def read_memory_32(self, address: int) -> int:
        return self._read_number(address, 4, 0)

    def read_memory_64(self, address: int) -> int:
        return self._read_number(address, 8, 0)

    def write_memory_8(self, address: int, value: int) -> None:
        self._write_number(address, value, 1)

    def write_memory_32(self, address: int, value: int) -> None:
        self._write_number(address, value, 4)

    def write_memory_64(self, address: int, value: int) -> None:
        self._write_number(address, value, 8)
