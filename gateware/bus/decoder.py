# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone address decoder (docs/how/contracts.md, section 4)."""

from collections.abc import Mapping

from amaranth import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .soclib import wishbone

__all__ = ["BusDecoder"]


class BusDecoder(wiring.Component):
    """Address decoder: one Wishbone master, several slaves, each in its window.

    The address is compared in a cycle of its own: slaves see a bus cycle one clock cycle later than
    the master offers it, and the way from the master's address to a slave's inputs is cut by a
    register. Answers pass in the same cycle. A cycle that is for nobody ends with ``err``, one
    clock cycle later.

    Parameters
    ----------
    windows : dict, name -> (base, :class:`wishbone.Signature`)
        Byte address of each window, aligned to its size; the size is that of the slave's addresses.
        Slaves of 32 data bits and granularity 8, with ``err`` or without.

    Members
    -------
    bus : In, Wishbone of 30 word-address bits, 32 data bits, granularity 8, with ``err``
    <name> : Out, one member a window

    Raises
    ------
    ValueError
        A window is not aligned, not of this width, overlaps another, or its name is used twice.
    """

    def __init__(self, *, windows: Mapping[str, tuple[int, wiring.Signature]]) -> None:
        self._windows = {}
        members = {
            "bus": In(
                wishbone.Signature(addr_width=30, data_width=32, granularity=8, features={"err"})
            )
        }
        taken: list[tuple[str, int, int]] = []
        for name, (base, signature) in windows.items():
            if name in members:
                raise ValueError(f"Name of a window must be a new one, not {name!r}")
            if (
                signature.data_width != 32
                or signature.granularity != 8
                or not 1 <= signature.addr_width <= 30
            ):
                raise ValueError(
                    f"Slave {name} must have 32 data bits, granularity 8 and at most 30 "
                    f"address bits"
                )
            size = 4 << signature.addr_width
            if not isinstance(base, int) or not 0 <= base < 1 << 32 or base % size:
                raise ValueError(
                    f"Base of {name} must be a multiple of its {size} bytes below 2^32, not "
                    f"{base!r}"
                )
            for other, low, high in taken:
                if base < high and low < base + size:
                    raise ValueError(f"Windows of {other} and {name} overlap")
            taken.append((name, base, base + size))
            members[name] = Out(signature)
            self._windows[name] = (base, signature.addr_width)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        compared = Signal()  # the address is, and the cycle has no answer yet
        answered = Signal()
        data, acks, errs = Const(0, 32), Const(0), compared
        for name, (base, width) in self._windows.items():
            slave = getattr(self, name)
            chosen = Signal(name=f"chosen_{name}")
            m.d.sync += chosen.eq(bus.adr[width:] == base >> (width + 2) if width < 30 else 1)
            mine = Signal(name=f"mine_{name}")
            m.d.comb += [
                mine.eq(compared & chosen),
                slave.cyc.eq(bus.cyc & mine),
                slave.stb.eq(bus.stb & mine),
                slave.adr.eq(bus.adr),
                slave.we.eq(bus.we),
                slave.sel.eq(bus.sel),
                slave.dat_w.eq(bus.dat_w),
            ]
            data = data | slave.dat_r & chosen.replicate(32)
            acks = acks | mine & slave.ack
            # Nobody's: the address bits that no window removes.
            errs = errs & ~chosen
        for name in self._windows:
            slave = getattr(self, name)
            if hasattr(slave, "err"):
                errs = errs | slave.cyc & slave.err
        m.d.comb += [
            bus.dat_r.eq(data),
            bus.ack.eq(acks),
            bus.err.eq(errs),
            answered.eq(acks | errs),
        ]
        m.d.sync += compared.eq(bus.cyc & bus.stb & ~answered)
        return m
