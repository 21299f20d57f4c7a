# SPDX-License-Identifier: BSD-2-Clause
"""Simple dual-port block RAM with a registered output, by instance: one write port, one read port,
one clock.

Inference never uses the output register of an ECP5 block RAM (5.8 ns clock to output without it,
1.0 ns with it), and adds logic for the case that one cycle reads and writes the same address.
Whoever uses this primitive promises not to need the answer of such a read; the behavioural model
returns its complement, so that a simulation notices.
"""

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arguments import check_family, check_integer

__all__ = ["BlockRAM"]

#: Blocks that share a copy of the read address.
_NEIGHBOURS = 8
# depth of one block -> width of one block
_SHAPES = {
    "ecp5": {512: 36, 1024: 18, 2048: 9, 4096: 4, 8192: 2, 16384: 1},
    "ice40": {256: 16, 512: 8, 1024: 4, 2048: 2},
}

# Pins of SB_RAM40_4K that carry the data bits of a width, lowest first, and its mode number.
_ICE40_PINS = {16: tuple(range(16)), 8: tuple(range(0, 16, 2)), 4: (1, 5, 9, 13), 2: (3, 11)}
_ICE40_MODE = {16: 0, 8: 1, 4: 2, 2: 3}


def _integer(name, value, low, high):
    check_integer(f"{name}", value, low, high)


def best_shape(family: str, width: int, depth: int) -> tuple[int, int]:
    """Block shape ``(depth, width)`` that needs the fewest blocks for ``width`` x ``depth``; of
    equal ones the deepest."""

    def cost(shape):
        rows, bits = shape
        return -(-width // bits) * -(-depth // rows), -rows

    return min(_SHAPES[family].items(), key=cost)


def block_names(family: str, width: int, depth: int) -> list[tuple[int, str]]:
    """Blocks of a :class:`BlockRAM` as submodule names: ``(first bit, name)`` of each, with blocks
    of the same bits together."""
    rows, bits = best_shape(family, width, depth)
    return [
        (offset, f"block_{part}_{offset}")
        for offset in range(0, width, bits)
        for part in range(-(-depth // rows))
    ]


class BlockRAM(wiring.Component):
    """Block RAM of ``depth`` words of ``width`` bits, with one write and one read per cycle.

    Parameters
    ----------
    width, depth : int
    latency : int
        Cycles from ``read_addr`` to ``read_data``: 1; 2 with the output register; 3 with a register
        in front of the read address too, of which an ECP5 gets a copy for every eight blocks, since
        one wire to dozens of them crosses the whole FPGA.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    write_en, write_addr, write_data : In; written at the end of the cycle
    read_addr : In, sampled every cycle, with a latency of 3 in the cycle after
    read_data : Out, ``latency`` cycles later.
        A read of the address being written in the same cycle (with a latency of 3: in the next one)
        gives no defined data.

    Contents are zero after configuration. Addresses past ``depth`` must not be used.
    """

    def __init__(
        self, *, width: int, depth: int, latency: int = 2, family: str | None = None
    ) -> None:
        _integer("Width", width, 1, 1 << 16)
        _integer("Depth", depth, 1, 1 << 24)
        _integer("Latency", latency, 1, 3)
        check_family(family)
        self.width, self.depth, self.latency, self.family = width, depth, latency, family
        super().__init__(
            {
                "write_en": In(1),
                "write_addr": In(ceil_log2(depth)),
                "write_data": In(width),
                "read_addr": In(ceil_log2(depth)),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        return self._behavioural() if self.family is None else self._blocks()

    def _behavioural(self):
        m = Module()
        m.submodules.memory = self.memory = mem = memory.Memory(
            shape=self.width, depth=self.depth, init=[]
        )
        write, read = mem.write_port(), mem.read_port()
        clash = Signal(reset_less=True)
        m.d.comb += [
            write.en.eq(self.write_en),
            write.addr.eq(self.write_addr),
            write.data.eq(self.write_data),
            read.addr.eq(self._sampled(m)),
            read.en.eq(1),
        ]
        m.d.sync += clash.eq(self.write_en & (self.write_addr == read.addr))
        data = read.data ^ clash.replicate(self.width)
        if self.latency > 1:
            # As the blocks', it has no reset: its contents are then undefined, too.
            held = Signal(self.width, reset_less=True)
            m.d.sync += held.eq(data)
            data = held
        m.d.comb += self.read_data.eq(data)
        return m

    def _sampled(self, m, name="sampled"):
        """Read address at the blocks: with a latency of 3, from a register, a new one for each
        call."""
        if self.latency < 3:
            return self.read_addr
        held = Signal.like(self.read_addr, name=name, reset_less=True)
        if self.family == "ecp5":
            # By instance: synthesis would make one of all copies.
            for k in range(len(held)):
                m.submodules[f"{name}_{k}"] = Instance(
                    "TRELLIS_FF",
                    p_GSR="DISABLED",
                    p_CEMUX="1",
                    p_CLKMUX="CLK",
                    p_LSRMUX="LSR",
                    p_REGSET="RESET",
                    i_CLK=ClockSignal(),
                    i_LSR=Const(0),
                    i_DI=self.read_addr[k],
                    o_Q=held[k],
                )
        else:
            m.d.sync += held.eq(self.read_addr)
        return held

    def _blocks(self):
        m = Module()
        rows, bits = best_shape(self.family, self.width, self.depth)
        slices = -(-self.depth // rows)
        low = ceil_log2(rows)
        outputs, count = [], 0
        for s in range(slices):
            enable = self.write_en if slices == 1 else self.write_en & (self.write_addr[low:] == s)
            output = []
            for offset in range(0, self.width, bits):
                if count % _NEIGHBOURS == 0 and (count == 0 or self.family == "ecp5"):
                    address = self._sampled(m, f"sampled_{count}")
                count += 1
                output.append(
                    self._block(
                        m,
                        f"block_{s}_{offset}",
                        rows,
                        bits,
                        enable,
                        self.write_data[offset : offset + bits],
                        address,
                    )
                )
            outputs.append(Cat(output))
        if self.family == "ice40" and self.latency > 1:
            for s, output in enumerate(outputs):
                held = Signal(self.width, reset_less=True, name=f"output_{s}")
                m.d.sync += held.eq(output)
                outputs[s] = held
        if slices == 1:
            m.d.comb += self.read_data.eq(outputs[0])
        else:
            select = self.read_addr[low:]
            for k in range(self.latency):
                later = Signal.like(select, reset_less=True, name=f"select_{k}")
                m.d.sync += later.eq(select)
                select = later
            with m.Switch(select):
                for s, output in enumerate(outputs):
                    with m.Case(s):
                        m.d.comb += self.read_data.eq(output)
        return m

    def _block(self, m, name, rows, bits, enable, data, read_addr):
        if len(data) < bits:
            data = Cat(data, Const(0, bits - len(data)))
        keep = min(bits, len(data))
        output = Signal(bits, name=f"{name}_data")
        build = self._dp16kd if self.family == "ecp5" else self._ram40
        low = ceil_log2(rows)
        build(
            m,
            name,
            bits,
            enable,
            self._address(self.write_addr, low),
            data,
            self._address(read_addr, low),
            output,
        )
        return output[:keep] if keep == bits else output

    @staticmethod
    def _address(address, low):
        return (
            Cat(address[:low], Const(0, max(0, low - len(address))))
            if len(address) < low
            else address[:low]
        )

    def _dp16kd(self, m, name, bits, enable, write_addr, data, read_addr, output):
        # Port A writes, port B reads; at 36 bits both halves of the block work together, with byte
        # enables in the address.
        mode = "NOREG" if self.latency == 1 else "OUTREG"
        shift = {36: 5, 18: 4, 9: 3, 4: 2, 2: 1, 1: 0}[bits]
        byte_enables = {36: 4, 18: 2}.get(bits, 0)
        ada = Cat(Const((1 << byte_enables) - 1, shift), write_addr)
        adb = Cat(Const(0, shift), read_addr)
        pins = {f"i_ADA{k}": ada[k] for k in range(14)} | {f"i_ADB{k}": adb[k] for k in range(14)}
        pins |= {f"i_DIA{k}": data[k] for k in range(min(bits, 18))}
        if bits == 36:
            pins |= {f"i_DIB{k}": data[18 + k] for k in range(18)}
            pins |= {f"o_DOA{k}": output[k] for k in range(18)} | {
                f"o_DOB{k}": output[18 + k] for k in range(18)
            }
        else:
            pins |= {f"o_DOB{k}": output[k] for k in range(bits)}
        for port in "AB":
            pins |= {f"i_CS{port}{k}": Const(0) for k in range(3)} | {f"i_RST{port}": Const(0)}
        m.submodules[name] = Instance(
            "DP16KD",
            p_DATA_WIDTH_A=bits,
            p_DATA_WIDTH_B=bits,
            p_REGMODE_A=mode,
            p_REGMODE_B=mode,
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
            i_CEA=enable,
            i_WEA=Const(1),
            i_OCEA=Const(1),
            i_CEB=Const(1),
            i_WEB=Const(0),
            i_OCEB=Const(1),
            **pins,
        )

    def _ram40(self, m, name, bits, enable, write_addr, data, read_addr, output):
        wdata, rdata = Signal(16, name=f"{name}_wdata"), Signal(16, name=f"{name}_rdata")
        for k, pin in enumerate(_ICE40_PINS[bits]):
            m.d.comb += [wdata[pin].eq(data[k]), output[k].eq(rdata[pin])]
        m.submodules[name] = Instance(
            "SB_RAM40_4K",
            p_READ_MODE=_ICE40_MODE[bits],
            p_WRITE_MODE=_ICE40_MODE[bits],
            i_RCLK=ClockSignal(),
            i_RCLKE=Const(1),
            i_RE=Const(1),
            i_RADDR=Cat(read_addr, Const(0, 11 - len(read_addr))),
            o_RDATA=rdata,
            i_WCLK=ClockSignal(),
            i_WCLKE=Const(1),
            i_WE=enable,
            i_WADDR=Cat(write_addr, Const(0, 11 - len(write_addr))),
            i_MASK=Const(0, 16),
            i_WDATA=wdata,
        )
