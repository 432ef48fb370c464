#!/usr/bin/env python3
"""Installs the library, builds examples/ against it outside the tree, and runs them.

    install_test.py --build DIR --generator G --compiler C [--flags=F]
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

EXPECTED = {
    "raw_loop": "halt after 301 instructions, x0 = 5050\n",
    "system_call_hook": "the guest says 3\nthe guest says 2\nthe guest says 1\nsystem call at 0x10014\n",
}


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"install: {' '.join(map(str, command))}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--flags", default="", help="what the library was built with beside its own flags")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kvrm-install-") as temporary:
        prefix, sources, build = (pathlib.Path(temporary) / name for name in ("prefix", "examples", "build"))
        run("cmake", "--install", arguments.build, "--prefix", prefix)
        # A copy, so that nothing of the tree can be found by a relative path.
        run("cp", "-r", SOURCE / "examples", sources)
        run(
            "cmake", "-S", sources, "-B", build, "-G", arguments.generator, f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={arguments.compiler}", f"-DCMAKE_CXX_FLAGS={arguments.flags}",
        )  # fmt: skip
        run("cmake", "--build", build)
        for example, expected in EXPECTED.items():
            output = run(build / example)
            if output != expected:
                sys.exit(f"install: {example} printed\n{output}instead of\n{expected}")
        refused = subprocess.run([build / "run_program", sources / "CMakeLists.txt"], capture_output=True, text=True)
        if refused.returncode != 1 or not refused.stderr.startswith("run_program: "):
            sys.exit(f"install: run_program should refuse a text file: {refused.returncode}, {refused.stderr!r}")
    print(f"install: {len(EXPECTED)} examples print what they should")


if __name__ == "__main__":
    main()
