#!/usr/bin/env python3
"""Prints the compute capabilities of this machine's NVIDIA GPUs as a CMake list: 80;90. Prints nothing without a GPU.

    native_gpus.py

nvidia-smi answers where it is installed. A container may have the driver's library alone, so that is asked next.
"""

import ctypes
import re
import subprocess

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


def from_nvidia_smi():
    command = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [int(major + minor) for major, minor in re.findall(r"^(\d+)\.(\d)\s*$", text, re.M)]


def from_driver():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, value = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []

    def attribute(number, device):
        failed = cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        return 0 if failed else value.value

    return [attribute(MAJOR, device) * 10 + attribute(MINOR, device) for device in range(count.value)]


print(";".join(map(str, sorted(set(from_nvidia_smi() or from_driver()) - {0}))))
