#!/usr/bin/env python3
"""Build the index of known routines from the libraries that training/symbols_corpus.py fetched.

    training/symbols_index.py --kvrm build/kvrm [--corpus build/symbols] [--out models/symbols.index]

Both releases of the libraries with the role "index", and musl.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROLES = ("index", "other libc")


def libraries(corpus, plan):
    """NAME@VERSION=FILES of each library that is there, as kvrm symbols --library takes it."""
    for release, title in plan["releases"].items():
        for name, facts in plan["libraries"].items():
            folder = corpus / release / name
            files = sorted(folder.glob("*.a"))
            if facts["role"] in ROLES and files:
                version = (folder / "version").read_text().strip()
                yield f"{name}@{version} ({title})={','.join(map(str, files))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "build" / "symbols")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "models" / "symbols.index")
    arguments = parser.parse_args()
    plan = json.loads(pathlib.Path(__file__).with_name("symbols_packages.json").read_text())
    words = [word for text in libraries(arguments.corpus, plan) for word in ("--library", text)]
    subprocess.run([arguments.kvrm, "symbols", "--build-index", arguments.out, *words], check=True)


if __name__ == "__main__":
    main()
