# SPDX-License-Identifier: BSD-2-Clause
"""Block RAM instances that :class:`~.bram.BlockRAM` does not cover: true dual port, and halves with
separate write enables.

As there, an answer takes two cycles (output register), contents are zero after configuration, and
whoever reads an address in the cycle in which another port writes it gets no defined data: the
behavioural models give the complement, so that a simulation notices.
"""

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal
from amaranth.hdl import ValueLike
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arguments import check_choice, check_family, check_integer
from .bram import BlockRAM

__all__ = ["DualPortRAM", "HalvesRAM"]


def _depth(depth, most):
    check_integer("Depth", depth, 2, most, power_of_two=True)
    return ceil_log2(depth)


def _dp16kd(m, *, bits, pins, write_a, write_b):
    """One DP16KD instance with output registers on both ports."""
    fixed = {f"i_{pin}{port}{k}": Const(0) for port in "AB" for pin in ("CS",) for k in range(3)}
    m.submodules.cell = Instance(
        "DP16KD",
        p_DATA_WIDTH_A=bits,
        p_DATA_WIDTH_B=bits,
        p_REGMODE_A="OUTREG",
        p_REGMODE_B="OUTREG",
        p_RESETMODE="SYNC",
        p_ASYNC_RESET_RELEASE="SYNC",
        p_CSDECODE_A="0b000",
        p_CSDECODE_B="0b000",
        p_WRITEMODE_A="NORMAL",
        p_WRITEMODE_B="NORMAL",
        p_GSR="DISABLED",
        p_CLKAMUX="CLKA",
        p_CLKBMUX="CLKB",
        i_CLKA=ClockSignal(),
        i_CLKB=ClockSignal(),
        i_RSTA=Const(0),
        i_RSTB=Const(0),
        i_CEA=Const(1),
        i_CEB=Const(1),
        i_OCEA=Const(1),
        i_OCEB=Const(1),
        i_WEA=write_a,
        i_WEB=write_b,
        **fixed,
        **pins,
    )


class DualPortRAM(wiring.Component):
    """One true dual-port block RAM of ``depth`` words of ``width`` bits; each port reads or writes
    in every cycle.

    Parameters
    ----------
    depth : int
        A power of two, at most 1024; of 9 bits at most 2048, of 4 at most 4096.
    width : 4, 9, 16 or 18
    family : ``"ecp5"`` or ``None``

    Members
    -------
    a_addr, b_addr : In
    a_write, b_write : In(1); a_write_data, b_write_data : In(width);
        written at the end of the cycle
    a_data, b_data : Out(width), contents of the address two cycles before;
        of a cycle that wrote, undefined
    """

    WIDTH = 16

    def __init__(self, *, depth: int, width: int = WIDTH, family: str | None = None) -> None:
        check_choice("Width", width, (4, 9, 16, 18))
        bits = _depth(depth, {4: 4096, 9: 2048}.get(width, 1024))
        check_family(family)
        if family == "ice40":
            raise ValueError(
                "Family must be 'ecp5' or None for a true dual-port block RAM, not 'ice40'"
            )
        self.depth, self.width, self.family = depth, width, family
        super().__init__(
            {
                f"{port}_{name}": flow
                for port in "ab"
                for name, flow in (
                    ("addr", In(bits)),
                    ("write", In(1)),
                    ("write_data", In(width)),
                    ("data", Out(width)),
                )
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family is None:
            m.submodules.memory = self.memory = mem = memory.Memory(
                shape=self.width, depth=self.depth, init=[]
            )
            same = Signal()
            m.d.comb += same.eq(self.a_addr == self.b_addr)
            for own, other in ("ab", "ba"):
                addr, write, data, out = (
                    getattr(self, f"{own}_{n}") for n in ("addr", "write", "write_data", "data")
                )
                put, get = mem.write_port(), mem.read_port()
                spoilt = Signal(name=f"spoilt_{own}", reset_less=True)
                m.d.comb += [
                    put.addr.eq(addr),
                    put.data.eq(data),
                    put.en.eq(write),
                    get.addr.eq(addr),
                    get.en.eq(1),
                ]
                # As the block's, its output register has no reset.
                held = Signal(self.width, name=f"held_{own}", reset_less=True)
                m.d.sync += [
                    spoilt.eq(write | (getattr(self, f"{other}_write") & same)),
                    held.eq(get.data ^ spoilt.replicate(self.width)),
                ]
                m.d.comb += out.eq(held)
            return m
        pins: dict[str, ValueLike] = {}
        for port, addr, data, out in (
            ("A", self.a_addr, self.a_write_data, self.a_data),
            ("B", self.b_addr, self.b_write_data, self.b_data),
        ):
            # With two bytes bits 1:0 are byte enables and bits 3:2 unused; with one byte, or half a
            # byte, there are no enables, and bits 2:0, or 1:0, are unused.
            low = {4: Const(0, 2), 9: Const(0, 3)}.get(self.width, Const(0b11, 4))
            address = Cat(low, addr, Const(0, 14 - len(low) - len(addr)))
            pins |= {f"i_AD{port}{k}": address[k] for k in range(14)}
            pins |= {f"i_DI{port}{k}": data[k] if k < self.width else Const(0) for k in range(18)}
            pins |= {f"o_DO{port}{k}": out[k] for k in range(self.width)}
        _dp16kd(
            m,
            bits=self.width if self.width < 16 else 18,
            pins=pins,
            write_a=self.a_write,
            write_b=self.b_write,
        )
        return m


class HalvesRAM(wiring.Component):
    """One simple dual-port block RAM of 32 bits with a write enable for each half: one read and one
    write per cycle.

    Parameters
    ----------
    depth : int
        A power of two, at most 512.
    family : ``"ecp5"``, ``"ice40"`` (two SB_RAM40_4K) or ``None``

    Members
    -------
    read_addr, write_addr : In
    write_en : In(2), low and high half; write_data : In(32); written at the end of the cycle
    read_data : Out(32), contents of the address two cycles before
    """

    def __init__(self, *, depth: int, family: str | None = None) -> None:
        bits = _depth(depth, 512)
        check_family(family)
        self.depth, self.family = depth, family
        super().__init__(
            {
                "read_addr": In(bits),
                "read_data": Out(32),
                "write_addr": In(bits),
                "write_en": In(2),
                "write_data": In(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family != "ecp5":
            self.parts = []
            for half in range(2):
                part = m.submodules[f"half_{half}"] = BlockRAM(
                    width=16, depth=self.depth, latency=2, family=self.family
                )
                self.parts.append(part)
                m.d.comb += [
                    part.read_addr.eq(self.read_addr),
                    part.write_addr.eq(self.write_addr),
                    part.write_en.eq(self.write_en[half]),
                    part.write_data.eq(self.write_data.word_select(half, 16)),
                    self.read_data.word_select(half, 16).eq(part.read_data),
                ]
            return m
        # 36 bits: both halves of the block together, port A writes, port B reads. Four byte enables
        # of 9 bits in ADA.
        fill = Const(0, 9 - len(self.read_addr))
        write = Cat(
            self.write_en[0],
            self.write_en[0],
            self.write_en[1],
            self.write_en[1],
            Const(0),
            self.write_addr,
            fill,
        )
        read = Cat(Const(0, 5), self.read_addr, fill)
        out = Signal(36)
        data = Cat(self.write_data[:16], Const(0, 2), self.write_data[16:], Const(0, 2))
        pins = {f"i_ADA{k}": write[k] for k in range(14)} | {
            f"i_ADB{k}": read[k] for k in range(14)
        }
        pins |= {
            f"i_DI{port}{k}": data[base + k]
            for port, base in (("A", 0), ("B", 18))
            for k in range(18)
        }
        pins |= {f"o_DOA{k}": out[k] for k in range(18)} | {
            f"o_DOB{k}": out[18 + k] for k in range(18)
        }
        _dp16kd(m, bits=36, pins=pins, write_a=self.write_en.any(), write_b=Const(0))
        m.d.comb += self.read_data.eq(Cat(out[:16], out[18:34]))
        return m
