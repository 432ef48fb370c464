#!/usr/bin/env python3
"""Writes docs/reference/command-line.md: what --help prints, for every command of kvrm.

    help_reference.py --kvrm build/kvrm --out docs/reference/command-line.md [--check]

--check writes nothing and fails where the file is not current.
"""

import argparse
import pathlib
import re
import subprocess
import sys

HEADER = """# Command-line reference

Every command and option, as `--help` prints them. This file is generated: `make reference` writes it, and a test
compares it with the program.
"""


def help_text(kvrm, command):
    done = subprocess.run([kvrm, *command, "--help"], capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def subcommands(text):
    listed = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.M)
    names = re.findall(r"^  (\w+)", listed[1], re.M) if listed else []
    return [name for name in names if name != "help"]


def sections(kvrm, command=()):
    text = help_text(kvrm, command)
    yield f"\n## {' '.join(['kvrm', *command])}\n\n```text\n{text}\n```\n"
    for name in subcommands(text):
        yield from sections(kvrm, (*command, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = HEADER + "".join(sections(arguments.kvrm.resolve()))
    if not arguments.check:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text)
    elif not arguments.out.exists() or arguments.out.read_text() != text:
        sys.exit(f"help_reference: {arguments.out} is not current; make reference writes it")
    too_long = [line for line in text.splitlines() if len(line) > 120]
    if too_long:
        sys.exit("help_reference: longer than 120 characters: " + too_long[0])


if __name__ == "__main__":
    main()
