# SPDX-License-Identifier: BSD-2-Clause
"""Statement reader: the textual form, whose statements are calls of the assembler class (section
3.6). Pure Python, except for arrays in files."""

import difflib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ....isa.asm.assembler import Assembler
from ....isa.asm.cursor import Cursor
from ....isa.asm.errors import Place
from ....isa.asm.program import Program
from ....isa.files import MOST_ARRAY, FileError, load_array, write_whole
from ....isa.parameters import Params
from ....isa.software import Software
from ..isa import levels, registers_of
from .exports import c_header, hex_words
from .target import IMAGineError, Target, shown
from .values import read_arguments

__all__ = ["StatementReader", "listing", "write_export"]

#: Methods of the class that are directives in the text, written with a dot.
_DIRECTIVES = (
    "setupParams",
    "loadParams",
    "reset",
    "assemble",
    "export_verilogBin",
    "export_CprogHex",
    "export_CprogHeader",
)
#: Those that give the text of an export.
_TEXTS = {"export_verilogBin": "verilogBin", "export_CprogHex": "CprogHex"}
_ARRAYS = ("matrix", "vector")


def _mnemonics():
    from .macros import InstructionMethods, MacroMethods

    return [
        name
        for name in (*vars(InstructionMethods), *vars(MacroMethods))
        if not name.startswith("_")
    ] + ["as_addComment"]


class StatementReader:
    """Reader of one source. Errors are the assembler's, reported at the column of the argument."""

    def __init__(self, assembler: Assembler) -> None:
        from .assembler import IMAGineAsm

        self._assembler = assembler
        self._place = Place("<text>", 1, 1)
        self.asm = IMAGineAsm(warn=lambda text: assembler.warn(self._place, text))
        self._names = _mnemonics()
        #: Of every word.
        self._places: list[Place] = []
        #: Parameters that words were made with.
        self._targets: dict[Target, None] = {}
        #: (place, path or None, text, titles)
        self._exports: list[tuple[Any, ...]] = []

    def statement(self, name: str, cursor: Cursor, place: Place) -> None:
        """Executes one statement; ``cursor`` stands after ``name``."""
        self._place = place
        if name == ".word":
            self._word(cursor, place)
            return
        method = name[1:] if name.startswith(".") else name
        if method not in (_DIRECTIVES if name.startswith(".") else self._names):
            self._unknown(name, cursor, place)
        function = getattr(self.asm, method)
        parameters = [
            (p.name, p.default is p.empty, p.kind is p.KEYWORD_ONLY)
            for p in inspect.signature(function).parameters.values()
        ]
        values, places = read_arguments(cursor, name, parameters)
        for array in _ARRAYS:
            if isinstance(values.get(array), str):
                values[array] = self._load(values[array], cursor, places[array])
        if method.startswith("export_"):
            function = self._export(method, place)
        elif method == "loadParams":
            values["filepath"] = self._file(values["filepath"], cursor, places["filepath"])
        try:
            function(**values)
        except IMAGineError as error:
            self._assembler.fail(
                places.get(error.name.split(" of ")[-1], place),
                f"{error.name} = {shown(error.value)}",
                error.expected,
            )
        if method == "reset":
            self._places.clear()
            self._targets.clear()
        self._note(place)

    def _note(self, place):
        """Records ``place`` as the source line of the instructions just added."""
        added = self.asm.size - len(self._places)
        if added:
            self._places += [place] * added
            self._targets[self.asm.params] = None

    def _word(self, cursor, place):
        if cursor.at_end:
            cursor.fail("the word is missing", expected=".word EXPRESSION")
        value_place = cursor.place
        value = cursor.expression()
        cursor.expect_end()
        try:
            self.asm.as_addWord(value)
        except IMAGineError as error:
            self._assembler.fail(value_place, f"the word is {shown(value)}", error.expected)
        self._note(place)

    def _unknown(self, name, cursor, place):
        if name.startswith("."):
            known = sorted([*self._assembler.COMMON, ".word", *(f".{n}" for n in _DIRECTIVES)])
            cursor.fail(f"unknown directive '{name}'", place=place, expected=", ".join(known))
        close = difflib.get_close_matches(name, self._names, 4)
        cursor.fail(
            f"unknown mnemonic '{name}'",
            place=place,
            expected=", ".join(close or sorted(self._names)),
        )

    # Files

    def _file(self, name, cursor, place):
        if not isinstance(name, str):
            cursor.fail(
                f"unexpected {shown(name)}", place=place, expected='a file name, as in "file.yaml"'
            )
        return self._assembler.folder / name

    def _load(self, name, cursor, place):
        """Loads the array of ``"file.npy"`` or ``"file.npz:key"``."""
        file, key = name, None
        if ".npz:" in name:
            file, key = name.rsplit(":", 1)
        elif not name.endswith(".npy"):
            cursor.fail(
                f"no array in '{name}'", place=place, expected='"FILE.npy" or "FILE.npz:KEY"'
            )
        try:
            return load_array(self._assembler.folder / file, key, MOST_ARRAY)
        except FileError as error:
            if error.keys is not None:
                cursor.fail(
                    f"no array '{key}' in '{file}'",
                    place=place,
                    expected=f"one of {', '.join(error.keys) or 'none'}",
                )
            cursor.fail(
                f"'{file}' {error.trouble}", place=place, expected='"FILE.npy" or "FILE.npz:KEY"'
            )

    def _export(self, method, place):
        """Returns a function of the export's arguments that keeps its text until the whole source
        is assembled."""
        folder = self._assembler.folder

        def keep(filename=None, **values):
            text = getattr(self.asm, _TEXTS[method])(**values) if method in _TEXTS else c_header()
            titles = (
                ("C-Header", "End of C-Header")
                if method not in _TEXTS
                else ("Assembled Program", "End of Program")
            )
            self._exports.append(
                (place, None if filename is None else folder / filename, text, titles)
            )

        return keep

    def finish(self) -> dict[str, Any]:
        """Emits the words, and writes the exports if requested. Returns ``"imagine"``, the
        parameters for which the words were made, and ``"assembler"``."""
        for word, place in zip(self.asm.words(), self._places, strict=True):
            self._assembler.emit_word(word, place)
        for place, path, text, titles in self._exports if self._assembler.exports else ():
            try:
                self.asm._deliver(text, path, titles)
            except IMAGineError as error:
                self._assembler.fail(place, f"{error.name} = {shown(error.value)}", error.expected)
        return {"imagine": tuple(self._targets), "assembler": self.asm}


def write_export(software: Software, program: Program, path: str | Path) -> None:
    """Writes ``program`` in the form that the suffix of ``path`` names. Raises ``ValueError``,
    ``OSError``."""
    from .assembler import IMAGineAsm

    path = Path(path)
    asm = program.extra.get("assembler")
    if asm is None:
        asm = IMAGineAsm()
        for word in software.isa.load(program.data):
            asm.as_addWord(word)
    text = {
        ".mem": lambda: asm.verilogBin(),
        ".c": lambda: asm.CprogHex(path.stem),
        ".h": c_header,
        ".hex": lambda: hex_words(asm.words()),
    }[path.suffix]()
    write_whole(path, text)


def listing(
    software: Software, data: bytes, params: Params | None, text: Callable[..., str] | None = None
) -> str:
    """Disassembly: the parameters, and one statement per word; a word that the assembler would
    refuse becomes a ``.word``."""
    from .assembler import IMAGineAsm

    given = {"regCnt": 64}
    if params is not None:
        given = {
            "regCnt": registers_of(params),
            "regWidth": params["reg_width"],
            "pimDepth": params["depth"],
        }
        if levels(params["cols"]) > 4:
            given["maxLevel"] = levels(params["cols"]) - 1
    asm, lines, known = IMAGineAsm(), [], {}
    asm.setupParams(**given)
    lines.append(f".setupParams {', '.join(f'{name}={value}' for name, value in given.items())}")
    for word in software.isa.load(data):
        if word not in known:
            known[word] = _statement(software.isa, asm, word, params)
        lines.append(known[word])
    return "".join(f"{line}\n" for line in lines)


def _statement(isa, asm, word, params):
    decoded = isa.decode(word, params)
    if decoded.fault is not None:
        return f".word 0x{word:08x}  # {decoded.fault}"
    mnemonic = decoded.instruction.mnemonic
    asm.reset()
    try:
        getattr(asm, mnemonic)(**decoded.values)
    except IMAGineError as error:
        return f".word 0x{word:08x}  # {mnemonic}, {error.name} = {shown(error.value)}"
    operands = {f.name: f.form.format(decoded.values[f.name]) for f in decoded.instruction.fields}
    return f"{mnemonic} {', '.join(f'{name}={text}' for name, text in operands.items())}".rstrip()
