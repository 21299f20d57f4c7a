# SPDX-License-Identifier: BSD-2-Clause
"""Parser and printer of an instruction's operands, driven by its syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..instruction import Instruction, Written
from .errors import AsmError

if TYPE_CHECKING:
    from .cursor import Cursor
    from .errors import Place


__all__ = ["format_operands", "read_operands"]


def read_operands(
    entry: Written, cursor: Cursor, *, named: bool = False
) -> tuple[dict[str, int], dict[str, Place]]:
    """Reads the operands at ``cursor`` up to the end of the statement: ``(values, places)`` by
    field name.

    ``entry`` is an instruction or macro. Raises :class:`AsmError`; of several syntaxes the error is
    that of the one which went furthest.
    """
    begin = cursor.index
    furthest: AsmError | None = None
    for tree in entry.syntaxes:
        cursor.index = begin
        try:
            if named:
                return _read_named(entry, tree, cursor)
            values: dict[str, int] = {}
            places: dict[str, Place] = {}
            _read(tree, entry, cursor, values, places)
            cursor.expect_end(expected=f"end of line after {entry.usage}")
            return values, places
        except AsmError as error:
            cursor.index = begin
            error = _count_error(entry, tree, cursor) or error
            if furthest is None or error.position > furthest.position:
                furthest = error
    assert furthest is not None, "an instruction has at least one syntax"
    raise furthest


def _read(items, entry, cursor, values, places):
    for kind, item in items:
        if kind == "literal":
            cursor.expect(item.strip(), expected=f"'{item.strip()}' as in {entry.usage}")
        elif kind == "operand":
            field = entry.by_name[item]
            if cursor.at_end:
                cursor.fail(f"{field.title} is missing", expected=entry.usage)
            places[item] = cursor.place
            values[item] = field.form.parse(cursor, field)
        elif _begins(item, cursor):
            _read(item, entry, cursor, values, places)


def _begins(items, cursor):
    kind, item = items[0]
    return not cursor.at_end and (kind != "literal" or cursor.token.text == item.strip())


def _read_named(entry, tree, cursor):
    """Reads operands by position or as ``name=value``, like a function call."""
    order = [item for item in _flat(tree)]
    values, places, keyed = {}, {}, False
    while not cursor.at_end:
        if values:
            cursor.expect(",", expected=f"',' or end of line, as in {entry.usage}")
        place, word = cursor.place, cursor.peek_name()
        cursor.index += 1
        if word is not None and cursor.accept("="):
            keyed = True
            if word not in order:
                cursor.fail(
                    f"{entry.mnemonic} has no operand '{word}'",
                    place=place,
                    expected=", ".join(order) or "none",
                )
            if word in values:
                cursor.fail(f"{word} is given twice", place=place)
        else:
            cursor.index -= 1
            if keyed:
                cursor.fail(
                    "an operand without a name after one with a name",
                    place=place,
                    expected="name=value",
                )
            if len(values) == len(order):
                cursor.expect_end(expected=f"end of line after {entry.usage}")
            word = order[len(values)]
        places[word] = cursor.place
        values[word] = entry.by_name[word].form.parse(cursor, entry.by_name[word])
    for name in order:
        if name not in values and entry.by_name[name].default is None:
            cursor.fail(f"{entry.by_name[name].title} is missing", expected=entry.usage)
    return values, places


def _flat(items):
    for kind, item in items:
        if kind == "optional":
            yield from _flat(item)
        elif kind == "operand":
            yield item


def _arity(items):
    """Number of operands, (least, greatest), of a syntax that consists of operands and commas only;
    ``None`` for any other."""
    least = most = 0
    for kind, item in items:
        if kind == "operand":
            least, most = least + 1, most + 1
        elif kind == "optional":
            inner = _arity(item)
            if inner is None:
                return None
            most += inner[1]
        elif item.strip() != ",":
            return None
    return least, most


def _count_error(entry, tree, cursor):
    arity = _arity(tree)
    if arity is None or any(f.form.commas for f in entry.operands):
        return None
    count, depth, extra = 0 if cursor.at_end else 1, 0, cursor.place
    while not cursor.at_end:
        token = cursor.advance()
        if token.kind == "sign":
            depth += (token.text in "([") - (token.text in ")]")
            if token.text == "," and depth == 0:
                count += 1
                if count == arity[1] + 1:
                    extra = cursor.place
    if arity[0] <= count <= arity[1]:
        return None
    takes = str(arity[0]) if arity[0] == arity[1] else f"{arity[0]} to {arity[1]}"
    noun = "operand" if takes == "1" else "operands"
    return AsmError(
        f"{entry.mnemonic} takes {takes if arity[1] else 'no'} {noun}, not {count}",
        expected=entry.usage,
        place=extra if count > arity[1] else cursor.place,
    )


def format_operands(entry: Instruction, values: dict[str, int]) -> str:
    """Formats ``values`` canonically; optional operands with default values are omitted."""
    return _format(entry.syntaxes[0], entry, values).rstrip()


def _format(items, entry, values):
    text = ""
    for kind, item in items:
        if kind == "literal":
            text += item
        elif kind == "operand":
            text += entry.by_name[item].form.format(values[item])
        elif any(values[name] != entry.by_name[name].default for name in _flat(item)):
            text += _format(item, entry, values)
    return text
