#!/usr/bin/env python3
"""Turns the assembly templates of a64_asm.inc into the disassembler's static tables.

    generate_asm.py --table a64.inc --asm a64_asm.inc --out DIR

Written: a64_asm_table.h. The template language is described at the top of a64_asm.inc; the rows and their
fields come from generate.py's reader, so a template can only name what its row has.
"""

import argparse
import ast
import fnmatch
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from generate import TableError, read_table, write_if_changed  # noqa: E402

# Which file of registers a letter names: general ones from R fields, the others from V fields.
REGISTER_OPERAND = re.compile(r"^([RWXVFBHSDQ])(?:([a-z]\d?)|\((.*)\))(?:/(.*))?$")
# A template falls into braces, operands, the start of an optional text with its condition, its end, and text.
TOKEN = re.compile(r"(\{\{|\}\}|\{[^{}]*\}|<[^<>?]*(?:[<>]=?[^<>?]*)*\?|>)")
SCALAR_SIZE = "BHSDQ"
FLOAT_TYPE = "(2, 3, 0, 1)[ftype]"  # ftype as an index into b, h, s, d, q
FUNCTIONS = {"bitmask", "sign_extend", "is_move_wide", "expand_bytes", "highest_bit", "lowest_bit"}
BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def is_membership(node):
    """has(list, number)"""
    return isinstance(node, ast.Call) and node.func.id == "has" and len(node.args) == 2


class Expression:
    """Translates one Python expression over a row's fields into C++."""

    def __init__(self, row, lists):
        self.row, self.lists = row, lists

    def translate(self, text):
        return self.integer(ast.parse(text.strip(), mode="eval").body)

    def boolean(self, node):
        if isinstance(node, ast.BoolOp):
            operator = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + operator.join(self.boolean(value) for value in node.values) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self.boolean(node.operand)}"
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if is_membership(node):
            return self.membership(node)
        return f"({self.integer(node)} != 0)"

    def comparison(self, node):
        parts = []
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            if isinstance(operator, (ast.In, ast.NotIn)):
                tests = " || ".join(f"{self.integer(left)} == {self.integer(item)}" for item in right.elts)
                parts.append(f"({tests})" if isinstance(operator, ast.In) else f"!({tests})")
            else:
                parts.append(f"({self.integer(left)} {COMPARE[type(operator)]} {self.integer(right)})")
        return parts[0] if len(parts) == 1 else "(" + " && ".join(parts) + ")"

    def membership(self, node):
        return f"(find_name({self.lists.number(node.args[0].id)}, {self.integer(node.args[1])}) != nullptr)"

    def integer(self, node):
        if isinstance(node, ast.Constant):
            return f"{node.value}LL"
        if isinstance(node, ast.Name):
            return self.field(node.id)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return f"({self.integer(node.left)} {BINARY[type(node.op)]} {self.integer(node.right)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            return f"({'-' if isinstance(node.op, ast.USub) else '~'}{self.integer(node.operand)})"
        if isinstance(node, ast.IfExp):
            return f"({self.boolean(node.test)} ? {self.integer(node.body)} : {self.integer(node.orelse)})"
        if isinstance(node, ast.Subscript):
            values = ", ".join(self.integer(item) for item in node.value.elts)
            return f"choose({self.integer(node.slice)}, {values})"
        if isinstance(node, ast.Call) and node.func.id in FUNCTIONS:
            return f"{node.func.id}({', '.join(self.integer(argument) for argument in node.args)})"
        if self.is_boolean(node):
            return f"i64{{{self.boolean(node)}}}"
        raise TableError(f"{self.row.name}: cannot use {ast.unparse(node)}")

    @staticmethod
    def is_boolean(node):
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        return isinstance(node, (ast.BoolOp, ast.Compare)) or is_membership(node)

    def field(self, name):
        if name not in self.row.fields:
            raise TableError(f"{self.row.name}: no field {name}")
        field = self.row.fields[name]
        parts = []
        for lo, word_lo, width in field.slices:
            part = f"bits<{word_lo}, {width}>(word)"
            parts.append(f"({part} << {lo})" if lo else part)
        raw = parts[0] if len(parts) == 1 else "(" + " | ".join(parts) + ")"
        return f"signed_bits<{field.width}>({raw})" if field.kind == "signed" else raw


class Pool:
    """Values in order of first use, each once."""

    def __init__(self):
        self.numbers = {}

    def number(self, value):
        return self.numbers.setdefault(value, len(self.numbers))

    def __len__(self):
        return len(self.numbers)

    def __iter__(self):
        return iter(self.numbers)


class Text:
    """All literal text in one string; a piece of it is (offset, length)."""

    def __init__(self):
        self.text = ""

    def offset_of(self, text):
        offset = self.text.find(text)
        if offset < 0:
            offset = len(self.text)
            self.text += text
        return offset, len(text)


class Lists:
    """Numbered names: written by position (KVRM_ASM_LIST, {x:a,b}) or by key (KVRM_ASM_NAMES)."""

    def __init__(self):
        self.named = {}
        self.pool = Pool()

    def define(self, name, entries):
        known = self.named.setdefault(name, {})
        clash = set(known) & set(entries)
        if clash:
            raise TableError(f"list {name}: {clash} twice")
        known.update(entries)

    def number(self, name):
        if name not in self.named:
            raise TableError(f"no list {name}")
        return self.anonymous(self.named[name])

    def anonymous(self, entries):
        return self.pool.number(tuple(sorted(entries.items())))


def system_key(text):
    """op0.op1.CRn.CRm.op2 as the row's sysreg, op1.CRn.CRm.op2 as its sysop."""
    key = 0
    widths = (1, 3, 4, 4, 3)
    parts = [int(part) for part in text.split(".")]
    for part, width in zip(parts, widths[-len(parts) :]):
        key = key << width | part & ((1 << width) - 1)
    return key


class Templates:
    """Everything the table needs, gathered line by line."""

    def __init__(self, rows):
        self.rows = {row.name: row for row in rows}
        self.lines = {row.name: [] for row in rows}
        self.closed = set()  # rows whose last line has no condition
        self.strangers = []  # what names no row
        self.macros, self.lists, self.text, self.expressions = {}, Lists(), Text(), Pool()

    # --- reading ---

    def read(self, path):
        statement = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("//"):
                continue
            statement = f"{statement} {line}".strip()
            if statement.startswith("KVRM_") and not statement.endswith(")"):
                continue
            try:
                self.read_statement(path, statement)
            except (TableError, SyntaxError) as error:
                raise TableError(f"{path}:{number}: {error}") from error
            statement = ""
        if statement:
            raise TableError(f"{path}: the last statement has no end")

    def read_statement(self, path, line):
        if match := re.fullmatch(r'#include "(.*)"', line):
            self.read(path.parent / match[1])
        elif match := re.fullmatch(r'KVRM_ASM_LET\((\w+), "(.*)"\)', line):
            self.macros[match[1]] = match[2]
        elif match := re.fullmatch(r'KVRM_ASM_LIST\((\w+), "(.*)"\)', line):
            self.lists.define(match[1], dict(enumerate(match[2].split(","))))
        elif match := re.fullmatch(r'KVRM_ASM_NAMES\((\w+), "(.*)"\)', line):
            pairs = (entry.split("=") for entry in match[2].split(", "))
            self.lists.define(match[1], {system_key(key): unescape(name) for key, name in pairs})
        elif match := re.fullmatch(r'KVRM_ASM\(([^,]*), "([^"]*)", "(.*)"\)', line):
            self.add(match[1], self.expand(match[2]), unescape(self.expand(match[3])))
        else:
            raise TableError(f"not a template: {line[:60]}")

    def expand(self, text):
        while match := re.search(r"\$([A-Za-z_]\w*)", text):
            if match[1] not in self.macros:
                raise TableError(f"no macro {match[0]}")
            macro, rest = self.macros[match[1]], text[match.end() :]
            if "$1" in macro:
                argument, rest = parenthesised(rest)
                macro = macro.replace("$1", argument)
            text = text[: match.start()] + macro + rest
        return text

    def add(self, selectors, condition, template):
        for name, explicit in self.selected(selectors):
            if name in self.closed:
                if explicit:
                    raise TableError(f"{name}: a line before this one has no condition")
                continue
            row = self.rows[name]
            self.lines[name].append((self.condition(row, condition), self.pieces(row, template)))
            if not condition:
                self.closed.add(name)

    def selected(self, selectors):
        for selector in selectors.split():
            group, colon, pattern = selector.partition(":")
            if colon:
                rows = (row.name for row in self.rows.values() if row.group == group)
                found = fnmatch.filter(rows, pattern)
            else:
                found = [selector] if selector in self.rows else []
            if not found:
                self.strangers.append(selector)
            yield from ((name, not colon) for name in found)

    # --- compiling a template into pieces: (kind, first, second) ---

    def value(self, row, text):
        return self.expressions.number(Expression(row, self.lists).translate(text))

    def condition(self, row, text):
        return self.value(row, text) if text else self.value(row, "1")

    def pieces(self, row, template):
        return self.sequence(row, TOKEN.split(template))[0]

    def sequence(self, row, tokens, depth=0):
        """Pieces up to the end or the `>` that closes this group; and the tokens left."""
        pieces, literal = [], ""
        while tokens:
            token, *tokens = tokens
            if token in ("{{", "}}"):
                literal += token[0]
                continue
            if not token.startswith(("{", "<")) and not (token == ">" and depth):
                literal += token
                continue
            if literal:
                pieces.append(("Text", *self.text.offset_of(literal)))
                literal = ""
            if token == ">":
                return pieces, tokens
            if token.startswith("<"):
                inside, tokens = self.sequence(row, tokens, depth + 1)
                pieces += [("SkipUnless", self.value(row, token[1:-1]), len(inside)), *inside]
            else:
                pieces.append(self.operand(row, token[1:-1]))
        if literal:
            pieces.append(("Text", *self.text.offset_of(literal)))
        if depth:
            raise TableError(f"{row.name}: a < is not closed")
        return pieces, []

    def operand(self, row, text):
        if text == "m":
            return ("Text", *self.text.offset_of(row.name.split("_")[0].lower()))
        if text.startswith("0x "):
            return ("Hex", self.value(row, text[3:]), 0)
        if text.startswith("016x "):
            return ("WideHex", self.value(row, text[5:]), 0)
        if text.startswith("fp "):
            return ("Float", self.value(row, text[3:]), 0)
        value, colon, options = text.partition(":")
        if colon and options.startswith("@"):
            return ("Name", self.value(row, value), self.lists.number(options[1:]))
        if colon:
            entries = dict(enumerate(options.split(",")))
            return ("Name", self.value(row, value), self.lists.anonymous(entries))
        return self.register(row, text) or ("Decimal", self.value(row, text), 0)

    def register(self, row, text):
        match = REGISTER_OPERAND.match(text)
        if not match:
            return None
        letter, short, number, width = match.groups()
        general = letter in "RWX"
        if short:
            number = ("R" if general else "V") + short
            if number not in row.fields:
                return None
        stack = short and row.fields[number].kind == "general_sp"
        if letter == "V":
            return ("Vector", self.value(row, number), 0)
        if letter == "F":
            return ("Scalar", self.value(row, number), self.value(row, width or FLOAT_TYPE))
        if not general:
            return ("Scalar", self.value(row, number), self.value(row, str(SCALAR_SIZE.index(letter))))
        width = width or {"W": "0", "X": "1", "R": "sf"}[letter]
        return ("GeneralOrSp" if stack else "General", self.value(row, number), self.value(row, width))

    def fill_in(self):
        """Rows without a template print their name and fields. Returns their names."""
        without = [name for name in self.rows if name not in self.closed]
        for name in without:
            row = self.rows[name]
            fields = ", ".join(f"{field.lower()}={{{field} + 0}}" for field in row.fields)
            template = name.lower() + ("\t" + fields if fields else "")
            self.lines[name].append((self.condition(row, ""), self.pieces(row, template)))
        return without


def parenthesised(text):
    """Splits `(argument)rest`; the argument keeps its parentheses."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            break
    if not text.startswith("(") or depth:
        raise TableError(f"no argument in {text[:20]}")
    return text[: position + 1], text[position + 1 :]


def unescape(text):
    return text.replace("\\t", "\t")


# --- output ------------------------------------------------------------------------------------------


def quoted(text, width=90):
    chunks = [text[start : start + width] for start in range(0, len(text), width)] or [""]
    escaped = (chunk.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") for chunk in chunks)
    return "\n".join(f'    "{chunk}"' for chunk in escaped)


def table_header(templates, without):
    entries, lists = [], []
    for names in templates.lists.pool:
        lists.append(f"    {{{len(entries)}, {len(names)}}},\n")
        entries += [f"    {{{key}, {offset}, {length}}},\n" for key, (offset, length) in
                    ((key, templates.text.offset_of(name)) for key, name in names)]  # fmt: skip
    rows, lines, pieces, shared = [], [], [], {}
    for name, row_lines in templates.lines.items():
        rows.append(f"    {{{len(lines)}, {len(row_lines)}}},  // {name}\n")
        for condition, line_pieces in row_lines:
            key = tuple(line_pieces)
            if key not in shared:
                shared[key] = len(pieces)
                pieces += [f"    {{AsmPiece::k{kind}, {first}, {second}}},\n" for kind, first, second in key]
            lines.append(f"    {{{condition}, {shared[key]}, {len(key)}}},\n")
    for what, size in (("text", len(templates.text.text)), ("pieces", len(pieces)), ("names", len(entries))):
        if size > 0xFFFF:
            raise TableError(f"{size} {what} do not fit 16 bits")
    expressions = enumerate(templates.expressions)
    cases = (f"    case {number}:\n      return {code};\n" for number, code in expressions)
    return "".join(
        [
            "// Generated by src/isa/disassembler/generate_asm.py from a64_asm.inc. Do not edit.\n#pragma once\n\n",
            '#include "isa/disassembler/asm_table.h"\n\nnamespace kvrm::isa {\n\n',
            f"inline constexpr u32 kAsmRowsWithoutTemplate = {len(without)};\n",
            f"inline constexpr u32 kAsmTemplatesWithoutRow = {len(templates.strangers)};\n\n",
            "inline constexpr char kAsmText[] =\n", quoted(templates.text.text), ";\n\n",
            "inline constexpr AsmRange kAsmRows[] = {\n", *rows, "};\n\n",
            "inline constexpr AsmLine kAsmLines[] = {\n", *lines, "};\n\n",
            "inline constexpr AsmPiece kAsmPieces[] = {\n", *pieces, "};\n\n",
            "inline constexpr AsmRange kAsmLists[] = {\n", *lists, "};\n\n",
            "inline constexpr AsmName kAsmNames[] = {\n", *entries, "};\n\n",
            "// The name a list has for a key; null when it has none.\n",
            "constexpr const AsmName* find_name(u32 list, i64 key) {\n",
            "  return find_in(kAsmNames + kAsmLists[list].first, kAsmLists[list].count, key);\n}\n\n",
            "constexpr i64 evaluate(u32 expression, u32 word) {\n  switch (expression) {\n",
            *cases, "  }\n  return 0;\n}\n\n}  // namespace kvrm::isa\n",
        ]
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--asm", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--list-missing", action="store_true", help="print the rows that have no template")
    arguments = parser.parse_args()
    try:
        templates = Templates(read_table(arguments.table))
        templates.read(arguments.asm)
        without = templates.fill_in()
        header = table_header(templates, without)
        if templates.strangers:  # only said here, so that the table can grow first; a test insists on none
            print(f"generate_asm.py: no row matches {', '.join(templates.strangers)}", file=sys.stderr)
    except TableError as error:
        sys.exit(f"generate_asm.py: {error}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_if_changed(arguments.out / "a64_asm_table.h", header)
    if arguments.list_missing:
        print("\n".join(without))


if __name__ == "__main__":
    main()
