#!/usr/bin/env python3
"""How long code takes on one GPU when it does not fit into the instruction caches.

    bench/gpu_instruction_cache.py                         a table
    bench/gpu_instruction_cache.py --json cache.json       the same figures in a file, too

Every warp jumps from block to block in a random order of its own: 16 instructions and an indirect branch, 256 bytes.
Columns are sizes of the code, rows how many warps run on how many multiprocessors. Needs Python and the driver alone.
The limit of the interpreter's loops and of regions in fleets follows from these figures (docs/internals/gpu.md).
"""

import argparse
import ctypes
import json
import sys

BLOCK_BYTES = 256
MULTIPLIES = 14  # of a block, each waits for the one before
BLOCKS = (32, 64, 128, 256, 512, 1024)
JUMPS = 4000


def ptx(blocks):
    """A kernel with so many blocks; each thread writes the cycles that its jumps took."""
    out = [
        ".version 7.8", ".target sm_80", ".address_size 64",
        ".visible .entry jump(.param .u64 out, .param .u32 jumps, .param .u32 apart) {",
        ".reg .b32 %r<40>; .reg .pred %p<4>; .reg .b64 %d<8>;",
        "ld.param.u64 %d1, [out]; ld.param.u32 %r1, [jumps]; ld.param.u32 %r20, [apart];",
        "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; shr.u32 %r3, %r3, 5;",
        "mul.lo.u32 %r4, %r2, 7919; mad.lo.u32 %r4, %r3, 104729, %r4; mul.lo.u32 %r4, %r4, %r20;",
        "mov.u32 %r10, 1; mov.u32 %r11, 2; mov.u32 %r12, 3; mov.u32 %r13, 4;",
        f"mov.u64 %d2, %clock64; and.b32 %r6, %r4, {blocks - 1};",
        "all: .branchtargets " + ", ".join(f"B{i}" for i in range(blocks)) + ";",
        "again: brx.idx.uni %r6, all;",
    ]  # fmt: skip
    for i in range(blocks):
        out.append(f"B{i}:")
        for j in range(MULTIPLIES):
            to, other = 10 + j % 4, 10 + (j + 1) % 4
            out.append(f"mad.lo.u32 %r{to}, %r{to}, {(i * MULTIPLIES + j) * 2 + 3}, %r{other};")
        out.append("bra.uni next;")
    out += [
        f"next: mad.lo.u32 %r4, %r4, 1664525, 1013904223; shr.u32 %r6, %r4, 12; and.b32 %r6, %r6, {blocks - 1};",
        "sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra.uni again;",
        "mov.u64 %d3, %clock64; sub.u64 %d3, %d3, %d2;",
        "add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12; add.u32 %r10, %r10, %r13;",
        "setp.eq.u32 %p2, %r10, 12345; @%p2 add.u64 %d3, %d3, 1;",  # so that the blocks do something
        "mov.u32 %r7, %ntid.x; shr.u32 %r7, %r7, 5; mad.lo.u32 %r8, %r2, %r7, %r3;",
        "mul.wide.u32 %d4, %r8, 8; add.u64 %d4, %d4, %d1; st.global.u64 [%d4], %d3; ret; }",
    ]
    return "\n".join(out) + "\0"


class Gpu:
    """The driver's functions that this needs."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            sys.exit(f"gpu_instruction_cache.py: no driver of a GPU here: {error}")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, device)
        count = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(count), 16, device)
        self.multiprocessors = count.value
        self.buffer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.buffer), 1 << 20)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            sys.exit(f"gpu_instruction_cache.py: {name} failed with {code}")

    def kernel(self, text):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"jump")
        return function

    def cycles(self, function, multiprocessors, warps, apart):
        """Of a block, on average over all warps; the second of two runs."""
        values = ctypes.c_uint64(self.buffer.value), ctypes.c_uint32(JUMPS), ctypes.c_uint32(apart)
        pointers = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values])
        for _ in range(2):
            self.call("cuLaunchKernel", function, multiprocessors, 1, 1, warps * 32, 1, 1, 0, None, pointers, None)
            self.call("cuCtxSynchronize")
        taken = (ctypes.c_uint64 * (multiprocessors * warps))()
        self.call("cuMemcpyDtoH_v2", taken, self.buffer, ctypes.sizeof(taken))
        return sum(taken) / len(taken) / JUMPS


def show(name, cycles):
    print(name.ljust(40) + "".join(f"{count:8.0f}" for count in cycles))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the figures to this file, too")
    options = parser.parse_args()
    gpu = Gpu()
    kernels = [gpu.kernel(ptx(blocks)) for blocks in BLOCKS]
    rows = []
    print("cycles a block of 256 bytes; code in KB:" + "".join(f"{blocks * BLOCK_BYTES >> 10:>8}" for blocks in BLOCKS))
    for multiprocessors in (1, gpu.multiprocessors):
        for warps in (1, 4, 12, 24):
            cycles = [gpu.cycles(kernel, multiprocessors, warps, 1) for kernel in kernels]
            rows.append({"multiprocessors": multiprocessors, "warps": warps, "cycles": cycles})
            show(f"{warps:>3} warps on {multiprocessors:>3} multiprocessors", cycles)
    cycles = [gpu.cycles(kernel, gpu.multiprocessors, 12, 0) for kernel in kernels]
    rows.append({"multiprocessors": gpu.multiprocessors, "warps": 12, "same_order": True, "cycles": cycles})
    show(" 12 warps, all in the same order", cycles)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"kilobytes": [blocks * BLOCK_BYTES >> 10 for blocks in BLOCKS], "figures": rows}, file, indent=2)


if __name__ == "__main__":
    main()
