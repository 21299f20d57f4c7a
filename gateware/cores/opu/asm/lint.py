# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a whole OPU program before it runs. All faults except ``bus`` follow from program,
parameters, region table and window (specification, section 6). Pure Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ....isa.asm.assembler import Item
from ....isa.asm.program import Program
from ....isa.outcome import RunFault
from ....isa.parameters import Params

if TYPE_CHECKING:
    from ..model.sequence import Sequence

__all__ = ["check_job", "describe", "lint"]

_REGISTERS = ("shape.ifm", "shape.ofm", "shape.ker", "mem.ifm", "mem.ofm")
_BUFFERS = ("ifm", "ker", "bias", "ofm")
_RANGES = (
    "",
    "the window ends below the last row of ifm",
    "the window ends past the last column of ifm",
    "the tap is not one of the kernel's",
    "the kernel is too large: taps * max(input * output channels, 1024) passes 36864",
    "the pool window has more rows than ofm",
    "the pool window has more columns than ofm",
    "ifm has fewer rows than the residual needs",
    "ifm has fewer columns than the residual needs",
    "ifm has fewer channels than the residual needs",
)


def _names(names, mask):
    return ", ".join(name for bit, name in enumerate(names) if mask >> bit & 1)


def _shape(shape):
    return "x".join(map(str, shape))


def _capacity(step, sequence, params):
    """Message about a shape that exceeds the build's buffers, for the decoded word ``step`` before
    ``sequence``."""
    from .. import geometry

    values = step.values
    pi, po = params["pi"], params["po"]
    if step.instruction.mnemonic == "ld.ker":
        shape = sequence.ker_n, sequence.ofm[2], sequence.ifm[2]
        return (
            f"a kernel of {_shape(shape)} weights takes {geometry.ker_rows(*shape, pi, po)} "
            f"rows of {pi * po} and this "
            f"build has {params['ker_rows']} (ker_rows)"
        )
    shape = values["h"], values["w"], values["c"]
    if step.instruction.mnemonic == "@shape.ifm":
        return (
            f"ifm of {_shape(shape)} takes {geometry.ifm_lines(shape)} lines of 16 elements "
            f"and this build has "
            f"{params['ifm_lines']} (ifm_lines)"
        )
    return (
        f"ofm of {_shape(shape)} takes {geometry.ofm_lines(shape, po)} lines of {po} elements "
        f"and this build has "
        f"{params['ofm_lines']} (ofm_lines)"
    )


def describe(fault: RunFault, word: int, sequence: Sequence) -> str:
    """Describes ``fault`` (:class:`~quintet.gateware.isa.outcome.RunFault`), which ``word`` raises
    before ``sequence``, in a sentence."""
    from ..isa import ISA

    name, detail = fault.name, fault.detail
    text = {
        "illegal_op": lambda: f"opcode {detail} is no instruction",
        "bad_field": lambda: f"the field at bit {detail} has an illegal value",
        "undef_reg": lambda: f"not set before: {_names(_REGISTERS, detail)}",
        "undef_buf": lambda: f"not valid here: {_names(_BUFFERS, detail)}",
        "range": lambda: _RANGES[detail],
        "capacity": lambda: _capacity(ISA.decode(word), sequence, sequence.params),
        "region": lambda: f"the array at {detail:#x} passes the end of region {detail >> 28}",
        "window": lambda: f"the array at {detail:#x} of main memory leaves the memory window",
    }[name]()
    return f"{text}: fault {name}"


def _overlaps(step, sequence):
    """Sentence about overlapping rows, or ``None``."""
    if step.mnemonic == "ld.ifm" and sequence.ifm_mem_w < sequence.ifm[1]:
        return (
            f"rows overlap: ifm has {sequence.ifm[1]} columns and its map in memory "
            f"{sequence.ifm_mem_w}"
        )
    if step.mnemonic == "store" and sequence.ofm_mem[1] < sequence.result_shape()[1]:
        return (
            f"rows overlap: the result has {sequence.result_shape()[1]} columns and its map in "
            f"memory {sequence.ofm_mem[1]}"
        )
    return None


def lint(items: Iterable[Item], params: Params | None) -> Iterator[tuple[Any, ...]]:
    """Messages about a program, for the assembler: pairs (index of the instruction or ``None``,
    message), and triples with ``"error"``.

    ``items`` have ``word`` and ``raw``. Words behind the first ``end`` are never executed and not
    looked at; after the first fault nothing is. A written instruction too large for ``params`` is
    an error, a raw word never.
    """
    from ..isa import ISA
    from ..model.sequence import Sequence

    sequence = Sequence(params or "8-8-16-16", params)
    faulted = False
    for index, item in enumerate(items):
        decoded = ISA.match(item.word)
        if decoded is not None and decoded.mnemonic == "end":
            return
        if faulted:
            continue
        try:
            message = _overlaps(sequence.step(item.word), sequence)
            if message:
                yield index, message
        except RunFault as fault:
            faulted = True
            message = describe(fault, item.word, sequence)
            yield (
                (index, message, "error")
                if fault.name == "capacity" and not item.raw
                else (index, message)
            )
    yield None, "the program has no end", "error"


def check_job(program: Program, registers: Mapping[str, int], params: Params) -> list[str]:
    """Raises an error for a job that this build cannot hold; returns messages on anything else that
    would end it early.

    Parameters
    ----------
    program : has ``data`` and ``lines``
    registers : dict, as written before the run, the window's bounds included
    params : dict, those of the target

    Returns
    -------
    list of str
        Warnings.

    Raises
    ------
    ValueError
        ``capacity``, or a ``region_limit`` above the largest region.
    """
    from ..isa import REGIONS
    from ..model.sequence import FULL_REGION, Regions, Sequence

    for r in range(REGIONS):
        limit = registers.get(f"region_limit[{r}]", 0)
        if limit > FULL_REGION:
            raise ValueError(
                f'registers."region_limit[{r}]" = {limit:#x}: expected at most {FULL_REGION:#x}'
            )
    begin, regions = registers["program_address"], Regions(registers)
    sequence = Sequence(params, params, regions)
    found: list[str] = []
    end = begin + len(program.data)
    for offset in range(0, len(program.data) - 3, 4):
        word = int.from_bytes(program.data[offset : offset + 4], "little")
        line = program.lines.get(offset)
        where = str(line) if line is not None else f"the instruction at {begin + offset:#x}"
        if not regions.holds(begin + offset, 4):
            return [*found, f"{where}: the program leaves the memory window: fault window"]
        try:
            step = sequence.step(word)
        except RunFault as fault:
            message = f"{where}: {describe(fault, word, sequence)}"
            if fault.name == "capacity":
                raise ValueError(message) from None
            # The assembler has spoken of what follows from the program alone.
            return (
                found
                if line is not None and fault.name not in ("region", "window")
                else [*found, message]
            )
        if step.mnemonic == "end":
            return found
        array = step.array
        if step.bytes_written and array is not None and array.address < end and begin < sum(array):
            found.append(
                f"{where}: may write the program itself, whose old or new words are then executed"
            )
    return [*found, "the program has no end: fault fetch"]
