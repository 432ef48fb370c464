"""An exact ARM64 machine, on the CPU or on a GPU.

    import kvrm

    machine = kvrm.Machine()
    machine.load(bytes.fromhex("40 05 80 d2 00 00 40 d4"), 0x1000)  # mov x0, #42; hlt #0
    machine.pc = 0x1000
    print(machine.run(), machine.get_x(0))
"""

from ._kvrm import (
    Batch,
    DispatchStatistics,
    Error,
    Fleet,
    Job,
    JobResult,
    Machine,
    ProgramFile,
    Progress,
    Registers,
    Statistics,
    Stop,
    Weights,
    built_in_models,
    built_in_weights,
    choose_prefetches,
    disassemble,
    info,
    information,
    load_weights,
    make_weights,
    verify_dispatch,
)
from ._kvrm import version as __version__

__all__ = [
    "Batch",
    "DispatchStatistics",
    "Error",
    "Fleet",
    "Job",
    "JobResult",
    "Machine",
    "ProgramFile",
    "Progress",
    "Registers",
    "Statistics",
    "Stop",
    "Weights",
    "__version__",
    "built_in_models",
    "built_in_weights",
    "choose_prefetches",
    "disassemble",
    "info",
    "information",
    "load_weights",
    "make_weights",
    "verify_dispatch",
]
