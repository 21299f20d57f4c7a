# SPDX-License-Identifier: BSD-2-Clause
"""Control block registers, counters and faults that all cores share: names, offsets and numbers.
Pure Python.

Rooms declare their own registers, counters and faults with the types here, in ``isa.py``.
"""

from dataclasses import dataclass

__all__ = ["COMMON_COUNTERS", "COMMON_REGISTERS", "Counter", "Fault", "Register", "StallClass"]


class StallClass:
    """Class of a busy cycle; every busy cycle is counted in exactly one class."""

    WORK = 0
    FETCH = 1
    OPERAND = 2
    WRITE = 3
    OTHER = 4


@dataclass(frozen=True)
class Register:
    """A 32-bit register of the control block (``width`` 64: two, low word first).

    ``count`` > 1 is an array, entries 4 bytes apart: ``name[0]``..., entry k with the reset value
    ``reset`` + k * ``reset_step``. Bits outside ``mask`` read 0 (a 32-bit mask holds for both words
    of a 64-bit register). ``storage`` is ``"block"`` (kept by the control block) or ``"engine"``
    (served by the core's engine through its register bus, for arrays and read-only values computed
    on demand). ``only_if`` names a boolean parameter without which the register reads 0 and ignores
    writes. ``live`` (storage ``"engine"`` only): written while busy too. ``clears``: a flag of the
    core's, bits of which a write of 1 clears: a result of a run like a read-only register, and
    nothing that a run is given. ``build``: describes the build, not a run. ``align``:
    the value for a run must be a multiple of it. The register holds any value, and the core faults
    on it at start; hosts refuse to write it.
    """

    name: str
    offset: int
    access: str  # "r", "w" or "rw"
    reset: int = 0  # a core may override it from its parameters
    mask: int = 0xFFFF_FFFF
    width: int = 32
    count: int = 1
    storage: str = "block"
    only_if: str | None = None
    doc: str = ""
    live: bool = False
    reset_step: int = 0
    clears: bool = False
    build: bool = False
    align: int = 1

    @property
    def given(self) -> bool:
        """Whether the register is an input of a run: it can be written, and keeps its value."""
        return "w" in self.access and not self.clears

    def reset_of(self, index: int = 0) -> int:
        """Reset value of entry ``index``."""
        return self.reset + index * self.reset_step & (1 << self.width) - 1

    def check_aligned(self, value: int) -> None:
        """Raises ``ValueError`` for a value that is not a multiple of ``align``."""
        if value % self.align:
            raise ValueError(f"expected a multiple of {self.align}")


@dataclass(frozen=True)
class Counter:
    """A 64-bit counter of the control block; ``bits`` is the width of its increment per cycle."""

    name: str
    offset: int
    bits: int = 1
    doc: str = ""


@dataclass(frozen=True)
class Fault:
    """A fault: its number in ``fault_code``, its name (lower case), its condition, and the meaning
    of ``fault_detail``."""

    code: int
    name: str
    condition: str
    detail: str


COMMON_REGISTERS = (
    Register("ident", 0x00, "r", doc="ASCII tag of the ISA"),
    Register("version", 0x04, "r", doc="[31:16] major, [15:0] minor"),
    Register(
        "params_hash",
        0x08,
        "r",
        doc="first 32 bits of the SHA-256 of the parameters in canonical JSON",
    ),
    Register("features", 0x0C, "r", doc="bit 0 counters, bit 1 interrupt, others the ISA's"),
    Register(
        "control", 0x10, "w", doc="bit 0 start, bit 1 abort, bit 2 core reset; one bit at a time"
    ),
    Register("status", 0x14, "r", doc="bit 0 busy, bit 1 done, bit 2 fault, bit 3 aborted"),
    Register("irq_enable", 0x18, "rw", mask=1, doc="bit 0: interrupt when a run ends"),
    Register("program_address", 0x20, "rw", doc="byte address of the program in main memory"),
    Register("program_length", 0x24, "rw", doc="bytes of the program"),
    Register("window_base", 0x28, "rw", mask=0xFFFF_FFC0, doc="first byte the core may touch"),
    Register(
        "window_limit",
        0x2C,
        "rw",
        mask=0xFFFF_FFC0,
        doc="first byte it may not; reset: size of main memory",
    ),
    Register("fault_code", 0x40, "r", doc="0 none"),
    Register("fault_pc", 0x44, "r", doc="byte address of the faulting instruction"),
    Register("fault_detail", 0x48, "r", doc="as the ISA says"),
)

COMMON_COUNTERS = (
    Counter("cycles", 0x80, doc="cycles while busy"),
    Counter("instructions", 0x88, doc="instructions retired"),
    Counter("operations", 0x90, doc="MACs or element operations"),
    Counter("work", 0x98, doc="cycles in which the compute unit worked"),
    Counter("stall_fetch", 0xA0, doc="cycles waiting for instructions"),
    Counter("stall_operand", 0xA8, doc="cycles waiting for operands"),
    Counter("stall_write", 0xB0, doc="cycles waiting for memory writes"),
    Counter("stall_other", 0xB8, doc="cycles waiting for another unit, or draining"),
    Counter("bytes_read", 0xC0, doc="bytes the program's meaning demands to be read"),
    Counter("bytes_written", 0xC8, doc="bytes the program's meaning demands to be written"),
)
