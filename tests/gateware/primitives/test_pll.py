# SPDX-License-Identifier: BSD-2-Clause
"""PLL settings against the families' limits and against the tools' own calculators."""
import re
import subprocess

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from quintet.gateware.primitives.pll import PLL, PLLError, ecp5_settings, ice40_settings


@pytest.mark.parametrize("mhz", [40, 50, 60, 65, 70, 75, 80, 85, 90, 95, 100, 120, 200])
def test_ecp5_from_25_mhz(mhz):
    s = ecp5_settings(25e6, mhz * 1e6)
    assert s.output_hz == pytest.approx(mhz * 1e6, rel=0.01)
    assert s.output_hz == pytest.approx(25e6 / s.clki * s.clkfb)
    assert 400e6 <= s.output_hz * s.clkop <= 800e6
    if mhz % 5 == 0:
        assert s.output_hz == mhz * 1e6


@pytest.mark.parametrize("mhz", [18, 20, 24, 30, 36, 48, 60])
def test_ice40_agrees_with_icepll(mhz, tmp_path):
    s = ice40_settings(12e6, mhz * 1e6)
    text = subprocess.run(["yowasp-icepll", "-i", "12", "-o", str(mhz)], capture_output=True, text=True).stdout
    values = {name: int(value) for name, value in re.findall(r"(DIVR|DIVF|DIVQ|FILTER_RANGE):\s+(\d+)", text)}
    achieved = float(re.search(r"([\d.]+) MHz \(achieved\)", text)[1]) * 1e6
    assert s.output_hz == pytest.approx(achieved, rel=1e-4)
    assert (s.divr, s.divf, s.divq, s.filter_range) == (
        values["DIVR"], values["DIVF"], values["DIVQ"], values["FILTER_RANGE"])


def test_frequency_out_of_reach():
    with pytest.raises(PLLError, match="cannot make 900 MHz of 25 MHz within 1.00%; the nearest is 400 MHz"):
        PLL(family="ecp5", input_hz=25e6, output_hz=900e6)
    with pytest.raises(PLLError, match="cannot make 24 MHz of 5 MHz$"):
        PLL(family="ice40", input_hz=5e6, output_hz=24e6)


def test_deviation_beyond_tolerance():
    with pytest.raises(PLLError, match="within 0.00%"):
        ice40_settings(12e6, 31.234e6, tolerance=1e-6)


@pytest.mark.parametrize("arguments, message", [
    (dict(family="xc7", input_hz=1, output_hz=1), "Family must be 'ecp5', 'ice40' or None for a PLL, not 'xc7'"),
    (dict(family="ecp5", input_hz=0, output_hz=1e6), "Input frequency must be a positive number of Hz, not 0"),
    (dict(family="ecp5", input_hz=25e6, output_hz="fast"), "Output frequency must be a positive number of Hz, not 'fast'"),
    (dict(family="ecp5", input_hz=25e6, output_hz=80e6, pad=True), "An ECP5 PLL has no pad input of its own"),
])
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        PLL(**arguments)


def test_twin_hands_the_clock_through():
    pll = PLL(family=None, input_hz=25e6, output_hz=80e6)
    m = Module()
    m.submodules.pll = pll
    simulator = Simulator(m)

    async def bench(ctx):
        for level in (1, 0, 1):
            ctx.set(pll.clk_in, level)
            await ctx.delay(1e-9)
            assert ctx.get(pll.clk_out) == level and ctx.get(pll.locked)
    simulator.add_testbench(bench)
    simulator.run()
