# SPDX-License-Identifier: BSD-2-Clause
"""Rewrites what CXXRTL writes so that it compiles and runs faster, and means the same.

A design is one large function. What costs a C++ compiler its time there are loops over the chunks of values, of which nearly all
have one chunk, a branch at every register, and passes that take longer than in proportion to a function's size. Measured: docs/performance.md.
"""
import re
from collections import Counter

__all__ = ["copy_registers", "cut_up", "join_edges", "one_chunk"]

_LOOP = re.compile(r"for \(size_t n = 0; n < (result\.)?chunks; n\+\+\)")
_LOCAL = re.compile(r"\tvalue<\d+> (\w+);")
_TEMPORARY = re.compile(r"\s*auto (tmp_\d+) = ")
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


def _statements(lines):
    """Statements of whole lines, without comments, and with each index of a memory what uses it."""
    found, statement, depth, temporary = [], [], 0, None
    for line in lines:
        if line.lstrip().startswith("//"):
            continue
        statement.append(line)
        depth += line.count("{") - line.count("}")
        if depth:
            continue
        if temporary is not None and re.search(rf"\b{temporary}\b", "\n".join(statement)):
            found[-1] += statement
        else:
            declared = _TEMPORARY.match(line)
            temporary = declared and declared[1]
            found.append(statement)
        statement = []
    return found


def cut_up(source, header, size):
    """``(source, header)`` with ``p_top::eval`` as calls of functions of some ``size`` characters each.

    Its variables become members, but for those that one of the functions alone uses.
    """
    begin = source.index("bool p_top::eval(performer *performer) {\n")
    end = source.index("\n}\n", begin)
    heads, names, pieces = [], {}, []
    for lines in _statements(source[begin:end].split("\n")[1:]):
        if (local := _LOCAL.fullmatch(lines[0])) is not None:
            names[local[1]] = lines[0]
        elif lines[0].startswith("\tbool "):
            heads.append(lines[0])
        elif _EDGE.fullmatch(lines[0]):
            pieces += [(lines[0], inner) for inner in _statements(lines[1:-1])]
        elif lines[0] != "\treturn converged;":
            pieces.append((None, lines))
    parts, length = [[]], 0
    for edge, lines in pieces:
        if length > size:
            parts.append([])
            length = 0
        parts[-1].append((edge, lines))
        length += sum(map(len, lines))
    used = [{word for _, lines in part for line in lines for word in re.findall(r"\w+", line) if word in names} for part in parts]
    users = Counter(word for words in used for word in words)
    converged, edges = [head for head in heads if "converged" in head], [head for head in heads if "converged" not in head]
    functions = []
    for number, (part, words) in enumerate(zip(parts, used, strict=True)):
        body, open_edge = [f"void p_top::eval_{number}(performer *performer) {{", *edges], None
        body += [names[word] for word in names if word in words and users[word] == 1]
        for edge, lines in part:
            if edge != open_edge:
                body += ["\t}"] * (open_edge is not None) + [edge] * (edge is not None)
                open_edge = edge
            body += lines
        functions.append("\n".join([*body, *["\t}"] * (open_edge is not None), "}\n"]))
    calls = [f"\teval_{number}(performer);" for number in range(len(parts))]
    source = source[:begin] + "\n".join([*functions, "bool p_top::eval(performer *performer) {", *converged, *calls, "\treturn converged;"]) + source[end:]
    place = header.rindex("\n", 0, header.index("bool eval(performer *performer", header.index("struct p_top "))) + 1
    members = [names[word] for word in names if users[word] > 1] + [f"\tvoid eval_{number}(performer *performer);" for number in range(len(parts))]
    return source, header[:place] + "\n".join(members) + "\n" + header[place:]
