"""The repository's own files as a mapping from path to text, so that a check runs on samples as it runs on the tree."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def read(folders, endings):
    """{path relative to the root: text} of the files below the folders with one of the endings."""
    found = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            hidden = any(part.startswith((".", "build", "__pycache__")) for part in path.relative_to(ROOT).parts)
            if path.is_file() and path.suffix in endings and not hidden:
                found[path.relative_to(ROOT).as_posix()] = path.read_text(errors="replace")
    return found


# Compiled for the GPU too, with no standard library: these rooms as a whole, and every folder named freestanding.
FREESTANDING_ROOMS = ("base", "isa", "semantics", "dispatch", "backend/kernel")
HOSTED = ("src/isa/disassembler/",)  # the disassembler works with strings


def is_freestanding(path):
    """Whether a path relative to the root is of code that the GPU's compiler reads, too."""
    if not path.startswith("src/") or path.startswith(HOSTED):
        return False
    return path.startswith(tuple(f"src/{room}/" for room in FREESTANDING_ROOMS)) or "/freestanding/" in path
