# SPDX-License-Identifier: BSD-2-Clause
"""Speed of import, disassembly and assembly of millions of random legal instructions
(specification, section 10), in seconds of processor time."""

import random
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from ....gateware.cores.pim.image.image import CoreProgram, Group, Image, code_of
from ....gateware.cores.pim.isa import ISA
from ....gateware.cores.pim.software import SOFTWARE
from ....gateware.isa.asm import Program, assemble_text, disassemble, load_program, save_program
from ....gateware.isa.words import random_word
from ....tools.measure import Choice, Differs, Row

__all__ = ["canonical_words", "file_rows"]


def canonical_words(count: int, seed: int = 1) -> np.ndarray:
    """Random legal words that the assembler accepts in a program of one core with group 0."""
    rng = random.Random(seed)
    words: list[int] = []
    while len(words) < count:
        word = random_word(ISA, rng)
        if word & 63 == 9:
            word = 9 | word & 0x8000FFC0 | 8 << 16
        if ISA.decode(word).fault is None and word & 63 not in (29, 30, 32):
            words.append(word)
    return np.array(words, np.uint64)


def _data(count):
    base = canonical_words(min(count, 20_000))
    words = base[np.random.default_rng(1).integers(0, len(base), count)]
    words = words[(words & np.uint64(63) != 25) | (words >> np.uint64(11) & np.uint64(1) == 0)]
    return Image(
        [CoreProgram(code_of(words, 2), len(words), mode=2, groups=[Group(4, 4, (0,))])]
    ).data(), len(words)


def file_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of a program's file forms: text, the published JSON dialect, a folder of
    ``.pim`` files."""
    data, count = _data(choice.settings["count"])

    def timed(what, function, same=None):
        start = time.process_time()
        result = function()
        row = Row(
            what,
            time.process_time() - start,
            "seconds",
            more={"instructions": count, "bytes": len(data)},
        )
        if same is not None and same(result) != data:
            raise Differs(f"{what} does not give the program back")
        return result, row

    text, row = timed("disassemble", lambda: disassemble(SOFTWARE, data))
    yield row
    yield timed("assemble", lambda: assemble_text(SOFTWARE, text), lambda program: program.data)[1]
    with tempfile.TemporaryDirectory() as folder:
        for suffix, name in ((".json", "x.json"), (".pim", "d/")):
            path = f"{folder}/{name}"
            yield timed(f"write {suffix}", partial(save_program, SOFTWARE, Program(data), path))[1]
            yield timed(
                f"import {suffix}",
                partial(load_program, SOFTWARE, Path(path)),
                lambda program: program.data,
            )[1]
