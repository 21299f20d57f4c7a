# SPDX-License-Identifier: BSD-2-Clause
"""Plan images: the format of a plan in a board's flash memory (docs/how/standalone.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...gateware.cores import open_core
from ...gateware.info import CONTROL_BASE
from ...gateware.isa.parameters import params_hash
from ...gateware.standalone.image import Segment, build_hash, pack, regions
from ..compiler.plan import PlanError
from ..compiler.session.session import initial_bytes, side_by_side
from ..jobs.registers import RegisterMap

if TYPE_CHECKING:
    from ..compiler.plan import Plan

__all__ = ["plan_image"]


def plan_image(plan: Plan) -> bytes:
    """Builds the plan image of ``plan``: main memory as a session writes it, with double-buffered
    copies of programs, then the registers of the first program.

    Raises
    ------
    PlanError
        Its programs take turns in the same memory, it has no program for the core, or one that
        runs once at the beginning.
    """
    steps = plan.core_steps
    if not steps:
        raise PlanError(f"{plan.network}: no program for the core: expected one or more")
    if not side_by_side([step.lowered for step in steps]):
        raise PlanError(
            f"{plan.network}: its programs take turns in the same memory: expected programs that "
            f"lie side by side, so that flash memory can hold all"
        )
    size, overlapped = plan.memory, False
    if plan.memory_overlapped is not None and plan.memory_overlapped <= plan.memory_size:
        size, overlapped = plan.memory_overlapped, True
    memory = np.zeros(size, np.uint8)
    touched: list[tuple[int, int]] = []
    for step in steps:
        for lowered in (step.lowered, step.buffered_copy if overlapped else None):
            if lowered is None:
                continue
            if lowered.setup:
                raise PlanError(
                    f"{plan.network}: a program runs once at the beginning: expected none, since "
                    f"a start from flash runs nothing"
                )
            for address, size in lowered.zeros:
                memory[address : address + size] = 0
                touched.append((address, address + size))
            for placed in lowered.read.values():
                if not placed.layout.in_program:
                    memory[placed.layout.first : placed.layout.end] = 0
                    touched.append((placed.layout.first, placed.layout.end))
            for state in plan.states:
                if state.input.tensor in lowered.states:
                    first = lowered.states[state.input.tensor].layout.first
                    data = np.frombuffer(initial_bytes(step, state), np.uint8)
                    memory[first : first + len(data)] = data
            program = np.frombuffer(lowered.program, np.uint8)
            for address, data in [
                (lowered.program_at, program),
                *((address, data) for address, data, _ in lowered.constants),
            ]:
                memory[address : address + len(data)] = data
                touched.append((address, address + len(data)))
    tag = open_core(plan.isa).isa.ISA.tag
    padded = memory.tobytes() + bytes(-len(memory) % 4)
    segments = [*regions(padded, touched), *_registers(plan)]
    return pack(build_hash(tag, params_hash(dict(plan.params))), segments)


def _registers(plan):
    """Image segments that write the registers of the first program; adjacent registers share a
    segment."""
    registers = RegisterMap(open_core(plan.isa).isa.ISA)
    words = {}
    for name, value in plan.core_steps[0].lowered.registers.items():
        register, offset = registers.find(name)
        for word in range(register.width // 32):
            words[CONTROL_BASE + offset + 4 * word] = value >> 32 * word & 0xFFFF_FFFF
    blocks: list[tuple[int, bytes]] = []
    for address, value in sorted(words.items()):
        data = value.to_bytes(4, "little")
        if blocks and blocks[-1][0] + len(blocks[-1][1]) == address:
            blocks[-1] = blocks[-1][0], blocks[-1][1] + data
        else:
            blocks.append((address, data))
    return [Segment(address, data) for address, data in blocks]
