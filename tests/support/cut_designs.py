# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a design that was split into functions: every name is declared before its use, and
every statement is kept, in order.

It reads C++ by tokens of its own and not by what it checks.
"""

import re

__all__ = ["same_statements", "undeclared"]

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\''
    r"|0x[0-9a-fA-F]+(?:ull|u)?|\d+u?|\w+|::|->|\S",
    re.S,
)
_FUNCTION = re.compile(r"(?:void|bool) p_top::(eval\w*)\(performer \*performer\) ")
_MEMBER = re.compile(r"^\t(?:/\*\w+\*/ )?(?:value|wire|memory)<\d+> (\w+)", re.M)
_KEYWORDS = set(
    "auto bool char const else false for if override return static struct this true void".split()
)


def _tokens(text):
    return [token for token in _TOKEN.findall(text) if not token.startswith(("//", "/*"))]


def _functions(source):
    """Name and tokens, braces included, of ``eval`` and all functions split from it."""
    for found in _FUNCTION.finditer(source):
        end = source.index("\n}\n", found.end())
        yield found[1], _tokens(source[found.end() : end + 2])


def undeclared(source, header, runtime):
    """Uses of undeclared names, ``(function, name)``: not declared in a scope, as a member or by
    the runtime."""
    struct = header[header.index("struct p_top ") :]
    members, functions = set(_MEMBER.findall(struct)), set(re.findall(r"\b(\w+)\(", struct))
    known = set(re.findall(r"\w+", runtime)) | _KEYWORDS
    found = []
    for function, tokens in _functions(source):
        scopes = [{"performer"}]
        for before, token, behind in zip([""] + tokens, tokens, tokens[1:] + [""], strict=False):
            if token == "{":
                scopes.append(set())
            elif token == "}":
                scopes.pop()
            elif not re.fullmatch(r"[A-Za-z_]\w*", token) or before in (".", "->", "::"):
                continue
            elif behind not in ("(", "::") and (
                before == ">"
                or re.fullmatch(r"[A-Za-z_]\w*", before)
                and before not in ("return", "else")
            ):
                scopes[-1].add(token)
            elif not (
                any(token in scope for scope in scopes)
                or token in members
                or token in known
                or behind == "("
                and token in functions
            ):
                found.append((function, token))
    return found


def _essence(source):
    """Tokens of the computation, in order: without declarations that lack a value, edge tests,
    braces and calls of the split functions."""
    text = " ".join(" ".join(tokens) for _, tokens in _functions(source))
    text = re.sub(
        r"\bbool (?:converged|\w+edge_\w+) = [^;]*;|\bvalue < \d+ > \w+ ;|\bif \( \w+edge_\w+ "
        r"\)|\beval_\d+ \( performer \) ;",
        " ",
        text,
    )
    return re.sub(r"[{}\s]+", " ", text)


def same_statements(source, cut):
    """Whether the functions of ``cut`` execute the statements of ``eval`` in ``source``, in the
    same order."""
    return _essence(source) == _essence(cut)
