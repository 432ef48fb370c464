#!/usr/bin/env python3
"""PTX for a region of every row: nothing of the state is left in memory, signs are bits, and NVIDIA's assembler accepts it.

    rows_ptx.py RUNNER [--ptxas PTXAS]        RUNNER is build/tests/translator/rows_ptx
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runner")
    parser.add_argument("--ptxas")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for how in ([], ["alone"], ["shared"]):
            ptx = pathlib.Path(folder) / "rows.ptx"
            subprocess.run([arguments.runner, str(ptx), *how], check=True)
            text = ptx.read_text()
            # A region with local memory keeps a part of the state there.
            bodies = re.findall(r"\.func[^\n]*?\b(region_\w+)\(\n(?:\t\.param[^\n]*\n)*\)\n\{(.*?)\n\}", text, re.S)
            kept = [name for name, body in bodies if "__local_depot" in body]
            if kept or len(bodies) < 700:
                sys.exit(f"{len(bodies)} regions; with local memory: {' '.join(kept)}")
            # PTX does not say whether these change the sign of a NaN.
            signs = re.findall(r"\b(?:neg|abs)\.(?:ftz\.)?f\d+.*", text)
            if signs:
                sys.exit(f"signs are changed by: {signs[:5]}")
            if not arguments.ptxas:
                print("not assembled: there is no ptxas here")
                continue
            subprocess.run([arguments.ptxas, "-c", "-arch=sm_90", "-o", str(ptx) + ".o", str(ptx)], check=True)
            print(f"{len(bodies)} regions assembled {' '.join(how)}")


if __name__ == "__main__":
    main()
