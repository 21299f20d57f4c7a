# SPDX-License-Identifier: BSD-2-Clause
"""Board self-test: runs every test, even after a failure, while the board answers."""

import platform
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib import metadata
from typing import Any, cast

import numpy as np

from ..errors import TargetError
from ..targets.base import Target
from ..targets.link import LinkTarget
from .core import test_core
from .finding import Finding
from .link import kind_of, test_clock, test_link
from .memory import test_memory

__all__ = ["SelfTest"]

#: Place of the LED in the SoC's registers.
_SOC_LED = 0x0C


class SelfTest:
    """The self-test of an open board, physical or virtual.

    Parameters
    ----------
    target : LinkTarget
    tell : callable(Finding), optional; receives each finding as it arrives
    ask : callable(question) -> bool, optional; asked whether the LED is lit.
        Without it the LED is not tested.

    Attributes
    ----------
    findings : list of Finding
    seconds : wall time of :meth:`run`

    Raises
    ------
    TargetError
        A golden model, which is no board.
    """

    def __init__(
        self,
        target: Target,
        tell: Callable[[Finding], object] | None = None,
        ask: Callable[[str], bool] | None = None,
    ) -> None:
        if target.info.kind == "model":
            raise TargetError(
                f"{target.name}: a golden model has nothing to test; expected a board, or "
                f"sim:<board>/<isa>"
            )
        # Whatever is no golden model is behind a link.
        self.target = cast(LinkTarget, target)
        self._tell, self._ask = tell, ask
        self.findings: list[Finding] = []
        self.seconds = 0.0

    @property
    def ok(self) -> bool:
        """Whether no test failed."""
        return all(finding.ok is not False for finding in self.findings)

    def run(self) -> list[Finding]:
        """Runs all tests; returns :attr:`findings`."""
        began, rng = time.monotonic(), np.random.default_rng(1)
        info = self.target.info
        assert info.clock_hz is not None  # only a golden model has no clock
        self._take(
            Finding(
                "link",
                "identify",
                True,
                f"{info.board}, {info.isa or 'no core'} {info.preset or ''}".rstrip()
                + f", {info.clock_hz / 1e6:g} MHz",
            )
        )
        tests = [
            ("link", "frames", lambda: test_link(self.target, rng)),
            ("clock", "main clock", lambda: test_clock(self.target)),
            ("memory", "main memory", lambda: test_memory(self.target, rng)),
        ]
        if info.isa is not None:
            tests.append(("core", "units", lambda: test_core(self.target)))
        tests.append(("LED", "LED", self._led))
        for part, name, test in tests:
            if not self._made(part, name, test):
                break
        self.seconds = time.monotonic() - began
        return self.findings

    def _take(self, finding):
        self.findings.append(finding)
        if self._tell is not None:
            self._tell(finding)

    def _made(self, part, name, test):
        """Records the findings of a test; returns ``False`` if the board no longer answers."""
        from ..link.errors import BoardError, LinkError

        try:
            for finding in test():
                self._take(finding)
        except BoardError as error:
            self._take(
                Finding(
                    part,
                    name,
                    False,
                    str(error),
                    "the bus answers with an error: is this bitstream of this version?",
                )
            )
        except LinkError as error:
            self._take(
                Finding(
                    part,
                    name,
                    False,
                    str(error),
                    "switch the board off and on, look at cable and supply, and try again; "
                    "then a slower clock",
                )
            )
            return False
        except Exception as error:
            if type(error).__name__ != "SimulationError":
                raise
            # A virtual board's chip model says at once what a physical chip would only get wrong.
            advice = (
                "a rule of the memory chip is broken: address and command lines, or the phase "
                "of its clock, whose margins are under sdram in report.json"
            )
            self._take(Finding("memory", "chip", False, str(error), advice))
            return False
        return True

    def _led(self):
        if self._ask is None:
            yield Finding("LED", "LED", None, "nobody looked")
            return
        self.target.write_soc_word(_SOC_LED, 1)
        lit = self._ask("Is the board's LED lit?")
        self.target.write_soc_word(_SOC_LED, 0)
        dark = self._ask("Is it dark now?")
        yield Finding(
            "LED",
            "LED",
            lit and dark,
            "lit and dark" if lit and dark else "lit" if lit else "not lit",
            ""
            if lit and dark
            else "the host reached its register: look at the pin in the board's file",
        )

    def report(self) -> dict[str, Any]:
        """The findings and their environment, suitable for publication: without names of users,
        paths or ports."""
        info = self.target.info
        return {
            "ok": self.ok,
            "board": info.board,
            "isa": info.isa,
            "preset": info.preset,
            "params": info.params,
            "clock_hz": info.clock_hz,
            "memory": info.memory,
            "link": info.link,
            "kind": kind_of(self.target),
            "gateware": info.version,
            "quintet": _version(),
            "python": sys.version.split()[0],
            "system": platform.system(),
            "date": datetime.now(timezone.utc).date().isoformat(),
            "seconds": round(self.seconds, 1),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def _version():
    try:
        return metadata.version("quintet")
    except metadata.PackageNotFoundError:
        return "unknown"
