# SPDX-License-Identifier: BSD-2-Clause
"""Levels of a memory chip's pins before the first clock, by the netlist after synthesis."""

import random
from collections import Counter
from types import SimpleNamespace

import pytest
from amaranth import Cat, ClockDomain, Elaboratable, Module, Signal
from amaranth.build import Attrs, Pins, Resource
from amaranth.lib import io

from quintet.boards import open_board
from quintet.gateware.memory.sdram.phy import SDRAMPhy
from quintet.gateware.memory.sram.phy import SRAMPhy
from quintet.gateware.primitives.pads import (
    DOUBLE_LATENCY,
    DoubleRatePads,
    RegisteredOutput,
    RegisteredPads,
)
from tests.support.pads import PadSimulation, netlist, start_levels


class PadsAlone(Elaboratable):
    """A memory chip's pads; each line comes from a register of its own, so that none is constant.

    Attributes
    ----------
    lines : dict, member of the controller's interface -> its place in the signal ``chain``;
        all but those towards the controller
    """

    def __init__(self, board):
        self.board, self.lines = board, {}

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = domain = ClockDomain(reset_less=True)
        m.submodules.clock = clock = io.Buffer("i", platform.request(platform.default_clk, dir="-"))
        memory, ports = self.board.memory, platform.request(self.board.memory.resource, dir="-")
        kind, more = SRAMPhy, {}
        if memory.kind == "SDRAM":
            kind, more = SDRAMPhy, {"rate": self.board.sdram_rate}
        phy = kind(part=memory.part, ports=ports, family=self.board.family, **more)
        m.submodules.phy = phy
        outward, at = [], 0
        for path, _, line in phy.controller.signature.flatten(phy.controller):
            if path[-1] == "i":
                inward = line
                continue
            self.lines["_".join(path)] = at, len(line)
            outward.append(line)
            at += len(line)
        chain = Signal(at, attrs={"keep": 1})
        m.d.sync += chain.eq(Cat(~chain[-1], chain) ^ inward)
        m.d.comb += [Cat(outward).eq(chain), domain.clk.eq(clock.i)]
        return m


@pytest.mark.parametrize(
    "name, high",
    [
        ("ulx3s-25f", {"clk_en", "cs", "ras", "cas", "we", "dqm0", "dqm1"}),
        ("colorlight-i5", {"ras", "cas", "we"}),
        ("blackice-mx", {"clk_en", "cs", "ras", "cas", "we", "dqm0", "dqm1"}),
        ("blackice-ii", {"oe", "we", "dm0", "dm1"}),
    ],
)
def test_pads_before_the_first_clock(name, high, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    board = open_board(name)
    design = PadsAlone(board)
    module = netlist(board, design, tmp_path)
    levels = {
        name.split("__")[-1]: level
        for name, level in start_levels(module, board.family).items()
        if level != "i"
    }
    assert high <= set(levels) and {levels[pin] for pin in high} == {
        "1" if board.family == "ecp5" else "up"
    }
    data = {pin: level for pin, level in levels.items() if pin.strip("0123456789") in ("dq", "d")}
    assert len(data) == board.memory.width and set(data.values()) <= {"z", "up"}
    check_registers(board, design.lines, PadSimulation(module, board.family))


#: Name of a pin -> member of the controller's interface, where they differ.
NAMES = {"clk_en": "cke", "cs": "cs_n", "ras": "ras_n", "cas": "cas_n", "we": "we_n"}


def check_registers(board, lines, simulation):
    """Every line reaches its pads one cycle later, and what stands there comes in one cycle later,
    as it does in the twin."""
    sram = board.memory.kind == "SRAM"
    data = "d" if sram else "dq"
    pads = {
        name.removesuffix("__io").split("__")[-1]: [
            bit for bit in simulation.bits(name) if bit in simulation.pads
        ]
        for name in simulation.ports
        if "__" in name and board.memory.resource in name
    }
    rng, width, came, driven = random.Random(1), board.memory.width, 0, set()

    def line(chain, name):
        at, size = lines[name]
        return chain >> at & (1 << size) - 1

    before = simulation.number("chain")
    for cycle in range(300):
        for pad in pads[data]:
            simulation.outside[pad] = rng.getrandbits(1)
        stood = sum(simulation.pad(pad, 1)[0] << n for n, pad in enumerate(pads[data]))
        simulation.clock()
        chain = simulation.number("chain")
        length = sum(size for _, size in lines.values())
        # What came in at the edge before.
        assert (
            chain == ((before << 1 | (before >> length - 1 & 1 ^ 1)) & (1 << length) - 1) ^ came
        ), cycle
        came = stood
        for pin, bits in pads.items():
            for half in (0, 1):
                seen = [simulation.pad(bit, half) for bit in bits]
                if pin == data:
                    assert {drives for _, drives in seen} == {bool(line(before, f"{data}_oe"))}, (
                        cycle,
                        pin,
                    )
                    driven |= {drives for _, drives in seen}
                    wanted = (
                        line(before, f"{data}_o")
                        if seen[0][1]
                        else sum(simulation.outside[bit] << n for n, bit in enumerate(bits))
                    )
                elif sram:
                    # Of the write enable a half at a time; all but addresses are low when active.
                    wanted = {
                        "a": line(before, "a"),
                        "oe": 1 - line(before, "oe"),
                        "dm": 3 - line(before, "be"),
                        "cs": 0,
                        "we": 1 - (line(before, "we") >> half & 1),
                    }[pin]
                else:
                    wanted = line(before, NAMES.get(pin, pin)) & (1 << len(bits)) - 1
                assert sum(level << n for n, (level, _) in enumerate(seen)) == wanted, (
                    cycle,
                    pin,
                    half,
                )
                assert pin == data or all(drives for _, drives in seen)
        before = chain
    assert driven == {True, False} and came >> width == 0


def test_double_rate_pads(tmp_path, monkeypatch):
    """Levels before the first clock, and that lines come and go as in the virtual board's twin."""
    monkeypatch.chdir(tmp_path)
    board = open_board("ulx3s-25f").with_sdram_rate(2)
    design = PadsAlone(board)
    module = netlist(board, design, tmp_path)
    count = Counter(cell["type"] for cell in module["cells"].values())
    assert (count["ODDRX1F"], count["IDDRX1F"]) == (16 + 3 + 2, 16)
    levels = {
        name.split("__")[-1]: level for name, level in start_levels(module, board.family).items()
    }
    assert levels["clk_en"] == levels["cs"] == "1"
    assert {levels[f"dq{n}"] for n in range(16)} == {"z"}
    check_double_rate(board, design.lines, PadSimulation(module, board.family))


def check_double_rate(board, lines, simulation):
    pads = {
        name.removesuffix("__io").split("__")[-1]: [
            bit for bit in simulation.bits(name) if bit in simulation.pads
        ]
        for name in simulation.ports
        if "__" in name and board.memory.resource in name
    }
    length = sum(size for _, size in lines.values())

    def line(chain, name):
        at, size = lines[name]
        return chain >> at & (1 << size) - 1

    rng, driven = random.Random(1), set()
    chains, stood = [simulation.number("chain")], [(0, 0), (0, 0)]
    for cycle in range(300):
        for pad in pads["dq"]:
            simulation.outside[pad] = rng.getrandbits(1), rng.getrandbits(1)
        words = [
            sum(simulation.pad(pad, half)[0] << n for n, pad in enumerate(pads["dq"]))
            for half in (0, 1)
        ]
        simulation.clock()
        before, chain = chains[-1], simulation.number("chain")
        # The word at a rising edge, and that at the falling edge behind it.
        came = stood[-2][1] | stood[-1][0] << 16
        wanted = (before << 1 | (before >> length - 1 & 1 ^ 1)) & (1 << length) - 1
        assert chain == wanted ^ came, cycle
        chains.append(chain)
        stood.append(words)
        if cycle < DOUBLE_LATENCY:
            continue
        source = chains[-1 - DOUBLE_LATENCY]
        for pin, bits in pads.items():
            for half in (0, 1):
                seen = [simulation.pad(bit, half) for bit in bits]
                level = sum(level << n for n, (level, _) in enumerate(seen))
                where = cycle, pin, half
                if pin == "dq":
                    drives = bool(line(source, "dq_oe"))
                    assert {each for _, each in seen} == {drives}, where
                    driven.add(drives)
                    if drives:
                        assert level == line(source, "dq_o") >> 16 * half & 0xFFFF, where
                elif pin in ("ras", "cas", "we"):
                    assert level == (half or line(source, NAMES[pin])), where
                elif pin == "dqm":
                    assert level == line(source, "dqm") >> 2 * half & 3, where
                else:
                    wanted = line(source, NAMES.get(pin, pin)) & (1 << len(bits)) - 1
                    assert level == wanted, where
    assert driven == {True, False}


def test_pins_that_an_ice40_must_pull_up():
    class Board(open_board("icebreaker").platform_class()):
        resources = [Resource("line", 0, Pins("3 4", dir="o"), Attrs(IO_STANDARD="SB_LVCMOS"))]
        default_clk = None

    port = Board().request("line", 0, dir="-")
    with pytest.raises(
        ValueError,
        match=(
            "^Pin 4 must be high before the first clock, and needs the attribute PULLUP for that$"
        ),
    ):
        RegisteredOutput(port=port, family="ice40", init=2)
    RegisteredOutput(port=port, family="ecp5", init=2).elaborate(None)


def test_what_pads_cannot_be():
    with pytest.raises(ValueError, match="Port must not invert"):
        RegisteredPads(port=io.SimulationPort("io", 2, invert=True), family=None)
    with pytest.raises(ValueError, match="Port must not invert"):
        DoubleRatePads(port=io.SimulationPort("io", 2, invert=True))
    with pytest.raises(ValueError, match="SDRAM rate 2: expected the I/O cells of an ECP5"):
        SDRAMPhy(part="W9825G6", ports=SimpleNamespace(dq=range(16)), family="ice40", rate=2)
    with pytest.raises(ValueError, match="SDRAM rate 2: expected a chip select among the ports"):
        SDRAMPhy(part="W9825G6", ports=SimpleNamespace(dq=range(16)), family="ecp5", rate=2)
    with pytest.raises(ValueError, match="Family must be ice40 or None, not 'ecp5'"):
        SRAMPhy(part="IS61WV25616", ports=None, family="ecp5")
