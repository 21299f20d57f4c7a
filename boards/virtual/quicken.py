# SPDX-License-Identifier: BSD-2-Clause
"""Rewrites what CXXRTL writes so that it compiles and runs faster, and means the same.

A design is one large function. What costs a C++ compiler its time there are loops over the chunks of values, of which nearly all
have one chunk, and a branch at every register. Measured: docs/performance.md.
"""
import re

__all__ = ["copy_registers", "join_edges", "one_chunk"]

_LOOP = re.compile(r"for \(size_t n = 0; n < (result\.)?chunks; n\+\+\)")
_EDGE = re.compile(r"\tif \((?:posedge|negedge)_\w+\) \{")


def _matching(text, at):
    """Position behind the bracket that closes the one at ``at``."""
    pairs = {"(": ")", "{": "}"}
    opening, depth = text[at], 0
    for place in range(at, len(text)):
        if text[place] == opening:
            depth += 1
        elif text[place] == pairs[opening]:
            depth -= 1
            if not depth:
                return place + 1
    raise ValueError(f"bracket {opening!r} at {at} is never closed")


def _statement_end(text, at):
    """Position behind the C++ statement that begins at or behind ``at``."""
    while text[at].isspace():
        at += 1
    if text[at] == "{":
        return _matching(text, at)
    head = re.match(r"(?:for|if) \(", text[at:])
    if head:
        return _statement_end(text, _matching(text, at + head.end() - 1))
    return text.index(";", at) + 1


def one_chunk(header):
    """The runtime's ``cxxrtl.h`` with its loops over chunks written out for values of one chunk.

    The optimiser would find the same, after it had carried some ten thousand loops of one turn through half of its passes.
    """
    done, at = [], 0
    while (loop := _LOOP.search(header, at)) is not None:
        end = _statement_end(header, loop.end())
        body, whole = header[loop.end():end], header[loop.start():end]
        done.append(header[at:loop.start()])
        if re.search(r"\b(break|continue)\b", body):
            done.append(whole)
        else:
            chunks = "decltype(result)::chunks" if loop[1] else "chunks"
            done.append(f"if constexpr ({chunks} == 1) {{ constexpr size_t n = 0; {body} }} else {whole}")
        at = end
    header = "".join([*done, header[at:]])
    header = header.replace("if (chunks == 1 && result.chunks == 1)",
                            "if constexpr (chunks == 1 && decltype(result)::chunks == 1)")
    return header.replace("if (Start / chunk::bits == Stop / chunk::bits)", "if constexpr (Start / chunk::bits == Stop / chunk::bits)")


def join_edges(source):
    """``design.cc`` with neighbouring registers of one clock behind one test of its edge instead of one each."""
    done, joinable = [], None
    lines = iter([line for line in source.split("\n") if not line.startswith("\t//")])
    for line in lines:
        if not _EDGE.fullmatch(line):
            done.append(line)
            joinable = None
            continue
        if joinable == line:
            done.pop()
        else:
            done.append(line)
        joinable = line
        for line in lines:
            done.append(line)
            if line == "\t}":
                break
    return "\n".join(done)


def copy_registers(header):
    """``design.h`` with registers copied without asking whether they changed; memories keep their queue of writes.

    Only where one pass settles a cycle: then nothing needs that answer. A quarter of the time is saved.
    """
    return re.sub(r"\bif \((?!memory_)(\w+)\.commit\(observer\)\) changed = true;", r"\1.curr = \1.next;", header)
