# SPDX-License-Identifier: BSD-2-Clause
"""Parser of statements of generated C++: finds their ends, and the statements that must share a
scope because of a declaration.

No more of the language than CXXRTL's back end and runtime write; any other statement is refused.
"""

import re
from collections.abc import Sequence

__all__ = ["merged_scopes", "statement_end", "statements", "without_comments"]

_LITERAL = r'"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])+'"
_COMMENT = re.compile(rf"({_LITERAL})|^[ \t]*//[^\n]*\n|[ \t]*//[^\n]*|/\*.*?\*/", re.S | re.M)
_TOKEN = re.compile(rf"(?:{_LITERAL})|//[^\n]*|/\*.*?\*/|[(){{}}\[\];]", re.S)
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_HEAD = re.compile(r"(?:if(?: constexpr)?|for|while)\b\s*(?=\()")
_ELSE = re.compile(r"else\b")
_UNKNOWN = re.compile(r"(?:do|switch|case|default|try|goto|else)\b")
_CLOSING = {"(": ")", "{": "}", "[": "]"}
#: A type, then the name that is declared: `auto x = `, `value<8> x = `, `const bool x;`, `value<8>
#: x{`.
_DECLARED = re.compile(
    r"\s*(?:const\s+)?(?!return\b|else\b)[A-Za-z_][\w:]*(?:<[^;=(){}]*>)?[\s&*]+(\w+)\s*"
    r"(?:=(?!=)|;|\{|\()"
)


def without_comments(text: str) -> str:
    """Removes comments from ``text``; literals that look like comments stay."""
    return _COMMENT.sub(lambda found: found[1] or " " * found[0].startswith("/*"), text)


def _matching(text, at):
    """Position after the bracket that closes the one at ``at``."""
    expected = []
    for found in _TOKEN.finditer(text, at):
        token = found[0]
        if token in _CLOSING:
            expected.append(_CLOSING[token])
        elif token in ")}]":
            if expected.pop() != token:
                raise ValueError(f"bracket {token!r} at {found.start()} closes another one")
            if not expected:
                return found.end()
    raise ValueError(f"bracket {text[at]!r} at {at} is never closed")


def _after_space(text: str, at: int) -> int:
    """Position of the first character at or after ``at`` that is neither space nor comment."""
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def statement_end(text: str, at: int = 0) -> int:
    """Position after the statement that begins at or after ``at``, an ``if`` with all its branches.

    Raises
    ------
    ValueError
        A bracket or the statement is never closed, or it is of a kind that is not known here.
    """
    at = _after_space(text, at)
    if text.startswith("{", at):
        return _matching(text, at)
    head = _HEAD.match(text, at)
    if head:
        end = statement_end(text, _matching(text, head.end()))
        behind = _ELSE.match(text, _after_space(text, end))
        return statement_end(text, behind.end()) if behind and head[0].startswith("if") else end
    if unknown := _UNKNOWN.match(text, at):
        raise ValueError(f"statement {unknown[0]!r} at {at} is not known here")
    place = at
    while (found := _TOKEN.search(text, place)) is not None:
        if found[0] == ";":
            return found.end()
        if found[0] in ")}]":
            break
        place = _matching(text, found.start()) if found[0] in _CLOSING else found.end()
    raise ValueError(f"statement at {at} never ends")


def statements(text: str) -> list[str]:
    """Splits a scope, without comments, into statements, each with the white space before it."""
    found: list[str] = []
    at = 0
    while _after_space(text, at) < len(text):
        end = statement_end(text, at)
        found.append(text[at:end])
        at = end
    return found


def merged_scopes(parts: Sequence[str]) -> list[str]:
    """Merges statements of a scope that must stay together: from a declaration to the last use of
    its name.

    The scope's end ends a declaration as well, so any run of statements may get a scope of its own.
    """
    last = {}
    for number, part in enumerate(parts):
        for word in set(re.findall(r"\w+", part)):
            last[word] = number
    found: list[str] = []
    until = -1
    for number, part in enumerate(parts):
        if number <= until:
            found[-1] += part
        else:
            found.append(part)
        if (declared := _DECLARED.match(part)) is not None:
            until = max(until, last[declared[1]])
    return found
