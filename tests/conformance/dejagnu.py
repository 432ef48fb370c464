"""The few DejaGnu directives that GCC's run tests use, for one target: this one."""

import dataclasses
import fnmatch
import re

TARGET = "aarch64-unknown-linux-gnu"

# Effective targets: what this target and our runtime have. Anything else is absent, unless a suite adds it.
HAVE = set(
    """
    alloca aarch64 c99_runtime double64plus fpic indirect_jumps int128 int32 int32plus label_values lp64
    longlong64 mmap nonlocal_goto ptr32plus return_address size32plus stdint_types trampolines
    untyped_assembly unwrapped
    """.split()
)

NAMES = "do|options|additional-options|add-options|require-effective-target|skip-if"
DIRECTIVE = re.compile(r"\{\s*dg-(" + NAMES + r")\s+(.*)\}\s*(?:\*/)?\s*$", re.MULTILINE)


def words(text):
    """Split as Tcl does: bare words, "quoted" words, {nested {braces}}."""
    found, i = [], 0
    while i < len(text):
        if text[i].isspace():
            i += 1
            continue
        start = i
        if text[i] == '"':
            i = text.index('"', i + 1) + 1
            found.append(text[start + 1 : i - 1])
        elif text[i] == "{":
            depth = 0
            while i < len(text):
                depth += {"{": 1, "}": -1}.get(text[i], 0)
                i += 1
                if depth == 0:
                    break
            found.append(text[start + 1 : i - 1].strip())
        else:
            while i < len(text) and not text[i].isspace():
                i += 1
            found.append(text[start:i])
    return found


@dataclasses.dataclass
class Directives:
    """What a test's text asks for."""

    action: str = None  # run, compile, ...; None: the suite's default
    flags: list = dataclasses.field(default_factory=list)
    features: list = dataclasses.field(default_factory=list)  # of dg-add-options
    skip: str = None  # the reason to leave the test out


def selected(selector, have):
    """Whether a target selector such as `! { i?86-*-* x86_64-*-* }` chooses this target."""
    parts = words(selector)
    if not parts:
        return False
    if parts[0] == "target":
        parts = parts[1:]
    for operator, combine in (("||", any), ("&&", all)):
        if operator in parts:
            at = parts.index(operator)
            sides = (parts[:at], parts[at + 1 :])
            return combine(selected(" ".join("{" + part + "}" for part in side), have) for side in sides)
    if parts[0] == "!":
        return not selected("{" + " ".join(parts[1:]) + "}", have)
    if len(parts) == 1 and not re.search(r"[{}\s]", parts[0]):
        name = parts[0]
        return name in have or ("-" in name and fnmatch.fnmatchcase(TARGET, name))
    return any(selected(part, have) for part in parts)


def options_match(patterns, flags):
    return any(p == "*" or (p and any(fnmatch.fnmatchcase(flag, p) for flag in flags)) for p in patterns)


def read(source, flags, more=()):
    """The directives of a test's text built with these flags; more: effective targets beyond HAVE."""
    have = HAVE | set(more)
    found = Directives()
    for name, rest in DIRECTIVE.findall(source):
        parts = words(rest)
        chosen = len(parts) < 2 or selected(parts[1], have)
        if name == "do":
            found.action = parts[0] if chosen else "nothing"
        elif name in ("options", "additional-options"):
            if chosen:
                found.flags += parts[0].strip('{}" ').split()
        elif name == "add-options":
            found.features.append(parts[0])
        elif name == "require-effective-target" and chosen and not selected(parts[0], have):
            found.skip = f"needs {parts[0]}"
        elif name == "skip-if" and chosen:
            include = words(parts[2]) if len(parts) > 2 else ["*"]
            exclude = words(parts[3]) if len(parts) > 3 else []
            given = flags + found.flags
            if options_match(include, given) and not options_match(exclude, given):
                found.skip = f"dg-skip-if: {parts[0] or parts[1]}"
    return found
