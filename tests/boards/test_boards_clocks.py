# SPDX-License-Identifier: BSD-2-Clause
"""Clocks of boards: what PLLs make, whether SDRAMs can have it, and that a SoC knows it."""

import re
from dataclasses import asdict, replace

import pytest

from quintet.boards import BoardError, board_names, open_board
from quintet.boards.clocking import clocking
from quintet.boards.top import BoardTop
from quintet.boards.usb_top import USB_HZ, USB_TOLERANCE
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.info import parse_header, parse_info
from quintet.gateware.memory.sdram.phase import margins
from quintet.gateware.primitives.pll import PLLError, ecp5_settings
from tests.support.stream_core import PACKAGE as STREAM

NAMES = board_names()
WITH_SDRAM = [name for name in NAMES if open_board(name).memory.kind == "SDRAM"]


@pytest.mark.parametrize("name", WITH_SDRAM)
def test_every_clock_from_10_to_150_mhz_has_margins_or_is_refused(name):
    board, built = open_board(name), []
    for mhz in range(10, 151):
        try:
            clocks = clocking(board, mhz * 1_000_000)
        except PLLError as error:
            assert re.search(
                "the nearest is [0-9.]+$|the PLL makes 16 to 275 MHz, not [0-9]+$", str(error)
            ), mhz
            continue
        except ValueError as error:
            assert mhz > (33 if board.family == "ice40" else 125), (mhz, error)
            near = [
                int(n)
                for n in re.findall(r"(\d+) MHz", str(error).split("the nearest that work: ")[1])
            ]
            assert near and all(n in built for n in near), (mhz, error)
            continue
        built.append(mhz)
        assert clocks.hz == pytest.approx(mhz * 1e6, rel=0.01)
        left = asdict(clocks.sdram.margins)
        assert min(left.values()) >= 0, (mhz, left)
        # What the report says is what the formula says of the frequency that there really is.
        assert (
            margins(
                board.memory.part,
                clocks.settings.output_hz,
                clocks.sdram.path,
                clocks.sdram.capture,
            )
            == clocks.sdram.margins
        )
    assert {mhz for mhz in range(20, 33)} <= set(built)
    assert board.family == "ice40" or set(range(20, 125)) <= set(built)


#: Boards whose SDRAM can have twice the main clock.
DOUBLE = ["ulx3s-12f", "ulx3s-85f", "icesugar-pro", "icepi-zero"]


@pytest.mark.parametrize("part, most", [(None, 58), ("AS4C16M16SA-6", 61)])
def test_twice_the_main_clock_has_margins_or_is_refused(part, most):
    board = open_board("ulx3s-85f").with_sdram_rate(2)
    if part is not None:
        board = replace(board, memory=replace(board.memory, part=part))
    built = []
    for mhz in range(10, 90):
        try:
            clocks = clocking(board, mhz * 1_000_000)
        except ValueError as error:
            assert str(error).endswith(f"the nearest that work: {most} MHz"), (mhz, error)
            continue
        built.append(mhz)
        sdram, chip_hz = clocks.sdram, 2 * clocks.settings.output_hz
        assert clocks.settings.output % 2 == 0 and min(asdict(sdram.margins).values()) >= 0
        assert margins(board.memory.part, chip_hz, sdram.path, sdram.capture) == sdram.margins
    assert built == [*range(10, most + 1)]


@pytest.mark.parametrize("name", DOUBLE)
def test_the_default_clock_is_one_that_the_faster_sdram_can_have(name):
    board = open_board(name).with_sdram_rate(2)
    assert board.clock_for() == 58
    soc = board.make_soc(family=None)
    assert soc.sdram_rate == soc.memory_info["rate"] == 2
    assert soc.memory_info["beat_bytes"] == 2 * open_board(name).memory.beat_bytes == 4


def test_boards_without_an_sdram_at_twice_the_main_clock():
    for name, words in {
        "colorlight-i5": "SDRAM part 'EM638325' at a rate of 2: expected at most 16 bits and at "
        "least 512 columns, found 32 and 256$",
        "blackice-mx": "expected 1, which is all that an hx8k can make$",
        "upduino": "expected 1, its main memory is SPRAM$",
        "orangecrab-85f": "expected 1, its main memory is DDR3$",
    }.items():
        with pytest.raises(BoardError, match=f"^SDRAM rate of {name} = 2: {words}"):
            open_board(name).with_sdram_rate(2)
    with pytest.raises(BoardError, match="^SDRAM rate of ulx3s-85f = 3: expected 1 or 2$"):
        open_board("ulx3s-85f").with_sdram_rate(3)
    board = open_board("ulx3s-85f")
    assert board.with_sdram_rate(None) is board.with_sdram_rate(1) is board
    assert board.with_sdram_rate(2).with_sdram_rate(1) == board
    assert "rate" not in board.make_soc(family=None).memory_info


def test_the_refusal_of_a_clock_that_is_too_fast_for_twice_as_much():
    board = open_board("ulx3s-85f").with_sdram_rate(2)
    with pytest.raises(
        BoardError,
        match="^ulx3s-85f cannot be built with a main clock of 80 MHz: SDRAM part 'W9825G6' at "
        "twice the main clock of 80 MHz: expected at most 143 MHz, found 160; the nearest that "
        "work: 58 MHz$",
    ):
        board.make_soc(clock_hz=80_000_000)


def test_the_refusal_of_a_clock_names_those_that_work():
    with pytest.raises(
        BoardError,
        match="^ulx3s-85f cannot be built with a main clock of 140 MHz: no phase of its clock "
        "leaves SDRAM part 'W9825G6' and "
        "the FPGA their set-up and hold times; the nearest that work: 125 MHz$",
    ):
        open_board("ulx3s-85f").make_soc(clock_hz=140_000_000)
    with pytest.raises(
        BoardError,
        match="is above the 143 MHz of SDRAM part 'W9825G6'; the nearest that work: 125 MHz$",
    ):
        open_board("ulx3s-85f").make_soc(clock_hz=150_000_000)
    with pytest.raises(
        BoardError,
        match="48 MHz: no phase .* SDRAM part 'W9816G6' .*; the nearest that work: 33 MHz$",
    ):
        open_board("blackice-mx").make_soc(clock_hz=48_000_000)


@pytest.mark.parametrize(
    "name, capture",
    [
        ("ulx3s-85f", 1),
        ("icesugar-pro", 1),
        ("icepi-zero", 1),
        ("colorlight-i5", 1),
        ("colorlight-i9", 1),
        ("blackice-mx", 0),
    ],
)
def test_captures_at_the_default_clocks(name, capture):
    """Counts of cycles depend on them."""
    board = open_board(name)
    for package in (None, *map(open_core, core_names())):
        for preset in (
            board.presets(package) if package is not None and package.has_core else (None,)
        ):
            assert (
                clocking(board, round(board.clock_for(package, preset) * 1e6)).sdram.capture
                == capture
            ), (package, preset)


def test_the_top_shifts_the_memorys_clock_by_that():
    from amaranth.back import rtlil

    board = open_board("ulx3s-85f")
    soc = board.make_soc(clock_hz=20_000_000)
    text = rtlil.convert(BoardTop(board=board, soc=soc)._pll())
    settings, sdram = soc.clocking.settings, soc.clocking.sdram
    number = {
        name: int(re.search(rf"parameter \\{name} (\d+)$", text, re.M)[1])
        for name in ("CLKOP_CPHASE", "CLKOS2_CPHASE", "CLKOS2_FPHASE")
    }
    eighths = 8 * (number["CLKOS2_CPHASE"] - number["CLKOP_CPHASE"]) + number["CLKOS2_FPHASE"]
    assert 45 * eighths / settings.output == pytest.approx(sdram.degrees)
    assert soc.backing.capture == sdram.capture == 0 and soc.backing.timing.cas == 2


def _designs():
    """Each board with each core's default preset and each link, as far as they fit: (board,
    SoC)."""
    for board in map(open_board, NAMES):
        for package in (None, *map(open_core, core_names())):
            presets = (
                board.presets(package)[:1]
                if package is not None and package.has_core
                else [None][package is not None :]
            )
            for preset in presets:
                for link in {"uart", "usb"} & set(board.links):
                    try:
                        yield board, board.make_soc(package=package, preset=preset, link=link)
                    except PLLError as error:
                        # Of icesugar's one PLL the USB clock fixes the main one.
                        assert (
                            link == "usb"
                            and board.name == "icesugar"
                            and "the main clock of icesugar is 24 MHz" in str(error)
                        )


def _in_range(family, input_hz, s):
    """Data sheets' ranges: FPGA-DS-02012 (sysCLOCK PLL timing) and DS1040."""
    detector = input_hz / s.reference
    if family == "ecp5":
        feedback = detector * s.feedback
        assert (
            8e6 <= input_hz <= 400e6 and 3.125e6 <= detector <= 400e6 and 400e6 <= s.vco_hz <= 800e6
        )
        assert (
            3.125e6 <= s.output_hz <= 400e6
            and all(0 <= n <= 128 for n in (s.loop, s.further))
            and max(s.reference, s.feedback, s.output) <= 128
        )
        assert s.vco_hz == pytest.approx(
            feedback * (s.loop or s.output)
        ) and s.vco_hz / s.output == pytest.approx(s.output_hz)
    else:
        assert (
            10e6 <= input_hz <= 133e6 and 10e6 <= detector <= 133e6 and 533e6 <= s.vco_hz <= 1066e6
        )
        assert (
            s.vco_hz == pytest.approx(detector * s.feedback)
            and s.reference <= 16
            and s.feedback <= 128
            and s.output in (2, 4, 8, 16, 32, 64)
        )
        assert 16e6 <= s.vco_hz / s.output <= 275e6
    assert not s.further or s.further_hz <= 400e6


def test_every_boards_plls_are_within_their_ranges():
    seen = set()
    for board, soc in _designs():
        clocks = soc.clocking
        _in_range(board.family, board.oscillator_hz, clocks.settings)
        assert clocks.hz == soc.clock_hz == pytest.approx(clocks.asked_hz, rel=0.01)
        seen.add((board.name, soc.package.name if soc.package else None))
        if soc.link["kind"] == "usb" and board.oscillator_hz != USB_HZ and board.family == "ecp5":
            second = ecp5_settings(board.oscillator_hz, USB_HZ, USB_TOLERANCE)
            _in_range("ecp5", board.oscillator_hz, second)
            assert second.output_hz == pytest.approx(USB_HZ, rel=0.0025)
    assert {(name, None) for name in NAMES} <= seen and ("ulx3s-85f", "cherry") in seen


def test_a_soc_knows_the_clock_that_the_pll_makes():
    """blackice-mx asks for 32 MHz of 25; a core's own clock is that of the PLL too."""
    soc = open_board("blackice-mx").make_soc()
    assert (
        soc.clocking.asked_hz == 32_000_000
        and soc.clock_hz == 32_031_250 == parse_header(soc.info).clock_hz
    )
    header = parse_header(soc.info)
    assert parse_info(soc.info[64 : 64 + header.info_length])["clock_hz"] == 32_031_250
    assert (
        soc.backing.timing == soc.backing.part.timing(32_031_250)
        and soc.backing.clock_hz == 32_031_250
    )
    board = open_board("ulx3s-25f")
    soc = board.make_soc(
        package=STREAM, preset="sim", params={"own_clock": True, "ratio": 3}, clock_hz=77_000_000
    )
    header, real = parse_header(soc.info), soc.clocking.settings
    assert soc.clock_hz == round(real.output_hz) and soc.domain_hz == round(real.further_hz)
    assert parse_info(soc.info[64 : 64 + header.info_length])["domains"] == {
        "array": round(real.further_hz)
    }


def test_a_serial_line_is_divided_from_the_real_clock():
    from quintet.boards.top import SerialLink

    made = []

    class Noted(SerialLink):
        def __init__(self, **arguments):
            made.append(arguments)
            super().__init__(**arguments)

    board = open_board("blackice-mx")
    platform = board.platform_class()()
    import quintet.boards.top as top

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top, "SerialLink", Noted)
        platform.prepare(BoardTop(board=board, soc=board.make_soc()))
    assert made == [{"clock_hz": 32_031_250, "baud": 115_200}]


def test_a_clock_that_the_pll_cannot_make_is_refused():
    with pytest.raises(
        PLLError, match="^the PLL cannot make 34 MHz within 1 %; the nearest is 34.375$"
    ):
        open_board("blackice-mx").make_soc(clock_hz=34_000_000)
    with pytest.raises(PLLError, match="^the PLL makes 16 to 275 MHz, not 15$"):
        open_board("hx8k-breakout").make_soc(clock_hz=15_000_000)


def test_a_clock_that_the_pll_makes_too_slow_for_the_serial_line():
    """The clock asked for is fast enough for the baud rate; the one that the PLL makes is not."""
    board = open_board("icepi-zero")
    assert clocking(board, 12_010_000).hz == 12_009_804
    with pytest.raises(
        BoardError,
        match=(
            "main clock of 12.0098 MHz: its serial line of 3,002,500 baud needs 12.01 MHz at least"
        ),
    ):
        replace(board, link=replace(board.link, baud=3_002_500)).make_soc(clock_hz=12_010_000)
