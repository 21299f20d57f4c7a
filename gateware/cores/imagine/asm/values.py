# SPDX-License-Identifier: BSD-2-Clause
"""Reader of arguments in the textual form (section 3.6), at a cursor of the assembler. Pure
Python."""

from collections.abc import Sequence
from typing import Any

from ....isa.asm.cursor import Cursor
from ....isa.asm.errors import Place

__all__ = ["read_arguments", "read_value"]

_WORDS = {"True": True, "False": False, "None": None}
_VALUE = 'a number, a "string", True, False, None, a list or a tuple'


def read_arguments(
    cursor: Cursor, method: str, parameters: Sequence[tuple[str, bool, bool]]
) -> tuple[dict[str, Any], dict[str, Place]]:
    """Reads arguments up to the end of the statement: ``(values by name, places by name)``.

    Parameters
    ----------
    cursor : of the assembler, behind the mnemonic ``method``
    parameters : list of (name, whether it must be given, whether it goes by name alone),
        in the order of positions
    """
    names = [name for name, _, _ in parameters]
    by_position = [name for name, _, named_only in parameters if not named_only]
    usage = (
        f"{method} "
        f"{', '.join(f'{name}=...' if named_only else name for name, _, named_only in parameters)}"
    ).strip()
    values: dict[str, Any] = {}
    places: dict[str, Place] = {}
    named = False
    while not cursor.at_end:
        if values:
            cursor.expect(",", expected=f"',' or end of line, as in {usage}")
        place, word = cursor.place, cursor.peek_name()
        cursor.index += 1
        if word is not None and cursor.accept("="):
            if word not in names:
                cursor.fail(
                    f"{method} has no argument '{word}'",
                    place=place,
                    expected=", ".join(names) or "none",
                )
            name, named = word, True
        else:
            cursor.index -= 1
            if named:
                cursor.fail(
                    "an argument without a name after one with a name",
                    place=place,
                    expected="name=value",
                )
            if len(values) == len(by_position):
                how = " without a name" if len(by_position) < len(names) else ""
                cursor.fail(
                    f"{method} takes no more arguments{how}",
                    place=place,
                    expected=f"end of line after {usage}",
                )
            name = by_position[len(values)]
        if name in values:
            cursor.fail(f"{name} is given twice", place=place)
        places[name] = cursor.place
        values[name] = read_value(cursor)
    for name, needed, _ in parameters:
        if needed and name not in values:
            cursor.fail(f"{name} is missing", expected=usage)
    return values, places


def read_value(cursor: Cursor) -> Any:
    """Reads one value; raises the assembler's error at its column."""
    token = cursor.token
    if token is not None and token.kind == "string":
        cursor.advance()
        return token.value
    if token is not None and token.kind == "name" and token.text in _WORDS:
        cursor.advance()
        return _WORDS[token.text]
    if cursor.accept("["):
        return _items(cursor, "]")
    if token is not None and token.text == "(" and _is_tuple(cursor):
        cursor.advance()
        return tuple(_items(cursor, ")"))
    return _number(cursor)


def _items(cursor, end):
    items = []
    while not cursor.accept(end):
        if items:
            cursor.expect(",", expected=f"',' or '{end}'")
            if cursor.accept(end):
                break
        items.append(read_value(cursor))
    return items


def _is_tuple(cursor):
    """Whether the bracket at ``cursor`` begins a tuple: it is empty or contains a comma at its own
    level."""
    tokens, depth = cursor.statement.tokens, 0
    for index in range(cursor.index, len(tokens)):
        token = tokens[index]
        if token.kind != "sign":
            continue
        if token.text in "([{":
            depth += 1
        elif token.text in ")]}":
            depth -= 1
            if depth == 0:
                return index == cursor.index + 1
        elif token.text == "," and depth == 1:
            return True
    return False


def _number(cursor):
    """Reads a float with its signs, or an integer expression."""
    tokens, index, negative = cursor.statement.tokens, cursor.index, False
    while index < len(tokens) and tokens[index].kind == "sign" and tokens[index].text in "+-":
        negative ^= tokens[index].text == "-"
        index += 1
    if index < len(tokens) and tokens[index].kind == "float":
        cursor.index = index + 1
        return -tokens[index].value if negative else tokens[index].value
    if index >= len(tokens) or tokens[index].kind == "sign" and tokens[index].text != "(":
        cursor.fail(f"unexpected {cursor.shown()}", expected=_VALUE)
    return cursor.expression()
