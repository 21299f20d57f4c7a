# SPDX-License-Identifier: BSD-2-Clause
"""Buffers of the OPU: four sets of block RAMs, their load paths and read ports (specification,
sections 2.2 and 9.2)."""

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .....isa.parameters import Params
from .....parts.datapath import narrowest
from .....parts.delays import delay
from .....primitives.bram import BlockRAM
from ...types import type_set
from ..commands import bias_load_layout, ifm_load_layout, ker_load_layout, row_bits

__all__ = [
    "BiasMemory",
    "IfmBuffer",
    "KernelRing",
    "LineAssembler",
    "OfmBuffer",
    "ifm_row_elements",
]


def ifm_row_elements(params: Params) -> int:
    """Elements in a row of the ``ifm`` memories: those that a convolution or a residual reads per
    cycle, whichever is more."""
    return max(params["pi"], params["out_lanes"])


class LineAssembler:
    """Line assembler: collects beats to lines with a shift register, and signals a line one cycle
    after its last beat.

    Parameters
    ----------
    m : Module
    load : a load's layout
    line_bits : int, at least a beat, a power of two of them
    clear : Signal
    """

    def __init__(self, m: Module, load: data.View, line_bits: int, clear: Value) -> None:
        beats = line_bits // len(load.data)
        self.line = Signal(line_bits, reset_less=True)
        self.full = Signal()
        last = load.valid
        with m.If(load.valid):
            m.d.sync += self.line.eq(Cat(self.line, load.data)[len(load.data) :])
        if beats > 1:
            count = Signal(range(beats))
            with m.If(load.start | clear):
                m.d.sync += count.eq(0)
            with m.Elif(load.valid):
                m.d.sync += count.eq(count + 1)
            last = load.valid & (count == beats - 1)
        m.d.sync += self.full.eq(last & ~clear)


class IfmBuffer(wiring.Component):
    """Feature-map buffer: lines in linear order, in one bank or two; a convolution and a residual
    can read in the same cycle, but never from one bank.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int
    family : as the primitives'

    Members
    -------
    clear : In
    load : In, see :func:`~..commands.ifm_load_layout`
    conv_bank, conv_line : In: a line of pi elements; conv_data : Out, :attr:`LATENCY` cycles later
    post_active, post_bank, post_row : In: a row for the residual; post_data : Out,
        :attr:`LATENCY` cycles later
    """

    LATENCY = 5

    def __init__(self, *, params: Params, beat_bytes: int, family: str | None = None) -> None:
        self.params, self.family = params, family
        types = type_set(params)
        self.elements = ifm_row_elements(params)
        self.width = self.elements * types.ifm
        self.depth = -(-params["ifm_lines"] * 16 // self.elements)
        self.split = exact_log2(self.elements // params["pi"])
        bits = ceil_log2(self.depth)
        super().__init__(
            {
                "clear": In(1),
                "load": In(ifm_load_layout(params, beat_bytes)),
                "conv_bank": In(1),
                "conv_line": In(bits + self.split),
                "conv_data": Out(params["pi"] * types.ifm),
                "post_active": In(1),
                "post_bank": In(1),
                "post_row": In(bits),
                "post_data": Out(self.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        assembler = LineAssembler(m, self.load, self.width, self.clear)
        bank = Signal()
        with m.If(self.load.start):
            m.d.sync += bank.eq(self.load.bank)
        outputs = []
        for b in range(self.params["ifm_banks"]):
            m.submodules[f"bank_{b}"] = ram = BlockRAM(
                width=self.width, depth=self.depth, latency=3, family=self.family
            )
            row = Signal(range(self.depth), name=f"row_{b}", reset_less=True)
            begun = Signal(name=f"begun_{b}", reset_less=True)
            m.d.sync += begun.eq(self.load.start & (self.load.bank == b))
            write = assembler.full & (bank == b)
            with m.If(begun):
                m.d.sync += row.eq(0)
            with m.Elif(write):
                m.d.sync += row.eq(row + 1)
            address = Signal(range(self.depth), name=f"address_{b}", reset_less=True)
            residual = self.post_active & (self.post_bank == b)
            m.d.sync += address.eq(Mux(residual, self.post_row, self.conv_line[self.split :]))
            m.d.comb += [
                ram.write_en.eq(write),
                ram.write_addr.eq(row),
                ram.write_data.eq(assembler.line),
                ram.read_addr.eq(address),
            ]
            outputs.append(ram.read_data)
        conv, post = outputs[0], outputs[0]
        if len(outputs) == 2:
            conv = Mux(delay(m, self.conv_bank, 4, "conv_bank"), outputs[1], conv)
            post = Mux(self.post_bank, outputs[1], post)
        width = len(self.conv_data)
        conv = (
            narrowest(conv, self.width).word_select(
                delay(m, self.conv_line[: self.split], 4, "part"), width
            )
            if self.split
            else conv
        )
        for member, value in ((self.conv_data, conv), (self.post_data, post)):
            held = Signal.like(member, reset_less=True, name=f"{member.name}_held")
            m.d.sync += held.eq(value)
            m.d.comb += member.eq(held)
        return m


class KernelRing(wiring.Component):
    """Weight buffer: a ring of rows of pi*po weights, written one lane (pi weights of one output
    channel) at a time.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int
    family : as the primitives'

    Members
    -------
    clear : In
    load : In, see :func:`~..commands.ker_load_layout`
    row : In; data : Out, :attr:`LATENCY` cycles later, a field for each lane
    """

    LATENCY = 5

    def __init__(self, *, params: Params, beat_bytes: int, family: str | None = None) -> None:
        self.params, self.family = params, family
        self.lane_bits = params["pi"] * type_set(params).ker
        super().__init__(
            {
                "clear": In(1),
                "load": In(ker_load_layout(params, beat_bytes)),
                "row": In(row_bits(params)),
                "data": Out(self.lane_bits).array(params["po"]),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows, lanes = self.params["ker_rows"], self.params["po"]
        assembler = LineAssembler(m, self.load, self.lane_bits, self.clear)

        # Where lines go: chunk by chunk of one lane, then the next lane, then the next rows.
        start = Signal.like(self.load, name="begun", reset_less=True)
        begun = Signal()
        m.d.sync += [start.eq(self.load), begun.eq(self.load.start & ~self.clear)]
        row, base = (
            Signal(row_bits(self.params), reset_less=True),
            Signal(row_bits(self.params), reset_less=True),
        )
        next_row = Signal.like(row)
        m.d.comb += next_row.eq(
            row + 1 if rows == 1 << len(row) else Mux(row == rows - 1, 0, row + 1)
        )
        chunk, last_chunk = Signal(4, reset_less=True), Signal(4, reset_less=True)
        lane, last_lane = Signal(lanes, reset_less=True), Signal(lanes, reset_less=True)
        with m.If(begun):
            shift = 4 - exact_log2(self.params["pi"])
            m.d.sync += [
                row.eq(start.row),
                base.eq(start.row),
                chunk.eq(0),
                last_chunk.eq((1 << (start.ifm_c + shift)) - 1),
                lane.eq(1),
                last_lane.eq(1 << (lanes - 1)),
            ]
            for c in range(1, exact_log2(lanes)):
                with m.If(start.ofm_c == c):
                    m.d.sync += last_lane.eq(1 << ((1 << c) - 1))
        with m.Elif(assembler.full):
            m.d.sync += [row.eq(next_row), chunk.eq(chunk + 1)]
            with m.If(chunk == last_chunk):
                m.d.sync += [chunk.eq(0), lane.eq(lane << 1)]
                with m.If((lane & last_lane).any()):
                    m.d.sync += [lane.eq(1), base.eq(next_row)]
                with m.Else():
                    m.d.sync += row.eq(base)

        address = delay(m, self.row, 2, "address")
        for k in range(lanes):
            m.submodules[f"lane_{k}"] = ram = BlockRAM(
                width=self.lane_bits, depth=rows, latency=3, family=self.family
            )
            m.d.comb += [
                ram.write_en.eq(assembler.full & lane[k]),
                ram.write_addr.eq(row),
                ram.write_data.eq(assembler.line),
                ram.read_addr.eq(address),
                self.data[k].eq(ram.read_data),
            ]
        return m


class BiasMemory(wiring.Component):
    """Bias memory: two copies of 64 elements, read one at a time.

    Members
    -------
    clear : In
    load : In, see :func:`~..commands.bias_load_layout`
    address : In, copy in bit 6; data : Out, two cycles later
    """

    def __init__(self, *, params: Params, beat_bytes: int, family: str | None = None) -> None:
        self.family = family
        self.element = type_set(params).bias
        self.width = max(self.element, 8 * beat_bytes)
        super().__init__(
            {
                "clear": In(1),
                "load": In(bias_load_layout(params, beat_bytes)),
                "address": In(7),
                "data": Out(signed(self.element)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        assembler = LineAssembler(m, self.load, self.width, self.clear)
        part = exact_log2(self.width // self.element)
        bits = 6 - part
        m.submodules.memory = ram = BlockRAM(width=self.width, depth=2 << bits, family=self.family)
        row, copy = Signal(bits, reset_less=True), Signal(reset_less=True)
        begun, begun_copy = Signal(), Signal(reset_less=True)
        m.d.sync += [begun.eq(self.load.start), begun_copy.eq(self.load.copy)]
        with m.If(begun):
            m.d.sync += [row.eq(0), copy.eq(begun_copy)]
        with m.Elif(assembler.full):
            m.d.sync += row.eq(row + 1)
        m.d.comb += [
            ram.write_en.eq(assembler.full),
            ram.write_addr.eq(Cat(row, copy)),
            ram.write_data.eq(assembler.line),
            ram.read_addr.eq(self.address[part:]),
            self.data.eq(
                ram.read_data.word_select(delay(m, self.address[:part], 2, "part"), self.element)
                if part
                else ram.read_data
            ),
        ]
        return m


class OfmBuffer(wiring.Component):
    """Partial-sum buffer: lines of po elements, in one bank or two; a convolution reads and writes
    one bank while a store reads the other.

    Members
    -------
    conv_bank, conv_line : In: a line for ``conv.acc``; conv_data : Out,
        :attr:`CONV_LATENCY` cycles later, not registered
    write_en, write_bank, write_line, write_data : In
    post_active, post_bank, post_line : In; post_data : Out, :attr:`POST_LATENCY` cycles later

    A line read for ``conv.acc`` has what was written up to the cycle after that in which its
    address was given; what is written in the next one spoils it.
    """

    CONV_LATENCY = 4
    POST_LATENCY = 5

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        self.width = params["po"] * type_set(params).ofm
        bits = ceil_log2(params["ofm_lines"])
        super().__init__(
            {
                "conv_bank": In(1),
                "conv_line": In(bits),
                "conv_data": Out(self.width),
                "write_en": In(1),
                "write_bank": In(1),
                "write_line": In(bits),
                "write_data": In(self.width),
                "post_active": In(1),
                "post_bank": In(1),
                "post_line": In(bits),
                "post_data": Out(self.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outputs = []
        for b in range(self.params["ofm_banks"]):
            m.submodules[f"bank_{b}"] = ram = BlockRAM(
                width=self.width, depth=self.params["ofm_lines"], latency=3, family=self.family
            )
            address = Signal.like(self.conv_line, name=f"address_{b}", reset_less=True)
            store = self.post_active & (self.post_bank == b)
            m.d.sync += address.eq(Mux(store, self.post_line, self.conv_line))
            m.d.comb += [
                ram.read_addr.eq(address),
                ram.write_en.eq(self.write_en & (self.write_bank == b)),
                ram.write_addr.eq(self.write_line),
                ram.write_data.eq(self.write_data),
            ]
            outputs.append(ram.read_data)
        conv, post = outputs[0], outputs[0]
        if len(outputs) == 2:
            conv = Mux(delay(m, self.conv_bank, self.CONV_LATENCY, "conv_bank"), outputs[1], conv)
            post = Mux(self.post_bank, outputs[1], post)
        held = Signal(self.width, reset_less=True)
        m.d.sync += held.eq(post)
        m.d.comb += [self.conv_data.eq(conv), self.post_data.eq(held)]
        return m
