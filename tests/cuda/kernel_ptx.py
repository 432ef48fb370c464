#!/usr/bin/env python3
"""What the build made of the kernel: PTX that needs no other code, and the cubins that CMake promised.

    kernel_ptx.py FILE...     the PTX and cubin files
"""

import pathlib
import re
import struct
import sys

EM_CUDA = 190


def verify_ptx(path):
    text = path.read_text()
    # Dynamic shared memory is .extern too, but no code.
    for line in re.findall(r"^\s*\.extern\s+\.func.*$", text, re.M):
        yield f"needs a function that is not there: {line.strip()}"
    if not re.search(r"^\.visible \.entry ", text, re.M):
        yield "has no kernel"
    version, target = re.search(r"^\.version (\S+)", text, re.M), re.search(r"^\.target (\S+)", text, re.M)
    if not version or version[1] != "7.8":
        yield f"is PTX {version and version[1]}, not 7.8, which every driver since CUDA 12.0 reads"
    if not target or target[1].split(",")[0] != "sm_80":
        yield f"is for {target and target[1]}, not sm_80"


def check_cubin(path):
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or struct.unpack_from("<H", data, 18)[0] != EM_CUDA:
        yield "is no cubin"


def main():
    complaints = []
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        if not path.is_file():
            complaints.append(f"{path}: was not built")
            continue
        check = verify_ptx if path.suffix == ".ptx" else check_cubin
        complaints += [f"{path}: {complaint}" for complaint in check(path)]
    print("\n".join(complaints))
    print(f"kernel_ptx: {len(sys.argv) - 1} files, {len(complaints)} complaints")
    sys.exit(1 if complaints or len(sys.argv) < 2 else 0)


if __name__ == "__main__":
    main()
