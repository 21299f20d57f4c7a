# SPDX-License-Identifier: BSD-2-Clause
"""Single-port block RAM instances for a large memory of wide words: byte masks, register stages on
all paths to and from the blocks.

Inference gives each block of such a memory a write port and a read port, nine bits wide, and joins
the blocks by multiplexers. Here one port of a block does both, and a block is as deep and as narrow
as the memory allows: of 16,384 words of 128 bits each of the 128 blocks holds one bit of all words,
so that it has 17 wires instead of some 45, and nothing stands behind it.
"""

from collections.abc import Collection

from amaranth import Cat, ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..arguments import check_family, check_integer
from .floorplan import memory_places
from .kept import KeptRegister

__all__ = ["MaskedRAM", "banks_of"]

#: Words of a block -> bits of each, and address bits of the port that are not the word's. Blocks of
#: two bytes have their write enables among these.
_SHAPES = {16384: (1, 0), 8192: (2, 1), 4096: (4, 2), 2048: (8, 3), 1024: (16, 4)}
#: Blocks that share a copy of the address: one wire to all of them crosses the whole FPGA.
_NEIGHBOURS = 8


def banks_of(depth: int, width: int) -> list[int]:
    """Sizes in words of the banks of blocks that form ``depth`` words of ``width`` bytes, the
    largest first; the last may exceed ``depth``."""
    shapes = [words for words, (bits, _) in _SHAPES.items() if 8 * width % bits == 0]
    banks: list[int] = []
    while depth > 0:
        banks.append(next((words for words in shapes if words <= depth), min(shapes)))
        depth -= banks[-1]
    return banks


class MaskedRAM(wiring.Component):
    """Block RAM of ``depth`` words of ``width`` bytes; one word is read or written per cycle.

    A bank of ``words`` words takes ``width`` * ``words`` / 2,048 blocks of an ECP5.

    Parameters
    ----------
    width : int
        Bytes of a word.
    depth : int
        Words. More than one bank (:func:`banks_of`) costs a cycle of latency.
    family : ``"ecp5"``, ``"ice40"`` (whose blocks synthesis chooses) or ``None``

    Members
    -------
    address : In
        Less than ``depth`` for a write. A read from ``depth`` on gives any bits, the same from the
        blocks and from their behavioural model.
    mask : In(width)
        Bytes to write; 0: the word is read.
    write_data : In(8 * width)
    read_data : Out(8 * width)
        The word at the address of ``latency`` cycles before; bytes that were written then, or share
        a block of two bytes with one that was, are undefined.

    Attributes
    ----------
    latency : int
        3, or 4 of several banks.

    Contents are zero after configuration.
    """

    def __init__(self, *, width: int, depth: int, family: str | None = None) -> None:
        for name, value, high in (("Width", width, 64), ("Depth", depth, 1 << 20)):
            check_integer(f"{name}", value, 1, high)
        check_family(family)
        self.width, self.depth, self.family = width, depth, family
        self.latency = 3 if len(banks_of(depth, width)) == 1 else 4
        super().__init__(
            {
                "address": In(ceil_log2(depth)),
                "mask": In(width),
                "write_data": In(8 * width),
                "read_data": Out(8 * width),
            }
        )

    def floorplan(self, device: str, taken: Collection[str] = ()) -> dict[str, str]:
        """Placement of the blocks on an FPGA, by submodule name, with those of one byte adjacent.
        None at sites ``taken``. Empty if :func:`~.floorplan.memory_places` has no plan."""
        names = [
            (8 * self.width * block // count, bank, f"block_{bank}_{block}")
            for bank, words in enumerate(banks_of(self.depth, self.width))
            for count in [8 * self.width // _SHAPES[words][0]]
            for block in range(count)
        ]
        blocks = [name for _, _, name in sorted(names, key=lambda entry: (entry[0] // 8, entry))]
        return dict(zip(blocks, memory_places(device, len(blocks), taken), strict=False))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family == "ecp5":
            self._blocks(m)
        else:
            self._cells(m)
        return m

    def _cells(self, m):
        depth, place = self.depth, self.address
        if self.family is None:
            # Blocks hold whole banks, and the first one answers for an address beyond all of them.
            banks = banks_of(self.depth, self.width)
            depth = min(sum(banks), 1 << len(place))
            place = Mux(place < depth, place, place[: ceil_log2(banks[0])])
        m.submodules.memory = cells = memory.Memory(shape=8 * self.width, depth=depth, init=[])
        reader, writer = cells.read_port(), cells.write_port(granularity=8)
        address, data = self._front(m, place, "address"), self._front(m, self.write_data)
        mask, wrote = self._front(m, self.mask, "mask"), Signal(self.width, reset_less=True)
        m.d.comb += [
            reader.addr.eq(address),
            reader.en.eq(1),
            writer.addr.eq(address),
            writer.data.eq(data),
            writer.en.eq(mask),
        ]
        found = reader.data
        if self.family is None:
            # Undefined data are the complement, so that a simulation notices.
            m.d.sync += wrote.eq(self._spoilt(m, place, mask))
            found = reader.data ^ Cat(bit.replicate(8) for bit in wrote)
        for stage in range(self.latency - 2):
            held = Signal(8 * self.width, reset_less=True, name=f"data_{stage}")
            m.d.sync += held.eq(found)
            found = held
        m.d.comb += self.read_data.eq(found)

    def _spoilt(self, m, place, mask):
        """Bytes whose read is undefined beside a write of ``mask``, which is a cycle behind
        ``place``: in blocks of two bytes the other one as well."""
        banks = banks_of(self.depth, self.width)
        if banks[-1] != min(_SHAPES):
            return mask
        pairs = Signal()
        m.d.sync += pairs.eq(place >= sum(banks[: banks.index(banks[-1])]))
        either = Cat(mask.word_select(k // 2, 2).any() for k in range(self.width))
        return mask | Mux(pairs, either, 0)

    def _front(self, m, signal, name="data"):
        """Register in front of the blocks."""
        held = Signal.like(signal, name=f"{name}_s1", reset_less=True)
        m.d.sync += held.eq(signal)
        return held

    def _blocks(self, m):
        banks = banks_of(self.depth, self.width)
        data, outputs, begin = self._front(m, self.write_data), [], 0
        chosen = Signal(range(len(banks)))
        for bank, words in enumerate(banks):
            within = Signal(name=f"within_{bank}")
            end = begin + words
            # Banks get smaller, so that each begins at a multiple of its size.
            low = ceil_log2(words)
            m.d.comb += within.eq(1 if len(banks) == 1 else self.address[low:] == begin >> low)
            with m.If(within):
                m.d.comb += chosen.eq(bank)
            outputs.append(self._bank(m, bank, words, within, data))
            begin = end
        if len(banks) == 1:
            m.d.comb += self.read_data.eq(outputs[0])
            return
        for stage in range(self.latency - 1):
            later = Signal.like(chosen, reset_less=True, name=f"chosen_s{stage + 1}")
            m.d.sync += later.eq(chosen)
            chosen = later
        found = Signal(8 * self.width, reset_less=True)
        with m.Switch(chosen):
            for bank, output in enumerate(outputs):
                with m.Case(bank):
                    m.d.sync += found.eq(output)
        m.d.comb += self.read_data.eq(found)

    def _bank(self, m, bank, words, within, data):
        """Output of the blocks of one bank."""
        bits, shift = _SHAPES[words]
        enabled = self.mask & within.replicate(self.width)
        mask = self._front(m, enabled, f"mask_{bank}")
        if bits == 16:
            pairs = Cat(enabled.word_select(k, 2).any() for k in range(self.width // 2))
            write = self._front(m, pairs, f"write_{bank}")
        else:
            write = Cat(mask[block * bits // 8] for block in range(8 * self.width // bits))
        number = Cat(self.address, Const(0, 14))[: 14 - shift]
        output = Signal(8 * self.width, name=f"output_{bank}")
        for block in range(8 * self.width // bits):
            if block % _NEIGHBOURS == 0:
                # By instance: synthesis would make one of all copies.
                copy = KeptRegister(width=len(number), family=self.family)
                m.submodules[f"address_{bank}_{block // _NEIGHBOURS}"] = copy
                m.d.comb += copy.d.eq(number)
            lines = slice(block * bits, block * bits + bits)
            enables = (
                Cat(mask.word_select(block, 2), Const(0, 2)) if bits == 16 else Const(0, shift)
            )
            m.submodules[f"block_{bank}_{block}"] = self._block(
                bits, Cat(enables, copy.q), write[block], data[lines], output[lines]
            )
        return output

    @staticmethod
    def _block(bits, address, write, data, output):
        pins = {f"i_ADA{k}": address[k] for k in range(14)}
        # A byte of a block has nine bits.
        pins |= {f"i_DIA{k + k // 8}": data[k] for k in range(bits)}
        pins |= {f"o_DOA{k + k // 8}": output[k] for k in range(bits)}
        pins |= {f"i_CS{port}{k}": Const(0) for port in "AB" for k in range(3)}
        # Blocks have widths of 1, 2, 4, 9 and 18 bits.
        width = {8: 9, 16: 18}.get(bits, bits)
        return Instance(
            "DP16KD",
            p_DATA_WIDTH_A=width,
            p_DATA_WIDTH_B=width,
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
            i_OCEA=Const(1),
            i_WEA=write,
            i_CEB=Const(0),
            i_OCEB=Const(0),
            i_WEB=Const(0),
            **pins,
        )
