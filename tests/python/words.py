"""The few instruction words that the tests write by hand."""

import struct

BASE = 0x1000


def movz(rd, imm16):
    return 0xD2800000 | imm16 << 5 | rd


def movk(rd, imm16, shift):
    return 0xF2800000 | shift // 16 << 21 | imm16 << 5 | rd


def add(rd, rn, imm12):
    return 0x91000000 | imm12 << 10 | rn << 5 | rd


def subs(rd, rn, imm12):
    return 0xF1000000 | imm12 << 10 | rn << 5 | rd


def str_x(rt, rn):
    return 0xF9000000 | rn << 5 | rt


def ldr_x(rt, rn):
    return 0xF9400000 | rn << 5 | rt


def b(words):
    return 0x14000000 | words & 0x3FFFFFF


def b_ne(words):
    return 0x54000001 | (words & 0x7FFFF) << 5


def svc(imm16):
    return 0xD4000001 | imm16 << 5


def hlt(imm16=0):
    return 0xD4400000 | imm16 << 5


def program(*words):
    return struct.pack(f"<{len(words)}I", *words)


# Counts in X0 and stores the count at 0x1000, for ever.
COUNTING = program(movz(0, 0), movz(1, 0x1000), add(0, 0, 1), str_x(0, 1), b(-2))


def stores_after(cycles):
    """How often COUNTING has stored after so many instructions."""
    whole, rest = divmod(cycles - 2, 3)
    return whole + (rest == 2)
