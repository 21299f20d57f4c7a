# SPDX-License-Identifier: BSD-2-Clause
"""Base class of the engines, and their interface to the core shell (docs/how/contracts.md, section
3)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction

from amaranth import Mux, unsigned
from amaranth.hdl import ValueLike
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes, check_family, check_integer, check_memory_size, is_integer
from ..isa.parameters import Capacity, Params
from ..isa.registers import Counter, Register, StallClass
from ..memory.port import MemoryPort
from .activity import Activity, Row

__all__ = ["Engine", "EngineControl", "Stall", "first_class"]


class Stall(enum.Enum, shape=3):
    """Class of a busy cycle (values of :class:`~..isa.registers.StallClass`)."""

    WORK = StallClass.WORK
    FETCH = StallClass.FETCH
    OPERAND = StallClass.OPERAND
    WRITE = StallClass.WRITE
    OTHER = StallClass.OTHER


def first_class(*classes: tuple[ValueLike, Stall]) -> ValueLike:
    """The :class:`Stall` class of a cycle: the class of the first pair (condition, class) in
    ``classes`` whose condition holds, else OTHER."""
    found = Stall.OTHER
    for condition, chosen in reversed(classes):
        found = Mux(condition, chosen, found)
    return found


class EngineControl(wiring.Signature):
    """Control interface between engine and shell, seen from the engine (the shell drives ``In``
    members).

    Parameters
    ----------
    registers : iterable of Register
        The ISA's own registers. Those of storage ``"block"``: writable ones appear as ``In`` member
        ``reg.<name>``, read-only ones as ``Out`` member ``val.<name>``. Those of storage
        ``"engine"`` go through ``bus``.
    operations_bits : int
        Width of the increment of ``cnt_operations`` in one cycle.
    bytes_bits : int
        Width of the increments of the byte counters in one cycle.
    counters : iterable of Counter
        The ISA's further counters: ``Out`` member ``inc.<name>``, ``bits`` wide.
    views : int
        Number of views of the common counters: the core as a whole and, beside it, parts of it
        (each processor of a many-core engine). With more than one there are ``Out`` members
        ``view``, the number of the one that the counter registers show while not busy (0: the
        whole), and ``part``, an array of views - 1 structures of ``stall``, ``retired``,
        ``operations``, ``bytes_read``, ``bytes_written`` and ``inc``, of the same rules as those of
        the whole. Cycles are the same in all views.
    part_bits : dict of str to int
        Widths in ``part`` that are less than those of the whole: ``"retired"``, ``"operations"``,
        ``"bytes"``, or names of counters.
    cycle_bits : int
        1: a busy cycle is one of the main clock, of the class that ``stall`` says. More: for a core
        with a clock of its own, whose cycles are to be counted. There is no ``stall``, but
        ``classes``, how many of its cycles of each class the engine reports in this cycle of the
        main clock, and ``retired`` is as wide; their sum is less than 2^cycle_bits. Events reported
        up to and including ``finish`` count (:class:`~.crossing.CountCrossing`). Not
        together with views.

    Members
    -------
    ready : Out, the engine can take a start (no sweep of its own is under way).
        While it is low a start waits, and counts nothing; a core reset stays busy until it is high.
    start : In, one cycle: begin a run. Registers hold still from here to ``finish``.
    abort : In, level: end the run at the next burst boundary with fault code 8;
        low again once ``finish`` was seen.
    program_address, program_length, window_base, window_limit : In, 32 bits
    finish : Out, one cycle: the run is over, nothing of it is outstanding on any memory port,
        and ``fault_*`` hold. ``fault_code`` 0: done; 8: aborted; else a fault.
    fault_code : Out, 8 bits; fault_pc, fault_detail : Out, 32 bits:
        hold still from the cycle of ``finish`` to the next ``start`` or core reset (the shell reads
        them 16 bits at a time once the counters are complete)
    interrupt : Out, one cycle: raise the interrupt within a run
    stall : Out, :class:`Stall`: the class of this cycle,
        looked at from the cycle after ``start`` to that of ``finish``, both included
    retired : Out, ``retired_bits``: instructions completed this cycle
    operations, bytes_read, bytes_written : Out:
        increments of this cycle (those up to and including ``finish`` count)
    """

    def __init__(
        self,
        *,
        registers: Iterable[Register] = (),
        operations_bits: int = 1,
        bytes_bits: int = 8,
        counters: Iterable[Counter] = (),
        views: int = 1,
        cycle_bits: int = 1,
        retired_bits: int = 1,
        part_bits: Mapping[str, int] | tuple[()] = (),
    ) -> None:
        counters = tuple(counters)
        check_integer("Number of views", views, 1, 64)
        check_integer("Bits of cycles", cycle_bits, 1, 8)
        if cycle_bits > 1 and views > 1:
            raise ValueError(f"A core has {views} views or cycles of {cycle_bits} bits, not both")
        check_integer("Bits of retired instructions", retired_bits, 1, 16)
        if cycle_bits > 1 and retired_bits > 1:
            raise ValueError(
                f"Retired instructions of {retired_bits} bits need cycles of 1 bit, not "
                f"{cycle_bits}"
            )
        self.retired_bits = max(retired_bits, cycle_bits)
        widths = {
            "retired": retired_bits,
            "operations": operations_bits,
            "bytes": bytes_bits,
            **{c.name: c.bits for c in counters},
        }
        for name, bits in dict(part_bits).items():
            if name not in widths or not is_integer(bits) or not 1 <= bits <= widths[name]:
                raise ValueError(
                    f"Width of {name!r} in a view must be one of the whole's and no larger, "
                    f"not {bits!r}"
                )
        #: Widths of the increments of a part.
        self.part_bits = {**widths, **dict(part_bits)}
        self.registers = tuple(registers)
        self.cycle_bits = cycle_bits
        self.operations_bits = operations_bits
        self.bytes_bits = bytes_bits
        self.counters, self.views = counters, views
        block = [r for r in self.registers if r.storage == "block"]
        members = {
            "ready": Out(1),
            "start": In(1),
            "abort": In(1),
            "program_address": In(32),
            "program_length": In(32),
            "window_base": In(32),
            "window_limit": In(32),
            "finish": Out(1),
            "fault_code": Out(8),
            "fault_pc": Out(32),
            "fault_detail": Out(32),
            "interrupt": Out(1),
            "stall": Out(Stall),
            "retired": Out(retired_bits),
            "operations": Out(operations_bits),
            "bytes_read": Out(bytes_bits),
            "bytes_written": Out(bytes_bits),
            "reg": In(
                data.StructLayout({r.name: unsigned(r.width) for r in block if "w" in r.access})
            ),
            "val": Out(
                data.StructLayout({r.name: unsigned(r.width) for r in block if "w" not in r.access})
            ),
            "inc": Out(data.StructLayout({c.name: unsigned(c.bits) for c in self.counters})),
        }
        if cycle_bits > 1:
            del members["stall"]
            members |= {
                "retired": Out(cycle_bits),
                "classes": Out(
                    data.StructLayout(
                        {
                            name: cycle_bits
                            for name in ("work", "fetch", "operand", "write", "other")
                        }
                    )
                ),
            }
        if any(r.storage == "engine" for r in self.registers):
            # Read data answer one cycle after the address; writes happen only while not busy.
            members["bus"] = In(
                wiring.Signature(
                    {
                        "address": Out(10),
                        "write": Out(1),
                        "write_data": Out(32),
                        "read_data": In(32),
                    }
                )
            )
        if views > 1:
            members["view"] = Out(range(views))
            members["part"] = Out(
                data.ArrayLayout(
                    data.StructLayout(
                        {
                            "stall": Stall,
                            "retired": self.part_bits["retired"],
                            "operations": self.part_bits["operations"],
                            "bytes_read": self.part_bits["bytes"],
                            "bytes_written": self.part_bits["bytes"],
                            "inc": data.StructLayout(
                                {c.name: self.part_bits[c.name] for c in self.counters}
                            ),
                        }
                    ),
                    views - 1,
                )
            )
        super().__init__(members)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EngineControl)
            and self.registers == other.registers
            and self.counters == other.counters
            and self.operations_bits == other.operations_bits
            and self.bytes_bits == other.bytes_bits
            and self.views == other.views
            and self.cycle_bits == other.cycle_bits
            and self.retired_bits == other.retired_bits
            and self.part_bits == other.part_bits
        )


class Engine(wiring.Component):
    """Base class of the engines, the ISA-specific part of a core. A core package's
    ``variant(params, beat_bytes)`` names the class of a build.

    A class of a core package gives ``elaborate`` and :meth:`prepare`, and may override the
    attributes here.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int
        Beat of the memory ports, one of ``BEATS``.
    memory_size : int
        Bytes of main memory, a multiple of 64.
    family : ``"ecp5"``, ``"ice40"`` or ``None``
        FPGA family whose primitives are instantiated; ``None``: behavioural models.

    Members
    -------
    control : Out, :class:`EngineControl`
    memory : Out, array of :class:`~quintet.gateware.memory.port.MemoryPort`

    Raises
    ------
    ValueError
        An argument out of range; the message names it.
    """

    #: Bytes of a beat that it can be built for; ``None``: any.
    BEATS: tuple[int, ...] | None = (1, 2, 4, 8)
    #: Requests under way on the path to on-chip memory: as many short ones in a row as its latency
    #: has cycles keep it busy.
    ON_CHIP_REQUESTS = 8
    #: Beats of answers that the arbiter holds for each of its ports, one number or one a port. With
    #: 0 an engine takes its answers as they come, or slows its other ports.
    port_buffers = 0
    #: Options of yosys by family, in place of the build's own.
    synth_opts: dict[str, str] = {}
    #: Script of yosys before the synthesis, by family.
    synth_before: dict[str, str] = {}
    #: Names of modules below the engine that are mapped one by one, by family: synthesis trades the
    #: speed of all but the slowest paths for area.
    synth_apart: dict[str, tuple[str, ...]] = {}

    def __init__(
        self, *, params: Params, beat_bytes: int, memory_size: int, family: str | None = None
    ) -> None:
        check_family(family)
        check_beat_bytes(beat_bytes, self.BEATS)
        check_memory_size(memory_size)
        self.params, self.beat_bytes, self.memory_size, self.family = (
            params,
            beat_bytes,
            memory_size,
            family,
        )
        control, ports = self.prepare()
        super().__init__(
            {"control": Out(control), "memory": Out(MemoryPort(beat_bytes)).array(ports)}
        )

    @abstractmethod
    def prepare(self) -> tuple[EngineControl, int]:
        """Creates the control interface and sets the number of memory ports; raises ``ValueError``
        for arguments that this engine does not support."""

    def rows(self) -> tuple[Row, ...]:
        """Rows of the activity timeline; a row whose cycles the shell does not count also names its
        ``class``."""
        return ()

    def activity(self) -> dict[str, Activity]:
        """Traced signals by row name, available after elaboration."""
        return {}

    @staticmethod
    def check_capacity(params: Params, capacity: Capacity | None) -> None:
        """Raises ``ValueError`` for sizes that exceed the FPGA, as far as that is known without
        elaboration.

        ``capacity`` is the FPGA's (:class:`~quintet.gateware.isa.parameters.Capacity`), ``None`` in
        a simulation.
        """

    @staticmethod
    def spram_blocks(params: Params) -> int:
        """Number of an UP5K's SPRAM blocks that the engine takes from main memory."""
        return 0

    @staticmethod
    def domains(params: Params) -> Mapping[str, float | Fraction]:
        """Additional clock domain of the engine: name -> ratio to the main clock, at most one
        entry."""
        return {}

    @staticmethod
    def floorplan(device: str, params: Params) -> dict[str, str]:
        """Fixed placement in an FPGA ``device``: cells below the engine -> nextpnr's BELs."""
        return {}
