# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of one PIM core: its state, and every instruction that does not involve another core
(sections 4 and 6). Elements have any width; vector instructions on them compute in numpy integers
(section 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....isa.outcome import RunFault
from ..image.fields import AUTO
from ..image.image import words_of
from ..image.reading import CoreEntry
from ..isa import EVENTS, ISA, REGISTERS_PER_CORE, TWO_SOURCES, kind_of
from ..tables import TANH

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "Blocked",
    "Core",
    "ELEMENTWISE",
    "average",
    "bytes_of",
    "gather",
    "inner_product",
    "load",
    "saturate",
    "store",
    "zero_masks",
]


_TANH = np.array([*TANH, TANH[-1]], dtype=np.int64)
_BYTES3 = np.array([1, 1 << 8, 1 << 16], dtype=np.int64)


def formats(fi: int, fo: int, ibiw: int, obiw: int) -> tuple[int, int]:
    """Fraction bits of input and output, with ``auto`` resolved by the widths."""
    return max(ibiw - 4, 0) if fi == AUTO else fi, obiw - 1 if fo == AUTO else fo


def bytes_of(biw: int) -> int:
    """Size in bytes of an element of ``biw`` bits."""
    return (biw + 7) // 8


def _signed(raw, biw):
    """Converts rows of ``bytes_of(biw)`` bytes, uint8 (n, byw), to int64: the low ``biw`` bits,
    sign-extended."""
    byw = raw.shape[1]
    if byw == 3:
        value = raw.astype(np.int64) @ _BYTES3
    else:
        value = np.ascontiguousarray(raw).view(f"<u{byw}").ravel().astype(np.int64)
    return value << 64 - biw >> 64 - biw


def load(memory: np.ndarray, address: int, count: int, biw: int) -> np.ndarray:
    """Loads ``count`` elements at ``address``, int64."""
    byw = bytes_of(biw)
    return _signed(memory[address : address + count * byw].reshape(count, byw), biw)


def gather(memory: np.ndarray, address: int, stride: int, count: int, biw: int) -> np.ndarray:
    """Loads ``count`` elements from ``address`` on, ``stride`` elements apart, int64."""
    byw = bytes_of(biw)
    places = address + np.arange(count, dtype=np.int64) * (stride * byw)
    return _signed(memory[places[:, None] + np.arange(byw)], biw)


def store(memory: np.ndarray, address: int, values: np.ndarray, biw: int) -> None:
    """Stores int64 ``values``, all within the range of ``biw`` bits."""
    byw = bytes_of(biw)
    raw = np.ascontiguousarray(values, dtype="<i8").view(np.uint8).reshape(-1, 8)[:, :byw]
    memory[address : address + raw.size] = raw.ravel()


def saturate(values: np.ndarray, biw: int) -> np.ndarray:
    """Clamps values to signed elements of ``biw`` bits."""
    return np.clip(values, -(1 << biw - 1), (1 << biw - 1) - 1)


def inner_product(a: np.ndarray, b: np.ndarray, obiw: int) -> np.ndarray:
    """Saturated inner product, exact modulo 2^64."""
    with np.errstate(over="ignore"):
        return saturate(np.array([np.sum(a * b)], dtype=np.int64), obiw)


def average(a: np.ndarray, obiw: int) -> np.ndarray:
    """Saturated mean, rounded to nearest, halves away from zero."""
    total, count = int(a.sum()), len(a)
    mean = (2 * abs(total) + count) // (2 * count)
    return saturate(np.array([-mean if total < 0 else mean], dtype=np.int64), obiw)


def _shift(values, count):
    return values << count if count >= 0 else values >> -count


def _tanh(u):
    """Table lookup of 65536 * tanh(u / 65536), u >= 0."""
    index = np.minimum(u >> 10, 512)
    fine = np.where(u >> 19, 0, u & 1023)
    return _TANH[index] + ((_TANH[index + 1] - _TANH[index]) * fine + 512 >> 10)


def _vtanh(a, fi, fo):
    t = _tanh(_shift(np.abs(a), 16 - fi))
    m = t << fo - 16 if fo >= 16 else t + (1 << 15 - fo) >> 16 - fo
    return np.where(a < 0, -m, m)


def _vsigm(a, fi, fo):
    t = _tanh(_shift(np.abs(a), 15 - fi))
    return (65536 + np.where(a < 0, -t, t) << fo) + 65536 >> 17


def _vvsll(a, b, ibiw, obiw):
    count = b & (1 << ibiw) - 1
    value = np.where(count < obiw, a << np.minimum(count, 31), 0)
    return value << 64 - obiw >> 64 - obiw


def _vvsra(a, b, ibiw):
    return a >> np.minimum(b & (1 << ibiw) - 1, 63)


class Widths:
    """Element widths of an element-wise instruction."""

    def __init__(self, ibiw: int, obiw: int, fi: int, fo: int, bound: int = 0) -> None:
        self.ibiw, self.obiw, self.bound = ibiw, obiw, bound
        self.fi, self.fo = formats(fi, fo, ibiw, obiw)


#: Opcode -> (the result's width is ibiw, function of (a, b, widths) to int64, saturated
#: afterwards).
ELEMENTWISE = {
    10: (True, lambda a, b, w: a + b),
    11: (True, lambda a, b, w: a - b),
    12: (False, lambda a, b, w: a * b),
    14: (True, lambda a, b, w: np.maximum(a, b)),
    15: (False, lambda a, b, w: _vvsll(a, b, w.ibiw, w.obiw)),
    16: (False, lambda a, b, w: _vvsra(a, b, w.ibiw)),
    18: (True, lambda a, b, w: np.maximum(a, 0)),
    19: (False, lambda a, b, w: _vtanh(a, w.fi, w.fo)),
    20: (False, lambda a, b, w: _vsigm(a, w.fi, w.fo)),
    23: (False, lambda a, b, w: np.minimum(a, w.bound)),
    24: (False, lambda a, b, w: np.maximum(a, w.bound)),
}


_LOW = 0xFFFF_FFFF


class Blocked(NamedTuple):
    """Reason why a core is blocked: ``op`` ``"send"``, ``"recv"`` or ``"wait"``; the other core or
    the event register; the bytes or the value; and the address of the bytes."""

    op: str
    other: int
    amount: int
    address: int = 0


def zero_masks() -> np.ndarray:
    """Bits that must be zero, uint64, by opcode; all ones for undefined opcodes."""
    masks = np.full(64, (1 << 64) - 1, dtype=np.uint64)
    for instruction in ISA.instructions:
        masks[instruction.opcode] = ISA.zero_mask(instruction)
    return masks


_ZERO = zero_masks()
_DEFINED = np.isin(np.arange(64), [i.opcode for i in ISA.instructions])


class Core:
    """State and program of one core; ``model`` is the :class:`~.model.Model` that contains it."""

    def __init__(self, number: int, model: Model) -> None:
        self.number, self.model = number, model
        params = model.params
        self.lmem = np.zeros(params["lmem_bytes"], dtype=np.uint8)
        self.arrays = np.zeros(
            (params["arrays"], params["xb_rows"], params["xb_cols"]), dtype=np.int8
        )
        self.bias = np.zeros(params["bias_words"], dtype=np.int32)
        self.start(None)

    def start(
        self, entry: CoreEntry | None, image: int = 0, code: bytes = b"", keep_lmem: bool = False
    ) -> None:
        """Sets registers, events and widths at the start of a run; ``entry``: the core's
        :class:`CoreEntry`, if it has one."""
        self.entry = entry
        self.regs = [0] * REGISTERS_PER_CORE
        self.events = [0] * EVENTS
        self.ibiw, self.obiw = (entry.ibiw, entry.obiw) if entry else (8, 8)
        self.pc = 0
        self.count = entry.count if entry else 0
        self.blocked = None
        self.counters = dict.fromkeys(
            (
                "instructions",
                "operations",
                "bytes_read",
                "bytes_written",
                "scalar",
                "matrix",
                "vector",
                "transfer",
                "comm_bytes",
            ),
            0,
        )
        if not keep_lmem:
            self.lmem[:] = 0
        self._matrices: dict[int, Any] = {}
        self._code_at = image + entry.code if entry else image
        self._decode(code)

    def _decode(self, code):
        entry = self.entry
        words, offsets = (
            words_of(code, entry.mode, self.count)
            if entry
            else (np.zeros(0, np.uint64), np.zeros(1, np.int64))
        )
        op = (words & np.uint64(63)).astype(np.int64)
        bad = np.where(_DEFINED[op], np.where(words & _ZERO[op] != 0, 2, 0), 1)
        self._low = (words & np.uint64(_LOW)).tolist() if bad.any() else None
        self._bad = bad.tolist()
        self._offsets = offsets.tolist()
        self._whole = len(self._bad)
        self._ends_well = self._whole == self.count and not (
            entry and entry.mode == 2 and offsets[-1] < len(code)
        )
        self._steps = list(
            zip(
                op.tolist(),
                *(
                    ((words >> np.uint64(lo)) & np.uint64((1 << n) - 1)).tolist()
                    for lo, n in ((6, 5), (11, 5), (16, 5), (21, 11))
                ),
                (words >> np.uint64(32)).astype(np.uint32).view(np.int32).tolist(),
                strict=True,
            )
        )

    @property
    def done(self) -> bool:
        """Whether the program has ended."""
        return self.pc >= self._whole and self._ends_well

    @property
    def address(self) -> int:
        """Byte address in main memory of the next instruction, or of the end of the code."""
        return self._code_at + self._offsets[min(self.pc, self._whole)]

    # Execution

    def advance(self, limit: int | None = None) -> int:
        """Runs until the program ends or blocks (which sets ``blocked``), or for ``limit``
        instructions.

        Returns the number of instructions completed. Raises
        :class:`~quintet.gateware.isa.outcome.RunFault`.
        """
        before, run = self.counters["instructions"], _RUN
        while self.blocked is None and (
            limit is None or self.counters["instructions"] - before < limit
        ):
            if self.pc >= self._whole:
                if not self._ends_well:
                    raise RunFault("code_end", self._offsets[self._whole] // 4)
                break
            step = self._steps[self.pc]
            if self._bad[self.pc]:
                raise RunFault(
                    "illegal_opcode" if self._bad[self.pc] == 1 else "illegal_field",
                    self._low[self.pc],
                )
            self.blocked = run[step[0]](self, *step)
            if self.blocked is None:
                self.retire()
        return self.counters["instructions"] - before

    def retire(self) -> None:
        """Completes the instruction at ``pc``: counts it and advances."""
        self.counters["instructions"] += 1
        self.counters[_KIND[self._steps[self.pc][0]]] += 1
        self.pc += 1
        self.blocked = None

    def _pair(self, register):
        if register & 1:
            raise RunFault("odd_pair", register)
        return self.regs[register] << 32 | self.regs[register + 1]

    def _inside(self, address, size):
        """Range of local memory, ``(first, last + 1)``; raises the fault if it is out of bounds."""
        if address + size > self.lmem.size:
            raise RunFault("lmem_range", address)
        return address, address + size

    @staticmethod
    def _disjoint(destination, source):
        if destination[0] < source[1] and source[0] < destination[1]:
            raise RunFault("overlap", destination[0])

    def _ordered(self, destination, source, narrower):
        """Checks overlap, which is allowed if the destination begins at or below the source and its
        elements are not wider."""
        if destination[0] > source[0] or not narrower:
            self._disjoint(destination, source)

    # Scalar

    def _nop(self, op, a, b, c, d, high):
        pass

    def _sldi(self, op, a, b, c, d, high):
        self.regs[a] = high & _LOW

    def _sld(self, op, a, b, c, d, high):
        address = self.model.global_range(self._pair(b) + (high >> 3), 4)
        self.regs[a] = int.from_bytes(self.model.memory[address : address + 4].tobytes(), "little")
        self.counters["bytes_read"] += 4

    def _scalar(self, op, a, b, c, d, high):
        x, y = self.regs[b], self.regs[c]
        self.regs[a] = (x + y if op == 3 else x - y if op == 4 else x * y) & _LOW

    def _immediate(self, op, a, b, c, d, high):
        self.regs[a] = (self.regs[b] + high if op == 6 else self.regs[b] * high) & _LOW

    def _setbw(self, op, a, b, c, d, high):
        widths = a or 32, b or 32
        for width in widths:
            if width > self.model.params["max_biw"]:
                raise RunFault("width", width)
        self.ibiw, self.obiw = widths

    # Matrix

    def _mvmul(self, op, a, b, c, d, high):
        mbiw, number, relu = c or 32, d & 1023, d >> 10
        groups = self.entry.groups
        if self.ibiw > self.model.params["x_bits"]:
            raise RunFault("width", self.ibiw)
        if number < len(groups) and groups[number].mbiw != mbiw:
            raise RunFault("width", mbiw)
        if number >= len(groups):
            raise RunFault("group", number)
        group = groups[number]
        destination = self._inside(self.regs[a], group.cols * bytes_of(self.obiw))
        source = self._inside(self.regs[b], group.rows * bytes_of(self.ibiw))
        self._disjoint(destination, source)
        x = load(self.lmem, source[0], group.rows, self.ibiw)
        y = x @ self._matrix(number)
        if group.has_bias:
            y = y + self.bias[group.bias_at : group.bias_at + group.cols]
        if group.shift:
            y = y + (1 << group.shift - 1 if group.round else 0) >> group.shift
        if relu:
            y = np.maximum(y, 0)
        store(self.lmem, destination[0], saturate(y, self.obiw), self.obiw)
        self.counters["operations"] += group.rows * group.cols

    def _matrix(self, number):
        """Matrix of a group, int64 (rows, cols), from the arrays to which it is bound."""
        if number not in self._matrices:
            group = self.entry.groups[number]
            rows, cols = self.arrays.shape[1:]
            tiles = -(-group.cols // cols)
            bands = [
                np.concatenate([self.arrays[k] for k in group.arrays[n : n + tiles]], axis=1)
                for n in range(0, len(group.arrays), tiles)
            ]
            self._matrices[number] = np.concatenate(bands)[: group.rows, : group.cols].astype(
                np.int64
            )
        return self._matrices[number]

    # Vector

    def _vector(self, op, a, b, c, d, high):
        if op in (19, 20) and not self.model.params["act_unit"]:
            raise RunFault("unsupported", op)
        if not d:
            return
        regs, inwards = self.regs, bytes_of(self.ibiw)
        same, function = ELEMENTWISE[op]
        width = self.ibiw if same else self.obiw
        outwards, offset, two = bytes_of(width), high >> 3, op in TWO_SOURCES
        first = regs[a] + (offset * outwards if high & 1 else 0) & _LOW
        destination = self._inside(first, d * outwards)
        sources = [
            self._inside(regs[b] + (offset * inwards if high & 2 else 0) & _LOW, d * inwards)
        ]
        if two:
            sources.append(
                self._inside(regs[c] + (offset * inwards if high & 4 else 0) & _LOW, d * inwards)
            )
        for source in sources:
            self._ordered(destination, source, outwards <= inwards)
        x = load(self.lmem, sources[0][0], d, self.ibiw)
        y = load(self.lmem, sources[1][0], d, self.ibiw) if two else None
        bound = (regs[c] ^ 1 << 31) - (1 << 31)
        result = function(x, y, Widths(self.ibiw, self.obiw, self.entry.fi, self.entry.fo, bound))
        store(self.lmem, first, saturate(result, width), width)
        if op == 12:
            self.counters["operations"] += d

    def _vvdmul(self, op, a, b, c, d, high):
        if not d:
            return
        inwards, offset = bytes_of(self.ibiw), high >> 3
        destination = self._inside(self.regs[a], bytes_of(self.obiw))
        sources = [
            self._inside(self.regs[r] + (offset * inwards if high & bit else 0) & _LOW, d * inwards)
            for r, bit in ((b, 2), (c, 4))
        ]
        x, y = (load(self.lmem, s[0], d, self.ibiw) for s in sources)
        store(self.lmem, destination[0], inner_product(x, y, self.obiw), self.obiw)
        self.counters["operations"] += d

    def _strided(self, address, register, count):
        """Range of a strided source, ``(stride, first, last + 1)``; every element must lie in local
        memory."""
        stride, width = (self.regs[register] ^ 1 << 31) - (1 << 31), bytes_of(self.ibiw)
        span = (count - 1) * stride * width
        first, last = address + min(span, 0), address + max(span, 0) + width
        if first < 0 or last > self.lmem.size:
            raise RunFault("lmem_range", address)
        return stride, first, last

    def _vavg(self, op, a, b, c, d, high):
        if not d:
            return
        destination = self._inside(self.regs[a], bytes_of(self.obiw))
        address = self.regs[b] + (high >> 3) * bytes_of(self.ibiw) & _LOW
        stride, _, _ = self._strided(address, c, d)
        x = gather(self.lmem, address, stride, d, self.ibiw)
        store(self.lmem, destination[0], average(x, self.obiw), self.obiw)

    def _vmv(self, op, a, b, c, d, high):
        if not d:
            return
        destination = self._inside(self.regs[a], d * bytes_of(self.ibiw))
        address = self.regs[b]
        stride, first, last = self._strided(address, c, d)
        self._disjoint(destination, (first, last))
        store(
            self.lmem,
            destination[0],
            gather(self.lmem, address, stride, d, self.ibiw),
            self.ibiw,
        )

    # Transfer

    def _ld(self, op, a, b, c, d, high):
        pair, offset = self._pair(b), high >> 3
        if not d:
            return
        first, last = self._inside(self.regs[a] + (offset if high & 1 else 0) & _LOW, d)
        address = self.model.global_range(pair + (offset if high & 2 else 0), d)
        self.lmem[first:last] = self.model.memory[address : address + d]
        self.counters["bytes_read"] += d

    def _st(self, op, a, b, c, d, high):
        pair, offset = self._pair(a), high >> 3
        if not d:
            return
        first, last = self._inside(self.regs[b] + (offset if high & 2 else 0) & _LOW, d)
        address = self.model.global_range(pair + (offset if high & 1 else 0), d)
        self.model.window.write(self.address, address, self.lmem[first:last])
        self.counters["bytes_written"] += d

    def _lldi(self, op, a, b, c, d, high):
        if d:
            first, last = self._inside(self.regs[a] + (high >> 3) & _LOW, d)
            self.lmem[first:last] = (b | c << 5) & 255

    def _lmv(self, op, a, b, c, d, high):
        if not d:
            return
        offset = high >> 3
        destination = self._inside(self.regs[a] + (offset if high & 1 else 0) & _LOW, d)
        source = self._inside(self.regs[b] + (offset if high & 2 else 0) & _LOW, d)
        self._ordered(destination, source, True)
        self.lmem[slice(*destination)] = self.lmem[slice(*source)].copy()

    def _send_recv(self, op, a, b, c, d, high):
        other = b | c << 5
        if other >= len(self.model.entries) or other == self.number:
            raise RunFault("core_range", other)
        if not d:
            return None
        first, _ = self._inside(self.regs[a] + (high >> 3) & _LOW, d)
        return Blocked("send" if op == 29 else "recv", other, d, first)

    def _wait(self, op, a, b, c, d, high):
        waiting = Blocked("wait", a, b | c << 5)
        return None if self.take_event(waiting) else waiting

    def take_event(self, waiting: Blocked) -> bool:
        """Whether a wait may proceed; if so, its event register is updated too."""
        event, value = waiting.other, waiting.amount
        assert self.entry is not None, "only a program waits"
        held = self.events[event]
        if held < value if self.entry.wait_mode else held != value:
            return False
        self.events[event] = held - value if self.entry.wait_mode else 0
        return True

    def _sync(self, op, a, b, c, d, high):
        other = b | c << 5
        if other >= len(self.model.entries):
            raise RunFault("core_range", other)
        self.model.sync(other, a)


_RUN = {
    0: Core._nop,
    1: Core._sldi,
    2: Core._sld,
    **dict.fromkeys((3, 4, 5), Core._scalar),
    **dict.fromkeys((6, 7), Core._immediate),
    8: Core._setbw,
    9: Core._mvmul,
    **dict.fromkeys(ELEMENTWISE, Core._vector),
    13: Core._vvdmul,
    17: Core._vavg,
    22: Core._vmv,
    25: Core._ld,
    26: Core._st,
    27: Core._lldi,
    28: Core._lmv,
    29: Core._send_recv,
    30: Core._send_recv,
    31: Core._wait,
    32: Core._sync,
}
_KIND = {i.opcode: kind_of(i.opcode) for i in ISA.instructions}
