"""The few DejaGnu directives that gcc.c-torture/execute uses, for one target: this one."""

import fnmatch
import re

TARGET = "aarch64-unknown-linux-gnu"

# Effective targets: what this target and our runtime have. Anything else is absent.
HAVE = set(
    """
    alloca aarch64 c99_runtime double64plus fpic indirect_jumps int128 int32 int32plus label_values lp64
    longlong64 mmap nonlocal_goto ptr32plus return_address size32plus stdint_types trampolines
    untyped_assembly unwrapped
    """.split()
)

DIRECTIVE = re.compile(r"\{\s*dg-([a-z-]+)\s+(.*)\}\s*(?:\*/)?\s*$", re.MULTILINE)


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
            while True:
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


def selected(selector):
    """Whether a target selector such as `! { i?86-*-* x86_64-*-* }` chooses this target."""
    parts = words(selector)
    if not parts:
        return False
    for operator, combine in (("||", any), ("&&", all)):
        if operator in parts:
            at = parts.index(operator)
            sides = (parts[:at], parts[at + 1 :])
            return combine(selected(" ".join("{" + part + "}" for part in side)) for side in sides)
    if parts[0] == "!":
        return not selected("{" + " ".join(parts[1:]) + "}")
    if len(parts) == 1 and parts[0] == selector.strip():
        name = parts[0]
        return name in HAVE or ("-" in name and fnmatch.fnmatchcase(TARGET, name))
    return any(selected(part) for part in parts)


def options_match(patterns, flags):
    return any(p == "*" or (p and p in flags) for p in patterns)


def read(source, flags):
    """(extra compiler flags, reason to skip or None) of a test's text built with these flags."""
    extra = []
    for name, rest in DIRECTIVE.findall(source):
        parts = words(rest)
        if name in ("options", "additional-options"):
            chosen = len(parts) < 2 or selected(re.sub(r"^target\s+", "", parts[1]))
            if chosen:
                extra += parts[0].strip('{}" ').split()
        elif name == "require-effective-target" and not selected(parts[0]):
            return extra, f"needs {parts[0]}"
        elif name == "skip-if" and selected(parts[1]):
            include = words(parts[2]) if len(parts) > 2 else ["*"]
            exclude = words(parts[3]) if len(parts) > 3 else []
            if options_match(include, flags + extra) and not options_match(exclude, flags + extra):
                return extra, f"dg-skip-if: {parts[0] or parts[1]}"
    return extra, None
