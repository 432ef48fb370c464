#!/usr/bin/env python3
"""KVRM_CUBINS=native: the compute capabilities that cmake/native_gpus.py reads from nvidia-smi."""

import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "cmake" / "native_gpus.py"
CASES = {
    "echo 9.0": "90",
    "printf '9.0\\n8.0\\n9.0\\n'": "80;90",
    "echo 12.0": "120",
    "echo 'NVIDIA-SMI has failed because it cannot reach the driver' >&2; exit 9": "",
    "echo 'No devices were found'": "",
}


def main():
    for answer, expected in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder, "nvidia-smi")
            tool.write_text(f"#!/bin/sh\n{answer}\n")
            tool.chmod(0o755)
            # An empty file replaces the driver, so that the test does not depend on this machine.
            pathlib.Path(folder, "libcuda.so.1").write_text("")
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LD_LIBRARY_PATH": folder}
            done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env=environment)
        if (done.returncode, done.stdout.strip()) != (0, expected):
            sys.exit(f"native_gpus: {answer!r} gives {done.stdout!r} {done.stderr!r} instead of {expected!r}")
    print(f"native_gpus: {len(CASES)} answers of nvidia-smi are understood")


if __name__ == "__main__":
    main()
