#!/usr/bin/env python3
"""Lists the functions that the rows' bitcode calls and does not inline, as KVRM_COLD_FUNCTION(name) lines, after a
KVRM_ROWS_VERSION(text) that names the bitcode and the translator: regions made by another one are not used.

    cold_functions.py --nm llvm-nm-19 --bitcode rows.bc --out cold_functions.inc SOURCE...

Regions call the copies of these functions that the interpreter has.
"""

import argparse
import hashlib
import pathlib
import re
import subprocess


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nm", required=True)
    parser.add_argument("--bitcode", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("sources", type=pathlib.Path, nargs="*", help="the translator's own")
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.nm, str(arguments.bitcode)], capture_output=True, text=True, check=True).stdout
    # W: something defined in a header. Tables (_ZN4kvrm9semantics15kConditionMasksE) are copied into the regions that use
    # them.
    names = [line.split()[-1] for line in listed.splitlines() if line.split()[-2] == "W"]
    functions = sorted(name for name in names if not re.fullmatch(r"_ZN4kvrm9semantics\d+k[A-Z]\w*E", name))
    version = hashlib.sha256()
    for file in [arguments.bitcode, *sorted(arguments.sources)]:
        version.update(file.read_bytes())
    arguments.out.write_text(f'KVRM_ROWS_VERSION("{version.hexdigest()[:16]}")\n' + "".join(f"KVRM_COLD_FUNCTION({name})\n" for name in functions))


if __name__ == "__main__":
    main()
