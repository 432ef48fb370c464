#!/usr/bin/env python3
"""The shape of the sources: files and functions of bounded length, #pragma once in every header, and every meaning where
its group says.

    shape.py --table <build>/generated/isa/a64.json
"""

import argparse
import ast
import json
import pathlib
import re
import sys

import tree

FOLDERS = ["src", "include", "cli", "python", "examples", "tests", "bench", "tools"]
MOST_LINES = 600
MOST_FUNCTION_LINES = 80
# Where C++ functions are checked, and where Python's are.
CPP_FUNCTIONS = ("src/", "include/", "cli/", "python/")
PYTHON_FUNCTIONS = ("src/", "python/", "tests/", "bench/", "tools/")
# Headers of src/semantics that are no group of the table: what several groups share.
SHARED = set(
    """
    meaning registers operands branches load_store system_registers
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


# Lines between which a declaration lies: blank ones, comments, labels, and the ends of others.
BORDER = re.compile(r"^\s*(?:$|//|\w+:$)|[;{}]$")
TYPE = re.compile(r"(?:template <.*>\s+)*(?:typedef )?(?:struct|class|union|enum|namespace)\b")


def cpp_functions(text):
    """(first line, count of lines) of the functions, as clang-format leaves them: a declaration with a parenthesis that
    opens a brace, up to the closing brace at its indentation. Looks into namespaces and types."""
    text = re.sub(r"^#(?:.*\\\n)*.*", lambda macro: "\n" * macro[0].count("\n"), text, flags=re.M)
    lines = [re.sub(r"\s+//.*", "", line) for line in text.split("\n")]
    number = start = 0
    while number < len(lines):
        if BORDER.search(lines[number]):
            declaration = " ".join(lines[start : number + 1]).strip()
            opens = declaration.endswith("{") and not declaration.endswith(("= {", "({"))
            if opens and "(" in declaration and not TYPE.match(declaration):
                closing = re.match(r"\s*", lines[start])[0] + "}"
                end = next((i for i in range(number, len(lines)) if lines[i].startswith(closing)), number)
                yield start + 1, end - start + 1
                number = end
            start = number + 1
        number += 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, node.end_lineno - node.lineno + 1


def check_functions(files):
    for path, text in files.items():
        functions = []
        if path.endswith((".h", ".cpp")) and path.startswith(CPP_FUNCTIONS):
            functions = cpp_functions(text)
        elif path.endswith(".py") and path.startswith(PYTHON_FUNCTIONS):
            functions = python_functions(text)
        for line, count in functions:
            if count > MOST_FUNCTION_LINES:
                yield f"{path}:{line}: a function of {count} lines, over {MOST_FUNCTION_LINES}"


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
    return [*check_lengths(files), *check_functions(files), *check_pragma(files), *check_semantics(files, groups)]


def function(lines, text="Trap\nrun(int first,\n    int second) {{\n{}}}\n"):
    """A function of so many lines: the sample's, and empty ones."""
    return text.format("\n" * (lines - text.count("\n")))


METHOD = "namespace kvrm {{\nstruct A {{\n  A() : a(1) {{}}\n  // Runs.\n  void run() const {{\n{}  }}\n}};\n}}\n"


def prove_itself():
    groups = {"ADR": "pc_relative", "B": "branch_immediate"}
    meaning = "#pragma once\nKVRM_INLINE Trap ADR(Cpu& cpu, M&, const isa::ADR& op) {\n"
    good = {
        "src/semantics/pc_relative.h": meaning,
        "src/semantics/registers.h": "#pragma once\n",
        "src/a.cpp": "\n" * MOST_LINES,
        "src/b.cpp": 2 * function(MOST_FUNCTION_LINES),
        "cli/b.h": "#pragma once\n" + function(MOST_FUNCTION_LINES + 6, METHOD),
        "src/table.cpp": "const int kTable[] = {\n" + 100 * "    f(1),\n" + "};\n",
        "src/types.h": "#pragma once\nstruct alignas(16) A {\n" + 100 * "  int f();\n" + "};\n",
        "src/macro.cpp": "#define KVRM_LONG(x) {" + 100 * "\\\n  f(x);" + "\\\n}\n",
        "tests/b.py": "def run():\n" + "    f()\n" * (MOST_FUNCTION_LINES - 1),
    }
    must_fail = {
        "src/base/long.cpp": "\n" * (MOST_LINES + 1),
        "src/base/function.cpp": function(MOST_FUNCTION_LINES) + function(MOST_FUNCTION_LINES + 1),
        "src/base/kernel.cpp": function(MOST_FUNCTION_LINES + 1, 'extern "C" void run(int a) {{\n{}}}\n'),
        "include/kvrm/method.h": "#pragma once\n" + function(MOST_FUNCTION_LINES + 7, METHOD),
        "tools/function.py": "class A:\n    def run():\n" + "        f()\n" * MOST_FUNCTION_LINES,
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
