# SPDX-License-Identifier: BSD-2-Clause
"""Random Cherry programs: loop nests over random address units, without faults and races.

Loads read anywhere below half of MEM; stores inside an independent loop go to tiles of the
iteration's own in the upper half, which it may read again; ordered code loads and stores anywhere.
"""

import random
from dataclasses import dataclass

from quintet.firmware.cherry.measure.elements import random_element
from quintet.gateware.cores.cherry.image import (
    FILL,
    IN,
    OUT,
    Descriptor,
    ProgramImage,
    Step,
    Unit,
    list_bytes,
)
from quintet.gateware.cores.cherry.image import image_bytes as bytes_of
from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.isa.words import random_values

#: Elements that a program may touch: the less, the more often results meet again.
SPAN = 1024
_ELEMENTWISE = (
    "add",
    "sub",
    "mul",
    "relu",
    "gtz",
    "copy",
    "zero",
    "max",
    "sum",
    "matmul",
    "mulacc",
    "nop",
)
_FUNCTIONS = ("div", "pow", "exp", "log")


@dataclass
class Case:
    """A program: its image, MEM before it (patterns), the list that loads, runs and saves it, and
    where the list finds MEM and leaves the result."""

    image: ProgramImage
    before: list
    data: bytes
    memory: bytearray
    registers: dict
    data_at: int
    result_at: int


class _Maker:
    def __init__(self, rnd, params, words):
        self.rnd, self.params, self.left = rnd, params, words
        self.image = ProgramImage()
        self.free = list(range(8))
        self.names = _ELEMENTWISE + (_FUNCTIONS if params["sfu_lanes"] else ())
        self.around = {}  # active loop -> iterations
        self.own = []  # units of the iteration's own tiles

    def emit(self, mnemonic, **values):
        self.image.words.append(ISA.encode(mnemonic, **values))
        self.left -= 1

    def unit(self, low, high, loops, fixed=None):
        """A unit whose accesses stay in low .. high - 1 whatever the loops do; ``fixed``: (loop,
        coefficient)."""
        rnd = self.rnd
        free = [k for k in range(32) if k not in self.image.units]
        if not free:
            return rnd.choice(list(self.image.units)) if fixed is None and not self.own else None
        stride_x, stride_y = rnd.choice(
            ((1, 4), (4, 1), (1, 20), (20, 1), (0, 0), (1, 0), (0, 1), (-1, 4), (3, -5), (16, 4))
        )
        reach = [
            3 * min(stride_x, 0) + 3 * min(stride_y, 0),
            3 * max(stride_x, 0) + 3 * max(stride_y, 0),
        ]
        coefficients = {}
        for loop, count in loops.items():
            value = (
                rnd.choice((0, 0, 1, 4, 16, -4, 64))
                if fixed is None or loop != fixed[0]
                else fixed[1]
            )
            if value:
                coefficients[loop] = value & 0x3FFFF
                reach[value > 0] += value * (count - 1)
        if low - reach[0] > high - 1 - reach[1]:
            return None
        index = rnd.choice(free)
        self.image.units[index] = Unit(
            rnd.randint(low - reach[0], high - 1 - reach[1]),
            stride_x & 0x3FFFF,
            stride_y & 0x3FFFF,
            dict(sorted(coefficients.items())),
        )
        return index

    def load(self, low, high):
        index = (
            self.unit(low, high, self.around)
            if self.rnd.random() < 0.7 or not self.own
            else self.rnd.choice(self.own)
        )
        if index is None or (index not in self.own and not self.readable(index, low, high)):
            return
        values = random_values(next(i for i in ISA.instructions if i.mnemonic == "load"), self.rnd)
        if self.rnd.random() < 0.6:
            values |= {"len_y": 4, "len_x": 4, "skip": 0}
        if values["len_y"] == 4:
            values["skip"] = 0
        self.emit("load", **(values | {"apu": index}))

    def readable(self, index, low, high):
        """Whether a unit made elsewhere stays inside with the loops around here."""
        unit = self.image.units[index]

        def signed(v):
            return v - (v >> 17 << 18)

        least = most = unit.address
        for value, count in (
            (signed(unit.stride_x), 4),
            (signed(unit.stride_y), 4),
            *((signed(c), self.around.get(loop, 1)) for loop, c in unit.coefficients.items()),
        ):
            least, most = least + min(0, value * (count - 1)), most + max(0, value * (count - 1))
        return low <= least and most < high

    def instruction(self):
        name = self.rnd.choice(self.names)
        entry = next(i for i in ISA.instructions if i.mnemonic == name)
        values = random_values(entry, self.rnd)
        if name in ("max", "sum") and not self.params["reduce_axes"]:
            values["axis"] = 0
        self.emit(name, **values)

    def ordered(self, depth):
        """A run of ordered code, with loops."""
        for _ in range(self.rnd.randint(2, 6)):
            kind = self.rnd.random()
            if self.left <= 0:
                return
            if kind < 0.35:
                self.load(0, SPAN)
            elif kind < 0.5:
                index = self.unit(0, SPAN, self.around)
                if index is not None and self.readable(index, 0, SPAN):
                    self.emit(
                        "store",
                        apu=index,
                        reg=self.rnd.randrange(4),
                        len_y=self.rnd.randint(1, 4),
                        len_x=self.rnd.randint(1, 4),
                    )
            elif kind < 0.7 or not self.free:
                self.instruction()
            elif kind < 0.8 and depth < 3:
                self.nest("start_loop", self.rnd.randint(0, 3), lambda: self.ordered(depth + 1))
            else:
                self.nest("start_independent_loop", self.rnd.choice((0, 1, 2, 3, 5, 9)), self.body)

    def body(self):
        """The body of an independent loop."""
        loop = list(self.around)[-1]
        for _ in range(self.rnd.randint(2, 9)):
            kind = self.rnd.random()
            if kind < 0.35:
                self.load(0, SPAN // 2)
            elif kind < 0.55:
                self.store_own(loop)
            else:
                self.instruction()
        if not self.own:
            self.store_own(loop)
        self.own = []

    def store_own(self, loop):
        if not self.own:
            # Tiles of 16 elements at 16 times the iteration, wherever the loops around are.
            index = next((k for k in range(32) if k not in self.image.units), None)
            if index is None or 16 * self.around[loop] > SPAN // 2:
                return
            base = SPAN // 2 + self.rnd.randrange(SPAN // 2 - 16 * self.around[loop] + 1)
            strides = self.rnd.choice(((1, 4), (4, 1), (0, 4), (1, 1)))
            self.image.units[index] = Unit(base, *strides, {loop: 16})
            self.own.append(index)
        self.emit(
            "store",
            apu=self.rnd.choice(self.own),
            reg=self.rnd.randrange(4),
            len_y=self.rnd.randint(1, 4),
            len_x=self.rnd.randint(1, 4),
        )

    def nest(self, start, count, inside):
        loop = self.free.pop(self.rnd.randrange(len(self.free)))
        begin = len(self.image.words)
        self.emit(start, loop=loop)
        self.around[loop] = max(count, 1)
        inside()
        del self.around[loop]
        self.emit("end_loop", loop=loop)
        # Bodies that come twice would need the same length: a record is used once.
        self.image.loops[loop] = count, len(self.image.words) - begin - 2


def random_case(seed, params, words=40):
    """The :class:`Case` of ``seed`` for a build."""
    rnd = random.Random(seed)
    maker = _Maker(rnd, params, words)
    while maker.left > 0 and maker.free:
        maker.ordered(0)
    image = maker.image
    image.loops = dict(sorted(image.loops.items()))
    image.units = dict(sorted(image.units.items()))
    names = {ISA.decode(w).instruction.mnemonic for w in image.words}
    image.special = bool(names & set(_FUNCTIONS))
    image.axes = any(ISA.decode(w).values.get("axis") for w in image.words)
    image.wide = params["acc_frac"] == 17
    before = [random_element(rnd) for _ in range(SPAN)]
    program_at, data_at, result_at = 0x1000, 0x4000, 0x6000
    data = list_bytes(
        [
            (
                bytes_of(image),
                Step(0),
                [
                    Descriptor(FILL, "fp32", 0, 0, 1, 1),
                    Descriptor(IN, "raw", data_at, 0, 16, SPAN // 16, 4 * SPAN // 16, SPAN // 16),
                ],
                [Descriptor(OUT, "raw", result_at, 0, 1, SPAN, 4 * SPAN, SPAN)],
            )
        ]
    )
    memory = bytearray(0x8000)
    memory[program_at : program_at + len(data)] = data
    for k, element in enumerate(before):
        memory[data_at + 4 * k : data_at + 4 * k + 4] = element.to_bytes(4, "little")
    return Case(
        image,
        before,
        data,
        memory,
        {"program_address": program_at, "program_length": len(data)},
        data_at,
        result_at,
    )
