"""The ways to run: at once, in batches, in the background, on many lanes."""

from __future__ import annotations

import time

import kvrm

from ._window import ExecutionResult, ExecutionStatus, ManyLanes, MEBIBYTE, OneLane


class MetalCPU(OneLane):
    """One lane, run by execute()."""


class ContinuousMetalCPU(OneLane):
    """One lane, run in batches of `cycles_per_batch`."""

    def __init__(self, cycles_per_batch: int = 10_000_000, memory_size: int = 4 * MEBIBYTE):
        super().__init__(memory_size)
        self.cycles_per_batch = cycles_per_batch

    def execute_continuous(self, max_batches: int | None = None, timeout: float | None = None) -> ExecutionResult:
        return self._result(self.machine.run_continuous(self.cycles_per_batch, max_batches, timeout))

    def execute_mega(self, total_cycles: int) -> ExecutionResult:
        return self._result(self.machine.run_mega(total_cycles))

    @staticmethod
    def _result(batch: kvrm.Batch) -> ExecutionResult:
        return ExecutionResult(batch.instructions, batch.seconds, [batch.stop], batch.number)


class AsyncMetalCPU(OneLane):
    """One lane, run in the background."""

    def __init__(self, memory_size: int = 4 * MEBIBYTE):
        super().__init__(memory_size)
        self._begin = 0.0
        self._before = 0
        self._result: ExecutionResult | None = None

    def start(self, max_cycles: int) -> None:
        """Returns at once."""
        self._before = self.machine.poll().instructions
        self._result = None
        self._begin = time.perf_counter()
        self.machine.start(max_cycles)

    def is_running(self) -> bool:
        return self.machine.is_running()

    def poll(self) -> ExecutionStatus:
        progress = self.machine.poll()
        return ExecutionStatus(progress.instructions - self._before, progress.running)

    def cancel(self) -> None:
        self.machine.cancel()

    def wait(self) -> ExecutionResult:
        """Waits for what start() began. Asked again, it says the same again."""
        stops = self.machine.wait()
        if stops:
            self._result = ExecutionResult(stops[0].instructions, time.perf_counter() - self._begin, stops)
        if self._result is None:
            raise kvrm.Error("nothing was started")
        return self._result


class ParallelMetalCPU(ManyLanes):
    """Many lanes, each with its own registers and memory."""

    def __init__(self, num_lanes: int = 128, memory_size: int = 16 * MEBIBYTE):
        super().__init__(num_lanes, memory_size)
