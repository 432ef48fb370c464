#!/usr/bin/env python3
"""Each freestanding header compiles alone, with every compiler, with no standard library and no warning.

    freestanding.py --build DIR [--clang clang++-19] [--gcc g++] [-j N] [--all]

Whether a header is complete in itself does not depend on the compiler: clang for x86-64 gets each alone, the others
get all of them together. With --all every compiler gets each alone.

Then every row's meaning, every system call of lanes and every way they speak to others is instantiated: by g++ and
clang for x86-64, and by clang for nvptx64 down to PTX, which ptxas assembles if it is installed.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

import compilers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "structure"))
import tree  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
# What is instantiated down to PTX: every row of the table, every call a lane answers by itself, every way it has to
# speak to others.
INSTANTIATED = ("every_row.cpp", "every_call.cpp", "every_exchange.cpp")
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
PTXAS = ("ptxas", "/usr/local/cuda/bin/ptxas")


def freestanding_headers():
    paths = (path.relative_to(SOURCE).as_posix() for path in (SOURCE / "src").rglob("*.h"))
    return sorted(path.removeprefix("src/") for path in paths if tree.is_freestanding(path))


def compiler_lines(arguments):
    """Name and command of each compiler a header must please."""
    shared = [*compilers.FREESTANDING, *WARNINGS, *compilers.include_flags(SOURCE, arguments.build)]
    for target, flags in compilers.TARGETS.items():
        yield f"clang, {target}", [arguments.clang, *shared, *compilers.DEVICE_FLAGS, *flags]
    gcc = compilers.find_tool(arguments.gcc)
    if gcc:
        yield "g++, x86-64", [gcc, *shared]
    else:
        print("freestanding: no g++ here, headers are not compiled with it")


def header_units(names, alone):
    """(what, text) of the sources a compiler gets."""
    if alone:
        # Twice: a header must also bear being included again.
        return [(name, f'#include "{name}"\n' * 2) for name in names]
    return [("all together", "".join(f'#include "{name}"\n' for name in names))]


def check_headers(arguments, folder, lines):
    names = freestanding_headers()
    commands = []
    for number, (compiler, command) in enumerate(lines):
        for what, text in header_units(names, arguments.all or compiler == "clang, x86-64"):
            path = folder / f"{number}_{what.replace('/', '_').replace(' ', '_')}.cpp"
            path.write_text(text)
            commands.append(((what, compiler), [*command, "-fsyntax-only", str(path)]))
    bad = [item for item in compilers.run_all(commands, arguments.jobs) if item[1]]
    for (what, compiler), _, output in bad:
        print(f"\n{what}: does not compile ({compiler}):\n{output}")
    print(f"freestanding: {len(names)} headers, {len(lines)} compilers, {len(bad)} failures")
    return not bad


def check_instances(arguments, lines):
    """g++ with optimization, which finds more to warn about; clang need only instantiate, PTX is made below."""
    commands = []
    for name, line in lines:
        if "nvptx" not in name:
            effort = ["-O1", "-c", "-o", os.devnull] if "g++" in name else ["-fsyntax-only"]
            for source in INSTANTIATED:
                commands.append(((source, name), [*line, *effort, str(HERE / source)]))
    bad = [item for item in compilers.run_all(commands, arguments.jobs) if item[1]]
    for (source, compiler), _, output in bad:
        print(f"\n{source} does not compile ({compiler}):\n{output}")
    return not bad


def verify_ptx(arguments, folder, lines, source):
    """The PTX calls nothing that is not there, and ptxas takes it."""
    ptx = folder / f"{source}.ptx"
    (command,) = (line for name, line in lines if "nvptx" in name)
    command = [*command, "-O2", "-S", str(HERE / source), "-o", str(ptx)]
    [(_, status, output)] = compilers.run_all([("ptx", command)], 1)
    if status:
        print(f"\n{source} does not compile for nvptx64:\n{output}")
        return False
    missing = re.findall(r"^\.extern .*$", ptx.read_text(), re.M)
    if missing:
        print(f"\nthe PTX of {source} needs functions that do not exist on a GPU:\n  " + "\n  ".join(missing))
        return False
    ptxas = compilers.find_tool(*PTXAS)
    if not ptxas:
        print("freestanding: no ptxas here, the PTX is not assembled")
        return True
    # -c: functions without a kernel are kept.
    command = [ptxas, "-arch=sm_90", "-c", "-o", str(folder / f"{source}.cubin"), str(ptx)]
    [(_, status, output)] = compilers.run_all([("ptxas", command)], 1)
    print(f"\nptxas refuses {source}:\n{output}" if status else f"freestanding: ptxas takes {source}")
    return status == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clang", default="clang++-19")
    parser.add_argument("--gcc", default="g++")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="each header alone with every compiler")
    arguments = parser.parse_args()
    lines = list(compiler_lines(arguments))
    with tempfile.TemporaryDirectory(prefix="kvrm-freestanding-") as temporary:
        folder = pathlib.Path(temporary)
        results = [
            check_headers(arguments, folder, lines),
            check_instances(arguments, lines),
            *(verify_ptx(arguments, folder, lines, source) for source in INSTANTIATED),
        ]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
