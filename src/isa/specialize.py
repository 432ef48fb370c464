"""Reads specialize.inc and writes the two lists of handlers that follow from it, for the CPU and for the GPU.

generate.py calls it with the rows of a64.inc. A dimension splits a row's handlers by the value that some operands have.
"""

import collections
import itertools
import re

from routing import TableError

DIMENSION = re.compile(r'^KVRM_(STENCIL_)?DIMENSION\(\s*(\w+),\s*"([^"]*)",\s*"([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)\s*$')
WARM = re.compile(r"^KVRM_WARM\(\s*(\w+)\)\s*$")
HOT = re.compile(r'^KVRM_HOT\(\s*(\w+),\s*"([^"]*)",\s*"([^"]*)"\)\s*$')


class Dimension:
    def __init__(self, stencil, name, rows, values, choice, promise):
        self.is_for_stencils = stencil is not None
        self.name, self.rows, self.choice, self.promise = name, rows, choice, promise
        self.values = values.split()
        self.fields = set(re.findall(r"\bop\.(\w+)", choice + " " + promise))

    def splits(self, row):
        """Whether the CPU has handlers, or stencils, of this row by the dimension."""
        if not self.rows:
            return False
        names = collections.defaultdict(bool, {name: True for name in row.fields})
        names.update(name=row.name, group=row.group)
        return bool(eval(self.rows, {}, names))

    @property
    def type(self):
        return "".join(part.capitalize() for part in self.name.split("_"))


# Dimensions that a loop for one lane leaves out: with them a handler is a little shorter, and there are many more.
NOT_COMPACT = {"width", "width_n", "cond"}


class Hot:
    """A row that the GPU runs inline: digits is a list of (dimension, value or None for all values)."""

    def __init__(self, row, digits, frequent):
        self.row, self.digits = row, digits
        # The first dimension is the least significant digit of a handler's number.
        self.handlers = [tuple(reversed(h)) for h in itertools.product(*(map(cases, reversed(digits))))]
        names = [self.suffix(handler) for handler in self.handlers]
        self.frequent = names if frequent == "all" else ["_" + name for name in frequent.split()]
        unknown = set(self.frequent) - set(names)
        if unknown:
            raise TableError(f"{row.name} has no handler {', '.join(sorted(unknown))}")

    def suffix(self, handler):
        return "".join(f"_{d.values[v]}" for (d, _), v in zip(self.digits, handler, strict=True) if v is not None)

    def promise(self, handler):
        return " ".join(
            re.sub(r"\bvalue\b", str(v), d.promise) for (d, _), v in zip(self.digits, handler, strict=True) if v is not None
        )

    def compact(self):
        """The same row for the loop of one lane."""
        return Hot(self.row, [digit for digit in self.digits if digit[0].name not in NOT_COMPACT], "")

    def choice(self):
        """The number of the handler for `op`, counted from the row's first one."""
        terms, scale = [], 1
        for dimension, value in self.digits:
            term = f"({dimension.choice})" if value is None else f"(({dimension.choice}) == {value})"
            terms.append(f"{scale}u * {term}")
            scale *= len(cases((dimension, value)))
        return " + ".join(terms) or "0u"


def cases(digit):
    """The values with a handler each; None stands for the rest."""
    dimension, value = digit
    return list(range(len(dimension.values))) if value is None else [None, value]


def read(path, rows):
    """The dimensions and the hot rows of the file."""
    rows = {row.name: row for row in rows}
    dimensions, hot, warm = {}, {}, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("//"):
            continue
        try:
            if match := DIMENSION.match(line):
                dimension = Dimension(*match.groups())
                if dimension.name in dimensions:
                    raise TableError(f"dimension {dimension.name} is there twice")
                dimensions[dimension.name] = dimension
            elif match := HOT.match(line):
                if match[1] in hot or match[1] in warm:
                    raise TableError(f"{match[1]} is there twice")
                if match[1] not in rows:
                    raise TableError(f"{match[1]} is not a row")
                row = rows[match[1]]
                hot[row.name] = Hot(row, [read_digit(text, dimensions, row) for text in match[2].split()], match[3])
            elif match := WARM.match(line):
                if match[1] in hot or match[1] in warm:
                    raise TableError(f"{match[1]} is there twice")
                if match[1] not in rows:
                    raise TableError(f"{match[1]} is not a row")
                warm[match[1]] = Hot(rows[match[1]], [], "")
            else:
                raise TableError(f"neither a dimension nor a hot or warm row: {line.strip()[:60]}")
        except TableError as error:
            raise TableError(f"{path}:{number}: {error}") from error
    for row, dimension in itertools.product(rows.values(), dimensions.values()):
        if dimension.splits(row):
            check_fields(dimension, row)
    return list(dimensions.values()), list(hot.values()), list(warm.values())


def read_digit(text, dimensions, row):
    name, _, value = text.partition(":")
    if name not in dimensions:
        raise TableError(f"{row.name}: unknown dimension {name}")
    dimension = dimensions[name]
    check_fields(dimension, row)
    if value and value not in dimension.values:
        raise TableError(f"{row.name}: {name} has no value {value}")
    return dimension, dimension.values.index(value) if value else None


def check_fields(dimension, row):
    missing = dimension.fields - set(row.fields)
    if missing:
        raise TableError(f"{row.name} has no {', '.join(sorted(missing))} for the dimension {dimension.name}")


# --- output ------------------------------------------------------------------------------------------

HEADER = "// Generated by src/isa/specialize.py from specialize.inc. Do not edit.\n#pragma once\n\n"


def dimensions_of_rows(of, variable, rows, dimensions):
    out = [f"\n// The dimensions of {of}.\ntemplate <class Op>\ninline constexpr Dimensions<> {variable}{{}};\n"]
    for row in rows:
        names = ", ".join(f"By{d.type}" for d in dimensions if d.splits(row))
        if names:
            out.append(f"template <>\ninline constexpr Dimensions<{names}> {variable}<{row.name}>{{}};\n")
    return "".join(out)


def variants_header(rows, dimensions):
    handlers = [d for d in dimensions if not d.is_for_stencils]
    out = [HEADER, '#include "isa/a64_operands.h"\n\nnamespace kvrm::isa {\n\n']
    for d in dimensions:
        out.append(f"struct By{d.type} {{\n  static constexpr u32 kCount = {len(d.values)};\n  template <class Op>\n")
        out.append(f"  static constexpr u32 choose(const Op& op) {{ return {d.choice}; }}\n")
        out.append("  template <u32 value, class Op>\n")
        out.append(f"  static KVRM_INLINE void promise(Op& op) {{ {d.promise} }}\n}};\n")
    out.append("\ntemplate <class...>\nstruct Dimensions {};\n")
    out.append(dimensions_of_rows("a row's CPU handlers", "kDimensions", rows, handlers))
    out.append(dimensions_of_rows("a row's stencils", "kStencilDimensions", rows, dimensions))
    out.append("\n}  // namespace kvrm::isa\n")
    return "".join(out)


def macro(comment, name, lines):
    return f"// {comment}\n#define {name}(X) \\\n" + "".join(f"  {line} \\\n" for line in lines) + "\n"


def handlers_of(hot):
    """The lines of all handlers, by whether the row branches."""
    handlers = {True: [], False: []}
    for h in hot:
        handlers[h.row.flow != "next"] += [
            f"X({h.row.name}, {h.suffix(handler)}, {{ {h.promise(handler)} }})" for handler in h.handlers
        ]
    return handlers


def first_of(hot):
    return [f"X({h.row.name}, {h.suffix(h.handlers[0])}, {h.choice()})" for h in hot]


def hot_rows_header(hot, warm):
    handlers, compact = handlers_of(hot), [*(h.compact() for h in hot), *warm]
    lone = handlers_of(compact)
    frequent = [f"X({h.row.name}{name})" for h in hot for name in h.frequent]
    return "".join(
        [
            HEADER,
            macro("Handlers of branches: row, suffix, promise.", "KVRM_HOT_BRANCHES", handlers[True]),
            macro("The other handlers.", "KVRM_HOT_OTHERS", handlers[False]),
            macro("Rows: name, suffix of the first handler, which one from there `op` needs.", "KVRM_HOT_ROWS", first_of(hot)),
            macro("Handlers that end with a jump of their own.", "KVRM_FREQUENT_HANDLERS", frequent),
            macro("Handlers of branches in the loop of one lane.", "KVRM_LONE_BRANCHES", lone[True]),
            macro("The other handlers there.", "KVRM_LONE_OTHERS", lone[False]),
            macro("Hot rows as in KVRM_HOT_ROWS, for that loop.", "KVRM_LONE_HOT_ROWS", first_of(compact[: len(hot)])),
            macro("Rows that only that loop runs inline.", "KVRM_WARM_ROWS", [f"X({h.row.name})" for h in warm]),
        ]
    )
