# SPDX-License-Identifier: BSD-2-Clause
"""Optimiser of CXXRTL's generated C++: rewrites it so that it compiles and runs faster, with the
same meaning.

A design is one large function. What costs a C++ compiler its time there are loops over the chunks
of values, of which nearly all have one chunk, a branch at every register, and passes that take
longer than in proportion to a function's size. Measured: docs/performance/index.md.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from .statements import merged_scopes, statement_end, statements, without_comments

__all__ = [
    "EVAL",
    "LOCAL",
    "copy_registers",
    "cut_up",
    "eval_body",
    "is_head",
    "join_edges",
    "join_tests",
    "plain_memories",
    "one_chunk",
    "split_edge",
]

_LOOP = re.compile(r"for \(size_t n = 0; n < (result\.)?chunks; n\+\+\)")
#: Beginning of the function that evaluates a design.
EVAL = "bool p_top::eval(performer *performer) {"
_HEAD = re.compile(r"\s*bool (?:converged|(?:posedge|negedge)_\w+) = ")
#: Declaration of one of its variables.
LOCAL = re.compile(r"\s*value<\d+> (\w+);")
_EDGE = re.compile(r"\s*(if \((?:posedge|negedge)_\w+\) )\{")

#: Initial values of a memory: width, name, values, first word that they are for.
_CONTENTS = re.compile(
    r"\tstatic const value<(\d+)> (mem_init_\w+)\[\d+\] \{\n(.*?)\t\};\n"
    r"\tstd::copy\(std::begin\(\2\), std::end\(\2\), &(memory_\w+\.data\[\d+\])\);\n",
    re.S,
)
_ROW = re.compile(r"value<\d+>\{([^{}]*)\}")


def eval_body(source: str) -> tuple[int, int]:
    """Positions of begin and end of the body of ``p_top::eval``, without its braces."""
    begin = source.index(EVAL) + len(EVAL)
    return begin, statement_end(source, begin - 1) - 1


def is_head(statement: str) -> bool:
    """Whether a statement of ``eval`` declares a clock edge or its result."""
    return _HEAD.match(statement) is not None


def split_edge(statement: str) -> tuple[str | None, str]:
    """Classifies a statement: ``(test, body)`` if only a clock edge executes it, else ``(None,
    statement)``."""
    head = _EDGE.match(statement)
    if head is None or statement_end(statement, head.end() - 1) != len(statement):
        return None, statement
    return head[1], statement[head.end() : -1].rstrip()


def one_chunk(header: str) -> str:
    """Unrolls the chunk loops in the runtime's ``cxxrtl.h`` for values of one chunk.

    The optimiser would find the same, after it had carried some ten thousand loops of one turn
    through half of its passes.
    """
    done, at = [], 0
    while (loop := _LOOP.search(header, at)) is not None:
        end = statement_end(header, loop.end())
        body, whole = header[loop.end() : end], header[loop.start() : end]
        done.append(header[at : loop.start()])
        if re.search(r"\b(break|continue)\b", body):
            done.append(whole)
        else:
            chunks = "decltype(result)::chunks" if loop[1] else "chunks"
            done.append(
                f"if constexpr ({chunks} == 1) {{ constexpr size_t n = 0; {body} }} else {whole}"
            )
        at = end
    header = "".join([*done, header[at:]])
    header = header.replace(
        "if (chunks == 1 && result.chunks == 1)",
        "if constexpr (chunks == 1 && decltype(result)::chunks == 1)",
    )
    return header.replace(
        "if (Start / chunk::bits == Stop / chunk::bits)",
        "if constexpr (Start / chunk::bits == Stop / chunk::bits)",
    )


def plain_memories(source: str) -> str:
    """Replaces the initial values of memories in ``design.cc`` by a fill with zeros and an array of
    words up to the last one that is not zero.

    CXXRTL writes a value of the runtime's type for every word. Half of a design's text can be such
    values, most of them zero.
    """
    return _CONTENTS.sub(_plain_contents, source)


def _plain_contents(found):
    """Text in place of the initial values of one memory."""
    width, name, values, target = found.groups()
    rows = [[int(chunk.rstrip("u"), 0) for chunk in row.split(",")] for row in _ROW.findall(values)]
    chunks = -(-int(width) // 32)
    if any(len(row) != chunks for row in rows):
        return found[0]
    words = [chunk for row in rows for chunk in row]
    while words and not words[-1]:
        words.pop()
    text = f"\tstd::fill_n(&{target}, {len(rows)}, value<{width}>{{}});\n"
    if words:
        lines = "".join(
            f"\t\t{', '.join(f'{word:#x}u' for word in words[at : at + 8])},\n"
            for at in range(0, len(words), 8)
        )
        text += (
            f"\tstatic const uint32_t {name}[] {{\n{lines}\t}};\n"
            f'\tstatic_assert(sizeof(value<{width}>) == {4 * chunks}, "");\n'
            f"\tstd::memcpy(static_cast<void *>(&{target}), {name}, sizeof {name});\n"
        )
    return text


def join_tests(pieces: Iterable[tuple[str | None, str]]) -> str:
    """Text of ``(test, statement)`` pairs; adjacent pairs with equal tests share one."""
    text = []
    for test, run in groupby(pieces, key=lambda piece: piece[0]):
        body = "".join(statement for _, statement in run)
        text.append(body if test is None else f"\n\t{test}{{{body}\n\t}}")
    return "".join(text)


def join_edges(source: str) -> str:
    """Merges the edge tests of adjacent registers with the same clock in ``design.cc``."""
    begin, end = eval_body(source)
    return (
        source[:begin]
        + join_tests(map(split_edge, statements(without_comments(source[begin:end]))))
        + "\n"
        + source[end:]
    )


def copy_registers(header: str) -> str:
    """Replaces the change tests of registers in ``design.h`` by unconditional copies; memories keep
    their write queue.

    Only where one pass settles a cycle: then nothing needs that answer. A quarter of the time is
    saved.
    """
    return re.sub(
        r"\bif \((?!memory_)(\w+)\.commit\(observer\)\) changed = true;",
        r"\1.curr = \1.next;",
        header,
    )


def cut_up(source: str, header: str, size: int) -> tuple[str, str]:
    """Splits ``p_top::eval`` into functions of about ``size`` characters: ``(source, header)``.

    Its variables become members, but for those that one of the functions alone uses. A declaration
    with a value stays in one function with all that uses it (:func:`~.statements.merged_scopes`).
    """
    begin, end = eval_body(source)
    heads: list[str] = []
    names: dict[str, str] = {}
    rest: list[str] = []
    last = ""
    for statement in statements(without_comments(source[begin:end])):
        if (local := LOCAL.fullmatch(statement)) is not None:
            names[local[1]] = statement
        elif is_head(statement):
            heads.append(statement)
        elif statement.lstrip() == "return converged;":
            last = statement
        else:
            rest.append(statement)
    parts: list[list[tuple[str | None, str]]] = [[]]
    length = 0
    for statement in merged_scopes(rest):
        test, body = split_edge(statement)
        for piece in [body] if test is None else merged_scopes(statements(body)):
            if length > size:
                parts.append([])
                length = 0
            parts[-1].append((test, piece))
            length += len(piece)
    used = [
        {word for _, piece in part for word in re.findall(r"\w+", piece) if word in names}
        for part in parts
    ]
    users = Counter(word for words in used for word in words)
    converged, edges = (
        [head for head in heads if "converged" in head],
        [head for head in heads if "converged" not in head],
    )
    functions = []
    for number, (part, words) in enumerate(zip(parts, used, strict=True)):
        own = [names[word] for word in names if word in words and users[word] == 1]
        functions.append(
            "".join(
                [
                    f"void p_top::eval_{number}(performer *performer) {{",
                    *edges,
                    *own,
                    join_tests(part),
                    "\n}\n",
                ]
            )
        )
    calls = [f"\n\teval_{number}(performer);" for number in range(len(parts))]
    start = begin - len(EVAL)
    source = (
        source[:start]
        + "\n".join([*functions, EVAL])
        + "".join([*converged, *calls, last])
        + "\n"
        + source[end:]
    )
    place = header.rindex(
        "\n", 0, header.index("bool eval(performer *performer", header.index("struct p_top "))
    )
    members = [names[word] for word in names if users[word] > 1] + [
        f"\n\tvoid eval_{number}(performer *performer);" for number in range(len(parts))
    ]
    return source, header[:place] + "".join(members) + header[place:]
