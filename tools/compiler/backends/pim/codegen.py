# SPDX-License-Identifier: BSD-2-Clause
"""Instruction builder of one core: also allocates registers for addresses, and local memory."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from quintet.gateware.cores.pim.image.image import Group
from quintet.gateware.cores.pim.isa import ISA, LENGTH_MOST

from ...common.inputs import KernelError

__all__ = ["CoreBuilder"]

_LOW32 = (1 << 32) - 1
#: Sizes of an offset in operands are below this.
_MOST_OFFSET = 1 << 28


@lru_cache(1 << 16)
def _word(mnemonic, values):
    """Encodes an instruction; ``values``: pairs (operand, value). Cached, since few words of a
    program differ."""
    return ISA.encode(mnemonic, **dict(values))


@lru_cache(1 << 16)
def _move_word(rd, rs1, size, offset, select):
    """Encodes ``lmv``, which with :func:`_product_word` makes up most of a program."""
    return ISA.encode("lmv", rd=rd, rs1=rs1, size=size, offset_value=offset, offset_select=select)


@lru_cache(1 << 16)
def _product_word(rd, rs1, relu, group):
    return ISA.encode("mvmul", rd=rd, rs1=rs1, mbiw=8, relu=relu, group=group)


class CoreBuilder:
    """One core's program under construction.

    A value once in a register is used again; where one operand alone differs from what registers
    hold, the instruction's offset reaches it.

    Parameters
    ----------
    params : dict, build parameters
    number : of the core
    """

    def __init__(self, params: Mapping[str, Any], number: int):
        self.params, self.number = params, number
        self.words: list[Any] = []
        self.groups: list[Any] = []
        self.arrays = self.biases = self.used = 0
        self.widest = 8  # bits
        self._known: dict[int, int] = {}  # register -> value, the least recently used first
        self._holding: dict[int, int] = {}  # value -> register, its inverse
        self._pinned: set[int] = set()
        self._widths: tuple[int, int] | None = None

    # Resources

    def allocate(self, size: int, what: str) -> int:
        """Allocates ``size`` bytes of local memory and returns their address."""
        address = self.used
        self.used += size
        if self.used > self.params["lmem_bytes"]:
            raise KernelError(
                f"{what}: {self.used} bytes of local memory are needed, there are "
                f"{self.params['lmem_bytes']} "
                "(lmem_bytes)"
            )
        return address

    def fits(self, rows: int, cols: int, biased: bool) -> bool:
        """Whether another group of arrays fits this core's capacity."""
        p = self.params
        arrays = -(-rows // p["xb_rows"]) * -(-cols // p["xb_cols"])
        return (
            rows <= 1024
            and cols <= 1024
            and arrays <= min(16, p["arrays"] - self.arrays)
            and self.biases + (cols if biased else 0) <= p["bias_words"]
            and len(self.groups) < p["groups"]
        )

    @property
    def left(self) -> str:
        """Remaining capacity for groups, described for messages."""
        p = self.params
        return (
            f"{p['arrays'] - self.arrays} arrays of {p['xb_rows']} x {p['xb_cols']}, "
            f"{p['bias_words'] - self.biases} biases, "
            f"{p['groups'] - len(self.groups)} groups"
        )

    def group(self, weights: np.ndarray, bias: np.ndarray | None, shift: int, what: str) -> int:
        """Adds a group with ``weights`` (rows, cols) and returns its number."""
        rows, cols = weights.shape
        if not self.fits(rows, cols, bias is not None):
            raise KernelError(
                f"{what}: a group of {rows} x {cols}{' with bias' if bias is not None else ''} "
                f"does not fit what is "
                f"left of the core ({self.left})"
            )
        count = -(-rows // self.params["xb_rows"]) * -(-cols // self.params["xb_cols"])
        ids = tuple(range(self.arrays, self.arrays + count))
        self.arrays += count
        self.biases += cols if bias is not None else 0
        self.groups.append(Group(rows, cols, ids, 8, shift, 1, weights, bias))
        return len(self.groups) - 1

    # Registers

    def emit(self, mnemonic: str, **values: Any) -> None:
        """Appends an instruction."""
        self.words.append(_word(mnemonic, tuple(values.items())))

    def pointer(self, address: int) -> int:
        """Allocates a register pair with a global address, which is never freed, and returns the
        even register."""
        even = next(
            r for r in range(0, 32, 2) if r not in self._pinned and r + 1 not in self._pinned
        )
        for register, value in ((even, 0), (even + 1, address)):
            known = self._known.pop(register, None)
            if known is not None:
                self._holding.pop(known, None)
            self._pinned.add(register)
            self.emit("sldi", rd=register, imm=value)
        return even

    def register(self, value: int, avoid: Collection[int] = ()) -> int:
        """Returns a register that holds ``value``."""
        value &= _LOW32
        register = self._holding.get(value)
        if register is not None:
            self._known[register] = self._known.pop(register)
            return register
        free = None
        if len(self._known) < 32:
            unused = (r for r in range(32) if r not in self._known and r not in self._pinned)
            free = next(unused, None)
        if free is None:
            free = next(r for r in self._known if r not in self._pinned and r not in avoid)
            del self._holding[self._known.pop(free)]
        self._known[free], self._holding[value] = value, free
        self.emit("sldi", rd=free, imm=value)
        return free

    def _operands(self, *wanted):
        """Chooses registers and offset for operands (address, select bit, scale): ``(registers,
        offset_value, offset_select)``, 0 for an address that the offset cannot reach."""
        held = self._holding
        missing = [w for w in wanted if w[0] & _LOW32 not in held]
        if missing and all(bit for _, bit, _ in missing):
            address, _, scale = missing[0]
            others = missing[1:]
            for base in reversed(self._known.values()):
                if (address - base) % scale:
                    continue
                offset = (address - base) // scale
                if abs(offset) < _MOST_OFFSET and (
                    not others or all((a - offset * s) & _LOW32 in held for a, _, s in others)
                ):
                    values = [a - offset * s if (a, b, s) in missing else a for a, b, s in wanted]
                    select = sum({b for a, b, s in missing})
                    return [self.register(v) for v in values], offset, select
        registers = []
        for address, _, _ in wanted:
            registers.append(self.register(address, registers))
        return registers, 0, 0

    def _pair(self, target, source):
        """Chooses registers and offset for two byte operands, (address, 1, 1) and (address, 2, 1),
        as :meth:`_operands` does: ``(rd, rs1, offset_value, offset_select)``."""
        held = self._holding
        target_missing, source_missing = target & _LOW32 not in held, source & _LOW32 not in held
        if target_missing or source_missing:
            address, both = target if target_missing else source, target_missing and source_missing
            for base in reversed(self._known.values()):
                offset = address - base
                if -_MOST_OFFSET < offset < _MOST_OFFSET and (
                    not both or (source - offset) & _LOW32 in held
                ):
                    rd = self.register(target - offset if target_missing else target)
                    rs1 = self.register(source - offset if source_missing else source)
                    return rd, rs1, offset, target_missing + 2 * source_missing
        rd = self.register(target)
        return rd, self.register(source, (rd,)), 0, 0

    # Instructions; addresses are local ones unless said

    def widths(self, ibiw: int, obiw: int) -> None:
        """Sets the input and output widths, if they differ from the current ones."""
        if self._widths != (ibiw, obiw):
            self.emit("setbw", ibiw=ibiw, obiw=obiw)
            self._widths = ibiw, obiw
            self.widest = max(self.widest, ibiw, obiw)

    def mvmul(self, target: int, source: int, group: int, relu: bool = False) -> None:
        """Appends ``mvmul``: a matrix-vector product with a group."""
        rs1 = self.register(source)
        self.words.append(_product_word(self.register(target, (rs1,)), rs1, int(relu), group))

    def vector2(
        self,
        mnemonic: str,
        target: int,
        first: int,
        second: int,
        count: int,
        *,
        size: int = 1,
        out: int | None = None,
    ) -> None:
        """Appends a vector operation with two operands (``vvadd``, ``vvmax`` ...); ``size``,
        ``out``: bytes per element."""
        for k in range(0, count, LENGTH_MOST):
            (rd, rs1, rs2), offset, select = self._operands(
                (target + k * (out or size), 1, out or size),
                (first + k * size, 2, size),
                (second + k * size, 4, size),
            )
            self.emit(
                mnemonic,
                rd=rd,
                rs1=rs1,
                rs2=rs2,
                len=min(LENGTH_MOST, count - k),
                offset_value=offset,
                offset_select=select,
            )

    def vector1(
        self,
        mnemonic: str,
        target: int,
        source: int,
        count: int,
        *,
        size: int = 1,
        out: int | None = None,
    ) -> None:
        """Appends a vector operation with one operand (``vrelu``, ``vtanh``, ``vsigm``)."""
        for k in range(0, count, LENGTH_MOST):
            (rd, rs1), offset, select = self._operands(
                (target + k * (out or size), 1, out or size), (source + k * size, 2, size)
            )
            self.emit(
                mnemonic,
                rd=rd,
                rs1=rs1,
                len=min(LENGTH_MOST, count - k),
                offset_value=offset,
                offset_select=select,
            )

    def move(self, target: int, source: int, size: int) -> None:
        """Appends a copy within local memory."""
        for k in range(0, size, LENGTH_MOST):
            rd, rs1, offset, select = self._pair(target + k, source + k)
            self.words.append(_move_word(rd, rs1, min(LENGTH_MOST, size - k), offset, select))

    def fill(self, target: int, value: int, size: int) -> None:
        """Appends a fill of local memory."""
        for k in range(0, size, LENGTH_MOST):
            self.emit(
                "lldi", rd=self.register(target + k), imm=value, size=min(LENGTH_MOST, size - k)
            )

    def gather(self, target: int, source: int, stride: int, count: int, size: int) -> None:
        """Gathers ``count`` blocks of ``size`` bytes, ``stride`` blocks apart, to contiguous
        memory; small blocks are moved as elements."""
        if 8 * size > self.params["max_biw"]:
            for k in range(count):
                self.move(target + k * size, source + k * stride * size, size)
            return
        self.widths(8 * size, 8 * size)
        for k in range(0, count, LENGTH_MOST):
            used: list[int] = []
            for value in (target + k * size, source + k * stride * size, stride):
                used.append(self.register(value, used))
            self.emit("vmv", rd=used[0], rs1=used[1], rs2=used[2], len=min(LENGTH_MOST, count - k))

    def constants(self, target: int, values: Sequence[int] | np.ndarray) -> None:
        """Writes the int32 ``values``, byte by byte unless they are 0."""
        data = np.asarray(values, "<i4").tobytes()
        self.fill(target, 0, len(data))
        at = 0
        for byte, same in groupby(data):
            size = len(list(same))
            if byte:
                self.fill(target + at, byte, size)
            at += size

    def load(self, target: int, pointer: int, size: int, offset: int = 0) -> None:
        """Appends a load from global memory at ``pointer`` + ``offset``."""
        for k in range(0, size, LENGTH_MOST):
            at = offset + k
            self.emit(
                "ld",
                rd=self.register(target + k),
                rs1=pointer,
                size=min(LENGTH_MOST, size - k),
                offset_value=at,
                offset_select=2 if at else 0,
            )

    def store(self, pointer: int, source: int, size: int, offset: int = 0) -> None:
        """Appends a store to global memory at ``pointer`` + ``offset``."""
        for k in range(0, size, LENGTH_MOST):
            at = offset + k
            self.emit(
                "st",
                rd=pointer,
                rs1=self.register(source + k),
                size=min(LENGTH_MOST, size - k),
                offset_value=at,
                offset_select=1 if at else 0,
            )

    def send(self, source: int, core: int, size: int) -> None:
        """Appends ``send`` to another core."""
        for k in range(0, size, LENGTH_MOST):
            self.emit(
                "send", rs1=self.register(source + k), core=core, size=min(LENGTH_MOST, size - k)
            )

    def recv(self, target: int, core: int, size: int) -> None:
        """Appends ``recv`` from another core."""
        for k in range(0, size, LENGTH_MOST):
            self.emit(
                "recv", rd=self.register(target + k), core=core, size=min(LENGTH_MOST, size - k)
            )

    def meet(self, cores: Sequence[int], events: tuple[int, int]) -> None:
        """Appends this core's part of a barrier: all ``cores`` wait until each has come and its
        stores have finished. ``events``: the first core's, that others have arrived, and theirs, to
        go on."""
        (arrived, go), first = events, cores[0]
        if self.number != first:
            self.emit("sync", event=arrived, core=first)
            self.emit("wait", event=go, value=1)
            return
        self.emit("wait", event=arrived, value=len(cores) - 1)
        for core in cores[1:]:
            self.emit("sync", event=go, core=core)
