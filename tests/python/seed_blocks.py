"""The Python blocks of the seeds' reports."""

import ast
import pathlib
import re

# Beside the checkout; not everybody has it.
SEEDS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "seeds"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def is_python(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def blocks():
    """(name, text) of every block marked as Python; the name is the file's and the block's number in it, from 1."""
    for path in sorted(SEEDS.glob("*.md")):
        for number, match in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8")), 1):
            yield f"{path.stem}-{number}", match[1]
