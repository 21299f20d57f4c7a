# SPDX-License-Identifier: BSD-2-Clause
"""Top level of the IMAGine engine.

::

      main clock                 array clock
    memory -> Fetch -> FIFO-in -> Decoder -> Issue -> Controller -> Array
    memory <- Drain <- FIFO-out <------------ column registers <------+

A run is a level that crosses to the array's clock, where :mod:`.dispatch` makes it; its words cross
in FIFO-in with a mark behind the last one, its results in FIFO-out with a mark behind theirs, so
each side knows that nothing is under way. How the run ended stands still in registers of the
array's side before its mark arrives.
"""

from dataclasses import replace
from fractions import Fraction

from amaranth import Cat, DomainRenamer, Module, Mux, Shape, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import SyncFIFOBuffered

from ....isa.parameters import Params
from ....parts.queues import StreamBuffer
from ....primitives.floorplan import ram_columns
from ....shell.activity import Activity, Row
from ....shell.crossing import CountCrossing, CrossingFIFO
from ....shell.engine import Engine, EngineControl, Stall
from ..isa import ISA
from ..params import geometry, register_file
from .bounds import Bounds
from .decode import WordLayout
from .dispatch import EVENTS, NEEDED_SPACE, Dispatch, ItemLayout, place_parts
from .drain import Drain
from .fetch import Fetch
from .mapping import Mapping

__all__ = ["ArrayEngine"]

_FAR = "array"
#: Entries of the crossing behind FIFO-in.
_CROSSING = 16


class _State(enum.Enum):
    IDLE = 0
    JUDGE = 1
    RUN = 2
    CLOSE = 3
    CONCLUDE = 4
    FINISH = 5


class ArrayEngine(Engine):
    """IMAGine engine (docs/isa/imagine.md).

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`
    memory : Out, one memory port

    Attributes
    ----------
    fetch_lean : bool, the program comes one burst at a time
    place_parts : int, entries of FIFO-out behind a shift-out
    """

    BEATS = (1, 2, 4, 8, 16)
    #: In the array's clock, several times as fast as what surrounds it (tools/build/bitstream.py).
    synth_apart = {
        "ecp5": (
            "dispatch",
            "dispatch.decoder",
            "dispatch.issue",
            "dispatch.controller",
            "fifo_in",
            "fifo_out",
        ),
        "ice40": ("dispatch.decoder", "dispatch.issue"),
    }

    #: Eight logic cells of an iCE40 share clock enable and reset: an enable for fewer flip-flops
    #: costs places.
    synth_opts = {"ice40": "-dffe_min_ce_use 8"}

    def prepare(self) -> tuple[EngineControl, int]:
        params, family = self.params, self.family
        if family == "ice40" and params["ram"] == "tdp":
            raise ValueError(
                "parameter ram = tdp needs block RAMs with two ports: not family ice40"
            )
        self.mapping = mapping = Mapping.of(params)
        ratio = params["clock_ratio"] / 4 if params["own_clock"] else 1
        self._bits = max(2, (int(ratio * 1.06 + 2.99)).bit_length())
        # An iCE40 has few logic cells: there registers hold main memory's addresses and the limit
        # after them, as the shell's do.
        needed = max(12, self.memory_size.bit_length())
        self._address_bits = bits = needed if family == "ice40" else 32
        # Costs in cycles depend on the block RAM, too: a virtual board has no family, and must take
        # as many as the FPGA.
        self.fetch_lean = family == "ice40" or params["ram"] == "sdp1"
        self.place_parts = place_parts(needed if self.fetch_lean else 32)
        narrow = {"output_at", "output_limit"} if bits < 32 else ()
        return EngineControl(
            registers=tuple(
                replace(r, mask=(1 << bits) - 1) if r.name in narrow else r for r in ISA.registers
            ),
            cycle_bits=self._bits,
            bytes_bits=self._bits + 2,
            operations_bits=mapping.pes.bit_length(),
        ), 1

    @staticmethod
    def floorplan(device: str, params: Params) -> dict[str, str]:
        """Placement of the block RAMs of a large array: columns of blocks side by side, so that the
        control tree of each column stays within it."""
        mapping = Mapping.of(params)
        return {
            f"dispatch.array*.bank_{column}_{bank}.ram.cell": place
            for column, places in enumerate(ram_columns(device, mapping.cols, mapping.banks))
            for bank, place in enumerate(places)
        }

    @staticmethod
    def domains(params: Params) -> dict[str, Fraction]:
        """Clock domain of the array, if it is not the main clock's."""
        return {_FAR: Fraction(params["clock_ratio"], 4)} if params["own_clock"] else {}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._marked = Signal()
        mapping, params, control, memory = self.mapping, self.params, self.control, self.memory[0]
        dispatch = Dispatch(
            mapping=mapping,
            family=self.family,
            address_bits=self._address_bits,
            parts=self.place_parts,
        )
        m.submodules.dispatch = DomainRenamer(_FAR)(dispatch)
        inward = m.submodules.fifo_in = CrossingFIFO(
            shape=WordLayout(),
            depth=_CROSSING if mapping.deep else params["fifo_in"],
            w_domain="sync",
            r_domain=_FAR,
            small=not mapping.deep,
        )
        outward = m.submodules.fifo_out = CrossingFIFO(
            shape=ItemLayout(),
            depth=max(2 * NEEDED_SPACE, params["fifo_out"]),
            w_domain=_FAR,
            r_domain="sync",
        )
        fetch = m.submodules.fetch = Fetch(
            beat_bytes=self.beat_bytes,
            depth=params["fifo_in"],
            address_bits=self._address_bits,
            lean=self.fetch_lean,
        )
        drain = m.submodules.drain = Drain(
            rows=mapping.rows,
            width=mapping.width,
            beat_bytes=self.beat_bytes,
            address_bits=self._address_bits,
            parts=self.place_parts,
        )
        if mapping.deep:
            # A block RAM that two clocks share has no output register, which the array's clock
            # would wait for: the main clock's side stores, and what crosses does so in a few
            # entries of LUT RAM.
            stored = m.submodules.stored = SyncFIFOBuffered(
                width=Shape.cast(WordLayout()).width, depth=params["fifo_in"]
            )
            m.d.comb += [
                stored.w_data.eq(fetch.words.payload),
                stored.w_en.eq(fetch.words.valid),
                fetch.words.ready.eq(stored.w_rdy),
                inward.i.payload.eq(stored.r_data),
                inward.i.valid.eq(stored.r_rdy),
                stored.r_en.eq(inward.i.ready),
                fetch.space.eq(params["fifo_in"] - stored.level),
            ]
        else:
            wiring.connect(m, fetch.words, inward.i)
            m.d.comb += fetch.space.eq(inward.space)
        enough = Signal()
        if mapping.deep:
            room = Signal.like(outward.space, reset_less=True)
            m.d[_FAR] += room.eq(outward.space)
            m.d.comb += enough.eq(room >= NEEDED_SPACE)
        else:
            m.d[_FAR] += enough.eq(outward.space >= NEEDED_SPACE)
        wiring.connect(m, inward.o, dispatch.words)
        wiring.connect(m, dispatch.items, outward.i)
        if mapping.deep:
            # Block RAM without an output register answers late in a cycle; using its answers takes
            # another.
            items = m.submodules.items = StreamBuffer(shape=ItemLayout())
            wiring.connect(m, outward.o, items.i)
            wiring.connect(m, items.o, drain.items)
        else:
            wiring.connect(m, outward.o, drain.items)
        m.d.comb += [
            dispatch.space.eq(enough),
            # One port, first come first served; answers are distinguished by kind.
            memory.req.valid.eq(fetch.request.valid | drain.request.valid),
            memory.w.valid.eq(drain.beats.valid),
            memory.w.payload.eq(drain.beats.payload),
            drain.beats.ready.eq(memory.w.ready),
            drain.answer.valid.eq(memory.ack.valid),
            drain.answer.payload.eq(memory.ack.payload),
            memory.ack.ready.eq(drain.answer.ready),
            fetch.answer.valid.eq(memory.r.valid),
            fetch.answer.payload.eq(memory.r.payload),
            memory.r.ready.eq(fetch.answer.ready),
        ]
        turn, waits = Signal(), Signal()
        mine = Signal()  # the drain's request is offered
        m.d.comb += mine.eq(Mux(waits, turn, drain.request.valid))
        m.d.sync += [waits.eq(memory.req.valid & ~memory.req.ready), turn.eq(mine)]
        with m.If(mine):
            m.d.comb += [
                memory.req.payload.eq(drain.request.payload),
                drain.request.ready.eq(memory.req.ready),
            ]
        with m.Else():
            m.d.comb += [
                memory.req.payload.eq(fetch.request.payload),
                fetch.request.ready.eq(memory.req.ready),
            ]
        self._run(m, dispatch, fetch, drain)
        self._counts(m, dispatch, drain)
        m.d.comb += [
            control.val.output_count.eq(drain.words),
            control.val.vectors.eq(drain.vectors),
            control.val.geometry.eq(geometry(params)),
            control.val.register_file.eq(register_file(params)),
        ]
        # The one register of the engine's own: set wins.
        ended = Signal()
        with m.If(control.bus.write & control.bus.write_data[0]):
            m.d.sync += ended.eq(0)
        with m.If(drain.vector):
            m.d.sync += ended.eq(1)
        m.d.sync += control.bus.read_data.eq(ended)
        self._dispatch = dispatch
        return m if params["own_clock"] else DomainRenamer({_FAR: "sync"})(m)

    def rows(self) -> tuple[Row, ...]:
        return Row("class", domain=_FAR), Row("array", domain=_FAR)

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline, in the array's clock."""
        dispatch = self._dispatch
        now = dict(zip(EVENTS, dispatch.event, strict=True))
        others = {"write": Stall.WRITE, "other": Stall.OTHER, "fetch": Stall.FETCH}
        issue = dispatch.issue
        return {
            "class": Activity(
                now["work"] | Cat(now[name] for name in others).any(),
                number=sum(Mux(now[name], kind.value, 0) for name, kind in others.items()),
            ),
            "array": Activity(
                issue.go | issue.running,
                takes=issue.go,
                number=dispatch.dispatched << 2,
                base=self.control.program_address,
            ),
        }

    def _run(self, m, dispatch, fetch, drain):
        """State machine of a run, from start to end."""
        control = self.control
        state, run, stop = Signal(_State), Signal(), Signal()
        swept = Signal()
        m.submodules.run_far = FFSynchronizer(run, dispatch.run, o_domain=_FAR, reset_less=False)
        m.submodules.stop_far = FFSynchronizer(stop, dispatch.stop, o_domain=_FAR, reset_less=False)
        m.submodules.swept_near = FFSynchronizer(dispatch.swept, swept, reset_less=False)
        bounds = m.submodules.bounds = Bounds(bits=self._address_bits, rows=self.mapping.rows)
        ran = Signal()
        m.d.comb += [
            control.ready.eq((state == _State.IDLE) & swept),
            control.finish.eq(state == _State.FINISH),
            bounds.address.eq(control.program_address),
            bounds.length.eq(control.program_length),
            bounds.window_base.eq(control.window_base),
            bounds.window_limit.eq(control.window_limit),
            bounds.output_limit.eq(control.reg.output_limit),
            bounds.at.eq(drain.at),
            bounds.lost.eq(drain.failed & ran),
            bounds.judge.eq(state == _State.JUDGE),
            bounds.conclude.eq(state == _State.CONCLUDE),
            bounds.over.eq(Mux(ran, dispatch.code, 0)),
            bounds.place.eq(
                Mux(drain.failed, drain.failed_place, dispatch.count)
                & ran.replicate(self._address_bits - 2)
            ),
            control.fault_code.eq(bounds.code),
            control.fault_pc.eq(bounds.pc),
            control.fault_detail.eq(bounds.detail | (dispatch.detail & bounds.word.replicate(32))),
            dispatch.allowance.eq(bounds.allowance),
            fetch.address.eq(control.program_address),
            fetch.length.eq(control.program_length),
            fetch.stop.eq(stop),
            # Not from the register write that starts the run: that path is long.
            drain.start.eq(state == _State.JUDGE),
            drain.address.eq(control.reg.output_at),
            drain.stop.eq(stop),
        ]
        m.d.sync += fetch.start.eq(bounds.good)
        seen = Signal()  # that the array has begun to count
        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += [stop.eq(0), seen.eq(0), ran.eq(0)]
                with m.If(control.start):
                    m.d.sync += state.eq(_State.JUDGE)
            with m.Case(_State.JUDGE):
                with m.If(bounds.done):
                    m.d.sync += state.eq(_State.CONCLUDE)
                    with m.If((bounds.code == 0) & ~bounds.empty):
                        m.d.sync += [state.eq(_State.RUN), run.eq(1), ran.eq(1)]
            with m.Case(_State.RUN):
                with m.If(control.abort | drain.failed):
                    m.d.sync += stop.eq(1)
                with m.If(drain.ended):
                    m.d.sync += state.eq(_State.CLOSE)
            with m.Case(_State.CLOSE):
                with m.If(~self._marked):
                    m.d.sync += seen.eq(1)
                with m.If(seen):
                    m.d.sync += run.eq(0)
                    with m.If(~run & self._marked):
                        m.d.sync += state.eq(_State.CONCLUDE)
            with m.Case(_State.CONCLUDE):
                with m.If(bounds.done):
                    m.d.sync += state.eq(_State.FINISH)
            with m.Case(_State.FINISH):
                m.d.sync += state.eq(_State.IDLE)

    def _counts(self, m, dispatch, drain):
        """Events of the array's clock that the shell counts."""
        control = self.control
        counts = m.submodules.counts = CountCrossing(
            events=len(EVENTS), bits=self._bits, domain=_FAR
        )
        now = dict(zip(EVENTS, counts.increment, strict=True))
        m.d.comb += [
            counts.event.eq(dispatch.event),
            counts.mark.eq(~dispatch.active),
            self._marked.eq(counts.marked),
        ]
        m.d.comb += [
            control.classes.work.eq(now["work"]),
            control.classes.write.eq(now["write"]),
            control.classes.other.eq(now["other"]),
            control.classes.fetch.eq(now["fetch"]),
            control.classes.operand.eq(0),
            control.retired.eq(now["retired"]),
            # No two multiplications end in one cycle of the main clock.
            control.operations.eq(Mux(now["products"][0], self.mapping.pes, 0)),
            control.bytes_read.eq(now["retired"] << 2),
            control.bytes_written.eq(drain.written << 2),
        ]
