# SPDX-License-Identifier: BSD-2-Clause
"""Published export formats, reproduced byte for byte (section 3.5). Pure Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..isa import PES
from .target import IMAGineError, Target

__all__ = ["Entry", "c_header", "c_program", "hex_words", "verilog_binary"]

_HEADER = """\
#ifndef IMAGINE_PROG_H
#define IMAGINE_PROG_H


#include <stdint.h>

typedef struct {
    const uint32_t * const instruction;
    const int size;
    // target IMAGine configuration of the program
    const int fracWidth;
    const int mvMaxRow;
    const int mvMaxCol;
    const int regWidth;
    const int idWidth;
    const int peCount;
} IMAGine_Prog;


#endif  // IMAGINE_PROG_H
"""


@dataclass(frozen=True)
class Entry:
    """Entry of the assembler's instruction cache.

    Attributes
    ----------
    kind : ``"instruction"``, ``"macro"`` (any number of words),
        ``"raw"`` or ``"comment"`` (without words)
    words : tuple of int
    source : str, text of the call as exports show it
    comment : str, the user's; of a ``"comment"`` its text
    """

    kind: str
    words: tuple[int, ...] = ()
    source: str = ""
    comment: str = ""

    def info(self, comment: bool, source: bool) -> str:
        """Comment text after a word."""
        parts = [self.source] if source and self.source else []
        if comment and self.comment:
            parts.append(self.comment.replace("\n", " "))
        return "; ".join(parts)


def _comment_lines(text):
    lines = text.split("\n")
    shown = [f"// {line}" for line in lines]
    if len(lines) > 1 and not lines[-1]:
        shown[-1] = ""
    return shown


def _lines(entries, word_text, indent, comment, source):
    for entry in entries:
        if entry.kind == "comment":
            if comment:
                yield from _comment_lines(entry.comment)
        elif entry.kind == "macro":
            if comment:
                yield f"{indent}// ---- MACRO: {entry.info(comment, source)}"
            yield from (word_text(word, entry) for word in entry.words)
            if comment:
                if not entry.words:
                    yield ""
                yield f"{indent}// ---- End of MACRO"
        else:
            info = entry.info(comment, source)
            yield word_text(entry.words[0], entry) + (f"  // {info}" if info else "")


def _fields(word, widths, separator):
    digits, texts = f"{word:032b}", []
    for width in widths:
        texts.append(digits[:width])
        digits = digits[width:]
    return separator.join(texts)


def verilog_binary(entries: list[Entry], *, comment: bool, source: bool, separator: str) -> str:
    """Formats words as binary digits for ``$readmemb``, one word per line."""

    def word_text(word, entry):
        vector = word >> 30 == 1 and entry.kind != "raw"
        return _fields(word, (2, 4, 26) if vector else (2, 4, 10, 16), separator)

    return "".join(f"{line}\n" for line in _lines(entries, word_text, "", comment, source))


def c_program(
    entries: list[Entry], target: Target, name: str, *, comment: bool, source: bool
) -> str:
    """Formats a C file that defines the program ``name`` with the header's type. Raises
    :class:`~.target.IMAGineError` for a comment that C would continue on the next line."""
    lines = ['#include "imagine_prog.h"', "", "", "static const uint32_t word_arr[] = {"]
    for line in _lines(entries, lambda word, entry: f"    0x{word:08X}, ", "    ", comment, source):
        if line.rstrip().endswith("\\"):
            raise IMAGineError(
                "comment",
                line.partition("// ")[2],
                "no backslash at the end of a line: C takes the next one, a word, "
                "for a part of the comment",
            )
        lines.append(line)
    lines += [
        "};",
        "",
        "",
        f"IMAGine_Prog {name} = {{",
        "    word_arr,",
        "    sizeof(word_arr)/sizeof(word_arr[0]),   // size",
    ]
    for value, blanks, what in (
        (target.fracWidth, 4, "fracWidth"),
        (target.mvMaxRow or 0, 3, "mvMaxRow"),
        (target.mvMaxCol or 0, 3, "mvMaxCol"),
        (target.regWidth, 3, "regWidth"),
        (target.idWidth, 4, "idWidth"),
        (PES, 3, "peCount"),
    ):
        lines.append(f"    {value},{' ' * blanks}// {what}")
    return "".join(f"{line}\n" for line in [*lines, "};"])


def c_header() -> str:
    """Formats the C header with the type of programs."""
    return _HEADER


def hex_words(words: Iterable[int]) -> str:
    """Formats words as eight hexadecimal digits for ``$readmemh``, one word per line."""
    return "".join(f"{word:08x}\n" for word in words)
