# SPDX-License-Identifier: BSD-2-Clause
import re
import subprocess
from pathlib import Path

import pytest

from quintet.gateware.primitives.pll import PLL, PLLError, ecp5_settings, ice40_settings
from quintet.tools.build.toolchain import find_tool
from tests.support.simulating import simulate


@pytest.mark.parametrize(
    "mhz",
    [10, 12.5, 25, 48, 50, 60, 62.5, 66, 75, 80, 85, 90, 95, 100, 110, 120, 125, 133, 150, 200],
)
def test_ecp5_settings_are_legal(mhz):
    s = ecp5_settings(25e6, mhz * 1e6)
    detector = 25e6 / s.reference
    assert 3.125e6 <= detector <= 400e6 and 400e6 <= s.vco_hz <= 800e6
    assert 1 <= s.feedback <= 80 and 1 <= s.output <= 128
    assert s.vco_hz == pytest.approx(detector * s.feedback * (s.loop or s.output)) and s.loop <= 128
    assert s.vco_hz == pytest.approx(s.output_hz * s.output)
    assert s.output_hz == pytest.approx(mhz * 1e6, rel=0.01)


@pytest.mark.parametrize("mhz", [16.5, 18, 21, 24, 27, 30, 36, 39.75, 48, 60])
def test_ice40_settings_are_those_of_icepll(mhz):
    s = ice40_settings(12e6, mhz * 1e6)
    said = subprocess.run(
        [calculator("icepll", "icepack"), "-i", "12", "-o", str(mhz)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    divr, divf, divq = (
        int(re.search(rf"{name}:\s+(\d+)", said)[1]) for name in ("DIVR", "DIVF", "DIVQ")
    )
    assert (s.reference - 1, s.feedback - 1, s.output) == (divr, divf, 1 << divq)
    assert s.output_hz / 1e6 == pytest.approx(
        float(re.search(r"F_PLLOUT:\s+([\d.]+) MHz \(achieved\)", said)[1]), abs=1e-3
    )


@pytest.mark.parametrize(
    "mhz, further", [(80, 160), (80, 200), (50, 150), (100, 150), (75, 25), (62.5, 125)]
)
def test_a_further_clock_from_one_oscillator(mhz, further):
    s = ecp5_settings(25e6, mhz * 1e6, further_hz=further * 1e6)
    assert s.output_hz == pytest.approx(mhz * 1e6, rel=0.01) and s.further_hz == pytest.approx(
        further * 1e6, rel=0.05
    )
    assert s.vco_hz == pytest.approx(25e6 / s.reference * s.feedback * (s.loop or s.output))
    assert 400e6 <= s.vco_hz <= 800e6 and 1 <= s.further <= 128
    assert ecp5_settings(25e6, mhz * 1e6).further == 0


@pytest.mark.parametrize("mhz", [10, 33, 50, 58, 60, 62.5, 71, 83])
def test_a_divider_that_another_output_can_halve(mhz):
    s = ecp5_settings(25e6, mhz * 1e6, multiple=2)
    assert s.output % 2 == 0 and s.output_hz == pytest.approx(mhz * 1e6, rel=0.01)
    assert s.vco_hz == pytest.approx(25e6 / s.reference * s.feedback * (s.loop or s.output))
    assert 400e6 <= s.vco_hz <= 800e6 and 2 <= s.output <= 128
    assert len(s.phases(2)) == 4 * s.output


def test_an_ice40_makes_its_double():
    s = ice40_settings(12e6, 24e6, further_hz=48e6)
    assert s.output_hz == 24e6 and s.further_hz == 48e6 and s.vco_hz == 48e6 * s.output


def calculator(name, packer):
    """A PLL calculator, which lies beside the packer of its family."""
    beside = Path(find_tool(packer))
    return str(beside.with_name(beside.name.replace(packer, name)))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ecp5_settings(1e6, 80e6), "the PLL takes 8 to 400 MHz, not 1"),
        (lambda: ecp5_settings(25e6, 500e6), "the PLL makes 10 to 400 MHz, not 500"),
        (
            lambda: ecp5_settings(25e6, 333e6, tolerance=1e-4),
            "the PLL cannot make 333 MHz within 0.01 %; the nearest is 332.8",
        ),
        (lambda: ice40_settings(12e6, 10e6), "the PLL makes 16 to 275 MHz, not 10"),
        (
            lambda: ice40_settings(12e6, 203e6, tolerance=0.001),
            "the PLL cannot make 203 MHz within 0.1 %; the nearest is 204",
        ),
        (lambda: ice40_settings(9e6, 24e6), "the PLL takes 10 to 133 MHz, not 9"),
        (
            lambda: ecp5_settings(25e6, 80e6, further_hz=500e6),
            "the PLL makes 10 to 400 MHz, not 500",
        ),
        (
            lambda: ecp5_settings(25e6, 400e6, further_hz=300e6),
            "beside 400 MHz the PLL cannot make 300 MHz within 5 %; the nearest is 266.667",
        ),
        (
            lambda: ice40_settings(12e6, 24e6, further_hz=72e6),
            "beside 24 MHz this PLL makes twice as much, not 72 MHz",
        ),
    ],
)
def test_what_the_pll_cannot_do(make, message):
    with pytest.raises(PLLError, match=message):
        make()


def test_bad_arguments():
    with pytest.raises(ValueError, match="Family must be ecp5, ice40 or None, not 'xc7'"):
        PLL(family="xc7", input_hz=25e6, wanted_hz=80e6)
    with pytest.raises(ValueError, match="Phase must be 0 to less than 360 degrees, not 360"):
        PLL(family="ecp5", input_hz=25e6, wanted_hz=80e6, phase=360)
    with pytest.raises(ValueError, match="An iCE40's PLL has no output of another phase"):
        PLL(family="ice40", input_hz=12e6, wanted_hz=24e6, phase=90)
    with pytest.raises(ValueError, match="Only an iCE40's PLL can be driven by a pad"):
        PLL(family="ecp5", input_hz=25e6, wanted_hz=80e6, pad=object())


@pytest.mark.parametrize(
    "mhz, phase",
    [(80, 0), (80, 90), (80, 180), (80, 270), (100, 240), (60, 270), (40, 90), (20, 135)],
)
def test_shifted_output_is_that_of_ecppll(mhz, phase, tmp_path):
    from amaranth.back import rtlil

    tool = calculator("ecppll", "ecppack")
    subprocess.run(
        [
            tool,
            "-i",
            "25",
            "-o",
            str(mhz),
            "--clkout1_name",
            "shifted",
            "--clkout1",
            str(mhz),
            "--phase1",
            str(phase),
            "-f",
            "pll.v",
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    said = (tmp_path / "pll.v").read_text()
    ours = rtlil.convert(PLL(family="ecp5", input_hz=25e6, wanted_hz=mhz * 1e6, phase=phase))
    names = (
        "CLKI_DIV",
        "CLKFB_DIV",
        "CLKOP_DIV",
        "CLKOP_CPHASE",
        "CLKOS_DIV",
        "CLKOS_CPHASE",
        "CLKOS_FPHASE",
    )
    theirs = {name: int(re.search(rf"\.{name}\((\d+)\)", said)[1]) for name in names}
    made = {
        name: int(
            re.search(rf"parameter \\{name.replace('CLKOS', 'CLKOS2')} (\d+)$", ours, re.M)[1]
        )
        for name in names
    }
    # The tool rounds the half of an even divider down to one less, now and then, and both phases
    # with it.
    early = made["CLKOP_CPHASE"] - theirs["CLKOP_CPHASE"]
    assert early == (
        0 if mhz == 80 else theirs["CLKOP_DIV"] // 2 - theirs["CLKOP_CPHASE"]
    ) and early in (0, 1)
    assert made == {
        name: value + (early if name.endswith("CPHASE") else 0) for name, value in theirs.items()
    }


@pytest.mark.parametrize("mhz, further", [(80, 160), (50, 150), (100, 50)])
def test_a_further_output_rises_with_the_first_as_that_of_ecppll(mhz, further, tmp_path):
    from amaranth.back import rtlil

    tool = calculator("ecppll", "ecppack")
    subprocess.run(
        [
            tool,
            "-i",
            "25",
            "-o",
            str(mhz),
            "--clkout1_name",
            "further",
            "--clkout1",
            str(further),
            "-f",
            "pll.v",
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    theirs = {
        name: int(value)
        for name, value in re.findall(
            r"\.(CLKO\w+PHASE)\((\d+)\)", (tmp_path / "pll.v").read_text()
        )
    }
    ours = rtlil.convert(
        PLL(family="ecp5", input_hz=25e6, wanted_hz=mhz * 1e6, further_hz=further * 1e6)
    )
    made = {
        name: int(value)
        for name, value in re.findall(r"parameter \\(CLKO\w+PHASE) (\d+)$", ours, re.M)
    }
    assert theirs["CLKOS_CPHASE"] == theirs["CLKOP_CPHASE"] and theirs["CLKOS_FPHASE"] == 0
    assert made["CLKOS3_CPHASE"] == made["CLKOP_CPHASE"] and made["CLKOS3_FPHASE"] == 0


def test_phases_are_those_that_the_output_takes():
    """Each of them asked for by its degrees is made to the eighth of the oscillator's period."""
    from amaranth.back import rtlil

    settings = ecp5_settings(25e6, 80e6)
    phases = settings.phases()
    assert len(phases) == 8 * settings.output and phases[0] == (0, 0)
    for n in (1, 7, 8, 33, len(phases) - 1):
        degrees, late = phases[n]
        assert late == pytest.approx(degrees / 360 / 80e6 * 1e9) and late == pytest.approx(
            n / 8 / settings.vco_hz * 1e9
        )
        text = rtlil.convert(PLL(family="ecp5", input_hz=25e6, wanted_hz=80e6, phase=degrees))
        made = {
            name: int(re.search(rf"parameter \\{name} (\d+)$", text, re.M)[1])
            for name in ("CLKOP_CPHASE", "CLKOS2_CPHASE", "CLKOS2_FPHASE")
        }
        assert 8 * (made["CLKOS2_CPHASE"] - made["CLKOP_CPHASE"]) + made["CLKOS2_FPHASE"] == n


def test_phases_of_an_output_twice_as_fast():
    from amaranth.back import rtlil

    settings = ecp5_settings(25e6, 58e6, multiple=2)
    for n in (0, 5, 4 * settings.output - 1):
        degrees, late = settings.phases(2)[n]
        assert degrees < 360 and late == pytest.approx(degrees / 360 / (2 * 58e6) * 1e9, rel=0.01)
        pll = PLL(family="ecp5", input_hz=25e6, wanted_hz=58e6, phase=degrees, shifted_rate=2)
        text = rtlil.convert(pll)
        made = {
            name: int(re.search(rf"parameter \\{name} (\d+)$", text, re.M)[1])
            for name in (
                "CLKOP_DIV",
                "CLKOS2_DIV",
                "CLKOP_CPHASE",
                "CLKOS2_CPHASE",
                "CLKOS2_FPHASE",
            )
        }
        assert made["CLKOP_DIV"] == 2 * made["CLKOS2_DIV"] == settings.output
        assert 8 * (made["CLKOS2_CPHASE"] - made["CLKOP_CPHASE"]) + made["CLKOS2_FPHASE"] == n


def test_twin_locks():
    dut = PLL(family=None, input_hz=25e6, wanted_hz=80e6)
    assert dut.output_hz == 80e6

    async def testbench(ctx):
        assert not ctx.get(dut.locked)
        await ctx.tick().repeat(15)
        assert ctx.get(dut.locked)

    simulate(dut, testbench)
