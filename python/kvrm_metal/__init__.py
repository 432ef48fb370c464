"""The classes of the seeds' reports, on kvrm.Machine. docs/from-the-seeds.md says which is which.

The environment's KVRM_DEVICE (auto, cpu, cuda) says where they run.
"""

from ._modes import AsyncMetalCPU, ContinuousMetalCPU, MetalCPU, ParallelMetalCPU
from ._neural import ModelWeights, NeuralWeightCollection, PyNeuralMetalCPU, PyPureGPUCPU
from ._window import ExecutionResult, ExecutionStatus

__all__ = [
    "AsyncMetalCPU",
    "ContinuousMetalCPU",
    "ExecutionResult",
    "ExecutionStatus",
    "MetalCPU",
    "ModelWeights",
    "NeuralWeightCollection",
    "ParallelMetalCPU",
    "PyNeuralMetalCPU",
    "PyPureGPUCPU",
]
