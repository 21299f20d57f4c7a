# SPDX-License-Identifier: BSD-2-Clause
"""Phase-locked loops of ECP5 and iCE40: search for settings, with the achieved frequency known and
checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from amaranth import ClockSignal, Const, Instance, Module, Signal
from amaranth.hdl import ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PLL", "PLLError", "PLLSettings", "ecp5_settings", "ice40_settings"]


class PLLError(ValueError):
    """Error: the PLL cannot generate a frequency; the message names the nearest one."""


@dataclass(frozen=True)
class PLLSettings:
    """PLL settings: ``reference``, ``feedback`` and ``output`` dividers; output and VCO frequencies
    in Hz.

    ``loop``: divider of a second output through which the loop is closed; 0: it is closed through
    the output itself. ``further``: divider of the further clock; 0: there is none.
    """

    reference: int
    feedback: int
    output: int
    vco_hz: float
    output_hz: float
    loop: int = 0
    further: int = 0

    @property
    def further_hz(self) -> float | None:
        """Frequency of the further clock in Hz."""
        return self.vco_hz / self.further

    def phases(self, rate: int = 1) -> list[tuple[float, float]]:
        """Phase shifts of another output of an ``EHXPLLL`` relative to the first at ``rate`` times
        its frequency, (degrees of the faster clock, nanoseconds): multiples of an eighth of the VCO
        period."""
        divider = self.output // rate
        return [(45 * n / divider, 1e9 * n / (8 * self.vco_hz)) for n in range(8 * divider)]


#: Largest relative error of a further clock.
FURTHER_TOLERANCE = 0.05


def _refuse_outside(verb, hz, limits):
    if not limits[0] <= hz <= limits[1]:
        raise PLLError(
            f"the PLL {verb} {limits[0] / 1e6:g} to {limits[1] / 1e6:g} MHz, not {hz / 1e6:g}"
        )


def _search(
    input_hz,
    wanted_hz,
    tolerance,
    *,
    inputs,
    outputs,
    references,
    detectors,
    settings,
    further_hz=None,
):
    """Selects the best PLL settings: nearest frequency, then no second output, then the smallest
    dividers.

    ``inputs``, ``outputs``, ``detectors``: lowest and highest frequency there; ``references``:
    largest reference divider; ``settings(reference, detector)``: all :class:`PLLSettings` of one
    reference divider.
    """
    _refuse_outside("takes", input_hz, inputs)
    _refuse_outside("makes", wanted_hz, outputs)
    if further_hz is not None:
        _refuse_outside("makes", further_hz, outputs)

    def rank(s):
        # The main clock first, then the further one.
        apart = round(abs(s.further_hz - further_hz), 1) if further_hz else 0
        return (
            round(abs(s.output_hz - wanted_hz), 1),
            apart,
            s.loop > 0,
            s.reference,
            s.output,
            s.loop,
        )

    found = [
        s
        for reference in range(1, references + 1)
        if detectors[0] <= input_hz / reference <= detectors[1]
        for s in settings(reference, input_hz / reference)
    ]
    best = min(found, key=rank, default=None)
    if best is None or abs(best.output_hz - wanted_hz) > tolerance * wanted_hz:
        nearest = "" if best is None else f"; the nearest is {best.output_hz / 1e6:g}"
        raise PLLError(
            f"the PLL cannot make {wanted_hz / 1e6:g} MHz within {100 * tolerance:g} %{nearest}"
        )
    if further_hz and abs(best.further_hz - further_hz) > FURTHER_TOLERANCE * further_hz:
        raise PLLError(
            f"beside {best.output_hz / 1e6:g} MHz the PLL cannot make {further_hz / 1e6:g} MHz "
            f"within "
            f"{100 * FURTHER_TOLERANCE:g} %; the nearest is {best.further_hz / 1e6:g}"
        )
    return best


@cache
def ecp5_settings(
    input_hz: float,
    wanted_hz: float,
    tolerance: float = 0.01,
    further_hz: float | None = None,
    multiple: int = 1,
) -> PLLSettings:
    """Settings of an ``EHXPLLL`` with feedback from its first output or, for intermediate
    frequencies, its second.

    The phase detector works at 3.125 to 400 MHz, the oscillator at 400 to 800 MHz (nearest to 600
    is taken, or what suits ``further_hz``, a second frequency from the same oscillator, within 5
    %). The divider of the output is a multiple of ``multiple``, so that another output can make
    that many times its frequency.

    Raises
    ------
    PLLError
        Input outside 8 to 400 MHz, output outside 10 to 400 MHz, or not reachable within
        ``tolerance``.
    """

    def further(vco_hz):
        # At 400 MHz or below, as all outputs.
        return (
            0
            if further_hz is None
            else min(128, max(-int(-vco_hz // 400e6), round(vco_hz / further_hz)))
        )

    def settings(reference, detector):
        for feedback in range(1, 81):
            out = detector * feedback
            usable = [n for n in range(multiple, 129, multiple) if 400e6 <= out * n <= 800e6]
            if usable and further_hz is None:
                usable = [min(usable, key=lambda n: abs(out * n - 600e6))]
            for output in usable:
                yield PLLSettings(
                    reference, feedback, output, out * output, out, further=further(out * output)
                )
        for factor in range(-int(-400e6 // detector), int(800e6 // detector) + 1):
            # At 400 MHz or below, as all outputs.
            loop = next((n for n in range(2, 129) if factor % n == 0 and factor // n <= 80), None)
            output = multiple * round(detector * factor / (wanted_hz * multiple))
            if loop is not None and 1 <= output <= 128:
                vco = detector * factor
                yield PLLSettings(
                    reference, factor // loop, output, vco, vco / output, loop, further(vco)
                )

    return _search(
        input_hz,
        wanted_hz,
        tolerance,
        inputs=(8e6, 400e6),
        outputs=(10e6, 400e6),
        references=128,
        detectors=(3.125e6, 400e6),
        settings=settings,
        further_hz=further_hz,
    )


@cache
def ice40_settings(
    input_hz: float, wanted_hz: float, tolerance: float = 0.01, further_hz: float | None = None
) -> PLLSettings:
    """Settings of an ``SB_PLL40`` with simple feedback; dividers are DIVR + 1, DIVF + 1 and 2^DIVQ.

    ``further_hz`` can only be twice ``wanted_hz``: the PLL then makes that, and halves it for the
    output.

    The phase detector works at 10 to 133 MHz, the oscillator at 533 to 1066 MHz.

    Raises
    ------
    PLLError
        Input outside 10 to 133 MHz, output outside 16 to 275 MHz, or not reachable within
        ``tolerance``.
    """
    if further_hz is not None:
        if abs(further_hz - 2 * wanted_hz) > 1e-3 * wanted_hz:
            raise PLLError(
                f"beside {wanted_hz / 1e6:g} MHz this PLL makes twice as much, not "
                f"{further_hz / 1e6:g} MHz"
            )
        fast = ice40_settings(input_hz, 2 * wanted_hz, tolerance)
        return replace(fast, output_hz=fast.output_hz / 2, further=fast.output)

    def settings(reference, detector):
        for feedback in range(1, 129):
            vco = detector * feedback
            if 533e6 <= vco <= 1066e6:
                for q in range(1, 7):
                    yield PLLSettings(reference, feedback, 1 << q, vco, vco / (1 << q))

    return _search(
        input_hz,
        wanted_hz,
        tolerance,
        inputs=(10e6, 133e6),
        outputs=(16e6, 275e6),
        references=16,
        detectors=(10e6, 133e6),
        settings=settings,
    )


class PLL(wiring.Component):
    """Phase-locked loop: generates the main clock, and optionally another, from the board's
    oscillator.

    Parameters
    ----------
    family : "ecp5", "ice40" or None
        ``None``: the behavioural model, whose output is the clock of domain ``sync`` around it,
        locked 16 of its cycles after reset (a simulation has the frequency that its clock is
        given).
    input_hz, wanted_hz : number
    tolerance : float
        Largest relative error of the output.
    phase : number or None
        Degrees of its own period, less than 360, by which ``shifted`` follows ``output`` (ECP5
        only; rounded to an eighth of the oscillator's period); ``None``: there is no such output.
    shifted_rate : int
        ``shifted`` is that many times as fast as ``output``.
    further_hz : number or None
        Frequency of ``further``: on an ECP5 any, within 5 %; on an iCE40 twice ``wanted_hz``.
        ``None``: there is no such output.
    pad : IOPort or None
        iCE40: the clock's own pad, where the board has it on the PLL's pin (``SB_PLL40_PAD``);
        ``input`` is not used then.

    Members
    -------
    input : In, clock
    output : Out, clock
    shifted : Out, clock of ``shifted_rate`` times the frequency, with ``phase`` only
    further : Out, clock, with ``further_hz`` only
    locked : Out, asynchronous

    Attributes
    ----------
    settings : PLLSettings
    output_hz : float, the frequency that it really makes
    """

    def __init__(
        self,
        *,
        family: str | None,
        input_hz: float,
        wanted_hz: float,
        tolerance: float = 0.01,
        phase: float | None = None,
        shifted_rate: int = 1,
        further_hz: float | None = None,
        pad: ValueLike | None = None,
    ) -> None:
        if family == "ecp5":
            self.settings = ecp5_settings(
                input_hz, wanted_hz, tolerance, further_hz, multiple=shifted_rate
            )
        elif family == "ice40":
            self.settings = ice40_settings(input_hz, wanted_hz, tolerance, further_hz)
        elif family is None:
            self.settings = PLLSettings(
                1, 1, 1, wanted_hz, wanted_hz, further=0 if further_hz is None else 1
            )
        else:
            raise ValueError(f"Family must be ecp5, ice40 or None, not {family!r}")
        if pad is not None and family != "ice40":
            raise ValueError("Only an iCE40's PLL can be driven by a pad")
        if phase is not None and (
            not isinstance(phase, (int, float)) or isinstance(phase, bool) or not 0 <= phase < 360
        ):
            raise ValueError(f"Phase must be 0 to less than 360 degrees, not {phase!r}")
        if phase is not None and family == "ice40":
            raise ValueError("An iCE40's PLL has no output of another phase")
        self.family, self.input_hz, self.output_hz, self._pad = (
            family,
            input_hz,
            self.settings.output_hz,
            pad,
        )
        self._phase, self._shifted_rate = phase, shifted_rate
        optional = {"shifted": phase, "further": further_hz}
        super().__init__(
            {
                "input": In(1),
                "output": Out(1),
                "locked": Out(1),
                **{name: Out(1) for name, asked in optional.items() if asked is not None},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family == "ecp5":
            self._ecp5(m)
        elif self.family == "ice40":
            self._ice40(m)
        else:
            count = Signal(4)
            m.d.comb += [self.output.eq(ClockSignal("sync")), self.locked.eq(count.all())]
            if self._phase is not None:
                # A simulation of one clock has no phases.
                m.d.comb += self.shifted.eq(ClockSignal("sync"))
            if self.settings.further:
                m.d.comb += self.further.eq(ClockSignal("sync"))
            with m.If(~self.locked):
                m.d.sync += count.eq(count + 1)
        return m

    def _ecp5(self, m):
        s = self.settings
        loop, closing = self.output, {}
        if s.loop:
            loop = Signal()
            closing = dict(
                p_CLKOS_ENABLE="ENABLED",
                p_CLKOS_DIV=s.loop,
                p_CLKOS_CPHASE=s.loop // 2,
                p_CLKOS_FPHASE=0,
                o_CLKOS=loop,
            )
        if self._phase is not None:
            # Periods of the oscillator, in eighths, behind the output itself.
            divider = s.output // self._shifted_rate
            eighths = round(self._phase * divider / 45) + 8 * (s.output // 2)
            closing |= dict(
                p_CLKOS2_ENABLE="ENABLED",
                p_CLKOS2_DIV=divider,
                p_CLKOS2_CPHASE=eighths // 8,
                p_CLKOS2_FPHASE=eighths % 8,
                o_CLKOS2=self.shifted,
            )
        if s.further:
            # As late as the output, so that both rise together.
            closing |= dict(
                p_CLKOS3_ENABLE="ENABLED",
                p_CLKOS3_DIV=s.further,
                p_CLKOS3_CPHASE=s.output // 2,
                p_CLKOS3_FPHASE=0,
                o_CLKOS3=self.further,
            )
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_FREQUENCY_PIN_CLKI=f"{self.input_hz / 1e6:g}",
            a_FREQUENCY_PIN_CLKOP=f"{s.output_hz / 1e6:g}",
            # Charge pump and loop filter for oscillator frequencies around 600 MHz.
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA",
            p_OUTDIVIDER_MUXB="DIVB",
            p_OUTDIVIDER_MUXC="DIVC",
            p_OUTDIVIDER_MUXD="DIVD",
            p_CLKI_DIV=s.reference,
            p_CLKFB_DIV=s.feedback,
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_DIV=s.output,
            p_CLKOP_CPHASE=s.output // 2,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOS" if s.loop else "CLKOP",
            **closing,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_CLKI=self.input,
            i_CLKFB=loop,
            i_PHASESEL0=Const(0),
            i_PHASESEL1=Const(0),
            i_PHASEDIR=Const(1),
            i_PHASESTEP=Const(1),
            i_PHASELOADREG=Const(1),
            i_PLLWAKESYNC=Const(0),
            i_ENCLKOP=Const(0),
            o_CLKOP=self.output,
            o_LOCK=self.locked,
        )

    def _ice40(self, m):
        s = self.settings
        detector = self.input_hz / s.reference
        # Low-pass filter by the frequency of the phase detector.
        filter_range = next(
            (i for i, top in enumerate((17e6, 26e6, 44e6, 66e6, 101e6), 1) if detector < top), 6
        )
        ports = dict(
            p_FEEDBACK_PATH="SIMPLE",
            p_DIVR=Const(s.reference - 1, 4),
            p_DIVF=Const(s.feedback - 1, 7),
            p_DIVQ=Const(s.output.bit_length() - 1, 3),
            p_FILTER_RANGE=Const(filter_range, 3),
            i_RESETB=Const(1),
            i_BYPASS=Const(0),
            o_LOCK=self.locked,
        )
        two = "2F_" if s.further else ""
        if s.further:
            ports |= dict(
                p_PLLOUT_SELECT_PORTA="GENCLK_HALF",
                p_PLLOUT_SELECT_PORTB="GENCLK",
                o_PLLOUTGLOBALA=self.output,
                o_PLLOUTGLOBALB=self.further,
            )
        else:
            ports |= dict(o_PLLOUTGLOBAL=self.output)
        if self._pad is not None:
            m.submodules.pll = Instance(f"SB_PLL40_{two}PAD", io_PACKAGEPIN=self._pad, **ports)
        else:
            m.submodules.pll = Instance(f"SB_PLL40_{two}CORE", i_REFERENCECLK=self.input, **ports)
