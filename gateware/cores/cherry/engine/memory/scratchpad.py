# SPDX-License-Identifier: BSD-2-Clause
"""Scratchpad MEM: banks of block RAM between the load/store unit and DMA (specification, sections
2, 8 and 9)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_choice
from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from .....primitives.dualram import DualPortRAM
from ..units.lsu_crossbar import choose

__all__ = [
    "DMA_LATENCY",
    "READ_LATENCY",
    "BankInterface",
    "DmaInterface",
    "Scratchpad",
    "block_shape",
    "row_bits",
]

#: Cycles from a row's number at a bank to its element.
READ_LATENCY = 2
#: Cycles from an element's address at a DMA lane to the element.
DMA_LATENCY = READ_LATENCY + 2

_ELEMENT = 18


def row_bits(params: Params) -> int:
    """Width of a row number within a bank: element a lies in bank a mod ``banks``, row a div
    ``banks``."""
    return params["log_mem"] - exact_log2(params["banks"])


def block_shape(bits: int) -> tuple[int, int]:
    """Width of the block RAMs of a bank with two ports and 2^``bits`` rows, and the bits of their
    addresses: the deepest ones that need no more blocks; for 4,096 rows one block more than that,
    since a multiplexer of two outputs for each port of all banks costs hundreds of LUTs."""
    if bits == 12:
        return 4, 12
    return (18, bits) if bits <= 10 else (9, 11)


class BankInterface(wiring.Signature):
    """Bank interface of the scratchpad, seen from the load/store unit.

    Members
    -------
    row : Out, a row's number, every cycle
    write : Out(1); ``write_data`` : Out(18), written at the end of the cycle
    read_data : In(18), :data:`READ_LATENCY` cycles later its contents;
        of a cycle that wrote, undefined
    """

    def __init__(self, bits: int) -> None:
        super().__init__(
            {
                "row": Out(bits),
                "write": Out(1),
                "write_data": Out(_ELEMENT),
                "read_data": In(_ELEMENT),
            }
        )


class DmaInterface(wiring.Signature):
    """DMA interface of the scratchpad: one lane, an element per cycle.

    Members
    -------
    enable : Out(1), the lane reads or writes; two lanes never name the same bank in one cycle
    address : Out(log_mem), of the element; ``write`` : Out(1); ``write_data`` : Out(18)
    read_data : In(18), :data:`DMA_LATENCY` cycles later the contents of the address.
        Two operations later than a write, it is seen.
    """

    def __init__(self, log_mem: int) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "address": Out(log_mem),
                "write": Out(1),
                "write_data": Out(_ELEMENT),
                "read_data": In(_ELEMENT),
            }
        )


class _Bank(wiring.Component):
    """Memory bank with two ports ``a`` and ``b`` of :class:`BankInterface`; a ``shared`` one has a
    single port, used by ``b`` while ``b_owns``."""

    def __init__(self, *, bits, shared, family):
        self._bits, self._shared, self._family = bits, shared, family
        super().__init__(
            {"a": In(BankInterface(bits)), "b": In(BankInterface(bits)), "b_owns": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        return self._one_port(m) if self._shared else self._two_ports(m)

    def _one_port(self, m):
        m.submodules.ram = ram = BlockRAM(
            width=_ELEMENT, depth=1 << self._bits, family=self._family
        )
        a, b = self.a, self.b
        m.d.comb += [
            ram.read_addr.eq(Mux(self.b_owns, b.row, a.row)),
            ram.write_addr.eq(ram.read_addr),
            ram.write_en.eq(Mux(self.b_owns, b.write, a.write)),
            ram.write_data.eq(Mux(self.b_owns, b.write_data, a.write_data)),
            a.read_data.eq(ram.read_data),
            b.read_data.eq(ram.read_data),
        ]
        return m

    def _two_ports(self, m):
        width, low = block_shape(self._bits)
        outputs = {"a": [], "b": []}
        for block in range(1 << self._bits - low):
            parts = {"a": [], "b": []}
            for offset in range(0, _ELEMENT, width):
                m.submodules[f"ram_{block}_{offset}"] = ram = DualPortRAM(
                    depth=1 << low, width=width, family=self._family
                )
                end = min(offset + width, _ELEMENT)
                for name, face in (("a", self.a), ("b", self.b)):
                    here = face.row[low:] == block if self._bits > low else 1
                    m.d.comb += [
                        getattr(ram, f"{name}_addr").eq(face.row[:low]),
                        getattr(ram, f"{name}_write").eq(face.write & here),
                        getattr(ram, f"{name}_write_data").eq(face.write_data[offset:end]),
                    ]
                    parts[name].append(getattr(ram, f"{name}_data")[: end - offset])
            for name, found in parts.items():
                outputs[name].append(Cat(found))
        for name, face in (("a", self.a), ("b", self.b)):
            block = face.row[low:]
            for k in range(READ_LATENCY):
                later = Signal.like(block, name=f"block_{name}_{k}", reset_less=True)
                m.d.sync += later.eq(block)
                block = later
            m.d.comb += face.read_data.eq(choose(outputs[name], block))
        return m


class Scratchpad(wiring.Component):
    """Scratchpad MEM in ``banks`` banks, true dual-port: in every cycle the load/store unit can
    access every bank, and DMA as many elements as it has lanes.

    With ``slots`` 1 no DMA runs beside a program: the banks then have one port, which is DMA's
    while ``dma_owns``.

    Parameters
    ----------
    params : dict
    lanes : int, 1 or 2
        Lanes of DMA.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    banks : In, array of :class:`BankInterface`
    dma : In, array of :class:`DmaInterface`
    dma_owns : In(1), of consequence with ``slots`` 1 only: no program runs.
        It may change while neither side has anything under way

    Raises
    ------
    ValueError
        ``lanes``; or ``family`` has no true dual-port block RAM, and ``slots`` asks for it.
    """

    def __init__(self, *, params: Params, lanes: int = 1, family: str | None = None) -> None:
        check_choice("Lanes", lanes, (1, 2))
        self._shared = params["slots"] == 1
        if family == "ice40" and not self._shared:
            raise ValueError(
                f"Parameter slots must be 1 where the chip has no true dual-port block RAM "
                f"(ice40), not {params['slots']}"
            )
        self._params, self._lanes, self._family = params, lanes, family
        super().__init__(
            {
                "banks": In(BankInterface(row_bits(params))).array(params["banks"]),
                "dma": In(DmaInterface(params["log_mem"])).array(lanes),
                "dma_owns": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number, bits = self._params["banks"], row_bits(self._params)
        log = exact_log2(number)
        lanes = []
        for k, face in enumerate(self.dma):
            held = {
                name: Signal.like(getattr(face, name), name=f"lane_{k}_{name}", reset_less=True)
                for name in ("address", "write_data")
            }
            write, enable = Signal(name=f"lane_{k}_write"), Signal(name=f"lane_{k}_enable")
            m.d.sync += [
                held["address"].eq(face.address),
                held["write_data"].eq(face.write_data),
                write.eq(face.write & face.enable),
                enable.eq(face.enable),
            ]
            lanes.append((enable, held["address"], write, held["write_data"]))
        answers = []
        for number_of_bank in range(number):
            m.submodules[f"bank_{number_of_bank}"] = bank = _Bank(
                bits=bits, shared=self._shared, family=self._family
            )
            face = self.banks[number_of_bank]
            m.d.comb += [
                bank.a.row.eq(face.row),
                bank.a.write.eq(face.write),
                bank.a.write_data.eq(face.write_data),
                face.read_data.eq(bank.a.read_data),
                bank.b_owns.eq(self.dma_owns),
            ]
            meant = [
                enable & (address[:log] == number_of_bank if log else 1)
                for enable, address, _, _ in lanes
            ]
            _, address, _, value = lanes[0]
            m.d.comb += [
                bank.b.row.eq(address[log:]),
                bank.b.write_data.eq(value),
                bank.b.write.eq(
                    Cat(
                        mine & write for mine, (_, _, write, _) in zip(meant, lanes, strict=True)
                    ).any()
                ),
            ]
            if self._lanes == 2:
                with m.If(meant[1]):
                    m.d.comb += [
                        bank.b.row.eq(lanes[1][1][log:]),
                        bank.b.write_data.eq(lanes[1][3]),
                    ]
            answers.append(bank.b.read_data)
        for k, face in enumerate(self.dma):
            chosen = lanes[k][1][:log]
            for stage in range(READ_LATENCY):
                later = Signal.like(chosen, name=f"chosen_{k}_{stage}", reset_less=True)
                m.d.sync += later.eq(chosen)
                chosen = later
            m.d.sync += face.read_data.eq(choose(answers, chosen))
        return m
