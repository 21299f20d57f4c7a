# SPDX-License-Identifier: BSD-2-Clause
"""Local memory of byte lanes: one unaligned word is read and another is written in each cycle
(specification, sections 2 and 9).

The word at byte ``a`` lies in all lanes, byte ``k`` of it in lane ``(a + k) mod lanes``; lanes
before that of ``a`` are read one row further on. Each lane is a block RAM with one port to read and
one to write, as both chip families have them.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from ..commands import LMemRead, LMemWrite, address_bits, lmem_word_bytes

__all__ = ["MATRIX", "TRANSFER", "USERS", "VECTOR", "LocalMemory"]

#: Numbers of the users of a local memory.
MATRIX, VECTOR, TRANSFER = range(3)
USERS = 3


def grant(m: Module, wants: list[Value], leader: int, name: str) -> list[Value]:
    """Arbiter of three requesters: the ``leader`` has priority, the others alternate. Returns the
    grants, a list of values.

    The last of them gives way only where the second has its turn, which it loses by making the last
    one wait: so nobody's ``ready`` depends on whether the last one, whose wish is known late in a
    cycle, wants to go.
    """
    turn = Signal(name=f"{name}_turn", init=1)  # the second's
    second, last = (number for number in range(USERS) if number != leader)
    free = ~wants[leader]
    with m.If(free):
        m.d.sync += turn.eq(~(turn & wants[second] & wants[last]))
    goes = [None] * USERS
    goes[leader], goes[second], goes[last] = (
        Const(1, 1),
        free & turn,
        free & ~(turn & wants[second]),
    )
    return goes


def rotated(value: Value, places: Value, lanes: int, *, left: bool) -> Value:
    """Byte rotation: ``value`` of ``lanes`` bytes, rotated by ``places`` bytes: byte ``k`` comes
    from ``k + places``, or goes there (``left``)."""
    for bit in range(exact_log2(lanes)):
        step = 8 << bit
        at = len(value) - step if left else step
        value = Mux(places[bit], Cat(value[at:], value[:at]), value)
    return value


def mask_rotated(value: Value, places: Value, lanes: int) -> Value:
    """Mask rotation: rotates bits as ``rotated(..., left=True)`` rotates bytes."""
    for bit in range(exact_log2(lanes)):
        at = lanes - (1 << bit)
        value = Mux(places[bit], Cat(value[at:], value[:at]), value)
    return value


class LocalMemory(wiring.Component):
    """Local memory: reads and writes one word of any alignment in each cycle.

    A write takes two cycles on its way: in the first it is chosen, in the second turned to its
    lanes. Reads have their registers behind the memories, so a request in the next cycle but one
    sees it.

    The vector unit, whose pipeline does not stop, is first to write; while others wait for it to
    let them write, it reads in every other cycle only. The matrix unit, whose steps wait for what
    it reads, is first to read. The two others take turns.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    read : In(LMemRead), write : In(LMemWrite), one each for matrix,
        vector and transfer unit: :data:`MATRIX`, :data:`VECTOR`,
        :data:`TRANSFER`
    zero : In, one cycle: writes zero to all bytes;
        nobody may use the memory meanwhile (writes are not accepted)
    zeroing : Out
    """

    #: Cycles from a request to its word.
    LATENCY = LMemRead.READ_LATENCY

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        super().__init__(
            {
                "read": In(LMemRead(params)).array(USERS),
                "write": In(LMemWrite(params)).array(USERS),
                "zero": In(1),
                "zeroing": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, bits = lmem_word_bytes(self.params), address_bits(self.params)
        part = exact_log2(lanes)
        rows = bits - part

        def rows_of(address, name):
            """Registers with each lane's row number, on the path to the memories."""
            row, following = address[part:], Signal(rows, name=f"{name}_following")
            m.d.comb += following.eq(row + 1)
            held = [Signal(rows, name=f"{name}_row_{k}", reset_less=True) for k in range(lanes)]
            m.d.sync += [
                held[k].eq(Mux(address[:part] > k, following, row) if k < lanes - 1 else row)
                for k in range(lanes)
            ]
            return held

        # Reads
        starved = Signal()
        wants = [
            port.request.valid & (~starved if number == VECTOR else 1)
            for number, port in enumerate(self.read)
        ]
        goes = grant(m, wants, MATRIX, "read")
        address = Signal(bits, name="read_address")
        for number, (port, go) in enumerate(zip(self.read, goes, strict=True)):
            m.d.comb += port.request.ready.eq(go & ~starved if number == VECTOR else go)
        m.d.comb += address.eq(
            Mux(
                wants[MATRIX],
                self.read[MATRIX].request.payload,
                Mux(
                    goes[TRANSFER],
                    self.read[TRANSFER].request.payload,
                    self.read[VECTOR].request.payload,
                ),
            )
        )
        read_rows = rows_of(address, "read")
        places, owners = (
            address[:part],
            Cat(want & go for want, go in zip(wants, goes, strict=True)),
        )
        for k in range(self.LATENCY):
            later, later_owners = (
                Signal(part, name=f"places_{k}", reset_less=True),
                Signal(USERS, name=f"owners_{k}"),
            )
            m.d.sync += [later.eq(places), later_owners.eq(owners)]
            places, owners = later, later_owners

        # Writes: first whose; the sweep of zeros goes before them
        sweep = Signal(rows)
        wants = [face.request.valid for face in self.write]
        goes = grant(m, wants, VECTOR, "write")
        for face, go in zip(self.write, goes, strict=True):
            m.d.comb += face.request.ready.eq(go & ~self.zeroing)
        chosen = Signal.like(self.write[0].request.payload, name="chosen")
        request = Signal.like(chosen, name="request", reset_less=True)
        m.d.comb += chosen.eq(
            Mux(
                wants[VECTOR],
                self.write[VECTOR].request.payload,
                Mux(
                    goes[TRANSFER],
                    self.write[TRANSFER].request.payload,
                    self.write[MATRIX].request.payload,
                ),
            )
        )
        writes = Signal()
        m.d.sync += [
            writes.eq(Cat(want & go for want, go in zip(wants, goes, strict=True)).any()),
            request.eq(chosen),
        ]
        with m.If(self.zeroing):
            m.d.sync += [
                writes.eq(1),
                request.address.eq(sweep << part),
                request.data.eq(0),
                request.mask.eq(~0),
            ]
            m.d.sync += sweep.eq(sweep + 1)
            with m.If(sweep.all()):
                m.d.sync += self.zeroing.eq(0)
        with m.If(self.zero):
            m.d.sync += self.zeroing.eq(1)
        m.d.sync += starved.eq(wants[VECTOR] & (wants[MATRIX] | wants[TRANSFER]) & ~starved)
        # Then to their lanes
        write_rows = rows_of(request.address, "write")
        data, enable = (
            Signal(8 * lanes, name="write_data", reset_less=True),
            Signal(lanes, name="write_enable"),
        )
        turned = Signal(lanes)
        m.d.comb += turned.eq(mask_rotated(request.mask, request.address[:part], lanes))
        m.d.sync += [
            data.eq(rotated(request.data, request.address[:part], lanes, left=True)),
            enable.eq(turned & writes.replicate(lanes)),
        ]

        words = []
        for k in range(lanes):
            m.submodules[f"lane_{k}"] = ram = BlockRAM(
                width=8, depth=1 << rows, latency=self.LATENCY - 1, family=self.family
            )
            m.d.comb += [
                ram.read_addr.eq(read_rows[k]),
                ram.write_en.eq(enable[k]),
                ram.write_addr.eq(write_rows[k]),
                ram.write_data.eq(data.word_select(k, 8)),
            ]
            words.append(ram.read_data)
        word = Signal(8 * lanes, name="word")
        m.d.comb += word.eq(rotated(Cat(*words), places, lanes, left=False))
        for face, owner in zip(self.read, owners, strict=True):
            m.d.comb += [face.data.eq(word), face.valid.eq(owner)]
        return m
