# SPDX-License-Identifier: BSD-2-Clause
"""Phase-locked loops: the settings that reach a frequency, and the cell that has them."""
from dataclasses import dataclass

from amaranth import Const, Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PLL", "ECP5Settings", "ICE40Settings", "PLLError", "ecp5_settings", "ice40_settings"]


class PLLError(ValueError):
    """A frequency that the PLL cannot make; the message names it and the nearest one."""


@dataclass(frozen=True)
class ECP5Settings:
    """Dividers of an ``EHXPLLL`` whose feedback is CLKOP: output = input / ``clki`` * ``clkfb``, VCO = output * ``clkop``."""
    clki: int
    clkfb: int
    clkop: int
    output_hz: float


@dataclass(frozen=True)
class ICE40Settings:
    """Fields of an ``SB_PLL40``, simple feedback: output = input / (divr+1) * (divf+1) / 2**divq."""
    divr: int
    divf: int
    divq: int
    filter_range: int
    output_hz: float


def _best(candidates, input_hz, output_hz, tolerance):
    best = min(candidates, key=lambda item: item[0], default=None)
    if best is None:
        raise PLLError(f"a PLL cannot make {output_hz / 1e6:g} MHz of {input_hz / 1e6:g} MHz")
    if abs(best[1].output_hz - output_hz) > tolerance * output_hz:
        raise PLLError(f"a PLL cannot make {output_hz / 1e6:g} MHz of {input_hz / 1e6:g} MHz within {tolerance:.2%}; "
                       f"the nearest is {best[1].output_hz / 1e6:.6g} MHz")
    return best[1]


def ecp5_settings(input_hz, output_hz, *, tolerance=0.01):
    """The dividers nearest to ``output_hz``; of several, those with the fastest phase detector, then the VCO nearest 600 MHz.

    Limits (ECP5 family data sheet, sysCLOCK PLL timing): phase detector 3.125 to 400 MHz, VCO 400 to 800 MHz, output 3.125 to 400 MHz.
    """
    found = []
    for clki in range(1, 129):
        pfd = input_hz / clki
        if not 3.125e6 <= pfd <= 400e6:
            continue
        # Only the multiples beside the wanted one can be nearest.
        wanted = round(output_hz / pfd)
        for clkfb in {max(1, min(128, wanted + d)) for d in (-1, 0, 1)}:
            output = pfd * clkfb
            if not 3.125e6 <= output <= 400e6:
                continue
            for clkop in range(1, 129):
                vco = output * clkop
                if 400e6 <= vco <= 800e6:
                    cost = (abs(output - output_hz), clki, abs(vco - 600e6))
                    found.append((cost, ECP5Settings(clki, clkfb, clkop, output)))
    return _best(found, input_hz, output_hz, tolerance)


def ice40_settings(input_hz, output_hz, *, tolerance=0.01):
    """The fields nearest to ``output_hz``; of several, those with the fastest phase detector.

    Limits (iCE40 sysCLOCK PLL design guide): input 10 to 133 MHz, phase detector 10 to 133 MHz, VCO 533 to 1066 MHz, output 16 to
    275 MHz.
    """
    found = []
    for divr in range(16):
        pfd = input_hz / (divr + 1)
        if not 10e6 <= pfd <= 133e6 or not 10e6 <= input_hz <= 133e6:
            continue
        for divf in range(128):
            vco = pfd * (divf + 1)
            if not 533e6 <= vco <= 1066e6:
                continue
            for divq in range(1, 7):
                output = vco / 2 ** divq
                if 16e6 <= output <= 275e6:
                    edges = (17e6, 26e6, 44e6, 66e6, 101e6)
                    filter_range = 1 + sum(pfd >= edge for edge in edges)
                    found.append(((abs(output - output_hz), divr), ICE40Settings(divr, divf, divq, filter_range, output)))
    return _best(found, input_hz, output_hz, tolerance)


class PLL(wiring.Component):
    """One clock made of another.

    Parameters
    ----------
    family : str or None
        ``"ecp5"``, ``"ice40"``, or ``None``: a twin that hands its input through and is locked at once (the simulator gives
        its clock domains any frequency it likes).
    input_hz, output_hz : int
        Frequencies.
    tolerance : float
        Largest deviation of ``output_hz``, as a share of it.
    pad : bool
        iCE40 only: the input is the pad itself (``SB_PLL40_PAD``, whose input pin may have no other use), not a signal.

    Members
    -------
    clk_in : In(1)
    clk_out : Out(1)
    locked : Out(1)

    Attributes
    ----------
    settings : ECP5Settings, ICE40Settings or None
    output_hz : float
        The frequency that comes out.

    Raises
    ------
    PLLError
        No setting reaches the frequency.
    """
    def __init__(self, *, family, input_hz, output_hz, tolerance=0.01, pad=False):
        if family not in ("ecp5", "ice40", None):
            raise ValueError(f"Family must be 'ecp5', 'ice40' or None for a PLL, not {family!r}")
        for name, value in (("Input", input_hz), ("Output", output_hz)):
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"{name} frequency must be a positive number of Hz, not {value!r}")
        if pad and family == "ecp5":
            raise ValueError("An ECP5 PLL has no pad input of its own")
        self.family = family
        self.input_hz = input_hz
        self.pad = pad
        self.settings = None
        if family == "ecp5":
            self.settings = ecp5_settings(input_hz, output_hz, tolerance=tolerance)
        elif family == "ice40":
            self.settings = ice40_settings(input_hz, output_hz, tolerance=tolerance)
        self.output_hz = self.settings.output_hz if self.settings else output_hz
        super().__init__({"clk_in": In(1), "clk_out": Out(1), "locked": Out(1)})

    def elaborate(self, platform):
        m = Module()
        if self.family == "ecp5":
            m.submodules.cell = self._ecp5_cell()
        elif self.family == "ice40":
            m.submodules.cell = self._ice40_cell()
        else:
            m.d.comb += [self.clk_out.eq(self.clk_in), self.locked.eq(1)]
        return m

    def _ecp5_cell(self):
        s = self.settings
        return Instance(
            "EHXPLLL",
            a_FREQUENCY_PIN_CLKI=f"{self.input_hz / 1e6:g}", a_FREQUENCY_PIN_CLKOP=f"{s.output_hz / 1e6:g}",
            # Loop filter of the vendor's generator for integer feedback.
            a_ICP_CURRENT="12", a_LPF_RESISTOR="8", a_MFG_ENABLE_FILTEROPAMP="1", a_MFG_GMCREF_SEL="2",
            p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED", p_STDBY_ENABLE="DISABLED", p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA", p_OUTDIVIDER_MUXB="DIVB", p_OUTDIVIDER_MUXC="DIVC", p_OUTDIVIDER_MUXD="DIVD",
            p_CLKI_DIV=s.clki, p_CLKFB_DIV=s.clkfb, p_FEEDBK_PATH="CLKOP",
            p_CLKOP_ENABLE="ENABLED", p_CLKOP_DIV=s.clkop,
            p_CLKOP_CPHASE=s.clkop // 2, p_CLKOP_FPHASE=0,
            i_RST=Const(0, 1), i_STDBY=Const(0, 1), i_PHASESEL0=Const(0, 1), i_PHASESEL1=Const(0, 1),
            i_PHASEDIR=Const(1, 1), i_PHASESTEP=Const(1, 1), i_PHASELOADREG=Const(1, 1), i_PLLWAKESYNC=Const(0, 1),
            i_ENCLKOP=Const(0, 1),
            i_CLKI=self.clk_in, i_CLKFB=self.clk_out, o_CLKOP=self.clk_out, o_LOCK=self.locked)

    def _ice40_cell(self):
        s = self.settings
        return Instance(
            "SB_PLL40_PAD" if self.pad else "SB_PLL40_CORE",
            p_FEEDBACK_PATH="SIMPLE", p_DIVR=Const(s.divr, 4), p_DIVF=Const(s.divf, 7), p_DIVQ=Const(s.divq, 3),
            p_FILTER_RANGE=Const(s.filter_range, 3),
            i_RESETB=Const(1, 1), i_BYPASS=Const(0, 1),
            **{"i_PACKAGEPIN" if self.pad else "i_REFERENCECLK": self.clk_in},
            o_PLLOUTGLOBAL=self.clk_out, o_LOCK=self.locked)
