"""Judges the optimized LLVM IR of stitched regions: has the state become values?"""

import re

DEFINE = re.compile(r"^define .*@\"?([\w.]+)\"?\(")
CALL = re.compile(r"\b(?:call|invoke|callbr)\b[^@%]*(?:@\"?([\w.$]+)|(%[\w.]+)\()")
INLINE_ASSEMBLY = re.compile(r"\bcall\b.* asm ")
IMPURE_ASSEMBLY = re.compile(r"\bsideeffect\b|~\{memory\}|\bptr\b")
ALLOCA = re.compile(r"^\s*(%[\w.\"]+) = alloca ")

# Intrinsics that become a few instructions on every target.
INTRINSICS = re.compile(
    r"llvm\.(abs|bitreverse|bswap|ctlz|cttz|ctpop|fshl|fshr|assume|umin|umax|smin|smax|expect|is\.fpclass"
    r"|fabs|copysign|sqrt|fma"
    r"|vector\.reduce\.(add|and|or|xor|umin|umax|smin|smax)|lifetime\.(start|end)|experimental\.noalias\.scope\.decl"
    r"|[us](add|sub|mul)\.with\.overflow|[us](add|sub)\.sat)\."
)
# A block of memory is moved by one access: at most LD4's and DC ZVA's 64 bytes. The state is over 800.
BLOCK = re.compile(r"llvm\.(memcpy|memset|memmove)\..*, i64 (\d+), i1 false\)")
LARGEST_ACCESS = 64
# The paged policy's slow path, and the buffers through which a value goes there and back.
SLOW_PATH = re.compile(r"\w*FarBacking\d*(read_slow|write_slow|exchange_slow|fence_slow)\w*$")
SLOW_BUFFER = re.compile(r"^%(copy|wanted|replacement|seen)(\.[\w.]*)?$")
# Cold helpers of the semantics may be called if values go in and a value comes out.
COLD_HELPER = re.compile(r"_ZN4kvrm9semantics")
POINTER = re.compile(r"\bptr\b")


def functions(text):
    """(name, lines) of every function defined in the module."""
    name, lines = None, []
    for line in text.splitlines():
        match = DEFINE.match(line)
        if match:
            name, lines = match[1], []
        elif line == "}" and name:
            yield name, lines
            name = None
        elif name:
            lines.append(line)


def complaint(line):
    """Why the line must not be in a region, or None."""
    alloca = ALLOCA.match(line)
    if alloca:
        return None if SLOW_BUFFER.match(alloca[1]) else "state or a local stays in memory"
    call = CALL.search(line)
    if INLINE_ASSEMBLY.search(line):
        return "assembly that may touch memory" if IMPURE_ASSEMBLY.search(line) else None
    if not call:
        return None
    callee = call[1]
    if callee is None:
        return "an indirect call"
    block = BLOCK.search(line)
    if block:
        return None if int(block[2]) <= LARGEST_ACCESS else "a block too large for one access"
    if INTRINSICS.match(callee) or SLOW_PATH.match(callee):
        return None
    if COLD_HELPER.match(callee):
        return "a pointer goes to a function that is not inlined" if POINTER.search(line) else None
    return "an unlisted call"


def complaints(lines):
    """(why, line) for each offending line."""
    return [(why, line.strip()) for line in lines if (why := complaint(line))]
