# SPDX-License-Identifier: BSD-2-Clause
"""Registers in I/O cells; pads of plain ones have known levels before the first clock."""

from amaranth import ClockSignal, Const, Instance, Module, Signal
from amaranth.lib import io, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "DOUBLE_LATENCY",
    "DoubleRateOutput",
    "DoubleRatePads",
    "RegisteredOutput",
    "RegisteredPads",
]

#: Cycles from the input of an ``ODDRX1F`` to its pad: two more than of a plain output register, by
#: the vendor's simulation model, which Amaranth's ``DDRBuffer`` was tried on hardware against.
DOUBLE_LATENCY = 3


def _register(m, name, d, q, level):
    """An ECP5 output register; ``level`` is its state after configuration."""
    kind, reset = ("OFS1P3BX", "i_PD") if level else ("OFS1P3DX", "i_CD")
    m.submodules[name] = Instance(
        kind, **{reset: Const(0)}, i_SCLK=ClockSignal("sync"), i_SP=Const(1), i_D=d, o_Q=q
    )


def _double_output(m, bit, words, q):
    """An ECP5 double-rate output register of a bit of two words."""
    m.submodules[f"o_{bit}"] = Instance(
        "ODDRX1F",
        i_SCLK=ClockSignal("sync"),
        i_RST=Const(0),
        i_D0=words[0],
        i_D1=words[1],
        o_Q=q,
    )


class RegisteredOutput(wiring.Component):
    """Output registers of domain ``sync`` in the I/O cells of ``port``.

    On an ECP5 they drive ``init`` from the end of configuration on. An iCE40's start low, whatever
    is requested: there the pads are released until the first clock, and those that must be high
    until then need ``PULLUP`` among their attributes.

    Parameters
    ----------
    port : object, as of ``amaranth.lib.io``
    family : "ecp5", "ice40" or None
    init : int, state before the first clock, as of ``o``

    Members
    -------
    o : In
    """

    def __init__(self, *, port: io.PortLike, family: str | None, init: int = 0) -> None:
        self._port, self._family = port, family
        self._levels = [init >> bit & 1 ^ inverted for bit, inverted in enumerate(port.invert)]
        if family == "ice40":
            for bit, level in enumerate(self._levels):
                pad = port.io.metadata[bit]
                if level and not pad.attrs.get("PULLUP"):
                    raise ValueError(
                        f"Pin {pad.name} must be high before the first clock, and needs the "
                        f"attribute PULLUP for that"
                    )
        super().__init__({"o": In(len(port))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._family != "ecp5":
            m.submodules.buffer = buffer = io.FFBuffer("o", self._port)
            m.d.comb += buffer.o.eq(self.o)
            return m
        for bit, level in enumerate(self._levels):
            pad = Signal(name=f"pad_{bit}")
            _register(m, f"o_{bit}", self.o[bit] ^ self._port.invert[bit], pad, level)
            m.submodules[f"pad_{bit}"] = Instance("OB", i_I=pad, o_O=self._port.io[bit])
        return m


class RegisteredPads(wiring.Component):
    """Input, output and output-enable registers of domain ``sync`` in the I/O cells of ``port``,
    which does not invert. The pads are released before the first clock.

    Parameters
    ----------
    port : object, as of ``amaranth.lib.io``
    family : "ecp5", "ice40" or None

    Members
    -------
    o : In, oe : In(1), i : Out
    """

    def __init__(self, *, port: io.PortLike, family: str | None) -> None:
        if any(port.invert):
            raise ValueError(f"Port must not invert, and this one does: {port!r}")
        self._port, self._family = port, family
        super().__init__({"o": In(len(port)), "oe": In(1), "i": Out(len(port))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for bit in range(len(self._port)):
            if self._family != "ecp5":
                # An enable for every pin: each I/O cell has its own register for it. An iCE40's
                # starts low.
                buffer = m.submodules[f"pad_{bit}"] = io.FFBuffer("io", self._port[bit])
                m.d.comb += [
                    buffer.o.eq(self.o[bit]),
                    buffer.oe.eq(self.oe),
                    self.i[bit].eq(buffer.i),
                ]
                continue
            o, t, i = (Signal(name=f"{name}_{bit}") for name in "oti")
            _register(m, f"o_{bit}", self.o[bit], o, 0)
            _register(m, f"t_{bit}", ~self.oe, t, 1)
            m.submodules[f"i_{bit}"] = Instance(
                "IFS1P3DX",
                i_CD=Const(0),
                i_SCLK=ClockSignal("sync"),
                i_SP=Const(1),
                i_D=i,
                o_Q=self.i[bit],
            )
            m.submodules[f"pad_{bit}"] = Instance(
                "BB", i_I=o, i_T=t, o_O=i, io_B=self._port.io[bit]
            )
        return m


class DoubleRateOutput(wiring.Component):
    """Double-rate output registers of domain ``sync`` in the I/O cells of an ECP5's ``port``.

    The pads are low, and those that invert high, until the first words have come through, after
    :data:`DOUBLE_LATENCY` cycles.

    Parameters
    ----------
    port : object, as of ``amaranth.lib.io``

    Members
    -------
    o : In, one word for each half of a cycle
    """

    def __init__(self, *, port: io.PortLike) -> None:
        self._port = port
        super().__init__({"o": In(len(port)).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for bit, inverted in enumerate(self._port.invert):
            pad = Signal(name=f"pad_{bit}")
            _double_output(m, bit, [word[bit] ^ inverted for word in self.o], pad)
            m.submodules[f"pad_{bit}"] = Instance("OB", i_I=pad, o_O=self._port.io[bit])
        return m


class DoubleRatePads(wiring.Component):
    """Double-rate input and output registers, and an output-enable register, of domain ``sync`` in
    the I/O cells of an ECP5's ``port``, which does not invert. The pads are released before the
    first clock.

    Parameters
    ----------
    port : object, as of ``amaranth.lib.io``

    Members
    -------
    o : In, one word for each half of a cycle
    oe : In(1), for a whole cycle. The output follows in a cycle, that of ``o`` in
        :data:`DOUBLE_LATENCY`
    i : Out, the words at a rising edge and at the falling edge behind it, a cycle after the former
    """

    def __init__(self, *, port: io.PortLike) -> None:
        if any(port.invert):
            raise ValueError(f"Port must not invert, and this one does: {port!r}")
        self._port = port
        super().__init__({"o": In(len(port)).array(2), "oe": In(1), "i": Out(len(port)).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for bit in range(len(self._port)):
            o, t, i = (Signal(name=f"{name}_{bit}") for name in "oti")
            _double_output(m, bit, [word[bit] for word in self.o], o)
            _register(m, f"t_{bit}", ~self.oe, t, 1)
            m.submodules[f"i_{bit}"] = Instance(
                "IDDRX1F",
                i_SCLK=ClockSignal("sync"),
                i_RST=Const(0),
                i_D=i,
                o_Q0=self.i[0][bit],
                o_Q1=self.i[1][bit],
            )
            m.submodules[f"pad_{bit}"] = Instance(
                "BB", i_I=o, i_T=t, o_O=i, io_B=self._port.io[bit]
            )
        return m
