# SPDX-License-Identifier: BSD-2-Clause
"""Levels of a memory chip's pins before the first clock, by the netlist after synthesis."""
import pytest
from amaranth import Cat, Elaboratable, Module, Signal
from amaranth.build import Attrs, Pins, Resource
from amaranth.lib import io

from quintet.boards import open_board
from quintet.gateware.memory.sdram.phy import SDRAMPhy
from quintet.gateware.memory.sram.phy import SRAMPhy
from quintet.gateware.primitives.pads import RegisteredOutput, RegisteredPads
from tests.support.pads import netlist, start_levels


class PadsAlone(Elaboratable):
    """A memory chip's pads; each line comes from a register of its own, so that none is constant."""
    def __init__(self, board):
        self.board = board

    def elaborate(self, platform):
        m = Module()
        memory, ports = self.board.memory, platform.request(self.board.memory.resource, dir="-")
        phy = {"SDRAM": SDRAMPhy, "SRAM": SRAMPhy}[memory.kind](part=memory.part, ports=ports, family=self.board.family)
        m.submodules.phy = phy
        inward, outward = [], []
        for path, _, line in phy.controller.signature.flatten(phy.controller):
            (outward if path[-1] != "i" else inward).append(line)
        chain = Signal(sum(len(line) for line in outward))
        m.d.sync += chain.eq(Cat(~chain[-1] ^ Cat(inward).xor(), chain))
        m.d.comb += Cat(outward).eq(chain)
        return m


@pytest.mark.parametrize("name, high", [
    ("ulx3s-25f", {"clk_en", "cs", "ras", "cas", "we", "dqm0", "dqm1"}), ("colorlight-i5", {"ras", "cas", "we"}),
    ("blackice-mx", {"clk_en", "cs", "ras", "cas", "we", "dqm0", "dqm1"}), ("blackice-ii", {"oe", "we", "dm0", "dm1"})])
def test_pads_before_the_first_clock(name, high, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    board = open_board(name)
    levels = {name.split("__")[-1]: level for name, level in start_levels(netlist(board, PadsAlone(board), tmp_path), board.family).items() if level != "i"}
    assert high <= set(levels) and {levels[pin] for pin in high} == {"1" if board.family == "ecp5" else "up"}
    data = {pin: level for pin, level in levels.items() if pin.strip("0123456789") in ("dq", "d")}
    assert len(data) == board.memory.width and set(data.values()) <= {"z", "up"}


def test_pins_that_an_ice40_must_pull_up():
    class Board(open_board("icebreaker").platform_class()):
        resources = [Resource("line", 0, Pins("3 4", dir="o"), Attrs(IO_STANDARD="SB_LVCMOS"))]
        default_clk = None
    port = Board().request("line", 0, dir="-")
    with pytest.raises(ValueError, match="^Pin 4 must be high before the first clock, and needs the attribute PULLUP for that$"):
        RegisteredOutput(port=port, family="ice40", init=2)
    RegisteredOutput(port=port, family="ecp5", init=2).elaborate(None)


def test_what_pads_cannot_be():
    with pytest.raises(ValueError, match="Port must not invert"):
        RegisteredPads(port=io.SimulationPort("io", 2, invert=True), family=None)
    with pytest.raises(ValueError, match="Family must be ice40 or None, not 'ecp5'"):
        SRAMPhy(part="IS61WV25616", ports=None, family="ecp5")
