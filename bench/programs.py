"""The benchmark's programs: the sets, how their guests are built and fetched, and the commands that run them."""

import os
import pathlib
import random
import shutil
import subprocess
from typing import NamedTuple

from harness import OUT, QEMU, REPO, fail, note

SYSROOT = REPO / "build" / "arm64-sysroot"
BUSYBOX = SYSROOT / "bin" / "busybox"
BASH = SYSROOT / "bin" / "bash-static"
FILES = OUT / "files"
GUESTS = OUT / "arm64"
SETS = ("integer", "numeric", "real")
TEXT_BYTES = {"gzip.txt": 2_000_000, "sha256sum.txt": 10_000_000}
WORDS = "the lane engine device region proposal proof and of to in memory kernel machine branch".split()

# Name, guest program, its arguments; one list per set.
INTEGER = [
    ("crc32", "crc32", []),
    ("sha256", "sha256", []),
    ("quicksort", "quicksort", []),
    ("sieve", "sieve", []),
    ("matmul", "matmul", []),
    ("list-1Ki", "list", ["1024"]),
    ("list-1Mi", "list", ["1048576"]),
    ("strsearch", "strsearch", []),
    ("dhry", "dhry", []),
    ("json", "json", []),
]
NUMERIC = [(name, f"numeric/{name}", []) for name in "nbody fft lu mandelbrot spectral fmatmul".split()]
# Packaged programs, in the integer set, and their packages.
PACKAGED = [
    ("busybox-gzip", BUSYBOX, ["gzip", "-c", "gzip.txt"], "busybox-static"),
    ("busybox-sha256sum", BUSYBOX, ["sha256sum", "sha256sum.txt"], "busybox-static"),
    ("bash-loop", BASH, ["loop.sh"], "bash-static"),
]
# Name, guest program, its arguments with {} for the size, the size, the size of --small, the package it needs.
REAL = [
    ("lua", "real/lua", "script.lua {}", 2_700, 100, "liblua5.4-dev"),
    ("mujs", "real/mujs", "script.js {}", 550, 20, "libmujs-dev"),
    ("jim", "real/jim", "script.tcl {}", 2_300, 60, "libjim-dev"),
    ("sqlite-memory", "real/sqlite", ":memory: script.sql {}", 6_000, 150, "libsqlite3-dev"),
    ("sqlite-file", "real/sqlite", "orders.db script.sql {}", 6_000, 150, "libsqlite3-dev"),
    ("zlib", "real/zlib", "{}", 1_200_000, 50_000, "zlib1g-dev"),
    ("zstd", "real/zstd", "{}", 1_400_000, 60_000, "libzstd-dev"),
    ("bash", BASH, "script.sh {}", 650, 20, "bash-static"),
    ("awk", BUSYBOX, "awk -v size={} -f script.awk gzip.txt", 1_400, 60, "busybox-static"),
    ("records", "real/records", "{}", 30, 1, None),
    ("calc", "real/calc", "{}", 15_000, 300, None),
    ("lz", "real/lz", "{}", 2_500_000, 60_000, None),
    ("words", "real/words", "{}", 22_000, 700, None),
    ("trees", "real/trees", "{}", 2_200, 60, None),
    ("argmin", "real/argmin", "{}", 8_000, 250, None),
    ("sums", "real/sums", "{}", 9_000, 250, None),
]


class Program(NamedTuple):
    """A guest with its arguments; `package` is what it needs of arm64, `granted` whether it may see FILES."""

    name: str
    part: str
    guest: list
    granted: bool = False
    native: list | None = None
    package: str | None = None

    def qemu(self):
        return QEMU + self.guest

    def kvrm(self, kvrm, options):
        return [kvrm, "run", *options, *(["--root", str(FILES)] if self.granted else []), *self.guest]


def every_program(small=False):
    """Every program of every set, there or not."""
    for part, rows in (("integer", INTEGER), ("numeric", NUMERIC)):
        for name, guest, arguments in rows:
            native = [str(OUT / "native" / guest), *arguments]
            yield Program(name, part, [str(GUESTS / guest), *arguments], native=native)
    for name, guest, arguments, package in PACKAGED:
        yield Program(name, "integer", [str(guest), *arguments], granted=True, package=package)
    for name, guest, arguments, size, little, package in REAL:
        command = [str(GUESTS / guest), *arguments.format(little if small else size).split()]
        yield Program(name, "real", command, granted=True, package=package)


def chosen_sets(text):
    """The sets that `--set` names: some of them with commas between, or all."""
    sets = SETS if text == "all" else tuple(text.split(","))
    unknown = [name for name in sets if name not in SETS]
    if unknown:
        fail(f"no set '{unknown[0]}' (there are {', '.join(SETS)} and all)")
    return sets


def chosen(sets, only="", small=False):
    """The programs of these sets that `only` names: names or parts of names, with commas between them."""
    of_sets = [program for program in every_program(small) if program.part in sets]
    names = {program.name for program in of_sets}
    texts = only.split(",")

    def is_wanted(name):
        return any(text == name if text in names else text in name for text in texts)

    found = [program for program in of_sets if is_wanted(program.name)]
    if not found:
        fail(f"no program's name contains {only}")
    return found


def prepare(programs):
    """Builds and fetches what the programs need, writes their files. Returns those that can run here."""
    real = any(program.part == "real" for program in programs)
    for tool in ("make", "gcc", "aarch64-linux-gnu-gcc", QEMU[0], *(["aarch64-linux-gnu-g++"] if real else [])):
        if not shutil.which(tool):
            fail(f"{tool} is needed (packages make gcc gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user)")
    own = [program for program in programs if program.package is None]
    targets = {program.guest[0] if program.part == "real" else "all" for program in own}
    if not made(str(GUESTS / "hello"), *sorted(targets)):
        fail("the guests do not build")
    write_files()
    packages = fetched({program.package for program in programs if program.package})
    there = [program for program in programs if is_there(program, packages)]
    missing = [program.name for program in programs if program not in there]
    if missing:
        note(f"bench: left out, because their arm64 packages cannot be had here: {', '.join(missing)}")
    return there


def made(*targets):
    return subprocess.run(["make", "-s", "-C", str(REPO / "bench"), f"OUT={OUT}", *targets]).returncode == 0


def fetched(packages):
    """Those of the packages that could be unpacked below SYSROOT."""
    def fetch(*names):
        script = REPO / "tools" / "arm64_packages.sh"
        return subprocess.run([str(script), "--root", str(SYSROOT), *names]).returncode == 0

    if not packages or fetch(*sorted(packages)):
        return packages
    # One that is not to be had takes no other with it.
    return {package for package in packages if len(packages) > 1 and fetch(package)}


def is_there(program, packages):
    """Whether the program's guest is there; one that is linked with a package's library is built now."""
    if program.package is None:
        return True
    if program.package not in packages:
        return False
    guest = pathlib.Path(program.guest[0])
    return guest.is_relative_to(SYSROOT) or made(str(guest))


def write_files(folder=FILES, texts=None):
    """The files of FILES, which is the working directory and the root of the programs that read or write some.
    `texts`: those of TEXT_BYTES that are wanted."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (texts or TEXT_BYTES).items():
        path = folder / name
        if not path.exists() or path.stat().st_size != size:
            path.write_bytes(text(size))
        os.utime(path, (1_000_000_000, 1_000_000_000))
    scripts = REPO / "bench" / "guests"
    for script in (scripts / "loop.sh", *sorted((scripts / "real").glob("script.*"))):
        shutil.copy(script, folder)


def text(size):
    """Lines of words, the same on every machine."""
    source = random.Random(1)
    lines = []
    length = 0
    while length < size:
        words = [WORDS[int(source.random() * len(WORDS))] for _ in range(9)]
        lines.append(f"{int(source.random() * 1e6)} " + " ".join(words) + "\n")
        length += len(lines[-1])
    return "".join(lines).encode()[:size]
