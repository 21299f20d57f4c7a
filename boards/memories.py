# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of main memory of a board: external chips, and memory of the FPGA itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..gateware.cores import CorePackage
    from ..gateware.memory.blockram import BlockRAMMemory
    from ..gateware.memory.ddr3.memory import DDR3Memory
    from ..gateware.memory.sdram.controller import SDRAMController
    from ..gateware.memory.spram import SPRAMMemory
    from ..gateware.memory.sram.controller import SRAMController
    from .clocking import Clocking

__all__ = ["DDR3", "SDRAM", "SPRAM", "SRAM", "BlockRAM", "MainMemory", "takes_beats"]


class _Memory:
    """Base class of all kinds of main memory."""

    if TYPE_CHECKING:
        # Fields or properties of each kind.

        @property
        def kind(self) -> str: ...

        @property
        def size(self) -> int: ...

        @property
        def beat_bytes(self) -> int: ...

    def usable(self, package: CorePackage | None, params: Mapping[str, Any]) -> int:
        """Bytes of main memory that remain available with this core."""
        return self.size

    @property
    def beats(self) -> tuple[int, ...]:
        """Possible beat sizes in bytes."""
        return (self.beat_bytes,)

    def beat(self, size: int) -> int:
        """Beat size in bytes of a main memory of ``size`` bytes."""
        return self.beats[0]

    @property
    def is_chip(self) -> bool:
        """Whether it is an external chip, so that part of main memory can be on the FPGA
        instead."""
        return self.kind in ("SDRAM", "SRAM", "DDR3")

    def suited(self, package: CorePackage | None, params: Mapping[str, Any], size: int) -> Self:
        """This memory, with the beats that the core's engine takes where there is a choice."""
        return self


@dataclass(frozen=True)
class SDRAM(_Memory):
    """SDR SDRAM chip: ``part`` of ``gateware/memory/sdram/parts.py``, on the platform's
    ``resource``. ``rate``: its clock is that many times the main clock, 1 or, on an ECP5, 2."""

    part: str
    resource: str = "sdram"
    rate: int = 1
    kind: Literal["SDRAM"] = "SDRAM"

    @property
    def size(self) -> int:
        """Capacity of the chip in bytes."""
        from ..gateware.memory.sdram.parts import find_part

        return find_part(self.part).size

    @property
    def beat_bytes(self) -> int:
        """Beat size in bytes."""
        from ..gateware.memory.sdram.parts import find_part

        return self.rate * find_part(self.part).beat_bytes

    def backing(self, *, clocking: Clocking, family: str | None, size: int) -> SDRAMController:
        """Builds the memory controller (docs/how/contracts.md, section 2); ``size`` is ignored,
        since it is always the chip's."""
        from ..gateware.memory.sdram.controller import SDRAMController

        assert clocking.sdram is not None
        return SDRAMController(
            part=self.part,
            clock_hz=clocking.hz,
            capture=clocking.sdram.capture,
            rate=self.rate,
        )

    @property
    def width(self) -> int:
        """Width of the chip's data lines in bits."""
        from ..gateware.memory.sdram.parts import find_part

        return find_part(self.part).data_bits


@dataclass(frozen=True)
class SRAM(_Memory):
    """Asynchronous SRAM chip: ``part`` of ``gateware/memory/sram/parts.py``, on the platform's
    ``resource``. Beats have four bytes, two words of the chip, which suits the cores' small
    engines."""

    part: str
    resource: str = "sram"
    beat_bytes: int = 4
    kind: Literal["SRAM"] = "SRAM"
    width: int = 16

    @property
    def size(self) -> int:
        """Capacity of the chip in bytes."""
        from ..gateware.memory.sram.parts import find_sram

        return find_sram(self.part).size

    def backing(self, *, clocking: Clocking, family: str | None, size: int) -> SRAMController:
        """Builds the memory controller (docs/how/contracts.md, section 2); ``size`` is ignored,
        since it is always the chip's."""
        from ..gateware.memory.sram.controller import SRAMController

        return SRAMController(part=self.part, clock_hz=clocking.hz, beat_bytes=self.beat_bytes)


@dataclass(frozen=True)
class DDR3(_Memory):
    """DDR3 chip of 16 bits behind LiteDRAM's controller: ``part`` of
    ``gateware/memory/ddr3/parts.py``, on the platform's ``resource``.

    A beat has 8 bytes, what the chip moves in a cycle of the main clock, or 4 if the core's engine
    takes no wider ones.

    Attributes
    ----------
    swapped_masks : bool, the wires of the two byte masks cross on the board
    termination : bool, the chip terminates its data lines while it does not send
    command_delay : int, steps of delay of clock and command lines at 64 MHz and below
    power : str or None, resource of pins of the FPGA that carry supply and ground
    """

    part: str
    resource: str = "ddr3"
    swapped_masks: bool = False
    termination: bool = True
    command_delay: int = 0
    power: str | None = None
    beat_bytes: int = 8
    kind: Literal["DDR3"] = "DDR3"
    width: int = 16

    @property
    def size(self) -> int:
        """Capacity of the chip in bytes."""
        from ..gateware.memory.ddr3.parts import find_ddr3

        return find_ddr3(self.part).size

    @property
    def beats(self) -> tuple[int, ...]:
        """Possible beat sizes in bytes."""
        return (8, 4)

    def beat(self, size: int) -> int:
        """Beat size in bytes."""
        return self.beat_bytes

    def suited(self, package: CorePackage | None, params: Mapping[str, Any], size: int) -> Self:
        """This memory with the widest beats that the core's engine can be built for."""
        if package is None:
            return self
        beat = next((beat for beat in self.beats if takes_beats(package, params, beat, size)), 4)
        return replace(self, beat_bytes=beat)

    def backing(self, *, clocking: Clocking, family: str | None, size: int) -> DDR3Memory:
        """Builds the memory component (docs/how/contracts.md, section 2); ``size`` is ignored,
        since it is always the chip's."""
        from ..gateware.memory.ddr3.memory import DDR3Memory

        return DDR3Memory(part=self.part, beat_bytes=self.beat_bytes)


def takes_beats(
    package: CorePackage, params: Mapping[str, Any], beat_bytes: int, memory_size: int
) -> bool:
    """Whether a core's engine can be built for beats of that size; ``params``: all of them."""
    from ..gateware.shell.settle import settle

    engine = package.core.variant(params, beat_bytes)
    # Never elaborated: only its own checks are wanted. Also settled if one of them fails.
    made = engine.__new__(engine)
    settle(made)
    try:
        engine.__init__(made, params=params, beat_bytes=beat_bytes, memory_size=memory_size)
    except ValueError:
        return False
    settle(made)
    return True


@dataclass(frozen=True)
class SPRAM(_Memory):
    """Single-port RAM of an UP5K: four blocks of 32 KiB, minus those that a core's preset uses."""

    size: int = 131072
    beat_bytes: int = 4
    kind: Literal["SPRAM"] = "SPRAM"

    def usable(self, package: CorePackage | None, params: Mapping[str, Any]) -> int:
        """Bytes of main memory that remain available with this core."""
        if package is None:
            return self.size
        return self.size - 32768 * package.core.variant(params, self.beat_bytes).spram_blocks(
            params
        )

    @property
    def beats(self) -> tuple[int, ...]:
        """Possible beat sizes in bytes."""
        return (self.beat_bytes, 2)

    def beat(self, size: int) -> int:
        """Beat size in bytes of a main memory of ``size`` bytes: an odd number of blocks gives
        beats of one block's width."""
        return 2 if size % 65536 else self.beat_bytes

    def backing(self, *, clocking: Clocking, family: str | None, size: int) -> SPRAMMemory:
        """Builds the memory component (docs/how/contracts.md, section 2)."""
        from ..gateware.memory.spram import SPRAMMemory

        return SPRAMMemory(family=family, size=size, beat_bytes=self.beat(size))


@dataclass(frozen=True)
class BlockRAM(_Memory):
    """Main memory in block RAM, for boards without another memory. ``beside``: core -> bytes
    available with that core, if its own buffers leave less than ``size``."""

    size: int
    beat_bytes: int = 4
    kind: Literal["block RAM"] = "block RAM"
    beside: dict[str, int] = field(default_factory=dict, hash=False)

    def usable(self, package: CorePackage | None, params: Mapping[str, Any]) -> int:
        """Bytes of main memory that remain available with this core."""
        return self.size if package is None else self.beside.get(package.name, self.size)

    def backing(self, *, clocking: Clocking, family: str | None, size: int) -> BlockRAMMemory:
        """Builds the memory component (docs/how/contracts.md, section 2)."""
        from ..gateware.memory.blockram import BlockRAMMemory

        return BlockRAMMemory(size=size, beat_bytes=self.beat_bytes)


#: Main memory of a board.
MainMemory: TypeAlias = SDRAM | SRAM | DDR3 | SPRAM | BlockRAM
