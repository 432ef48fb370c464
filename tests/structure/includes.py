#!/usr/bin/env python3
"""Keeps the arrows between the rooms of the house one-way (docs/internals/overview.md).

    includes.py            checks the tree
    includes.py --arrows   prints who may include whom

Every complaint is one line: file:line, what is included, and why it may not be.
"""

import posixpath
import re
import sys

import tree

# Which rooms a room of src/ may include, beside itself.
ARROWS = {
    "base": set(),
    "cache": set(),
    "isa": {"base"},
    "semantics": {"base", "isa"},
    "dispatch": {"base", "isa", "neural"},
    "memory": {"base"},
    "interpreter": {"base", "dispatch", "isa", "memory", "semantics"},
    "translator": {"base", "cache", "dispatch", "interpreter", "isa", "memory", "semantics"},
    "backend/cpu": {"accelerate", "base", "dispatch", "interpreter", "memory", "translator"},
    # Of linux, lanes see what is freestanding: a process's part that travels, and the calls that need no host.
    "backend/kernel": {"accelerate", "base", "dispatch", "interpreter", "isa", "linux", "memory", "prefetch", "semantics"},
    "backend/cuda": {"accelerate", "base", "cache", "backend/kernel", "dispatch", "interpreter", "isa", "memory", "neural", "prefetch", "semantics", "translator"},
    "linux": {"base", "memory"},
    "neural": {"base"},
    "prefetch": {"base", "neural"},
    "symbols": {"base", "isa", "linux"},
    "accelerate": {"base", "interpreter", "isa", "memory", "neural", "translator"},
}
ARROWS["machine"] = set(ARROWS)
# Public headers a room may use; machine implements them all.
PUBLIC = {"linux": {"kvrm/result.h"}, "backend/cuda": {"kvrm/result.h"}, "neural": {"kvrm/result.h", "kvrm/models.h"}, "symbols": {"kvrm/result.h"}}
# These see the library as a user does: public headers and their own files.
USERS = ("cli", "python", "examples")
# Generated below isa/, but a list of semantics headers.
GENERATED_ELSEWHERE = {"isa/a64_implemented.h": "semantics"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def includes_of(text):
    """(line number, is it <...>, path) of each include."""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] == "<", match[2]


def room_of(included):
    """The room of a path below src/. Each backend is a room of its own."""
    if included in GENERATED_ELSEWHERE:
        return GENERATED_ELSEWHERE[included]
    first, *rest = included.split("/")
    return f"{first}/{rest[0]}" if first == "backend" and len(rest) > 1 else first


def refuse_in_src(path, angled, included):
    room = room_of(path.removeprefix("src/"))
    if room not in ARROWS:
        return f"src/{room} is not a room of the house"
    if angled:
        return "a standard header in a freestanding one" if tree.is_freestanding(path) else None
    target = room_of(included) if "/" in included else room
    if target == "kvrm":
        allowed = room == "machine" or included in PUBLIC.get(room, ())
        return None if allowed else f"{room} may not use the public header"
    if target not in ARROWS:
        return "no such room; paths start below src/"
    whole = included if "/" in included else f"{room}/{included}"
    if tree.is_freestanding(path) and whole.endswith(".h") and not tree.is_freestanding(f"src/{whole}"):
        return "a freestanding header may only include freestanding ones"
    return None if target == room or target in ARROWS[room] else f"{room} may not know {target}"


def refuse_in_public(angled, included):
    if included.startswith("kvrm/"):
        return None
    # Standard headers have neither a folder nor an ending.
    standard = angled and re.fullmatch(r"[a-z_]+", included)
    return None if standard else "a public header includes kvrm/ and the standard library only"


def refuse_in_user(path, angled, included, paths):
    if included.startswith("kvrm/") or posixpath.join(posixpath.dirname(path), included) in paths:
        return None
    if angled and f"src/{included}" not in paths:
        return None  # a library, or the host's <linux/...>
    return "only kvrm/ and its own headers are open to a user of the library"


def refuse(path, angled, included, paths):
    top = path.split("/")[0]
    if top == "src":
        return refuse_in_src(path, angled, included)
    if top == "include":
        return refuse_in_public(angled, included)
    return refuse_in_user(path, angled, included, paths)


def cycles(files):
    """Headers that include each other: #pragma once would hide it."""
    graph = {}
    for path, text in files.items():
        names = [name for _, _, name in includes_of(text)]
        graph[path] = [target for name in names for target in (f"src/{name}", f"include/{name}") if target in files]
    done, complaints = set(), []

    def visit(path, trail):
        if path in trail:
            complaints.append(" -> ".join([*trail[trail.index(path) :], path]) + ": a circle of includes")
        elif path not in done:
            for target in graph[path]:
                visit(target, [*trail, path])
            done.add(path)

    for path in graph:
        visit(path, [])
    return complaints


def check(files):
    complaints = cycles(files)
    for path, text in files.items():
        for line, angled, included in includes_of(text):
            why = refuse(path, angled, included, files)
            if why:
                complaints.append(f"{path}:{line}: {included}: {why}")
    return complaints


# A small tree that is in order, and what may not be added to it.
GOOD = {
    "src/base/types.h": "",
    "src/isa/decode.h": '#include "base/types.h"\n#include "isa/a64_rows.h"\n',
    "src/isa/disassembler/disassemble.h": "#include <string>\n",
    "src/semantics/meaning.h": '#include "isa/a64_implemented.h"\n',
    "src/memory/freestanding/flat.h": '#include "memory/freestanding/policy.h"\n',
    "src/memory/address_space.h": '#include <vector>\n#include "memory/freestanding/flat.h"\n',
    "src/linux/elf.h": '#include "kvrm/result.h"\n#include "memory/freestanding/flat.h"\n',
    "src/backend/kernel/lane.h": '#include "linux/freestanding/lane_process.h"\n#include "memory/freestanding/lane_memory.h"\n',
    "src/backend/cuda/service.h": '#include <mutex>\n#include "backend/kernel/lane.h"\n',
    "src/backend/cuda/driver.h": '#include <memory>\n#include "kvrm/result.h"\n',
    "src/backend/kernel/kernel.cpp": '#include "semantics/meaning.h"\n',
    "src/machine/run.cpp": '#include "kvrm/machine.h"\n#include "linux/elf.h"\n#include "backend/cpu/lane.h"\n',
    "include/kvrm/machine.h": '#include <string>\n#include "kvrm/result.h"\n',
    "include/kvrm/result.h": "#include <variant>\n",
    "cli/main.cpp": '#include <fmt/core.h>\n#include <memory>\n#include "commands.h"\n#include "kvrm/machine.h"\n',
    "cli/commands.h": "",
    "cli/landlock.cpp": "#include <linux/landlock.h>\n",
    "examples/raw.cpp": "#include <kvrm/machine.h>\n#include <cstdio>\n",
}
MUST_FAIL = {
    "base knows a room": ("src/base/bits.h", '#include "isa/decode.h"\n'),
    "isa knows semantics": ("src/isa/decode.h", '#include "semantics/meaning.h"\n'),
    "isa knows semantics through the generated list": ("src/isa/decode.h", '#include "isa/a64_implemented.h"\n'),
    "semantics knows memory": ("src/semantics/add.h", '#include "memory/freestanding/flat.h"\n'),
    "memory knows the interpreter": ("src/memory/freestanding/flat.h", '#include "interpreter/interpreter.h"\n'),
    "linux knows semantics": ("src/linux/elf.h", '#include "semantics/meaning.h"\n'),
    "linux knows the machine's face": ("src/linux/elf.h", '#include "kvrm/machine.h"\n'),
    "the interpreter uses a public header": ("src/interpreter/loop.h", '#include "kvrm/result.h"\n'),
    "a backend knows linux": ("src/backend/cpu/lane.h", '#include "linux/elf.h"\n'),
    "a standard header in base": ("src/base/types.h", "#include <cstdint>\n"),
    "a standard header in semantics": ("src/semantics/add.h", "  # include <cmath>\n"),
    "a standard header in a memory policy": ("src/memory/freestanding/paged.h", "#include <cstring>\n"),
    "a standard header in lanes' code": ("src/backend/kernel/lane.h", "#include <atomic>\n"),
    "lanes' code knows the host's system calls": ("src/backend/kernel/lane.h", '#include "linux/process.h"\n'),
    "lanes' code knows its device": ("src/backend/kernel/lane.h", '#include "backend/cuda/service.h"\n'),
    "the GPU knows the CPU backend": ("src/backend/cuda/service.h", '#include "backend/cpu/lane.h"\n'),
    "a room beside the backends": ("src/backend/other/lane.h", '#include "base/types.h"\n'),
    "a standard header in the kernel": ("src/backend/kernel/kernel.cpp", "#include <atomic>\n"),
    "a backend knows the machine's face": ("src/backend/cuda/driver.h", '#include "kvrm/machine.h"\n'),
    "a standard header in the calls of lanes": ("src/linux/freestanding/lane_calls.h", "#include <cerrno>\n"),
    "an unknown room": ("src/helpers/all.h", '#include "base/types.h"\n'),
    "an include of an unknown room": ("src/linux/elf.h", '#include "helpers/all.h"\n'),
    "a public header looks inside": ("include/kvrm/machine.h", '#include "base/types.h"\n'),
    "a public header needs a library": ("include/kvrm/machine.h", "#include <fmt/core.h>\n"),
    "the program looks inside": ("cli/main.cpp", '#include "machine/parts.h"\n'),
    "the program looks inside with brackets": ("cli/main.cpp", "#include <linux/elf.h>\n"),
    "an example climbs": ("examples/raw.cpp", '#include "../src/base/types.h"\n'),
    "a circle": ("src/base/types.h", '#include "base/types.h"\n'),
}


def prove_itself():
    if check(GOOD):
        sys.exit("includes: complains about a tree that is in order: " + "; ".join(check(GOOD)))
    for what, (path, text) in MUST_FAIL.items():
        if not check({**GOOD, path: text}):
            sys.exit(f"includes: does not see it when {what}")


def main():
    if "--arrows" in sys.argv:
        for room, targets in ARROWS.items():
            print(f"{room:14} -> {', '.join(sorted(targets)) or 'nothing'}")
        return
    prove_itself()
    files = tree.read(["src", "include", *USERS], {".h", ".hpp", ".cpp", ".inc"})
    complaints = check(files)
    print("\n".join(complaints))
    print(f"includes: {len(files)} files, {len(MUST_FAIL)} must-fail samples seen, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
