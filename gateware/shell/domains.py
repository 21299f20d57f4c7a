# SPDX-License-Identifier: BSD-2-Clause
"""Clock domain of an engine, and its reset (docs/how/contracts.md, section 3)."""

from __future__ import annotations

from fractions import Fraction

from amaranth import Module, ResetInserter, Signal, Value
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In

from ..isa.parameters import Params
from .control import ControlBlock
from .engine import Engine

__all__ = ["DomainRequest", "place_engine", "requested_domain"]


class DomainRequest:
    """Request of an engine for a clock domain besides ``sync``.

    Attributes
    ----------
    name : str
        Name of the domain inside the engine.
    ratio : Fraction
        Wanted frequency over that of the main clock.
    """

    def __init__(self, name: str, ratio: float | Fraction) -> None:
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or name in ("sync", "boot", "sdram", "comb")
        ):
            raise ValueError(
                f"Name of a clock domain must be an identifier other than sync, boot, sdram "
                f"and comb, not {name!r}"
            )
        if (
            isinstance(ratio, bool)
            or not isinstance(ratio, (int, float, Fraction))
            or not Fraction(1, 16) <= ratio <= 16
        ):
            raise ValueError(
                f"Ratio of clock domain {name} must be a number from 1/16 to 16, not {ratio!r}"
            )
        self.name, self.ratio = name, Fraction(ratio).limit_denominator(64)

    def __repr__(self) -> str:
        return f"DomainRequest({self.name!r}, {self.ratio})"


def requested_domain(engine: Engine | type[Engine], params: Params) -> DomainRequest | None:
    """The :class:`DomainRequest` from ``domains(params)`` of an engine or its class, or ``None``.

    Raises
    ------
    ValueError
        It returns something else.
    """
    asked = engine.domains(params)
    if not asked:
        return None
    if not isinstance(asked, dict) or len(asked) != 1:
        raise ValueError(f"An engine may ask for one clock domain, name -> ratio, not {asked!r}")
    ((name, ratio),) = asked.items()
    return DomainRequest(name, ratio)


def place_engine(
    m: Module,
    *,
    engine: Engine,
    control: ControlBlock,
    domain: DomainRequest | None = None,
    guard_idle: Value,
) -> Signal:
    """Places ``engine`` under the core reset of ``control``, connects their interfaces, and returns
    the reset for the other modules in that domain.

    Parameters
    ----------
    engine : Engine
    control : ControlBlock
    domain : DomainRequest or None
        The engine's further domain, which the design around must drive. Its reset follows the core
        reset through synchronisers; ``sync`` is held until the far side has seen the reset and left
        it again, so both sides start together and neither ever talks to one that is in reset.
    guard_idle : Value
        Nothing is outstanding.

    The reset comes a cycle behind ``control.core_reset`` and goes a cycle behind it; the core reset
    lasts until it has come, and the engine is not ready before it has gone. So whatever stands
    between engine and memory must not take anything from the engine while ``control.core_reset`` is
    high, and sees none of its signals from before once it is low.
    """
    # A register of the shell's own: the reset reaches all over the core, and the control block is
    # not the place it starts from.
    hold = Signal(init=1, name="core_reset_held")
    m.d.sync += hold.eq(control.core_reset)
    done, ready = guard_idle & hold, engine.control.ready & ~hold
    inserter = {"sync": hold}
    if domain is not None:
        asked, far, seen, held = hold, Signal(), Signal(init=1), Signal()
        m.submodules.core_reset_far = FFSynchronizer(asked, far, o_domain=domain.name, init=1)
        m.submodules.core_reset_back = FFSynchronizer(far, seen, init=1)
        m.d.comb += held.eq(asked | seen)
        hold, done, ready = held, done & seen, ready & ~seen
        inserter = {"sync": hold, domain.name: far}
    m.submodules.engine = ResetInserter(inserter)(engine)
    m.d.comb += [control.guard_idle.eq(done), control.engine.ready.eq(ready)]
    for path, member, value in engine.control.signature.flatten(engine.control):
        if path == ("ready",):
            continue
        other = control.engine
        for part in path:
            other = getattr(other, part) if isinstance(part, str) else other[part]
        m.d.comb += value.eq(other) if member.flow == In else other.eq(value)
    return hold
