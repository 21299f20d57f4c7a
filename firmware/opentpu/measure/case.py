# SPDX-License-Identifier: BSD-2-Clause
"""Test case of OpenTPU: a program with its registers, memory and expected results."""

from dataclasses import dataclass, field

import numpy as np

from ....tools.measure.case import Case as BaseCase

__all__ = ["Case", "align"]


@dataclass
class Case(BaseCase):
    """A program with its inputs and its expected results; ``words`` are
    :class:`~quintet.tools.compiler.backends.opentpu.codegen.program.Word`.

    Attributes
    ----------
    program : bytes, as they lie at ``registers["program_address"]``
    ranges : list of (address, size):
        bytes that must be equal after the run (all others must be untouched)
    expected : address -> int8 array, results computed without the model; empty where there are none
    t_a : array time of section 10.1, cycles
    traffic : bytes of the program's meaning: T_m = traffic / (bytes a cycle)
    bound : cycles required, or ``None``;
        ``kind`` the memory it holds for (``"ideal"``, ``"sdram16"``, ``"any"``)
    """

    program: bytes = b""
    ranges: list[tuple[int, int]] = field(default_factory=list)
    expected: dict[int, np.ndarray] = field(default_factory=dict)
    t_a: int = 0
    traffic: int = 0
    bound: int | None = None
    aim: int | None = None
    kind: str = "any"


def align(address: int, step: int) -> int:
    """The next multiple of ``step`` from ``address`` on."""
    return -(-address // step) * step
