#!/usr/bin/env python3
"""Builds the programs that the memory oracle learns from and is evaluated on.

    training/oracle_corpus.py [--out build/oracle]

training/oracle_programs.json fixes them. They are this repository's benchmark guests, training/guests, and two programs
around Debian packages for arm64, which are left out where these cannot be had. Needs the cross compiler and make.

    OUT/guests...   OUT/files   OUT/plan.json
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "training" / "oracle_programs.json"
PACKAGES = {"real/sqlite": "libsqlite3-dev", "real/lua": "liblua5.4-dev"}

sys.path.insert(0, str(ROOT / "bench"))
import programs  # noqa: E402  (bench/programs.py)


def make(out, guest):
    """Builds one guest; False if that is not possible here."""
    command = ["make", "-s", "-C", str(ROOT / "bench"), f"OUT={out}", str(out / "arm64" / guest)]
    return subprocess.run(command).returncode == 0


def built(out, planned):
    guest = planned["guest"]
    package = PACKAGES.get(guest)
    if package and not programs.fetched({package}):
        print(f"oracle_corpus: left out, because {package} cannot be had: {planned['name']}")
        return False
    if not make(out, guest):
        sys.exit(f"oracle_corpus: {guest} does not build")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "oracle")
    out = parser.parse_args().out.resolve()
    plan = json.loads(PROGRAMS.read_text())
    for name in ("evaluated", "training"):
        plan[name] = [one | {"guest": f"arm64/{one['guest']}"} for one in plan[name] if built(out, one)]
    programs.write_files(out / "files", {})
    out.joinpath("plan.json").write_text(json.dumps(plan, indent=1) + "\n")
    print(f"{out}: {len(plan['evaluated'])} programs to evaluate, {len(plan['training'])} to learn from")


if __name__ == "__main__":
    main()
