# SPDX-License-Identifier: BSD-2-Clause
"""Importers of the published export formats (section 3.5). Pure Python."""

import re
from pathlib import Path

from ....isa.files import MOST_TEXT, read_bytes
from ....isa.parameters import Params
from ....isa.program_file import FormError, ProgramFile
from ....isa.software import Software
from ..sizes import PES, levels
from .target import IMAGineError, Target

__all__ = ["read_export"]

_BLANK = r"\s+|//[^\n]*|/\*.*?\*/"
_MEMORY = re.compile(rf"({_BLANK})|([^\s/]+|/)", re.DOTALL)
#: A backslash at the end of a line continues it, in a comment too.
_C = re.compile(r"(\s+|(?://|\#)(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/)|(\w+|.)", re.DOTALL)
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*", re.ASCII)
#: Fields of the C structure behind the words and their number.
_FIELDS = ("fracWidth", "mvMaxRow", "mvMaxCol", "regWidth", "idWidth", "peCount")


def _tokens(text, pattern):
    """(token, line, column), without blanks and comments."""
    line, start = 1, 0
    for match in pattern.finditer(text):
        if match[2] is not None:
            yield match[2], line, match.start() - start + 1
        newlines = match[0].count("\n")
        if newlines:
            line, start = line + newlines, match.start() + match[0].rindex("\n") + 1


def read_export(software: Software, path: str | Path, params: Params | None = None) -> ProgramFile:
    """The program of a ``.mem``, ``.hex`` or ``.c`` file.

    Raises
    ------
    FormError
        Line and column, and what was expected.
    FileError
        The file cannot be read.
    """
    path = Path(path)
    try:
        text = read_bytes(path, MOST_TEXT).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormError(
            f"byte {error.start} is not UTF-8 text", expected=software.forms[path.suffix].doc
        ) from None
    if path.suffix == ".c":
        words, extra = _c_program(text)
    else:
        words, extra = _memory(text, *((2, 32) if path.suffix == ".mem" else (16, 8))), {}
    data = b"".join(word.to_bytes(4, "little") for word, _ in words)
    return ProgramFile(data, {4 * index: line for index, (_, line) in enumerate(words)}, extra)


def _memory(text, base, digits):
    """(word, line) of a file for ``$readmemb`` (base 2) or ``$readmemh`` (16)."""
    legal = re.compile(f"[{'01' if base == 2 else '0-9a-fA-F'}]{{{digits}}}")
    expected = f"{digits} {'binary' if base == 2 else 'hexadecimal'} digits a word"
    words = []
    for token, line, column in _tokens(text, _MEMORY):
        if not legal.fullmatch(token.replace("_", "")):
            raise FormError(f"unexpected '{token[:40]}'", line, column, expected)
        words.append((int(token.replace("_", ""), base), line))
    return words


class _Reader:
    """Tokens of a C file, one after the other."""

    def __init__(self, text):
        self.tokens = list(_tokens(text, _C))
        self.tokens.append(("", text.count("\n") + 1, 1))
        self.index = 0

    def fail(self, expected, token=None):
        text, line, column = token or self.tokens[self.index]
        raise FormError(
            f"unexpected {repr(text[:40]) if text else 'end of file'}", line, column, expected
        )

    def find(self, word, expected):
        """Position behind the next ``word``."""
        while self.tokens[self.index][0] != word:
            if not self.tokens[self.index][0]:
                self.fail(expected)
            self.index += 1
        self.index += 1

    def take(self, wanted, expected):
        if self.tokens[self.index][0] != wanted:
            self.fail(expected)
        self.index += 1

    def all(self, *wanted, expected):
        for token in wanted:
            self.take(token, expected)

    def name(self):
        text = self.tokens[self.index][0]
        if not text.isidentifier():
            self.fail("a name")
        self.index += 1
        return text

    def number(self, most, expected):
        """(value, line)."""
        text, line, _ = self.tokens[self.index]
        match = _NUMBER.fullmatch(text)
        value = -1 if match is None else int(match[1], 16 if match[1][:2] in ("0x", "0X") else 10)
        if not 0 <= value <= most:
            self.fail(expected)
        self.index += 1
        return value, line


def _c_program(text):
    """Words with lines, and the parameters, of what ``export_CprogHex`` writes."""
    reader, words = _Reader(text), []
    array = "uint32_t NAME[] = { words };"
    reader.find("uint32_t", array)
    name = reader.name()
    reader.all("[", "]", "=", "{", expected=array)
    while reader.tokens[reader.index][0] != "}":
        words.append(reader.number(0xFFFF_FFFF, "a word of 32 bits, as in 0x40000000, or '}'"))
        if reader.tokens[reader.index][0] != "}":
            reader.take(",", "',' or '}'")
    reader.all("}", ";", expected="'};'")
    structure = "IMAGine_Prog NAME = { words, size, parameters };"
    reader.find("IMAGine_Prog", structure)
    reader.name()
    reader.all("=", "{", name, ",", expected=f"= {{ {name}, as in {structure}")
    size = f"sizeof({name})/sizeof({name}[0])"
    reader.all(
        "sizeof", "(", name, ")", "/", "sizeof", "(", name, "[", "0", "]", ")", expected=size
    )
    values, places = {}, {}
    for field in _FIELDS:
        reader.take(",", f"',' and {field}")
        places[field] = reader.tokens[reader.index]
        values[field] = reader.number(0xFFFF_FFFF, f"{field}, a number")[0]
        _check_field(reader, places[field], field, values[field])
    if reader.tokens[reader.index][0] == ",":
        reader.index += 1
    reader.all("}", ";", expected="'};'")
    try:
        target = _target(values)
    except IMAGineError as error:
        _, line, column = places.get(error.name, places["mvMaxRow"])
        raise FormError(f"{error.name} = {error.value}", line, column, error.expected) from None
    return words, {
        "imagine": (target,),
        "assembler": _assembler(target, [word for word, _ in words]),
    }


def _check_field(reader, place, field, value):
    if field == "peCount" and value != PES:
        reader.fail(f"peCount = {PES}", place)
    if field == "mvMaxCol" and value % PES:
        reader.fail(f"mvMaxCol, a multiple of {PES}", place)


def _target(values):
    """The parameters that the file tells; of registers it says nothing but their width."""
    rows, columns = values["mvMaxRow"], values["mvMaxCol"] // PES
    blocks = (
        {"mvBlockDim": (rows, columns), "maxLevel": levels(columns) - 1} if rows or columns else {}
    )
    return Target(
        regCnt=1,
        regWidth=values["regWidth"],
        idWidth=values["idWidth"],
        fracWidth=values["fracWidth"],
        **blocks,
    )


def _assembler(target, words):
    """The class with those words, from which other exports are written."""
    from .assembler import IMAGineAsm

    asm = IMAGineAsm()
    asm.params = target
    for word in words:
        asm.as_addWord(word)
    return asm
