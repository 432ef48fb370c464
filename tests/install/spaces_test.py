#!/usr/bin/env python3
"""Builds a part of the tree in folders whose names have spaces: what is generated, the bitcode, and what embeds files.

    spaces_test.py --compiler C [--launcher L]

The whole takes too long for a test. NVIDIA's assembler, which takes minutes, is a script here that copies its input.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ["CMakeLists.txt", "bench", "cmake", "include", "models", "src"]
TOOL = """#!/bin/sh
for input; do :; done
while [ "$1" != -o ]; do shift; done
cp "$input" "$2"
"""


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"spaces: {' '.join(map(str, command))}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def copy_of_the_tree(to):
    to.mkdir()
    for part in PARTS:
        if (SOURCE / part).is_dir():
            shutil.copytree(SOURCE / part, to / part)
        else:
            shutil.copy(SOURCE / part, to / part)


def fake_tools(to):
    to.mkdir()
    for name in ("ptxas", "nvlink"):
        (to / name).write_text(TOOL)
        (to / name).chmod(0o755)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--launcher", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kvrm with spaces ") as temporary:
        tree, build, tools = (pathlib.Path(temporary) / name for name in ("the source", "the build", "the tools"))
        copy_of_the_tree(tree)
        fake_tools(tools)
        configured = run(
            "cmake", "-S", tree, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={arguments.launcher}", "-DKVRM_BUILD_TESTS=OFF", "-DKVRM_BUILD_CLI=OFF",
            f"-DKVRM_PTXAS={tools / 'ptxas'}", "-DKVRM_CUBINS=90", "-DKVRM_LINKABLE=ONLY",
        )  # fmt: skip
        targets = ["kvrm_generated", "kvrm_weights", "CMakeFiles/kvrm.dir/src/isa/disassembler/disassemble.cpp.o"]
        if "GPU code: none" not in configured:
            targets.append("kvrm_gpu_images")
        if "Translator: none" not in configured:
            targets.append("src/translator/CMakeFiles/kvrm_translator.dir/bitcode.cpp.o")
        run("cmake", "--build", build, "--target", *targets)
        again = run("cmake", "--build", build, "--target", *targets)
        if "no work to do" not in again:
            sys.exit(f"spaces: a second build should find nothing to do:\n{again}")
        if shutil.which("gcc"):
            run("make", "-s", "-C", tree / "bench", "../build/bench/native/hello")
            targets.append("a benchmark")
    print(f"spaces: {', '.join(targets)} are built")


if __name__ == "__main__":
    main()
