#!/usr/bin/env python3
"""The documents: short lines, links that lead somewhere, and no mention of a file that does not exist.

    docs.py

Mentions of the repository's own files (src/..., tests/..., docs/...) are checked in sources and scripts, too.
"""

import pathlib
import re
import subprocess
import sys

import tree

MOST_COLUMNS = 120
FOLDERS = "bench cli cmake docs examples include models python src tests tools training".split()
# Histories name files as they were called then.
HISTORIES = {"CHANGELOG.md"}
# The structure tests' own samples.
SAMPLES = "tests/structure/"
SOURCES = {".h", ".cpp", ".c", ".py", ".inc", ".sh", ".in", ".txt", ".cmake", ".md", ".pyi"}

LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
# A file in one of the folders, not part of a longer path; and any document by its bare name.
MENTION = re.compile(r"(?<![\w./<>$}{-])((?:%s)/[\w./-]*\w\.\w+)(?![\w/*{<-])" % "|".join(FOLDERS))
DOCUMENT = re.compile(r"(?<![\w./<>$}{*-])([a-z][\w-]*\.md)\b")
# Names of what a command writes, in tests and examples of commands.
MADE = re.compile(r"^python/kvrm/_kvrm\.|/CMakeFiles/")


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.add(words.replace(" ", "-"))
    return found


def check_lines(files):
    for path, text in files.items():
        if path.endswith(".md"):
            for number, line in enumerate(text.split("\n"), 1):
                if len(line) > MOST_COLUMNS:
                    yield f"{path}:{number}: {len(line)} columns, over {MOST_COLUMNS}"


def check_links(files, known):
    """Relative links of documents, and their anchors."""
    for path, text in files.items():
        if not path.endswith(".md"):
            continue
        for target in LINK.findall(FENCE.sub("", text)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            parts = []
            page = pathlib.PurePosixPath(path)
            for part in (page.parent / name if name else page).parts:
                parts = parts[:-1] if part == ".." and parts and parts[-1] != ".." else [*parts, part]
            found = "/".join(parts)
            if found not in known:
                yield f"{path}: links to {target}, which does not exist"
            elif anchor and found in files and anchor not in anchors(files[found]):
                yield f"{path}: links to {target}, which has no such heading"


def check_mentions(files, known):
    """Names of the repository's files, in documents and sources."""
    documents = {pathlib.PurePosixPath(path).name for path in known if path.endswith(".md")}
    existing = known | {str(parent) for path in known for parent in pathlib.PurePosixPath(path).parents}
    for path, text in files.items():
        if path.startswith(SAMPLES) or path in HISTORIES:
            continue
        # A name may be relative to the root, to src (includes) or to the file's own folder (CMake).
        beside = pathlib.PurePosixPath(path).parent
        for name in MENTION.findall(text):
            exists = any(found in existing for found in (name, f"src/{name}", str(beside / name)))
            if not exists and not MADE.search(name):
                yield f"{path}: mentions {name}, which does not exist"
        is_prose = not path.startswith("tests/cli/")  # those write files of their own
        for name in DOCUMENT.findall(text) if is_prose else []:
            if name not in documents:
                yield f"{path}: mentions {name}, which does not exist"


def check(files, known):
    return [*check_lines(files), *check_links(files, known), *check_mentions(files, known)]


def prove_itself():
    known = {"README.md", "docs/a.md", "docs/internals/b.md", "src/base/cpu.h", "src/interpreter/loop.h"}
    good = {
        "README.md": "[a](docs/a.md), [part](docs/a.md#one-thing), [out](https://example.org/x.md), `src/base/cpu.h`\n",
        "docs/a.md": "# A\n\n## One thing\n\n[b](internals/b.md) [here](#one-thing) `src/*.h`\n" + "x" * 120,
        "docs/internals/b.md": "[up](../a.md)\n```\n[no](a.txt)\n```\n",
        "src/base/cpu.h": '// docs/a.md says why\n#include "interpreter/loop.h"\n',
    }
    must_fail = {
        "docs/long.md": "x" * 121,
        "tests/base/README.md": "# A\n" + "x" * 121,
        "docs/link.md": "[a](missing.md)",
        "docs/up.md": "[a](../../README.md)",
        "docs/anchor.md": "[a](a.md#two-things)",
        "docs/own.md": "# A\n[a](#b)",
        "docs/mention.md": "see `src/base/gone.h`",
        "src/base/bits.h": "// why: tests/base/gone_test.cpp\n",
        "src/base/warp.h": "// why: design.md\n",
        "tests/base/bits.py": '"""See docs/gone.md."""\n',
    }
    complaints = check(good, known)
    if complaints:
        sys.exit("docs: complains about files that are in order: " + "; ".join(complaints))
    for path, text in must_fail.items():
        if not check({**good, path: text}, known | {path}):
            sys.exit(f"docs: does not see what is wrong with {path}")


def known_files():
    """What git has, and what was added since."""
    listed = subprocess.run(
        ["git", "-C", str(tree.ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode == 0:
        return {name for name in listed.stdout.splitlines() if (tree.ROOT / name).exists()}
    return {path.relative_to(tree.ROOT).as_posix() for path in tree.ROOT.rglob("*") if path.is_file()}


def main():
    prove_itself()
    known = known_files()
    names = [name for name in known if pathlib.PurePosixPath(name).suffix in SOURCES or name == "Makefile"]
    files = {name: (tree.ROOT / name).read_text(errors="replace") for name in sorted(names)}
    complaints = check(files, known)
    print("\n".join(complaints))
    print(f"docs: {len(files)} files, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
