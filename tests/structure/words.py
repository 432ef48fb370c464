#!/usr/bin/env python3
"""Retired words stay away: identifiers and phrases that docs/glossary.md replaces by the field's.

Only whole identifiers and fixed phrases are listed, never ordinary English words such as turn or place. An identifier
is refused with any suffix of a member (`kNotHere`, `look_up_`); a phrase in any case and across a line break of a comment.
"""

import re
import sys

import tree

FOLDERS = ["src", "include", "cli", "python", "tests", "bench", "tools", "docs", "examples", "cmake", "training"]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
ENDINGS = {".h", ".cpp", ".c", ".inc", ".in", ".py", ".sh", ".md", ".txt", ".cmake"}
# What was tried and measured keeps the words of its time; this file lists them.
SKIPPED = ("docs/internals/experiments.md", "bench/results/", "tests/structure/words.py")

# retired -> say instead
IDENTIFIERS = {
    "kNotHere": "kFallback",
    "kNotRecent": "kTlbMiss",
    "kNotTogether": "kDiverged",
    "KnownPages": "LaneTlb",
    "RecentPages": "the L1 TLB",
    "TranslationCache": "Tlb",
    "WatchedStretch": "WatchedLine",
    "kStretchWords": "kCodeLineWords",
    "CommonBytes": "SharedBytes",
    "kCommonLocks": "kSharedLocks",
    "look_up": "lookup",
    "look_at_code": "check_code_version",
    "code_of_others": "other_lane_wrote_code",
    "usual_float": "default_fp_mode",
    "OwnCode": "PrivateCode",
    "own_code": "private_code",
    "LookUp": "Lookup",
    "GpuHead": "GpuRegionEntry",
    "GpuStretch": "GpuCodeRange",
    "is_loop_head": "is_loop_header",
    "kCreditPerInstruction": "kBudgetPerInstruction",
    "Attendant": "TrapHandler",
    "at_rest": "stopped",
    "way_in": "entry",
    "way_out": "exit, side exit",
    "straight_words": "block_length",
}
# Words of names in PascalCase, such as those of tests and constants.
PARTS = {
    "WayOut": "Exit, SideExit",
    "WayIn": "Entry",
    "AtRest": "Stopped",
    "Stretch": "CodeLine, Range",
    "Nobody": "name the actor",
    "Somebody": "name the actor",
    "Whoever": "name the actor",
}
PHRASES = {
    "look-up": "lookup",
    "recent pages": "L1 TLB",
    "known pages": "L2 TLB",
    "way out": "exit, side exit",
    "ways out": "exits, side exits",
    "way in": "entry",
    "ways in": "entries",
    "common memory": "shared memory",
    "common space": "shared space",
    "usual float": "default FP mode",
    "own code": "private code; self-modifying code",
    "code that writes code": "self-modifying code",
    "attendant": "trap handler",
    "at rest": "stopped",
    "is behind": "is after",
    "nobody": "name the actor",
    "somebody": "name the actor",
    "whoever": "name the actor",
}


def pattern_of(phrase):
    """The phrase, its words separated by spaces or by a line break with the next line's comment sign."""
    return r"\b" + r"(?:\s+(?:(?://+|#|\*)\s+)?)".join(map(re.escape, phrase.split())) + r"\b"


RETIRED = {
    **{word: (re.compile(rf"\b{word}_?\b"), instead) for word, instead in IDENTIFIERS.items()},
    **{part: (re.compile(rf"{part}(?=[A-Z_\d]|\b)"), instead) for part, instead in PARTS.items()},
    **{phrase: (re.compile(pattern_of(phrase), re.I), instead) for phrase, instead in PHRASES.items()},
}


def check(files):
    complaints = []
    for path, text in files.items():
        for word, (pattern, instead) in RETIRED.items():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                complaints.append(f"{path}:{line}: {word} is retired; say: {instead}")
    return complaints


def prove_itself():
    good = {
        "src/a.h": "// The lane takes its turn in place; look up there. Lanes run the way interpreters do.\n",
        "src/b.h": "// One way or another\nint lookup = 1, kNotHereYet = 2, known = 3;\n",
        "docs/a.md": "Everybody sees the byte behind it.\n",
    }
    must_fail = [*(f"int {word};\n" for word in IDENTIFIERS), *(f"// It has {phrase.upper()}.\n" for phrase in PHRASES)]
    must_fail += [f"TEST(A, Has{part}Here) {{\n" for part in PARTS] + [f"int k{part};\n" for part in PARTS]
    must_fail += ["  // This is one of the recent\n  // pages of it.\n", "# The lane is at\n# rest.\n", "bool usual_float_;\n"]
    if check(good):
        sys.exit("words: complains about files that are in order: " + "; ".join(check(good)))
    for text in must_fail:
        if not check({"src/a.h": text}):
            sys.exit(f"words: does not see what is wrong with {text!r}")


def main():
    prove_itself()
    files = {p: t for p, t in tree.read(FOLDERS, ENDINGS).items() if not p.startswith(SKIPPED)}
    files |= {page: (tree.ROOT / page).read_text() for page in PAGES}
    complaints = check(files)
    print("\n".join(complaints))
    print(f"words: {len(files)} files, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
