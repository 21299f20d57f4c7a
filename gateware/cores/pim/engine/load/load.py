# SPDX-License-Identifier: BSD-2-Clause
"""Image loader LOAD: reads and checks header, tables, weights and biases (specification, sections
3.6, 4.6, 6 and 7)."""

from contextlib import contextmanager
from types import SimpleNamespace

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from .....arguments import check_beat_bytes, check_family
from .....isa.parameters import Params
from .....memory.port import MemoryPort
from .....parts.queues import ShiftQueue, StreamBuffer
from .....primitives.multiplexer import selected
from ...isa import ISA
from ..commands import (
    CHUNK_BYTES,
    array_bits,
    bias_layout,
    group_write_layout,
    ids_write_layout,
    weights_layout,
)
from ..links import StartLayout, core_bits
from .reader import BEATS_BITS, RangeReader

__all__ = ["Load"]

_MAGIC = int.from_bytes(b"PIMI", "little")
_HEADER, _CORE_ENTRY, _GROUP_ENTRY = 64, 32, 64
_MAX_SIDE, _MAX_ARRAYS, _AUTO = 1024, 16, 255


class _Table(enum.Enum, shape=2):
    HEADER = 0
    CORE = 1
    GROUP = 2


class Load(wiring.Component):
    """Image loader: checks header and tables, sets the start state of each core, and fills group
    store, arrays and biases.

    Header and core table first, then one core's groups after the other; of a group its entry, its
    weights, its biases. The next entry is requested behind them, so the memory has always something
    to do. Fields are looked at in the order in which they lie; the first that is wrong is fault
    TABLE with its offset. All goes through one register of eight bytes.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int, 1, 2, 4 or 8
    memory_size : int, bytes of main memory
    family : as the primitives'

    Members
    -------
    start : In, one cycle; the registers hold still from here on: program_address,
        program_length, window_base, window_limit, core_table, run_flags, gmem_base, gmem_size : In
    stop : In, level: give up; ``busy`` falls once nothing is outstanding
    busy : Out, from the cycle after ``start`` to that of ``go``, or until it gave up
    fault : Out, level until the next start; fault_code, fault_detail : Out
    image : Out, main-memory address of the header
    clear, zero, prime, go : Out; ready : In, of all processors together:
        as in :class:`~..links.StartPort`
    starts : Out, array of :class:`~..links.StartLayout`; entries, gmem_from, gmem_low,
        gmem_high : Out: of GMem, for the processors
    target : Out, number of the core that the following are for
    group, ids, bias : Out, layouts of :mod:`..commands`; weights :
        Out(stream of ``weights_layout``)
    memory : Out(MemoryPort); answers are taken as fast as the weights are
    """

    def __init__(
        self, *, params: Params, beat_bytes: int, memory_size: int, family: str | None = None
    ) -> None:
        check_beat_bytes(beat_bytes)
        check_family(family)
        self.params, self.beat_bytes, self.memory_size = params, beat_bytes, memory_size
        self.family = family
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "busy": Out(1),
                **{
                    name: In(32)
                    for name in (
                        "program_address",
                        "program_length",
                        "window_base",
                        "window_limit",
                        "core_table",
                        "gmem_base",
                        "gmem_size",
                    )
                },
                "run_flags": In(2),
                "fault": Out(1),
                "fault_code": Out(8),
                "fault_detail": Out(32),
                "image": Out(32),
                "clear": Out(1),
                "zero": Out(1),
                "prime": Out(1),
                "go": Out(1),
                "ready": In(1),
                "starts": Out(StartLayout()).array(params["cores"]),
                "entries": Out(range(params["cores"] + 1)),
                "gmem_from": Out(32),
                "gmem_low": Out(32),
                "gmem_high": Out(32),
                "target": Out(core_bits(params)),
                "group": Out(group_write_layout(params)),
                "ids": Out(ids_write_layout(params)),
                "bias": Out(bias_layout(params)),
                "weights": Out(stream.Signature(weights_layout(params))),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        p = self.params
        image = self.image
        s.image_bytes = Signal(32)
        s.core, s.number, s.groups = (
            Signal(6),
            Signal(11),
            Signal(11),
        )  # core, group of it, its groups
        s.another = (
            Signal()
        )  # there is a group after this one; a cycle late, its table is still to be read then
        m.d.sync += s.another.eq(s.number + 1 != s.groups)
        # Group tables, in units of 64 bytes
        table = [Signal(26, name=f"table_{k}") for k in range(p["cores"])]
        s.at = Signal(32)  # address of the chunk in the register
        s.take = Signal()

        reader, asks = self._reader(m)
        s.chunk, s.chunk_valid, s.bad_beat, s.chunk_error = self._chunks(m, reader, s.take)
        # One adder for all addresses: `spot`, what lies at `offset` in the image; which it is, is
        # decided a cycle before.
        s.offset, s.spot = Signal(32, reset_less=True), Signal(32)
        asking, s.moves = Signal(), Signal()
        chunks = Signal(BEATS_BITS, reset_less=True)
        per_chunk = exact_log2(CHUNK_BYTES // self.beat_bytes)
        m.d.comb += [
            s.spot.eq(image + s.offset),
            asks.i.valid.eq(asking),
            asks.i.payload.address.eq(s.spot),
            asks.i.payload.beats.eq(chunks << per_chunk),
        ]
        m.d.sync += [asking.eq(0), s.moves.eq(0)]

        def request(place, count):
            """Requests a number of chunks at ``place`` of the image. The queue always has space,
            since at most three are requested at once."""
            return [s.offset.eq(place), chunks.eq(count), asking.eq(1)]

        def move(place):
            """Sets the read position, effective at the end of the next cycle."""
            return [s.offset.eq(place), s.moves.eq(1)]

        # The entry that is looked at
        s.kind, s.index, s.step = Signal(_Table), Signal(4), Signal(1, name="step")
        s.entry_offset = Signal(27)  # of the entry in the image, in units of 32 bytes
        s.word = Signal(32)
        m.d.comb += s.word.eq(Mux(s.index[0], s.chunk[32:], s.chunk[:32]))
        s.wrong, s.where, s.hold = Signal(), Signal(6), Signal(name="hold")
        # Offset and size of the data that a field names; one adder for all.
        s.total, s.base, s.size = Signal(33), Signal(32), Signal(32, name="size")
        m.d.sync += s.total.eq(s.base + s.size)
        m.d.comb += s.base.eq(s.word)
        s.overruns = Signal()
        m.d.comb += s.overruns.eq(s.total > s.image_bytes)
        held = self._entry(m)
        s.multiplying = Signal()
        s.last_word = Signal(4)
        m.d.comb += s.last_word.eq(
            Mux(s.kind == _Table.CORE, _CORE_ENTRY // 4 - 1, _HEADER // 4 - 1)
        )

        s.following = Signal.like(s.entry_offset)  # of the next group's entry
        m.d.comb += s.following.eq(s.entry_offset + _GROUP_ENTRY // 32)
        s.inside, s.limit = (
            Signal(),
            Signal(32, name="limit"),
        )  # no image lies outside window and memory
        m.d.sync += s.limit.eq(
            Mux(self.window_limit > self.memory_size, self.memory_size, self.window_limit)
        )
        stopping, s.code, s.detail = Signal(), Signal(8), Signal(32)
        m.d.comb += [
            reader.stop.eq(stopping),
            asks.o.ready.eq(reader.ask.ready | stopping),
            self.fault_code.eq(s.code),
            self.fault_detail.eq(s.detail),
            self.target.eq(s.core),
            self.group.group.eq(s.number),
            self.ids.group.eq(s.number),
            self.zero.eq(~self.run_flags[1]),
        ]

        def refuse(name, detail):
            m.d.sync += [
                self.fault.eq(1),
                s.code.eq(ISA.fault_codes[name]),
                s.detail.eq(detail),
                stopping.eq(1),
            ]
            m.next = "STOP"

        @contextmanager
        def state(name):
            """Adds a state that ``stop`` ends."""
            with m.State(name):
                with m.If(self.stop):
                    m.d.sync += stopping.eq(1)
                    m.next = "STOP"
                with m.Else():
                    yield

        self._enter(m, s, table, held)

        # A word is looked at in one cycle; what comes of it is done in the next.
        looking, s.sees = Signal(), Signal(name="sees")
        s.was_wrong, s.was_held, s.was_where = (
            Signal(reset_less=True),
            Signal(reset_less=True),
            Signal.like(s.where, reset_less=True, name="was_where"),
        )
        with m.FSM() as fsm:
            m.d.comb += [self.busy.eq(~fsm.ongoing("IDLE")), looking.eq(fsm.ongoing("TABLE"))]
            self._look(m, s, request, refuse, state)
            self._cores(m, s, request, move, held, state)
            self._groups(m, s, table, request, move, held, refuse, state)
            with state("READY"):
                with m.If(self.ready):
                    m.d.comb += self.go.eq(1)
                    m.next = "IDLE"
            with m.State("STOP"):
                with m.If(reader.idle & ~asks.o.valid & ~asking):
                    m.d.sync += stopping.eq(0)
                    m.next = "IDLE"
        with m.If(s.moves):
            m.d.sync += s.at.eq(s.spot)
        with m.Elif(s.take & s.chunk_valid):
            m.d.sync += s.at.eq(s.at + CHUNK_BYTES)

        # Meaning of the words
        with m.If(looking):
            with m.Switch(s.kind):
                with m.Case(_Table.HEADER):
                    self._header(m, s, held)
                with m.Case(_Table.CORE):
                    self._core(m, s, held)
                with m.Case(_Table.GROUP):
                    self._group(m, s, held, s.sees & ~s.was_wrong)
        self._gmem(m, held)

        self._store(m, s, held)
        return m

    def _reader(self, m):
        """Range reader with a request queue; returns both."""
        m.submodules.reader = reader = RangeReader(beat_bytes=self.beat_bytes)
        # A register behind the memory: the decision about a word is late in a cycle.
        memory, port = reader.memory, self.memory
        m.submodules.answers = answers = StreamBuffer(shape=port.r.payload.shape())
        connect(m, wiring.flipped(port.r), answers.i)
        connect(m, answers.o, memory.r)
        m.d.comb += [
            port.req.valid.eq(memory.req.valid),
            port.req.payload.eq(memory.req.payload),
            memory.req.ready.eq(port.req.ready),
            port.ack.ready.eq(1),
        ]
        m.submodules.asks = asks = ShiftQueue(shape=reader.ask.payload.shape(), depth=3)
        connect(m, asks.o, reader.ask)
        return reader, asks

    def _enter(self, m, s, table, held):
        """Initial values of a core's registers. The registers are far away, next to their core, so
        the write enables have registers of their own."""
        p = self.params
        s.wipe, s.entering, enter, code_at = (
            Signal(),
            Signal(p["cores"]),
            Signal(p["cores"]),
            Signal(32, reset_less=True),
        )
        m.d.sync += [s.wipe.eq(0), s.entering.eq(0), enter.eq(s.entering), code_at.eq(s.spot)]
        for k, start in enumerate(self.starts):
            with m.If(enter[k]):
                m.d.sync += [
                    start.code.eq(code_at),
                    start.code_bytes.eq(held.code_bytes),
                    start.count.eq(held.count),
                    start.mode.eq(held.mode),
                    start.wait_count.eq(held.wait_count),
                    start.ibiw.eq(held.ibiw),
                    start.obiw.eq(held.obiw),
                    start.fi.eq(held.fi),
                    start.fo.eq(held.fo),
                    start.groups.eq(held.groups),
                    table[k].eq(held.table),
                ]
            with m.If(s.wipe):
                m.d.sync += start.as_value().eq(0)

    def _look(self, m, s, request, refuse, state):
        """States up to the end of an entry, which is checked word by word."""
        image = self.image
        with m.State("IDLE"):
            with m.If(self.start):
                m.d.sync += [
                    image.eq(Mux(self.core_table != 0, self.core_table, self.program_address)),
                    self.fault.eq(0),
                    s.code.eq(0),
                    s.detail.eq(0),
                    self.entries.eq(0),
                    s.core.eq(0),
                    s.wipe.eq(1),
                ]
                m.next = "CLEAR"
        with state("CLEAR"):
            m.d.comb += self.clear.eq(1)
            m.d.sync += s.inside.eq((image[6:] >= self.window_base[6:]) & (image[6:] < s.limit[6:]))
            m.d.sync += [
                s.kind.eq(_Table.HEADER),
                s.index.eq(0),
                s.step.eq(0),
                s.sees.eq(0),
                s.entry_offset.eq(0),
                s.at.eq(image),
            ]
            m.next = "HEADER"
        with state("HEADER"):
            with m.If(~s.inside):
                refuse("table", 0)
            with m.Else():
                m.d.sync += request(0, _HEADER // CHUNK_BYTES)
                m.next = "TABLE"
        with state("TABLE"):
            m.d.sync += [
                s.sees.eq(s.chunk_valid & ~s.sees),
                s.was_wrong.eq(s.wrong),
                s.was_where.eq(s.where),
                s.was_held.eq(s.hold),
            ]
            with m.If(s.sees & s.chunk_error):
                refuse("bus_error", s.at | s.bad_beat)
            with m.Elif(s.sees & s.was_wrong):
                refuse("table", Cat(Const(0, 5), s.entry_offset) | s.was_where)
            with m.Elif(s.sees & s.was_held):
                m.d.sync += s.step.eq(1)
            with m.Elif(s.sees):
                m.d.sync += [s.step.eq(0), s.index.eq(s.index + 1)]
                m.d.comb += s.take.eq(s.index[0])
                with m.If(s.index == s.last_word):
                    m.d.sync += s.index.eq(0)
                    with m.Switch(s.kind):
                        with m.Case(_Table.HEADER):
                            m.next = "CORES"
                        with m.Case(_Table.CORE):
                            m.next = "ENTRY"
                        with m.Case(_Table.GROUP):
                            m.next = "ENTER"

    def _cores(self, m, s, request, move, held, state):
        """States of the core table: each entry is passed to its core."""
        p = self.params
        with state("CORES"):
            # The whole core table at once.
            table_at = held.table << 6
            m.d.sync += [
                *move(table_at),
                *request(table_at, self.entries << exact_log2(_CORE_ENTRY // CHUNK_BYTES)),
                s.kind.eq(_Table.CORE),
                s.entry_offset.eq(held.table << 1),
            ]
            m.next = "TABLE"
        with state("ENTRY"):
            m.d.sync += [
                s.offset.eq(held.code),
                s.entering.eq(Cat(s.core == k for k in range(p["cores"]))),
            ]
            m.next = "NEXT"
        with state("NEXT"):
            m.d.sync += [s.core.eq(s.core + 1), s.entry_offset.eq(s.entry_offset + 1)]
            m.next = "TABLE"
            with m.If(s.core + 1 == self.entries):
                m.d.sync += s.core.eq(0)
                m.next = "ENTERED"
        with state("ENTERED"):  # the last core's
            m.next = "PRIME"
        with state("PRIME"):
            m.d.comb += self.prime.eq(1)
            m.next = "CORE"

    def _groups(self, m, s, table, request, move, held, refuse, state):
        """States of each core's groups: entries go to the group store, weights to the arrays,
        biases to the bias store."""
        p = self.params
        entered = selected(
            m,
            "entered",
            [Cat(start.groups, at) for start, at in zip(self.starts, table, strict=True)],
            s.core[: len(self.target)],
            self.family,
        )
        with state("CORE"):
            m.d.sync += [
                Cat(s.groups, held.table).eq(entered),
                s.number.eq(0),
                held.bias_total.eq(0),
                s.kind.eq(_Table.GROUP),
            ]
            m.next = "GROUPS"
            with m.If(s.core == self.entries):
                m.next = "READY"
        with state("GROUPS"):
            m.d.sync += [*move(held.table << 6), s.entry_offset.eq(held.table << 1)]
            with m.If(s.groups == 0):
                m.d.sync += s.core.eq(s.core + 1)
                m.next = "CORE"
            with m.Else():
                m.d.sync += request(held.table << 6, _GROUP_ENTRY // CHUNK_BYTES)
                m.next = "TABLE"
        with state("ENTER"):
            m.d.comb += self.group.valid.eq(1)
            m.d.sync += [
                held.block.eq(0),
                held.column.eq(0),
                held.rows_left.eq(held.rows),
                held.place.eq(0),
            ]
            m.next = "ASK_WEIGHTS"
        with state("ASK_WEIGHTS"):
            programs = (held.weights != 0) & ~self.run_flags[0]
            m.d.sync += move(held.weights)
            with m.If(programs):
                m.d.sync += request(
                    held.weights, held.weight_rows << exact_log2(p["xb_cols"] // CHUNK_BYTES)
                )
            m.d.sync += [
                held.programs.eq(programs),
                held.biased.eq(held.has_bias & ~self.run_flags[0]),
            ]
            m.next = "ASK_BIAS"
        with state("ASK_BIAS"):
            with m.If(held.biased):
                m.d.sync += request(held.bias, (held.cols + 1) >> 1)
            m.next = "ASK_ENTRY"
        with state("ASK_ENTRY"):
            with m.If(s.another):
                m.d.sync += request(Cat(Const(0, 5), s.following), _GROUP_ENTRY // CHUNK_BYTES)
            m.next = "WEIGHTS"
            with m.If(~held.programs):
                m.next = "BEFORE_BIAS"
        with state("WEIGHTS"):
            with m.If(s.chunk_valid & s.chunk_error):
                refuse("bus_error", s.at | s.bad_beat)
            with m.Else():
                m.d.comb += [self.weights.valid.eq(s.chunk_valid), s.take.eq(self.weights.ready)]
                with m.If(s.chunk_valid & self.weights.ready):
                    self._next_chunk(m, held)
                    with m.If(held.ends):
                        m.next = "BEFORE_BIAS"
        with state("BEFORE_BIAS"):
            m.d.sync += [*move(held.bias), held.column.eq(0)]
            m.next = "BIAS"
            with m.If(~held.biased):
                m.next = "AFTER_GROUP"
        with state("BIAS"):
            last = Signal()
            m.d.comb += last.eq(held.column == held.cols - 1)
            # Not while ``at`` is still on its way.
            with m.If(s.chunk_valid & s.chunk_error & ~s.moves):
                refuse("bus_error", s.at | s.bad_beat)
            with m.Elif(s.chunk_valid & ~s.moves):
                m.d.comb += [self.bias.valid.eq(1), s.take.eq(last | held.column[0])]
                m.d.sync += held.column.eq(held.column + 1)
                with m.If(last):
                    m.next = "AFTER_GROUP"
        with state("AFTER_GROUP"):
            m.d.sync += [
                *move(Cat(Const(0, 5), s.following)),
                s.number.eq(s.number + 1),
                s.entry_offset.eq(s.following),
            ]
            with m.If(held.has_bias):
                m.d.sync += held.bias_total.eq(held.bias_total + held.cols)
            m.next = "TABLE"
            with m.If(~s.another):
                m.d.sync += s.core.eq(s.core + 1)
                m.next = "CORE"

    def _store(self, m, s, held):
        """Data of the writes to the group store, the arrays and the biases."""
        m.d.comb += [
            self.group.entry.rows.eq(held.rows - 1),
            self.group.entry.cols.eq(held.cols - 1),
            self.group.entry.mbiw.eq(held.mbiw - 1),
            self.group.entry.shift.eq(held.shift),
            self.group.entry.round.eq(held.round),
            self.group.entry.has_bias.eq(held.has_bias),
            self.ids.ids.bias.eq(held.bias_total),
            self.bias.address.eq(held.bias_total + held.column),
            self.bias.data.eq(Mux(held.column[0], s.chunk[32:], s.chunk[:32])),
            self.weights.payload.data.eq(s.chunk),
            self.weights.payload.address.eq(Cat(held.place, held.ids[held.block])),
        ]

    def _chunks(self, m, reader, take):
        """Collects beats to chunks of eight bytes: the register, whether it is full, offset of its
        first bad beat, whether it has one."""
        beats, size = reader.beats, self.beat_bytes
        places = CHUNK_BYTES // size
        chunk, valid, error, bad = (
            Signal(8 * CHUNK_BYTES),
            Signal(),
            Signal(),
            Signal(range(CHUNK_BYTES)),
        )
        place = Signal(range(max(2, places)))
        m.d.comb += beats.ready.eq(~valid | take)
        with m.If(take):
            m.d.sync += valid.eq(0)
        with m.If(beats.valid & beats.ready):
            m.d.sync += [
                chunk.eq(Cat(chunk, beats.payload.data)[-len(chunk) :]),
                place.eq(place + 1 if places > 1 else 0),
                valid.eq(place == places - 1),
                error.eq(beats.payload.error | error & (place != 0)),
            ]
            with m.If((place == 0) | ~error):
                m.d.sync += bad.eq(place * size)
        with m.If(reader.stop):
            m.d.sync += [valid.eq(0), place.eq(0)]
        return chunk, valid, bad, error

    def _entry(self, m):
        """Registers of the entry under check."""
        p, held = self.params, SimpleNamespace()
        widths = {
            "table": 26,
            "base": 32,
            "size": 32,  # header
            "code": 32,
            "count": 32,
            "code_bytes": 32,
            "mode": 2,
            "wait_count": 1,
            "ibiw": 6,
            "obiw": 6,
            "fi": 8,
            "fo": 8,
            "groups": 11,
            "rows": 11,
            "cols": 11,
            "mbiw": 4,
            "shift": 6,
            "round": 1,
            "has_bias": 1,
            "arrays": 8,
            "weights": 32,
            "bias": 32,
            "bias_total": 13,
            "weight_rows": 17,
            "grid": 13,
            "blocks": 7,
            "used": p["arrays"],
            "block": 4,
            "column": 11,
            "rows_left": 11,
            "programs": 1,
            "biased": 1,
            "place": exact_log2(p["xb_rows"] * p["xb_cols"] // CHUNK_BYTES),
            "ends": 1,
        }
        for name, width in widths.items():
            setattr(held, name, Signal(width, name=name))
        held.ids = Array(Signal(array_bits(p), name=f"id_{k}") for k in range(_MAX_ARRAYS))
        return held

    @staticmethod
    def _first(m, s, *checks):
        """Drives ``wrong`` and ``where`` from the first condition that holds; ``checks``:
        (condition, offset in the entry)."""
        for condition, offset in reversed(checks):
            with m.If(condition):
                m.d.comb += [s.wrong.eq(1), s.where.eq(offset)]

    def _header(self, m, s, held):
        """Checks the words of the image's header."""
        p = self.params
        with m.Switch(s.index):
            with m.Case(0):
                self._first(m, s, (s.word != _MAGIC, 0))
            with m.Case(1):
                self._first(m, s, (s.word[:16] != 1, 4), (s.word[16:] != _HEADER, 6))
            with m.Case(2):
                m.d.comb += [s.hold.eq(~s.step), s.size.eq(self.image)]
                m.d.sync += s.image_bytes.eq(s.word)
                self._first(
                    m,
                    s,
                    (
                        s.step
                        & (
                            (self.core_table == 0) & (s.word > self.program_length)
                            | (s.total > s.limit)
                        ),
                        8,
                    ),
                )
            with m.Case(3):
                self._first(
                    m,
                    s,
                    ((s.word[:16] == 0) | (s.word[:16] > p["cores"]), 0xC),
                    (s.word[16:] != 0, 0xE),
                )
                m.d.sync += self.entries.eq(s.word)
            with m.Case(4):
                m.d.comb += [s.hold.eq(~s.step), s.size.eq(self.entries << exact_log2(_CORE_ENTRY))]
                m.d.sync += held.table.eq(s.word[6:])
                self._first(m, s, (s.step & ((s.word[:6] != 0) | s.overruns), 0x10))
            with m.Case(5):
                self._first(
                    m, s, (s.word[:16] != p["xb_rows"], 0x14), (s.word[16:] != p["xb_cols"], 0x16)
                )
            with m.Case(6):
                m.d.sync += held.base.eq(s.word)
            with m.Case(7):
                m.d.sync += held.size.eq(s.word)
            with m.Default():
                self._first(m, s, (s.word != 0, 0x20))

    def _gmem(self, m, held):
        """Legal range of GMem addresses, complete long before it is needed."""
        base, size = Signal(32), Signal(32)
        given = Signal()
        low, high, room = Signal(33), Signal(33), Signal(32)
        m.d.sync += [
            given.eq(self.gmem_size != 0),
            base.eq(Mux(given, self.gmem_base, held.base)),
            size.eq(Mux(given, self.gmem_size, held.size)),
            low.eq(self.window_base - base),
            high.eq(self.window_limit - base),
            self.gmem_from.eq(base),
            self.gmem_low.eq(Mux(low[-1], 0, low[:32])),
            room.eq(Mux(high[-1], 0, high[:32])),
            self.gmem_high.eq(Mux((size != 0) & (size < room), size, room)),
        ]

    def _core(self, m, s, held):
        """Checks the words of a core's entry."""
        p = self.params
        with m.Switch(s.index):
            with m.Case(0):
                m.d.sync += held.code.eq(s.word)
            with m.Case(1):
                m.d.sync += held.count.eq(s.word)
            with m.Case(2):
                m.d.sync += held.code_bytes.eq(s.word)
            with m.Case(3):
                mode, wait, ibiw, obiw = (s.word[8 * k : 8 * k + 8] for k in range(4))
                count, length = held.count, held.code_bytes
                m.d.comb += [s.hold.eq(~s.step), s.base.eq(held.code), s.size.eq(length)]
                m.d.sync += [
                    held.mode.eq(mode),
                    held.wait_count.eq(wait),
                    held.ibiw.eq(ibiw),
                    held.obiw.eq(obiw),
                ]
                disagree = Signal()
                with m.Switch(mode):
                    with m.Case(0):
                        m.d.comb += disagree.eq(length[2] | (length[3:] != count))
                    with m.Case(1):
                        m.d.comb += disagree.eq(length[2:] != count)
                with m.If(s.step):
                    self._first(
                        m,
                        s,
                        ((held.code[:3] != 0) | (s.base > s.image_bytes), 0),
                        ((length[:2] != 0) | s.overruns | disagree, 8),
                        (mode > 2, 0xC),
                        (wait > 1, 0xD),
                        ((ibiw == 0) | (ibiw > p["max_biw"]), 0xE),
                        ((obiw == 0) | (obiw > p["max_biw"]), 0xF),
                    )
            with m.Case(4):
                m.d.sync += held.bias.eq(s.word)
            with m.Case(5):
                groups, fi, fo = s.word[:16], s.word[16:24], s.word[24:]
                offset = held.bias  # of the group table, until the entry ends
                m.d.comb += [s.hold.eq(~s.step), s.base.eq(offset), s.size.eq(groups << 6)]
                m.d.sync += [
                    held.groups.eq(groups),
                    held.fi.eq(fi),
                    held.fo.eq(fo),
                    held.table.eq(offset[6:]),
                ]
                with m.If(s.step):
                    self._first(
                        m,
                        s,
                        ((offset[:6] != 0) | (s.base > s.image_bytes), 0x10),
                        ((groups > p["groups"]) | s.overruns, 0x14),
                        ((fi > 31) & (fi != _AUTO), 0x16),
                        ((fo > 31) & (fo != _AUTO), 0x17),
                    )
            with m.Default():
                self._first(m, s, (s.word != 0, 0x18))

    def _group(self, m, s, held, acts):
        """Checks the words of a group's entry. ``acts``: the cycle in which the results of a word
        take effect."""
        p = self.params
        rows_log, cols_log = exact_log2(p["xb_rows"]), exact_log2(p["xb_cols"])
        grid_rows = Signal(7)
        m.d.comb += grid_rows.eq((held.rows + (p["xb_rows"] - 1)) >> rows_log)
        with m.Switch(s.index):
            with m.Case(0):
                rows, cols = s.word[:16], s.word[16:]
                m.d.sync += [
                    held.rows.eq(rows),
                    held.cols.eq(cols),
                    held.weight_rows.eq(0),
                    held.grid.eq(0),
                    held.used.eq(0),
                    held.blocks.eq((cols + (p["xb_cols"] - 1)) >> cols_log),
                    s.multiplying.eq(1),
                ]
                self._first(
                    m,
                    s,
                    ((rows == 0) | (rows > _MAX_SIDE), 0),
                    ((cols == 0) | (cols > _MAX_SIDE), 2),
                )
            with m.Case(1):
                # Rows of all blocks, and blocks of the grid: a sum over the blocks of a row.
                mbiw, shift, flags, arrays = (s.word[8 * k : 8 * k + 8] for k in range(4))
                m.d.sync += [
                    held.mbiw.eq(mbiw),
                    held.shift.eq(shift),
                    held.round.eq(flags[0]),
                    held.has_bias.eq(flags[1]),
                    held.arrays.eq(arrays),
                ]
                m.d.comb += s.hold.eq(s.multiplying)
                with m.If(s.multiplying & acts):
                    m.d.sync += [
                        held.weight_rows.eq(held.weight_rows + held.rows),
                        held.grid.eq(held.grid + grid_rows),
                        held.blocks.eq(held.blocks - 1),
                        s.multiplying.eq(held.blocks != 1),
                    ]
                with m.If(~s.multiplying):
                    self._first(
                        m,
                        s,
                        ((mbiw == 0) | (mbiw > 8), 4),
                        (shift > 47, 5),
                        (flags[2:] != 0, 6),
                        ((arrays == 0) | (arrays > _MAX_ARRAYS) | (arrays != held.grid), 7),
                    )
            with m.Case(2):
                m.d.comb += [s.hold.eq(~s.step), s.size.eq(held.weight_rows << cols_log)]
                m.d.sync += held.weights.eq(s.word)
                self._first(m, s, (s.step & (s.word != 0) & ((s.word[:3] != 0) | s.overruns), 8))
            with m.Case(3):
                m.d.comb += [s.hold.eq(~s.step), s.size.eq(held.cols << 2)]
                biases = Signal(14)
                m.d.sync += [
                    held.bias.eq(s.word),
                    biases.eq(held.bias_total + held.cols),
                    held.blocks.eq((held.cols + (p["xb_cols"] - 1)) >> cols_log),
                ]
                self._first(
                    m,
                    s,
                    (
                        s.step
                        & held.has_bias
                        & ((s.word[:3] != 0) | s.overruns | (biases > p["bias_words"])),
                        0xC,
                    ),
                )
            with m.Case(*range(4, 12)):
                # Two ids a s.word, one a cycle.
                k, array = Signal(4), Signal(16)
                m.d.comb += [
                    s.hold.eq(~s.step),
                    k.eq(Cat(s.step, (s.index - 4)[:3])),
                    array.eq(Mux(s.step, s.word[16:], s.word[:16])),
                ]
                used, there = Signal(), Signal()
                one = Signal.like(
                    held.used
                )  # its bit; that of an array there is not does not matter
                m.d.comb += [
                    one.eq(1 << array[: array_bits(p)]),
                    used.eq((held.used & one).any()),
                    there.eq(k < held.arrays),
                ]
                with m.If(Mux(there, (array >= p["arrays"]) | used, array != 0)):
                    m.d.comb += [s.wrong.eq(1), s.where.eq(0x10 + (k << 1))]
                with m.If(there & acts):
                    m.d.comb += [
                        self.ids.valid.eq(1),
                        self.ids.index.eq(k),
                        self.ids.ids.array.eq(array),
                    ]
                    m.d.sync += [held.used.eq(held.used | one), held.ids[k].eq(array)]
            with m.Default():
                self._first(m, s, (s.word != 0, 0x30))

    def _next_chunk(self, m, held):
        """Address of the chunk after the current one; ``held.ends``: there is none."""
        p = self.params
        last_place, last_column = Signal(), Signal()
        shift = exact_log2(p["xb_cols"] // CHUNK_BYTES)
        final_rows = Signal()  # the last row of blocks
        m.d.comb += [
            final_rows.eq(held.rows_left <= p["xb_rows"]),
            last_place.eq(
                held.place
                == Mux(
                    final_rows,
                    Cat(
                        Const((1 << shift) - 1, shift),
                        (held.rows_left - 1)[: exact_log2(p["xb_rows"])],
                    ),
                    (1 << len(held.place)) - 1,
                )
            ),
            last_column.eq(held.column == held.blocks - 1),
            held.ends.eq(last_place & last_column & final_rows),
        ]
        m.d.sync += held.place.eq(held.place + 1)
        with m.If(last_place):
            m.d.sync += [
                held.place.eq(0),
                held.block.eq(held.block + 1),
                held.column.eq(held.column + 1),
            ]
            with m.If(last_column):
                m.d.sync += [held.column.eq(0), held.rows_left.eq(held.rows_left - p["xb_rows"])]
