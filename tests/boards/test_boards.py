# SPDX-License-Identifier: BSD-2-Clause
import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
from amaranth import ClockDomain, ClockSignal, Const, Module, Signal
from amaranth.build import ResourceError
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from quintet.boards import BoardError, board_names, open_board
from quintet.boards.board import SPRAM, BlockRAM
from quintet.boards.top import BoardTop, HeldPins, MainClock
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import FPGAS, ParameterError
from quintet.gateware.memory.ddr3.parts import find_ddr3
from quintet.gateware.memory.sdram.parts import find_part
from quintet.gateware.memory.sram.parts import find_sram
from quintet.gateware.primitives.pll import PLLError
from quintet.tools.build.flash import PROGRAMMERS
from tests.support.kept import kept
from tests.support.pads import netlist, start_levels
from tests.support.tiny_core import PACKAGE

NAMES = board_names()


def test_all_boards_are_there():
    assert {"ulx3s-12f", "ulx3s-25f", "ulx3s-45f", "ulx3s-85f", "icebreaker"} <= set(NAMES)
    with pytest.raises(BoardError, match=r"'ulx3s'; did you mean (ulx3s-\d\df or ){3}ulx3s-85f\?"):
        open_board("ulx3s")
    with pytest.raises(BoardError, match="no board named 'nowhere'; there are"):
        open_board("nowhere")


@pytest.mark.parametrize("name", NAMES)
def test_the_registry_has_what_the_board_names(name):
    board = open_board(name)
    platform = board.platform_class()()
    assert board.name == name and len(name) <= 16
    assert board.fpga in FPGAS and board.fpga != "sim"
    assert platform.lookup(board.oscillator).clock.frequency == board.oscillator_hz
    for resource in (
        *filter(None, (board.busy_led, board.fault_led)),
        (board.link.resource, board.link.number),
        *board.held_high,
    ):
        found = platform.lookup(*resource[:2])
        assert not resource[2:] or resource[2] in {part.name for part in found.ios}
    assert all(name in PROGRAMMERS for name in board.programmers)
    if board.flash is not None:
        flash = {s.name for s in platform.lookup(board.flash.resource, board.flash.number).ios}
        # An ECP5's clock goes to its own pin, which is no resource.
        assert {"cs", "dq"} <= flash and ("clk" in flash or board.family == "ecp5")
        assert 0 < board.flash.image_at < board.flash.size
    assert (board.usb is not None) == ("usb" in board.links) and board.link.kind in board.links
    if board.usb is not None:
        usb = {s.name: s.ios[0] for s in platform.lookup(board.usb.resource, board.usb.number).ios}
        assert {"d_p", "d_n", "pullup"} <= set(usb)
    if board.memory.kind == "SRAM":
        part = find_sram(board.memory.part)
        sram = {s.name: s.ios[0] for s in platform.lookup(board.memory.resource).ios}
        assert (
            len(sram["a"].names) == part.address_bits
            and len(sram["d"].names) == 16
            and len(sram["dm"].names) == 2
        )
    if board.memory.kind == "DDR3":
        ddr3 = find_ddr3(board.memory.part)
        lines = {s.name: s.ios[0] for s in platform.lookup(board.memory.resource).ios}
        assert len(lines["dq"].names) == 8 * ddr3.lanes
        assert len(lines["a"].names) >= ddr3.row_bits
        assert len(lines["ba"].names) == ddr3.bank_bits
        assert len(lines["dqs"].p.names) == len(lines["dm"].names) == ddr3.lanes
    if board.memory.kind == "SDRAM":
        part = find_part(board.memory.part)
        sdram = {s.name: s.ios[0] for s in platform.lookup(board.memory.resource).ios}
        assert len(sdram["dq"].names) == part.data_bits
        assert len(sdram["a"].names) >= part.row_bits
        assert len(sdram["ba"].names) == part.bank_bits
        assert ("dqm" in sdram) == part.masks
        assert not part.masks or len(sdram["dqm"].names) == part.beat_bytes
    with pytest.raises(ResourceError):
        platform.lookup("no such thing")


def _files(board, **options):
    """Input of the tools for a SoC of these options: ``(design as RTLIL, constraints)``."""
    text = kept(
        f"files {board!r} {sorted(options.items())}",
        lambda: json.dumps(_make_files(board, _soc(board, **options))),
        __file__,
    )
    return json.loads(text)


def _soc(board, isa=None, **options):
    return board.make_soc(package=isa and open_core(isa), **options)


def _make_files(board, soc):
    if board.memory.kind == "DDR3":
        pytest.importorskip("litedram")  # generates the controller
    platform = board.platform_class()()
    type(platform).required_tools = ()
    plan = platform.prepare(BoardTop(board=board, soc=soc))
    return [
        text if isinstance(text, str) else text.decode()
        for text in (
            plan.files["top.il"],
            plan.files["top.lpf" if board.family == "ecp5" else "top.pcf"],
        )
    ]


@pytest.mark.parametrize("name", NAMES)
def test_tops_elaborate(name):
    """Everything is requested once and connects; the PLL makes the clock."""
    board = open_board(name)
    # The PHY of DDR3 has no clock that is as slow.
    clock_hz = 60_000_000 if board.memory.kind == "DDR3" else 30_000_000
    soc = board.make_soc(clock_hz=clock_hz)
    text, _ = _files(board, clock_hz=clock_hz)
    assert (
        "EHXPLLL"
        if board.family == "ecp5"
        else "SB_PLL40_PAD"
        if board.clock_pad
        else "SB_PLL40_CORE"
    ) in text
    assert soc.info[:4] == b"QNTT" and board.name.encode() in soc.info[:64]


@pytest.mark.parametrize(
    ("name", "plls"),
    [
        ("ulx3s-25f", {"EHXPLLL": 2}),
        ("orangecrab-25f", {"EHXPLLL": 1}),
        ("icepi-zero", {"EHXPLLL": 2}),
        ("icesugar", {"SB_PLL40_2F_PAD": 1}),
        ("fomu", {"SB_PLL40_CORE": 1}),
    ],
)
def test_tops_with_usb_elaborate(name, plls):
    """48 MHz come from the oscillator itself, from the PLL's second output, or from a PLL of their
    own; 12 MHz are constrained by a name that stays."""
    board = open_board(name)
    text, constraints = _files(board, link="usb")
    assert re.search(
        r"FREQUENCY NET \"usb_clocks.usb_clock\" 12000000.0 HZ|set_frequency "
        r"usb_clocks.usb_clock 12.0",
        constraints,
    )
    assert re.search(r"attribute \\keep .*\n( +attribute.*\n)* +wire width 1 \\usb_clock\n", text)
    for cell, count in plls.items():
        assert text.count(f"cell \\{cell} ") == count
    assert "SB_IO" in text or "BB" in text


@pytest.mark.parametrize("name", [name for name in NAMES if open_board(name).spi is not None])
def test_tops_with_spi_elaborate(name):
    """The host's clock is constrained by a name that stays; every pin is one of the board's
    connector, and the chip select is pulled up."""
    board = open_board(name)
    soc = board.make_soc(link="spi")
    text, constraints = _files(board, link="spi")
    assert soc.link == {"kind": "spi", "hz": 20_000_000}
    assert re.search(
        r"(FREQUENCY NET \"|set_frequency )spi.link.spi_clock\"? 20(000000.0 HZ|.0$)",
        constraints,
        re.M,
    )
    assert re.search(
        r"attribute \\keep .*\n( +attribute.*\n)* +wire width 1 input \d+  \\spi_clock\n", text
    )
    for pin in ("sck", "cs", "copi", "cipo", "ready"):
        assert f"spi_link_0__{pin}__io" in constraints
    if board.family == "ecp5":
        assert 'IOBUF PORT "spi_link_0__cs__io" IO_TYPE=LVCMOS33 PULLMODE=UP' in constraints
    else:
        # The inputs of the link; and on some boards the lines of a memory chip.
        assert text.count("parameter \\PULLUP 1") >= 3


@pytest.mark.parametrize("size", ["12f", "25f", "45f", "85f"])
def test_flash_pins_of_the_ulx3s_are_the_registrys(size):
    """Its four data lines are pins that the registry names one by one."""
    platform = open_board(f"ulx3s-{size}").platform_class()()
    registry = {s.name: s.ios[0] for s in platform.lookup("spi_flash", 0).ios}
    ours = {s.name: s.ios[0] for s in platform.lookup("spi_flash_4x", 0).ios}
    lines = [name for part in ("copi", "cipo", "wp", "hold") for name in registry[part].names]
    assert ours["dq"].names == lines
    assert ours["cs"].names == registry["cs"].names and ours["cs"].invert


@pytest.mark.parametrize("name", ["icebreaker", "ulx3s-85f"])
def test_tops_with_flash_memory_elaborate(name):
    board = open_board(name)
    text, constraints = _files(board, isa="opentpu", boot=True)
    assert all(f"spi_flash_4x_0__dq__io[{line}]" in constraints for line in range(4))
    assert ("USRMCLK" in text) == (board.family == "ecp5")


def test_links_that_a_board_has_not_got():
    with pytest.raises(
        BoardError,
        match=(
            "icebreaker cannot be built with link usb: no USB wires come to its FPGA; there is "
            "uart, uartbone, spi"
        ),
    ):
        open_board("icebreaker").make_soc(link="usb")
    with pytest.raises(
        BoardError,
        match="fomu cannot be built with link uartbone: it has no serial line; there is usb",
    ):
        open_board("fomu").make_soc(link="uartbone")
    with pytest.raises(ValueError, match="link = 'ftdi': expected one of uart, uartbone, usb, spi"):
        open_board("fomu").make_soc(link="ftdi")
    assert (
        open_board("fomu").make_soc().link["kind"] == "usb"
        and open_board("ulx3s-85f").make_soc().link["kind"] == "uart"
    )


def test_one_pll_for_both_clocks():
    board = open_board("icesugar")
    with pytest.raises(
        PLLError, match="with link usb the main clock of icesugar is 24 MHz.*; not 30"
    ):
        BoardTop(board=board, soc=board.make_soc(link="usb", clock_hz=30_000_000))


def test_usb_clocks():
    """Both domains leave reset once the clock is locked; 12 MHz is a quarter of 48, its edges
    always at the same place."""
    from quintet.boards.usb_top import USBClocks

    lock = Signal()
    clocks = USBClocks(input=ClockSignal("simulated"), locked=lock, settle=16)
    top = Module()
    top.domains.simulated = ClockDomain("simulated", reset_less=True)
    top.domains += [clocks.fast, clocks.slow]
    top.submodules.clocks = clocks
    resets, levels = [], []

    async def testbench(ctx):
        for cycle in range(120):
            ctx.set(lock, cycle >= 10)
            resets.append((ctx.get(clocks.fast.rst), ctx.get(clocks.slow.rst)))
            levels.append(ctx.get(clocks.slow.clk))
            await ctx.tick("simulated")

    sim = Simulator(top)
    sim.add_clock(1e-6, domain="simulated")
    sim.add_testbench(testbench)
    sim.run()
    assert all(r == (1, 1) for r in resets[:25]) and resets[-1] == (0, 0)
    rises = [n for n in range(1, 120) if levels[n] and not levels[n - 1]]
    assert {b - a for a, b in zip(rises, rises[1:], strict=False)} == {4}


def test_presets():
    board = open_board("icebreaker")
    with pytest.raises(ParameterError, match="tiny has no preset that fits icebreaker"):
        board.make_soc(package=PACKAGE)
    soc = board.make_soc(package=PACKAGE, preset="sim", family=None)
    assert soc.preset == "sim" and soc.params == {"size": 4} and soc.clock_hz == 24_000_000
    assert board.clock_for() == 24
    with pytest.raises(PLLError):
        BoardTop(board=board, soc=board.make_soc(clock_hz=900_000_000))


class _PLL(wiring.Component):
    """Passes the simulation's clock on; the test says when it locks."""

    input: In(1)
    output: Out(1)
    locked: Out(1)

    def __init__(self):
        super().__init__()
        self.lock = Signal()

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.output.eq(ClockSignal("simulated")), self.locked.eq(self.lock)]
        return m


def test_sizes_that_a_board_cannot_have():
    """A core's own refusal of the board's memory is told as a wrong size is."""
    board = replace(open_board("hx8k-breakout"), memory=BlockRAM(size=4096, beat_bytes=8))
    with pytest.raises(
        ParameterError,
        match="^opu hx8k cannot be built for hx8k-breakout: Beat size must be 2 or 4 bytes, not 8$",
    ):
        board.make_soc(package=open_core("opu"), preset="hx8k")


def test_sizes_that_a_family_cannot_have():
    """Refused before anything is elaborated."""
    with pytest.raises(
        ParameterError,
        match=r"^cherry 85f cannot be built for icebreaker: Parameter slots must be 1 where the "
        r"chip has no "
        r"true dual-port block RAM \(ice40\), not 2$",
    ):
        open_board("icebreaker").make_soc(package=open_core("cherry"), preset="85f")


@pytest.mark.parametrize(
    "board, hz, message",
    [
        (
            "ulx3s-85f",
            300_000_000,
            "ulx3s-85f cannot be built with a main clock of 300 MHz: Clock of 300 MHz is above "
            "the 143 MHz of SDRAM part",
        ),
        (
            "icebreaker",
            8_000_000,
            "icebreaker cannot be built with a main clock of 8 MHz: its serial line of "
            "3,000,000 baud needs 12 MHz at least",
        ),
    ],
)
def test_clocks_that_a_board_cannot_have(board, hz, message):
    with pytest.raises(BoardError, match="^" + re.escape(message)):
        open_board(board).make_soc(clock_hz=hz)


def test_presets_that_are_listed_can_be_built():
    """Of each core and size of a board's memory; what they have in common is built once."""
    seen = set()
    for board in map(open_board, board_names()):
        for package in map(open_core, core_names()):
            for preset in board.presets(package) if package.has_core else ():
                params = package.params.SPACE.resolve(preset)
                memory = board.memory.usable(package, params)
                # What a core can refuse: its sizes, the family, the beat; the size of a large
                # memory is all one.
                key = package.name, preset, board.family, board.memory.beats, memory % 65536
                if key not in seen:
                    seen.add(key)
                    soc = board.make_soc(package=package, preset=preset)
                    beat_bytes = soc.memory_info["beat_bytes"]  # of what is not on chip
                    assert beat_bytes in board.memory.beats


def test_presets_of_other_beats_are_not_listed():
    opu = open_core("opu")
    assert open_board("icebreaker").presets(opu) == ["up5k"]
    assert (
        open_board("blackice-ii").presets(opu)
        == open_board("blackice-mx").presets(opu)
        == ["hx8k", "hx8k-mini"]
        and open_board("blackice-mx").preset_for(opu) == "hx8k"
    )


def test_reset_holds_until_lock_and_comes_on_request():
    main = MainClock(pll=_PLL(), input=Const(0), settle=8)
    top = Module()
    top.domains.simulated = ClockDomain("simulated", reset_less=True)
    top.domains.sync = main.domain
    top.submodules.main = main
    levels = []

    async def testbench(ctx):
        for cycle in range(80):
            ctx.set(main.pll.lock, cycle >= 10)
            ctx.set(main.request, cycle == 50)
            levels.append(ctx.get(main.domain.rst))
            await ctx.tick("simulated")

    sim = Simulator(top)
    sim.add_clock(1e-6, domain="simulated")
    sim.add_testbench(testbench)
    sim.run()
    assert all(levels[:19]), "reset until the lock, and 8 cycles more"
    assert not any(levels[24:51])
    assert all(levels[52:58]) and not any(levels[64:]), "and again when it is asked for"


def test_listing_boards_is_quick_to_import():
    code = (
        "import sys; from quintet.boards import board_names, open_board; "
        "[open_board(n) for n in board_names()]; assert 'amaranth' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_page_is_current():
    from pathlib import Path

    from quintet.boards.table import page

    text = (Path(__file__).parents[2] / "docs" / "boards.md").read_text()
    assert page(text) == text, "run python -m quintet.boards.table"


@pytest.mark.parametrize(("size", "beat"), [(131072, 4), (98304, 2), (65536, 4), (32768, 2)])
def test_spram_beside_any_core(size, beat):
    memory = SPRAM().backing(clocking=None, family=None, size=size)
    assert (memory.size, memory.beat_bytes) == (size, beat)


def test_pins_that_must_be_held(tmp_path, monkeypatch):
    """High at the pin, whatever its active level is called: of each FPGA's kind once."""
    monkeypatch.chdir(tmp_path)
    held = {
        "ulx3s-85f": {"esp32_0__gpio0", "program_0"},
        "orangecrab-25f": {"program_0"},
        "upduino": {"flash_deselect_0"},
    }
    assert {board.name for board in map(open_board, NAMES) if board.held_high} == {
        *held,
        "ulx3s-12f",
        "ulx3s-25f",
        "ulx3s-45f",
        "orangecrab-85f",
    }
    for name, pins in held.items():
        board = open_board(name)
        levels = start_levels(
            netlist(board, HeldPins(pins=board.held_high), tmp_path), board.family
        )
        assert levels == {pin: "1" for pin in pins}, name
        if board.memory.kind == "DDR3" and find_spec("litedram") is None:
            continue  # its controller cannot be generated
        assert "\\held" in _make_files(board, board.make_soc())[0]
