#!/usr/bin/env python3
"""The shape of the sources: no monoliths, #pragma once in every header, and every meaning where its group says.

    shape.py --table <build>/generated/isa/a64.json
"""

import argparse
import json
import pathlib
import re
import sys

import tree

FOLDERS = ["src", "include", "cli", "python", "examples", "tests", "bench", "tools"]
MOST_LINES = 600
# Headers of src/semantics that are no group of the table: what several groups share.
SHARED = set(
    """
    meaning registers operands aligned branches load_store system_registers
    vector element_operations simd_forms simd_scalar_forms simd_by_element simd_dot_product shift_amounts saturate
    unsigned_estimate polynomial crypto_sha
    float float_cold float_count float_format float_registers float_round float_arithmetic float_compare_core float_convert
    float_estimate float_hardware float_software float_operations float_vector float_vector_convert float_vector_element
    """.split()
)
MEANING = re.compile(r"^KVRM_INLINE (?:void|Trap) ([A-Z]\w*)\(Cpu&", re.M)


def check_lengths(files):
    for path, text in files.items():
        lines = text.count("\n")
        if lines > MOST_LINES:
            yield f"{path}: {lines} lines, over {MOST_LINES}"


def check_pragma(files):
    for path, text in files.items():
        # Headers for guests are plain C, where a guard of the old kind is right too.
        guarded = re.search(r"^#ifndef KVRM_\w+_H\n#define ", text, re.M) and path.startswith(("tests/", "bench/"))
        if path.endswith(".h") and not guarded and not re.search(r"^#pragma once$", text, re.M):
            yield f"{path}: no #pragma once"


def check_semantics(files, groups):
    """groups: {row: group}."""
    names = set(groups.values())
    for path, text in files.items():
        if not path.startswith("src/semantics/"):
            continue
        stem = pathlib.PurePosixPath(path).stem
        if stem not in names and stem not in SHARED:
            yield f"{path}: neither a group of a64.inc nor in the list of shared helpers (tests/structure/shape.py)"
        for row in MEANING.findall(text):
            if row not in groups:
                yield f"{path}: {row} is not a row of the table"
            elif groups[row] != stem:
                yield f"{path}: {row} belongs in {groups[row]}.h"


def check(files, groups):
    return [*check_lengths(files), *check_pragma(files), *check_semantics(files, groups)]


def prove_itself():
    groups = {"ADR": "pc_relative", "B": "branch_immediate"}
    meaning = "#pragma once\nKVRM_INLINE Trap ADR(Cpu& cpu, M&, const isa::ADR& op) {\n"
    good = {
        "src/semantics/pc_relative.h": meaning,
        "src/semantics/registers.h": "#pragma once\n",
        "src/a.cpp": "\n" * MOST_LINES,
    }
    must_fail = {
        "src/base/long.cpp": "\n" * (MOST_LINES + 1),
        "src/base/open.h": "// #pragma once\n",
        "src/base/old.h": "#ifndef KVRM_OLD_H\n#define KVRM_OLD_H\n#endif\n",
        "src/semantics/helpers.h": "#pragma once\n",
        "src/semantics/branch_immediate.h": meaning,
        "src/semantics/pc_relative.h": meaning.replace("ADR(", "ADX("),
    }
    if check(good, groups):
        sys.exit("shape: complains about files that are in order: " + "; ".join(check(good, groups)))
    for path, text in must_fail.items():
        if not check({path: text}, groups):
            sys.exit(f"shape: does not see what is wrong with {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    prove_itself()
    groups = {row["name"]: row["group"] for row in json.loads(arguments.table.read_text())["rows"]}
    # Tables (.inc) are as long as what they list.
    files = tree.read(FOLDERS, {".h", ".cpp", ".c", ".py"})
    complaints = check(files, groups)
    print("\n".join(complaints))
    print(f"shape: {len(files)} files, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
