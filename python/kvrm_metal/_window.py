"""What the seeds' machines have in common: lanes with one window of memory at address 0."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import kvrm

NAMES = {"budget": "MAX_CYCLES", "system call": "SYSCALL"}
MEBIBYTE = 1 << 20


@dataclass
class ExecutionResult:
    """What an execute() did. `cycles` are retired instructions of all lanes; the rest is lane 0's."""

    cycles: int
    seconds: float
    stops: list[kvrm.Stop] = field(repr=False)
    batches: int = 1

    @property
    def cycles_executed(self) -> int:
        return self.cycles

    @property
    def total_cycles(self) -> int:
        return self.cycles

    @property
    def ips(self) -> float:
        return self.cycles / self.seconds if self.seconds > 0 else 0.0

    @property
    def final_pc(self) -> int:
        return self.stops[0].pc

    @property
    def stop_reason_name(self) -> str:
        """HALT, SYSCALL, MAX_CYCLES, BREAKPOINT, FAULT, UNDEFINED, CANCELLED or DEVICE."""
        reason = self.stops[0].reason
        return NAMES.get(reason, reason.upper())


@dataclass
class ExecutionStatus:
    """How far a background run has come."""

    cycles_executed: int
    is_running: bool


class Window:
    """Lanes, each with private memory from 0 to memory_size that may be read, written and executed."""

    def __init__(self, memory_size: int, lanes: int = 1, dispatch: str = "table", weights: kvrm.Weights | None = None):
        self.memory_size = memory_size
        self._more: dict[str, Any] = {}  # options of the machine that weights ask for
        self.machine = self._make(lanes, dispatch, weights)

    def _make(self, lanes: int, dispatch: str, weights: kvrm.Weights | None) -> kvrm.Machine:
        device = os.environ.get("KVRM_DEVICE", "auto")
        # The window, and room for the lane's page tables.
        machine = kvrm.Machine(
            device=device,
            lanes=lanes,
            memory=self.memory_size + MEBIBYTE,
            dispatch=dispatch,
            weights=weights,
            **self._more,
        )
        machine.map(0, self.memory_size, "rwx")
        return machine

    def _remake(self, dispatch: str, weights: kvrm.Weights | None) -> None:
        """Another router, or other options, for the same state."""
        old, new = self.machine, self._make(self.machine.lanes, dispatch, weights)
        for lane in range(old.lanes):
            memory = old.read_array(0, self.memory_size // 4096 * 4096, lane=lane).reshape(-1, 4096)
            for page in np.flatnonzero(memory.any(axis=1)):
                new.write(int(page) * 4096, memory[page], lane)
            new.set_registers(old.registers(lane), lane)
        self.machine = new

    def _timed(self, run: Callable[[], list[kvrm.Stop]]) -> ExecutionResult:
        begin = time.perf_counter()
        stops = run()
        seconds = time.perf_counter() - begin
        return ExecutionResult(sum(stop.instructions for stop in stops), seconds, stops)

    # Memory: what is written goes to every lane; what is read is lane 0's, or another's.

    def write_memory(self, address: int, data: bytes | Sequence[int]) -> None:
        self.machine.write(address, bytes(data))

    def read_memory(self, address: int, size: int, lane: int = 0) -> bytes:
        return self.machine.read(address, size, lane)

    def load_program(self, program: bytes | Sequence[int], address: int = 0) -> None:
        self.write_memory(address, program)

    def _write_number(self, address: int, value: int, size: int) -> None:
        self.machine.write(address, (value & (1 << 8 * size) - 1).to_bytes(size, "little"))

    def _read_number(self, address: int, size: int, lane: int) -> int:
        return int.from_bytes(self.machine.read(address, size, lane), "little")

    def write_memory_u32(self, address: int, value: int) -> None:
        self._write_number(address, value, 4)

    def write_memory_u64(self, address: int, value: int) -> None:
        self._write_number(address, value, 8)

    def read_memory_u32(self, address: int, lane: int = 0) -> int:
        return self._read_number(address, 4, lane)

    def read_memory_u64(self, address: int, lane: int = 0) -> int:
        return self._read_number(address, 8, lane)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.machine!r}>"


class OneLane(Window):
    """Registers by number alone."""

    def __init__(self, memory_size: int = 4 * MEBIBYTE):
        super().__init__(memory_size)

    def set_pc(self, pc: int) -> None:
        self.machine.set_pc(pc)

    def get_pc(self) -> int:
        return int(self.machine.pc[0])

    def get_register(self, register: int) -> int:
        """X0 to X30; register 31 reads as zero."""
        return 0 if register == 31 else self.machine.get_x(register)

    def set_register(self, register: int, value: int) -> None:
        self.machine.set_x(register, value & (1 << 64) - 1)

    def execute(self, max_cycles: int) -> ExecutionResult:
        return self._timed(lambda: [self.machine.run(max_cycles)])


class ManyLanes(Window):
    """Registers by lane and number."""

    def __init__(
        self,
        num_lanes: int = 1,
        memory_size: int = 16 * MEBIBYTE,
        dispatch: str = "table",
        weights: kvrm.Weights | None = None,
    ):
        super().__init__(memory_size, num_lanes, dispatch, weights)
        self.num_lanes = num_lanes

    def set_pc(self, lane: int, pc: int) -> None:
        self.machine.set_pc(pc, lane)

    def get_pc(self, lane: int) -> int:
        return int(self.machine.registers(lane).pc)

    def get_register(self, lane: int, register: int) -> int:
        """X0 to X30; register 31 reads as zero."""
        return 0 if register == 31 else self.machine.get_x(register, lane)

    def set_register(self, lane: int, register: int, value: int) -> None:
        self.machine.set_x(register, value & (1 << 64) - 1, lane)

    def execute(self, max_cycles: int) -> ExecutionResult:
        """All lanes in one call of the device, each at most `max_cycles` instructions."""
        return self._timed(lambda: self.machine.run_all(max_cycles))
