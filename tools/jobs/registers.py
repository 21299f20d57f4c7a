# SPDX-License-Identifier: BSD-2-Clause
"""Register map of a core: names, offsets and legal values, from its ``isa.py`` and the common
block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS, Fault, Register
from ..errors import JobError, suggestion

if TYPE_CHECKING:
    from ...gateware.isa.table import Isa

__all__ = ["RegisterMap"]

#: Registers of the common block that a job may set; the loader sets the program's address and
#: length.
JOB_COMMON = ("window_base", "window_limit")


class RegisterMap:
    """All registers and counters of one ISA.

    Parameters
    ----------
    isa : Isa

    Attributes
    ----------
    registers : dict, name -> Register (arrays under their bare name)
    counters : dict, name -> Counter, the common ones first
    """

    def __init__(self, isa: Isa) -> None:
        self.isa = isa
        self.common = {register.name: register for register in COMMON_REGISTERS}
        self.own = {register.name: register for register in isa.registers}
        self.registers = {**self.common, **self.own}
        self.counters = {counter.name: counter for counter in (*COMMON_COUNTERS, *isa.counters)}

    def find(self, name: str) -> tuple[Register, int]:
        """Finds ``(Register, byte offset)`` of ``name`` or ``name[3]``; raises ``ValueError`` if
        there is none."""
        match = re.fullmatch(r"([A-Za-z_]\w*)(?:\[(\d+)\])?", name)
        register = self.registers.get(match[1]) if match else None
        if match is None or register is None:
            raise ValueError(
                f"{self.isa.name} has no such register"
                + suggestion(name, self._job_names(), "a job may set")
            )
        if register.count == 1:
            if match[2] is not None:
                raise ValueError(f"{register.name} is one register, not an array")
            return register, register.offset
        if match[2] is None:
            raise ValueError(
                f"{register.name} is an array: name one entry, {register.name}[0] to "
                f"{register.name}[{register.count - 1}]"
            )
        index = int(match[2])
        if index >= register.count:
            raise ValueError(f"{register.name} has entries 0 to {register.count - 1}")
        return register, register.offset + index * register.width // 8

    def _job_names(self):
        return [*(r.name for r in self.own.values() if r.given), *JOB_COMMON]

    def check_job_value(self, name: str, value: Any) -> Any:
        """Returns ``value`` if a job may write it to ``name``; otherwise raises ``ValueError`` with
        what was expected."""
        register, _ = self.find(name)
        if register.name in self.common and register.name not in JOB_COMMON:
            raise ValueError(
                "is set by the loader; of the common registers a job may set "
                f"{' and '.join(JOB_COMMON)}"
            )
        if "w" not in register.access:
            raise ValueError("is read-only")
        if register.clears:
            raise ValueError(
                "is a flag that the core sets and a host clears; no job gives it a value"
            )
        if type(value) is not int or not 0 <= value < 1 << register.width:
            raise ValueError(
                f"expected an integer of {register.width} bits, 0 to {(1 << register.width) - 1:#x}"
            )
        mask = register.mask | (~0xFFFF_FFFF if register.width == 64 else 0)
        if value & ~mask:
            kept = f"bits of {register.mask:#x}"
            low = register.mask & -register.mask
            if register.mask == 0x1_0000_0000 - low:
                kept = f"multiples of {low}"
            raise ValueError(f"the register keeps {kept} only")
        register.check_aligned(value)
        return value

    def check_build(
        self,
        name: str,
        value: int,
        params: Mapping[str, Any],
        memory_size: int,
        origin: str,
        target: str,
    ) -> None:
        """Raises :class:`JobError` for a register value that this build cannot hold; the message
        names both."""
        register, _ = self.find(name)
        if register.name in JOB_COMMON and value > memory_size:
            raise JobError(
                f"{origin}: registers.{name} = {value:#x}: lies past the main memory of "
                f"{target}, which has "
                f"{memory_size:#x} bytes"
            )
        if (
            register.only_if
            and not params.get(register.only_if, True)
            and value not in (0, register.reset)
        ):
            raise JobError(
                f"{origin}: registers.{name} = {value:#x}: the register needs "
                f"{register.only_if} = true, and "
                f"{target} was built with {register.only_if} = false"
            )

    def check_write(self, name: str, value: int) -> None:
        """Raises ``ValueError`` for a value that no host should write to ``name``, with or without
        a job."""
        register, _ = self.find(name)
        if not 0 <= value < 1 << register.width:
            raise ValueError(f"expected an integer of {register.width} bits")
        register.check_aligned(value)

    def read_only(self) -> Iterator[str]:
        """Names of the ISA's own registers that hold results of a run; entries of arrays are listed
        individually."""
        for register in self.own.values():
            if not register.given:
                if register.count == 1:
                    yield register.name
                else:
                    yield from (f"{register.name}[{i}]" for i in range(register.count))

    def fault_name(self, code: int) -> str:
        """Name of a fault code."""
        for fault in self.isa.faults:
            if fault.code == code:
                return fault.name
        return "aborted" if code == 8 else f"unknown_{code}"

    def fault(self, name: str) -> Fault | None:
        """The :class:`~...gateware.isa.registers.Fault` named ``name``, or ``None``."""
        return next((fault for fault in self.isa.faults if fault.name == name), None)
