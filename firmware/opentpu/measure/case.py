# SPDX-License-Identifier: BSD-2-Clause
"""Program for OpenTPU with everything around it: registers, memory, expected results."""

from dataclasses import dataclass, field

from ....tools.measure.case import Case as BaseCase

__all__ = ["Case", "align"]


@dataclass
class Case(BaseCase):
    """A program and everything around it; ``words`` are
    :class:`~quintet.tools.kernels.opentpu.program.Word`.

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
    ranges: list = field(default_factory=list)
    expected: dict = field(default_factory=dict)
    t_a: int = 0
    traffic: int = 0
    bound: int | None = None
    aim: int | None = None
    kind: str = "any"


def align(address, step):
    return -(-address // step) * step
