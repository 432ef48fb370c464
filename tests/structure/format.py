#!/usr/bin/env python3
"""Every C++ source is formatted as .clang-format says.

    format.py [--clang-format clang-format-19]

Guest programs are left alone: they are C, and their style is theirs.
"""

import argparse
import subprocess
import sys

import tree

FOLDERS = ["src", "include", "cli", "python", "examples", "tests", "bench"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clang-format", default="clang-format-19")
    arguments = parser.parse_args()
    files = [path for path in tree.read(FOLDERS, {".h", ".cpp"}) if "/guests/" not in path]
    command = [arguments.clang_format, "--dry-run", "-Werror", "--ferror-limit=1"]

    def is_bad(path):
        return subprocess.run([*command, path], cwd=tree.ROOT, stderr=subprocess.DEVNULL).returncode != 0

    bad = [path for path in files if is_bad(path)]
    print("\n".join(bad))
    print(f"format: {len(files)} files, {len(bad)} are not formatted" + ("; make format does it" if bad else ""))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
