"""How the tests of this folder call compilers: the targets, the flags of the build, and a pool of processes."""

import concurrent.futures
import pathlib
import shutil
import subprocess

# What keeps clang's NVPTX back end from its known traps; the x86-64 bitcode is built the same way.
DEVICE_FLAGS = (
    "-ffp-contract=off -fno-vectorize -fno-slp-vectorize -fno-strict-aliasing -fno-finite-loops -fconvergent-functions"
).split()
FREESTANDING = "-std=c++20 -ffreestanding -nostdinc++ -fno-exceptions -fno-rtti".split()
TARGETS = {
    "x86-64": ["--target=x86_64-linux-gnu"],
    "nvptx64": "--target=nvptx64-nvidia-cuda -march=sm_90 -nocudalib -Xclang -target-feature -Xclang +ptx80".split(),
}


def include_flags(source, build):
    return [f"-I{source / 'src'}", f"-I{pathlib.Path(build) / 'generated'}", f"-I{pathlib.Path(__file__).parent}"]


def find_tool(*names):
    """The first of the names that can be run, or None."""
    return next((path for name in names if (path := shutil.which(name))), None)


def run_all(commands, jobs):
    """Runs (key, command) pairs and returns (key, exit status, output) in their order."""

    def run(item):
        key, command = item
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return key, done.returncode, done.stdout

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(run, commands))
