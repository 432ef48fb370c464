#!/usr/bin/env python3
"""Writes the fuzz targets' first inputs and dictionaries, from the instruction table and by hand.

    tests/fuzz/make_seeds.py --table build/generated/isa/a64.json --out build/fuzz/seeds

The output is a folder and a dictionary for each target (OUT/words, OUT/words.dict); the same on every run.
"""

import argparse
import json
import pathlib
import random
import struct

WORDS_A_SEED = 12
BRK = 0xD4200000


# Words: 49 bytes of state as words.cpp reads them, then code.


def state(source):
    budget, step = source.choice([3, 200, 5000]), source.choice([0, 1, 7, 100, 130])
    head = struct.pack("<HBBIQ", budget, step, source.randrange(256), source.getrandbits(32), source.getrandbits(64))
    return head + bytes(source.randrange(256) for _ in range(31)) + bytes([source.randrange(64)])


def instance(row, source):
    """A word of the row; registers differ, everything else is random."""
    free = ~row["mask"] & 0xFFFFFFFF
    return row["bits"] | (source.getrandbits(32) & free)


def word_seeds(rows):
    source = random.Random(1)
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    for group, members in sorted(groups.items()):
        for at in range(0, len(members), WORDS_A_SEED):
            words = [instance(row, source) for row in members[at : at + WORDS_A_SEED]]
            yield f"{group}-{at}", state(source) + b"".join(struct.pack("<I", word) for word in words)
    everything = [instance(row, source) for row in rows if row["flow"] == "next"]
    source.shuffle(everything)
    for at in range(0, len(everything), 48):
        yield f"mixed-{at}", state(source) + b"".join(struct.pack("<I", word) for word in everything[at : at + 48])
    # A loop, and code that rewrites itself.
    loop = [0xD2800140, 0xF1000400, 0x54FFFFE1, BRK]  # mov x0, #10; subs x0, x0, #1; b.ne -4; brk
    yield "loop", state(source) + struct.pack("<4I", *loop)
    patch = [0x10000060, 0xB9000001, 0xD50B7B20, 0xD5033B9F, 0xD5033FDF, 0x8B020021, 0x14000000]
    yield "patch", state(source) + struct.pack("<7I", *patch)


# ELF files.


def elf(kind, segments, entry=0x400000 + 0x1000, machine=183, body=b""):
    header_size, entry_size = 64, 56
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", kind, machine, 1, entry, header_size, 0, 0, header_size, entry_size, len(segments), 64, 0, 0
    )
    table = b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
    content = (header + table).ljust(0x1000, b"\0") + struct.pack("<3I", 0xD2800BA8, 0xD2800000, 0xD4000001) + body
    return content


def elf_seeds():
    load, interp, tls, stack, relro, note = 1, 3, 7, 0x6474E551, 0x6474E552, 4
    text = (load, 5, 0, 0x400000, 0x400000, 0x100C, 0x100C, 0x1000)
    data = (load, 6, 0x1000, 0x402000, 0x402000, 12, 0x3000, 0x1000)
    yield "exec", elf(2, [text])
    yield "data", elf(2, [text, data, (stack, 6, 0, 0, 0, 0, 0, 16)])
    yield "bss", elf(2, [text, (load, 6, 0, 0x410000, 0x410000, 0, 0x10000, 0x10000)])
    moved = [(load, 5, 0, 0, 0, 0x100C, 0x100C, 0x10000), (load, 6, 0x1000, 0x12000, 0x12000, 12, 0x99, 0x10000)]
    yield "pie", elf(3, moved, entry=0x1000)
    thread = [(tls, 4, 0x1000, 0x402000, 0x402000, 4, 16, 8), (relro, 4, 0x1000, 0x402000, 0x402000, 12, 12, 1)]
    yield "tls", elf(2, [text, data, *thread])
    yield "interp", elf(2, [text, (interp, 4, 0x100C, 0x40100C, 0x40100C, 8, 8, 1)], body=b"/lib/ld\0")
    yield "note", elf(2, [text, (note, 4, 0x100C, 0x40100C, 0x40100C, 16, 16, 4)], body=bytes(16))
    yield "overlap", elf(2, [text, (load, 6, 0x1000, 0x401000, 0x401000, 12, 12, 0x1000)])
    yield "x86", elf(2, [text], machine=62)
    yield "short", elf(2, [text])[:100]


# System calls: number, then six argument codes, as calls.cpp reads them.

SMALL, PATH, BUFFER, PAGE, EDGE, POWER, SHORT, LONG = range(8)
CWD = (EDGE, 1)
CALLS = {
    "getcwd": 17, "dup": 23, "dup3": 24, "fcntl": 25, "ioctl": 29, "mknodat": 33, "mkdirat": 34, "unlinkat": 35,
    "symlinkat": 36, "linkat": 37, "renameat": 38, "truncate": 45, "ftruncate": 46, "fallocate": 47, "faccessat": 48,
    "chdir": 49, "fchdir": 50, "fchmodat": 53, "openat": 56, "close": 57, "pipe2": 59, "getdents64": 61, "lseek": 62,
    "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67, "pwrite64": 68, "sendfile": 71, "pselect6": 72,
    "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "utimensat": 88, "exit_group": 94, "futex": 98,
    "nanosleep": 101, "setitimer": 103, "clock_gettime": 113, "kill": 129, "sigaltstack": 132, "rt_sigsuspend": 133,
    "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "uname": 160, "prctl": 167, "brk": 214,
    "munmap": 215, "mremap": 216, "clone": 220, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261,
    "renameat2": 276, "getrandom": 278, "statx": 291, "copy_file_range": 285,
}


def encoded(argument):
    kind, value = argument
    if kind == SHORT:
        return bytes([kind << 5]) + struct.pack("<H", value)
    if kind == LONG:
        return bytes([kind << 5]) + struct.pack("<Q", value)
    return bytes([kind << 5 | value])


def sequence(*calls, scratch=b""):
    out = bytes([len(calls) - 1])
    for name, *arguments in calls:
        arguments = [(SMALL, a) if isinstance(a, int) else a for a in arguments]
        arguments += [(SMALL, 0)] * (6 - len(arguments))
        out += struct.pack("<H", CALLS[name]) + b"".join(encoded(argument) for argument in arguments)
    return out + scratch


path, buffer, page, short = (lambda n, kind=kind: (kind, n) for kind in (PATH, BUFFER, PAGE, SHORT))


def file_seeds():
    yield "read", sequence(
        ("openat", CWD, path(0), 2),
        ("read", 3, page(8), short(100)),
        ("lseek", 3, 0, 0),
        ("write", 3, page(8), 9),
        ("fstat", 3, page(9)),
        ("close", 3),
    )
    yield "escape", sequence(*[("openat", CWD, path(n), short(0o102), short(0o644)) for n in range(20)])
    yield "escape-write", sequence(
        ("openat", CWD, path(9), 1),
        ("openat", CWD, path(14), 1),
        ("truncate", path(2), 0),
        ("unlinkat", CWD, path(2)),
        ("renameat", CWD, path(0), CWD, path(2)),
        ("linkat", CWD, path(2), CWD, path(11)),
    )
    yield "folders", sequence(
        ("mkdirat", CWD, path(11), short(0o755)),
        ("chdir", path(7)),
        ("getcwd", page(8), 31),
        ("openat", CWD, path(5), short(0o40000)),
        ("getdents64", 3, page(8), short(500)),
        ("renameat", CWD, path(3), CWD, path(11)),
        ("fchdir", 3),
    )
    yield "links", sequence(
        ("symlinkat", path(2), CWD, path(11)),
        ("readlinkat", CWD, path(11), page(8), 31),
        ("linkat", CWD, path(0), CWD, path(16)),
        ("faccessat", CWD, path(10), 4),
        ("newfstatat", CWD, path(6), page(9), short(0x100)),
        ("statx", CWD, path(6), 0, short(0xFFF), page(10)),
    )


def memory_and_copy_seeds():
    yield "memory", sequence(
        ("mmap", 0, short(0x4000), 3, short(0x22), (EDGE, 0), 0),
        ("mremap", (EDGE, 15), short(0x4000), short(0x8000), 1),
        ("mprotect", page(4), short(0x1000), 0),
        ("munmap", page(4), short(0x1000)),
        ("brk", 0),
        ("madvise", page(8), short(0x1000), 4),
    )
    yield "file-map", sequence(
        ("openat", CWD, path(1), 2),
        ("mmap", 0, short(0x2000), 1, 2, 3, 0),
        ("mmap", page(8), short(0x1000), 3, short(0x12), 3, 0),
    )
    yield "pipe", sequence(
        ("pipe2", buffer(0), 0),
        ("write", 4, page(0), 9),
        ("read", 3, page(8), 31),
        ("close", 4),
        ("read", 3, page(8), 31),
        ("ppoll", buffer(4), 1, buffer(0), 0, 8),
    )
    yield "vector", sequence(
        ("openat", CWD, path(0), 2),
        ("readv", 3, buffer(0), 2),
        ("writev", 1, buffer(0), 2),
        scratch=struct.pack("<4Q", 0x204000, 10, 0x205000, 1 << 40),
    )
    yield "copies", sequence(
        ("openat", CWD, path(1), 0),
        ("openat", CWD, path(11), short(0o102), short(0o600)),
        ("sendfile", 4, 3, 0, (POWER, 16)),
        ("copy_file_range", 3, 0, 4, 0, (POWER, 31)),
        ("fallocate", 4, 0, 0, (POWER, 9)),
        ("ftruncate", 4, (POWER, 30)),
    )
    yield "zeros", sequence(
        ("openat", CWD, path(8), 0),
        ("openat", CWD, path(12), 1),
        ("sendfile", 4, 3, 0, (POWER, 14)),
        ("read", 3, page(8), (POWER, 31)),
    )


def call_seeds():
    yield from file_seeds()
    yield from memory_and_copy_seeds()
    yield "signals", sequence(
        ("rt_sigaction", 10, buffer(0), 0, 8),
        ("kill", short(1000), 10),
        ("sigaltstack", buffer(4), 0),
        ("rt_sigprocmask", 0, buffer(0), 0, 8),
        ("rt_sigreturn",),
        scratch=struct.pack("<4Q", 0x400000, 4, 0, 0),
    )
    yield "time", sequence(
        ("setitimer", 0, buffer(0), 0),
        ("nanosleep", buffer(0), 0),
        ("clock_gettime", 1, page(8)),
        ("pselect6", 0, 0, 0, 0, buffer(0), 0),
        ("rt_sigsuspend", buffer(8), 8),
        scratch=struct.pack("<4Q", 1, 1, 1, 1),
    )
    yield "system", sequence(
        ("uname", page(8)),
        ("prctl", 15, path(0)),
        ("prlimit64", 0, 7, 0, page(8)),
        ("getrandom", page(8), 31, 0),
        ("fcntl", 1, 0, 10),
        ("ioctl", 1, short(0x5413), page(8)),
        ("dup3", 1, 20, 0),
        ("clone", 17),
    )
    yield "futex", sequence(("futex", buffer(0), 0, 0, 0), ("exit_group", 3))
    for name in CALLS:
        first, second = (3, path(0), page(8), short(64), 0, 0), (CWD, path(0), 0)
        yield f"one-{name}", sequence((name, *first), (name, *second), (name, buffer(0), 8, page(8), 8))


def lane_seeds():
    """Calls of several lanes: bytes choose the calls, so that random ones already make a mix of all of them."""
    chance = random.Random(22)
    for number in range(24):
        size = chance.choice((300, 800, 1500, 2400))
        yield f"random-{number:02}", bytes((number, chance.randrange(256), number // 4)) + chance.randbytes(size)


def dictionary(entries):
    told = lambda data: "".join(f"\\x{byte:02x}" for byte in data)
    return "".join(f'"{told(entry)}"\n' for entry in dict.fromkeys(entries))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", required=True, type=pathlib.Path, help="the generated a64.json")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    rows = json.loads(options.table.read_text())["rows"]
    targets = {"words": word_seeds(rows), "elf": elf_seeds(), "calls": call_seeds(), "lanes": lane_seeds()}
    for target, seeds in targets.items():
        folder = options.out / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (folder / name.replace("/", "-")).write_bytes(content)
    write = lambda name, entries: (options.out / f"{name}.dict").write_text(dictionary(entries))
    write("words", [struct.pack("<I", row["bits"]) for row in rows])
    numbers = [0, 1, 0x1000, 0xFFF, 0x10000, 1 << 31, 1 << 32, 1 << 47, 1 << 48, 1 << 63, 2**64 - 1, 2**64 - 4096]
    kinds = [1, 2, 3, 4, 6, 7, 0x6474E550, 0x6474E551, 0x6474E552, 0x6474E553]
    write("elf", [b"\x7fELF", *(struct.pack("<Q", n) for n in numbers), *(struct.pack("<I", n) for n in kinds)])
    write("lanes", [struct.pack("<H", n) for n in (0, 0xFFFF)])
    write("calls", [struct.pack("<H", n) for n in CALLS.values()] + [encoded(CWD), b"../", b"/proc/self/"])


if __name__ == "__main__":
    main()
