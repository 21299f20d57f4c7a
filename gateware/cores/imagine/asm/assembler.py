# SPDX-License-Identifier: BSD-2-Clause
"""Python assembler of IMAGine: the published class, its instance and functions
(docs/cores/imagine-assembler.md; section 3.4).

A script written for the published assembler runs after changing its import line::

    from quintet.gateware.cores.imagine.asm.assembler import *

    imagine_as.setupParams(regCnt=56, resvRegCnt=8, maxLevel=1, fracWidth=5, mvBlockDim=(8, 3))
    mv_LOADVEC_ROW(4, [1, 2.5])
    ...
    imagine_as.export_bin("program.bin")

No Amaranth; numpy is imported when a LOAD macro is used.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ....isa.files import FileError, read_bytes, write_whole
from .exports import Entry, c_header, c_program, verilog_binary
from .macros import InstructionMethods, MacroMethods
from .target import IMAGineError, Target, check_range

__all__ = ["IMAGineAsm", "IMAGineError", "imagine_as"]

_MOST_YAML = 1 << 20
_OVERFLOWS = ("wrap", "raise", "saturate")


class IMAGineAsm(MacroMethods):
    """Assembler of one program: parameters, and a cache of the calls made.

    Parameters
    ----------
    overflow : treatment of numbers outside N bits in a LOAD macro:
        ``"wrap"`` (with a warning), ``"raise"`` or ``"saturate"``. An attribute too.
    warn : called with the text of every warning; by default a line on standard error.

    Attributes
    ----------
    params : Target
        Parameters in force.

    Raises
    ------
    IMAGineError
        (A ValueError.) An argument that is refused; ``name`` and ``value`` say which. The cache is
        then as before the call.
    """

    v_major = 0
    v_minor = 1

    def __init__(self, overflow: str = "wrap", warn: Callable[[str], object] | None = None) -> None:
        self.overflow = overflow
        self.warn = warn or (
            lambda text: print(f"IMAGine assembler: warning: {text}", file=sys.stderr)
        )
        self.params = Target()
        self._entries: list[Entry] = []
        self._assembled = True
        self._size = 0

    @property
    def size(self) -> int:
        """Number of words in the cache."""
        return self._size

    @property
    def overflow(self) -> str:
        """Treatment of numbers outside N bits in a LOAD macro."""
        return self._overflow

    @overflow.setter
    def overflow(self, value: str) -> None:
        if value not in _OVERFLOWS:
            raise IMAGineError("overflow", value, "one of wrap, raise, saturate")
        self._overflow = value

    @staticmethod
    def _check_comment(comment):
        if comment is not None and not isinstance(comment, str):
            raise IMAGineError("comment", comment, "a string or None")

    def _append(self, kind, words, source, comment):
        self._check_comment(comment)
        self._entries.append(Entry(kind, tuple(words), source, comment or ""))
        self._assembled = False
        self._size += len(words)

    def _say(self, text):
        print(text, file=sys.stderr)

    # Parameters

    def setupParams(
        self,
        regCnt: int = 16,
        regWidth: int = 16,
        maxLevel: int = 3,
        maxFold: int = 4,
        idWidth: int = 8,
        fracWidth: int = 0,
        mvBlockDim: Sequence[int] | None = None,
        resvRegCnt: int = 0,
        pimDepth: int = 1024,
    ) -> None:
        """Sets the parameters (:class:`~.target.Target`) of all later calls."""
        self.params = Target(
            regCnt,
            regWidth,
            maxLevel,
            maxFold,
            idWidth,
            fracWidth,
            mvBlockDim,
            resvRegCnt,
            pimDepth,
        )
        for text in self.params.warnings():
            self.warn(text)

    def loadParams(
        self, filepath: str | Path, cpright: bool = True, showparams: bool = True
    ) -> None:
        """:meth:`setupParams` with the keywords of a YAML mapping.

        Parameters
        ----------
        cpright, showparams : print a banner, the parameters, on standard error.
        """
        import yaml

        try:
            values = yaml.safe_load(read_bytes(filepath, _MOST_YAML).decode("utf-8"))
        except (FileError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
            raise IMAGineError(
                "filepath", str(filepath), f"a YAML file: {str(error).splitlines()[0]}"
            ) from None
        if not isinstance(values, dict):
            raise IMAGineError("filepath", str(filepath), "a YAML mapping of parameters")
        for name in values:
            if name not in Target.__dataclass_fields__:
                raise IMAGineError(
                    "filepath",
                    str(filepath),
                    f"parameters of setupParams, not {name!r}: "
                    f"{', '.join(Target.__dataclass_fields__)}",
                )
        self.setupParams(**values)
        if cpright:
            self._say(f"IMAGine assembler {self.v_major}.{self.v_minor}, quintet's")
        if showparams:
            for name in Target.__dataclass_fields__:
                self._say(f"  {name}: {getattr(self.params, name)}")

    # The cache

    def reset(self) -> None:
        """Empties the cache; parameters are kept. Call it between an export and the next program of
        a script."""
        self._entries.clear()
        self._size = 0
        self._assembled = True

    def as_addComment(self, comment: str) -> None:
        """Appends a comment of one or several lines, which the exports show."""
        if not isinstance(comment, str):
            raise IMAGineError("comment", comment, "a string")
        self._append("comment", (), "", comment)

    def as_addWord(self, word: int) -> None:
        """Appends a raw word, legal or not."""
        word = check_range("word", word, 0, 0xFFFF_FFFF)
        self._append("raw", (word,), f"AS_WORD 0x{word:08X}", None)

    def words(self) -> list[int]:
        """All words of the program as integers."""
        return [word for entry in self._entries for word in entry.words]

    def assemble(self, verbose: bool = False) -> None:
        """Assembles the cached calls; ``verbose`` lists every entry on standard error. Arguments
        are checked when mnemonics are called, and exports assemble by themselves."""
        if verbose:
            at = 0
            for entry in self._entries:
                info = entry.info(True, True)
                for word in entry.words[:1] or (None,):
                    self._say(
                        f"{at:6}  {'        ' if word is None else f'{word:08X}'}  {info}"
                        + (f" ({len(entry.words)} words)" if entry.kind == "macro" else "")
                    )
                at += len(entry.words)
        self._assembled = True

    def _entries_to_export(self):
        if not self._assembled:
            self.assemble()
        return self._entries

    # Exports

    def _deliver(self, text, filename, what):
        if filename is None:
            print(f"---- {what[0]} ----\n{text}---- {what[1]} ----")
            return
        try:
            write_whole(filename, text)
        except OSError as error:
            raise IMAGineError(
                "filename", str(filename), f"a file that can be written: {error.strerror or error}"
            ) from None

    def verilogBin(self, comment: bool = True, source: bool = True, separator: str = "_") -> str:
        """Text of :meth:`export_verilogBin`."""
        return verilog_binary(
            self._entries_to_export(), comment=comment, source=source, separator=separator
        )

    def CprogHex(self, progname: str, comment: bool = True, source: bool = True) -> str:
        """Text of :meth:`export_CprogHex`."""
        if not isinstance(progname, str) or not progname.isidentifier() or not progname.isascii():
            raise IMAGineError("progname", progname, "a name as in C")
        return c_program(
            self._entries_to_export(), self.params, progname, comment=comment, source=source
        )

    def export_verilogBin(
        self,
        filename: str | Path | None = None,
        comment: bool = True,
        source: bool = True,
        separator: str = "_",
    ) -> None:
        """Writes binary digits for ``$readmemb`` to a file or standard output."""
        self._deliver(
            self.verilogBin(comment, source, separator),
            filename,
            ("Assembled Program", "End of Program"),
        )

    def export_CprogHex(
        self,
        progname: str,
        filename: str | Path | None = None,
        comment: bool = True,
        source: bool = True,
    ) -> None:
        """Writes a C file that defines ``progname`` to a file or standard output."""
        self._deliver(
            self.CprogHex(progname, comment, source),
            filename,
            ("Assembled Program", "End of Program"),
        )

    def export_CprogHeader(self, filename: str | Path | None = None) -> None:
        """Writes the C header that the C files include (as ``imagine_prog.h``) to a file or
        standard output."""
        self._deliver(c_header(), filename, ("C-Header", "End of C-Header"))

    def export_bin(self, filename: str | Path) -> None:
        """Writes raw little-endian words, the form of a job's program."""
        self._entries_to_export()
        self._deliver(b"".join(word.to_bytes(4, "little") for word in self.words()), filename, None)


#: The instance that the functions of this module work on.
imagine_as = IMAGineAsm()

for _name in (*vars(InstructionMethods), *vars(MacroMethods), "as_addComment"):
    if not _name.startswith("_"):
        globals()[_name] = getattr(imagine_as, _name)
        __all__.append(_name)
