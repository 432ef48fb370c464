#!/usr/bin/env python3
"""Compares the code of a few regions with golden/*, so that a lost optimization shows in review.

    golden.py REGION_TEXT            compares
    golden.py REGION_TEXT --update   writes
"""

import argparse
import difflib
import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).parent / "golden"
# Bitwise CRC-32 of a byte, as gcc -O2 compiles it: eight iterations of five instructions.
CRC = "394000a0 52800101 4a000063 93400060 71000421 0a040000 4a430403 54ffff81 910004a5 eb0200bf 54fffec1"
SUM = "b8404423 8b030000 f1000442 54ffffa1"  # of the words of an array
COPY = "f8408423 f8008403 f1000442 54ffffa1"  # of words
FRAME = "a9be7bfd 910003fd f9000bf3 aa0003f3 f9400bf3 a8c27bfd d65f03c0"  # a function that saves and restores registers
CHAIN = "a9400063 ca000020 91000421 8b000042 eb04003f 54ffff61"  # a walk along a list
DOTS = "fc408420 fc408441 1f400443 f1000484 54ffff81"  # multiplies and adds of doubles
FIELD = "93452c20 8b000021 f1000442 54ffffa1"  # a signed field of a register, which are two shifts in PTX
STRAIGHT = "f9400023 9b037c42 f9400423 9b037c42 f9400823 9b037c42 d65f03c0"  # products, each of the one before
SIGNED = "382168b3 8b030021 6b01001f 54ffffac"  # a loop that ends with a signed compare
# A product of matrices: an inner loop with four guest registers and a compare of its own, and the one around it.
NEST = "aa0803e2 d14090a0 52800001 b9400003 910c0000 b8404444 1b030481 eb05001f 54ffff61 91001005 b80044c1 eb0700bf 54fffe81"
REGIONS = {
    "crc.ptx": ("ptx", CRC),
    "field.ptx": ("ptx", FIELD),
    "sum_alone.ptx": ("ptx-alone", SUM),
    "copy_alone.ptx": ("ptx-alone", COPY),
    "straight.ptx": ("ptx", STRAIGHT),
    "chain_segments.ptx": ("ptx-alone", CHAIN),
    "crc.x86": ("x86", CRC),
    "sum.x86": ("x86", SUM),
    "copy.x86": ("x86", COPY),
    "frame.x86": ("x86", FRAME),
    "chain.x86": ("x86", CHAIN),
    "dots.x86": ("x86", DOTS),
    "signed.x86": ("x86", SIGNED),
    "nest.x86": ("x86", NEST),
    "sum_window.x86": ("window-x86", SUM),
    "frame_window.x86": ("window-x86", FRAME),
    "chain_window.x86": ("window-x86", CHAIN),
    "dots_window.x86": ("window-x86", DOTS),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("region_text")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    different = []
    for name, (how, words) in REGIONS.items():
        command = [arguments.region_text, how, "10000", *words.split()]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        text = made.stdout.rstrip() + "\n"
        golden = GOLDEN / name
        if arguments.update:
            golden.write_text(text)
        elif golden.read_text() != text:
            different.append(name)
            sys.stdout.writelines(difflib.unified_diff(golden.read_text().splitlines(True), text.splitlines(True), name, "now"))
    if different:
        sys.exit(f"not as before: {' '.join(different)}; if that is right: {sys.argv[0]} {arguments.region_text} --update")


if __name__ == "__main__":
    main()
