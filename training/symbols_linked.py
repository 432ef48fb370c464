#!/usr/bin/env python3
"""Names in whole programs: links static programs, strips them, and compares kvrm's guesses with their symbol tables.

    training/symbols_linked.py --kvrm build/kvrm [--corpus build/symbols] [--json]

The libraries are those of the corpus's second release, the index is made of the first one. "small" uses a little of
libc and libm; "whole" has all of zlib, sqlite and openssl; "foreign" has ten libraries that no index has, and is asked
with the index that comes with kvrm. Each is taken with and without .eh_frame, which tells where functions begin. Needs aarch64-linux-gnu-gcc and its libc for the start files.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAIN = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
  int v[100];
  for (int i = 0; i < 100; i++) v[i] = rand();
  qsort(v, 100, 4, compare);
  printf("%d %s %f\\n", v[3], strdup(argv[0]), sin(argc) * pow(argc, 1.5));
  FILE *file = fopen("x", "r");
  char text[10];
  if (file) { fread(text, 1, 10, file); fclose(file); }
  return system("x");
}
"""
TOOLS = "aarch64-linux-gnu-"
COPY = re.compile(r"\.(isra|constprop|lto_priv|localalias)(\.\d+)*|(?<=\.part)\.\d+")


def output(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout


def link(folder, corpus, release, foreign):
    """The programs small, whole and foreign, with symbols."""
    (folder / "main.c").write_text(MAIN)
    output(TOOLS + "gcc", "-O2", "-c", "-o", folder / "main.o", folder / "main.c")
    start = [output(TOOLS + "gcc", f"-print-file-name={name}").strip() for name in ("crt1.o", "crti.o", "crtbeginT.o")]
    end = [output(TOOLS + "gcc", f"-print-file-name={name}").strip() for name in ("crtend.o", "crtn.o")]
    own = [output(TOOLS + "gcc", f"-print-file-name={name}").strip() for name in ("libgcc.a", "libgcc_eh.a")]

    def files(*libraries):
        return [file for library in libraries for file in sorted((corpus / release / library).glob("*.a"))]

    base = ["--start-group", *files("libm", "libc", "zstd"), *own, "--end-group"]
    whole = ["--whole-archive", *files("zlib", "sqlite", "openssl"), "--no-whole-archive"]
    alien = ["--whole-archive", *files(*foreign), "--no-whole-archive", "--unresolved-symbols=ignore-all"]
    for name, more in (("small", []), ("whole", whole), ("foreign", alien)):
        flags = ["-static", "-z", "muldefs", "-o", folder / name]
        output(TOOLS + "ld", *flags, *start, folder / "main.o", *more, *base, *end)
        yield name


def symbols(program):
    """{address: names} of the functions."""
    found = {}
    for line in output(TOOLS + "nm", "-S", program).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWi" and not words[3].startswith("$"):
            found.setdefault(int(words[0], 16), set()).add(COPY.sub("", words[3]))
    return found


def known_names(corpus, releases, libraries):
    names = set()
    for folder in (corpus / release / library for release in releases for library in libraries):
        for file in folder.glob("*.a"):
            for line in output(TOOLS + "nm", file).splitlines():
                words = line.split()
                if len(words) == 3 and words[1] in "tTwWi":
                    names.add(COPY.sub("", words[2]))
    return names


def score(kvrm, index, program, truth, known):
    done = json.loads(output(kvrm, "symbols", "--all", "--json", *(["--index", index] if index else []), program))
    facts = dict.fromkeys(("functions", "found", "known", "top1", "named", "named_right", "absent", "absent_named"), 0)
    facts["functions"] = len(truth)
    for one in done["routines"]:
        names = truth.get(one["address"])
        if names is None:
            continue
        facts["found"] += 1
        right = bool(names & {one.get("guess"), *one.get("aliases", [])})
        if names & known:
            facts["known"] += 1
            facts["top1"] += right
            facts["named"] += one["named"]
            facts["named_right"] += one["named"] and right
        else:
            facts["absent"] += 1
            facts["absent_named"] += one["named"]
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kvrm", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "build" / "symbols")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    plan = json.loads((arguments.corpus / "plan.json").read_text())
    old, new = plan["releases"]
    libraries = [name for name, facts in plan["libraries"].items() if facts["role"] in ("index", "evaluated")]
    shipped = [name for name, facts in plan["libraries"].items() if facts["role"] in ("index", "other libc")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        words = []
        for name in libraries:
            words += ["--library", f"{name}={','.join(map(str, sorted((arguments.corpus / old / name).glob('*.a'))))}"]
        output(arguments.kvrm, "symbols", "--build-index", folder / "index", *words)
        foreign = [name for name, facts in plan["libraries"].items() if facts["role"] == "absent"]
        for name in link(folder, arguments.corpus, new, foreign):
            truth = symbols(folder / name)
            index = None if name == "foreign" else folder / "index"
            known = known_names(arguments.corpus, [old], libraries)
            if not index:
                known = known_names(arguments.corpus, [old, new], shipped)
            for title, options in ((name, []), (f"{name}, no .eh_frame", ["-R", ".eh_frame"])):
                output(TOOLS + "strip", *options, "-o", folder / "stripped", folder / name)
                rows.append({"program": title, **score(arguments.kvrm, index, folder / "stripped", truth, known)})
    if arguments.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(f"{row['program']:<20} {row['found']} of {row['functions']} functions found; of {row['known']} known ones "
              f"{100 * row['top1'] / row['known']:.1f} % top-1, {100 * row['named'] / row['known']:.1f} % named, of these "
              f"{100 * row['named_right'] / row['named']:.1f} % right; of {row['absent']} absent ones "
              f"{100 * row['absent_named'] / row['absent']:.1f} % named")  # fmt: skip


if __name__ == "__main__":
    main()
