# SPDX-License-Identifier: BSD-2-Clause
"""C header of a compiled network for the host library in ``firmware/host``: program, weights,
registers, and the addresses, shapes and scales of inputs and outputs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...gateware.cores import open_core
from ...gateware.isa.parameters import params_hash
from ...gateware.standalone.runlist import MAX_BYTES, MAX_RUNS, MAX_STEP
from ..compiler.layout import BitPlanes
from ..compiler.plan import HostStep, Plan, PlanError
from ..compiler.session.session import initial_bytes
from ..jobs.registers import RegisterMap
from ..text import plain_name, visible

if TYPE_CHECKING:
    from ..compiler.backends.base import Placed
    from ..compiler.graph import Port
    from ..compiler.quantised import Scale

__all__ = ["c_network"]

#: numpy's name of an element's type -> the library's.
_TYPES = {
    "int8": "QUINTET_INT8",
    "int16": "QUINTET_INT16",
    "int32": "QUINTET_INT32",
    "float32": "QUINTET_FLOAT",
}


def c_network(plan: Plan) -> str:
    """Text of the header ``NAME.h``, which defines ``struct quintet_network NAME``.

    With ``QUINTET_RESIDENT`` defined, the header leaves out the bytes of program and weights, for a
    board that holds them already.

    Raises
    ------
    PlanError
        The plan is not one program for the core: a step runs on the host, or several programs take
        turns. Or it has a state that goes through the host, or numbers of a type that the library
        does not know.
    """
    step = _only_step(plan)
    lowered = step.lowered
    name = plain_name(plan.network)
    isa = open_core(plan.isa).isa.ISA
    registers = RegisterMap(isa)
    program = {"program_address": lowered.program_at, "program_length": len(lowered.program)}
    first = _words(registers, {**lowered.registers, **program})
    again = _words(registers, lowered.again)
    segments = [(lowered.program_at, lowered.program, "program"), *_constants(lowered)]
    setup = [(at, data, "setup program") for data, at in lowered.setup]
    zeros = [*lowered.zeros, *_cleared(lowered)]
    inputs = _tensors(plan, plan.inputs, step.part, lowered.inputs, "in")
    outputs = _tensors(plan, plan.outputs, step.part, lowered.outputs, "out")
    states = _states(plan, step)

    parts = [_head(plan, name, lowered), *_describe("Inputs", plan.inputs, inputs)]
    parts += _describe("Outputs", plan.outputs, outputs)
    parts += _describe_states(states, step.part)
    parts += [f"#define {name.upper()}_IMAGES {lowered.images}u", ""]
    for number, (_, data, what) in enumerate((*segments, *setup)):
        parts += _bytes(f"{name}_data_{number}", data, what)
    parts += _segments(f"{name}_segments", segments, f"{name}_data_", 0)
    parts += _segments(f"{name}_setup", setup, f"{name}_data_", len(segments))
    parts += _zeros(f"{name}_zeros", zeros)
    parts += _registers(f"{name}_registers", first)
    parts += _registers(f"{name}_again", again)
    parts += _tensor_tables(name, "inputs", inputs)
    parts += _tensor_tables(name, "outputs", outputs)
    for number, (_, _, data) in enumerate(states):
        parts += _table("uint8_t", f"{name}_state_{number}", [str(byte) for byte in data])
    parts += _table(
        "struct quintet_segment",
        f"{name}_states",
        [
            f"{{{place.layout.first:#x}u, {len(data)}u, {name}_state_{number}, "
            f"{zlib.crc32(bytes(data)):#010x}u}}"
            for number, (_, place, data) in enumerate(states)
        ],
    )
    copied = _copy(plan, name, step, registers, [*inputs, *outputs])
    parts += copied
    parts += [
        f"static const struct quintet_network {name} = {{",
        f"    .name = {_string(plan.network)},",
        f"    .isa = {_string(isa.tag)},",
        f"    .params_hash = {params_hash(plan.params):#010x}u,",
        f"    .memory_size = {plan.memory}u,",
        f"    .images = {lowered.images}u,",
        f"    .cycles = {round(sum(span.cycles for span in lowered.layers))}u,",
        *_member("registers", f"{name}_registers", len(first)),
        *_member("again", f"{name}_again", len(again)),
        *_member("segments", f"{name}_segments", len(segments)),
        *_member("zeros", f"{name}_zeros", len(zeros)),
        *_member("setup", f"{name}_setup", len(setup)),
        *_member("inputs", f"{name}_inputs", len(inputs)),
        *_member("outputs", f"{name}_outputs", len(outputs)),
        *_member("states", f"{name}_states", len(states)),
        f"    .lists = {_word(_listed([*inputs, *outputs]))},",
        f"    .slot = {sum(_slot(tensor.place.layout) for tensor in (*inputs, *outputs))}u,",
        f"    .copy = {name.upper() + '_COPY' if copied else 'NULL'},",
        "};",
        "",
        "#endif",
    ]
    return "\n".join(parts) + "\n"


def _only_step(plan):
    hosted = [name for step in plan.steps if isinstance(step, HostStep) for name in step.names]
    if hosted:
        raise PlanError(
            f"{plan.network}: {', '.join(hosted[:5])}{', ...' if len(hosted) > 5 else ''} run on "
            f"the host in Python; a host in C runs plans that are one program of the core. "
            f"Compile the network without them, or for another core"
        )
    if len(plan.steps) != 1:
        raise PlanError(
            f"{plan.network}: the plan is {len(plan.steps)} programs that take turns; a host in C "
            f"runs plans that are one. Compile the network for another core or a larger preset"
        )
    return plan.steps[0]


def _constants(lowered):
    return [
        (at, np.asarray(data, np.uint8).tobytes(), what) for at, data, what in lowered.constants
    ]


def _cleared(lowered):
    """Memory ranges that must be zeroed since an input or a state leaves gaps in them: (address,
    bytes)."""
    return [
        (placed.layout.first, placed.layout.end - placed.layout.first)
        for placed in lowered.read.values()
        if not placed.layout.in_program
    ]


# Text of C


def _string(text):
    quoted = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'"{quoted}"'


def _comment(text):
    return visible(text).replace("*/", "* /").replace("/*", "/ *")


def _head(plan, name, lowered):
    size = len(lowered.program) + sum(len(data) for _, data, _ in lowered.constants)
    build = plan.preset or "sizes of its own"
    return f"""/* Network {_comment(plan.network)} for {plan.isa} ({_comment(build)}), written by
 * `quintet export --c`. Use it with quintet.h.
 *
 * Program and weights: {size} bytes. Main memory used: {plan.memory} bytes. Estimate:
 * {round(plan.cycles)} cycles an input. Define QUINTET_RESIDENT before the #include if the board
 * already holds program and weights (see quintet_assume_loaded): their bytes are left out then.
 * Define QUINTET_OVERLAP if lists of runs shall copy tensors beside runs (see quintet_copy).
 */
#ifndef QUINTET_NETWORK_{name.upper()}_H
#define QUINTET_NETWORK_{name.upper()}_H

#include "quintet.h"
"""


def _bytes(name, data, what):
    rows = [
        "    " + ", ".join(f"{byte:3d}" for byte in data[at : at + 16]) + ","
        for at in range(0, len(data), 16)
    ]
    return [
        "#ifndef QUINTET_RESIDENT",
        f"/* {_comment(what)} */",
        f"static const uint8_t {name}[{len(data)}] = {{",
        *rows,
        "};",
        "#else",
        f"#define {name} NULL",
        "#endif",
        "",
    ]


def _table(kind, name, rows):
    """C text of a constant array; empty without rows, since C has no empty arrays."""
    if not rows:
        return []
    return [
        f"static const {kind} {name}[{len(rows)}] = {{",
        *(f"    {row}," for row in rows),
        "};",
        "",
    ]


def _member(field, table, count):
    """C text of a pointer to a table and of its length, as members of a struct."""
    singular = field.removesuffix("s")
    return [f"    .{field} = {table if count else 'NULL'},", f"    .{singular}_count = {count}u,"]


def _segments(name, segments, data, first):
    return _table(
        "struct quintet_segment",
        name,
        [
            f"{{{address:#x}u, {len(content)}u, {data}{first + number}, "
            f"{zlib.crc32(content):#010x}u}}"
            for number, (address, content, _) in enumerate(segments)
        ],
    )


def _zeros(name, zeros):
    return _table(
        "struct quintet_segment",
        name,
        [f"{{{address:#x}u, {size}u, NULL, 0}}" for address, size in zeros],
    )


def _words(registers, values):
    """Register writes as (offset, 32-bit value), in ascending order; a 64-bit register is written
    as two words."""
    words = []
    for name, value in values.items():
        register, offset = registers.find(name)
        for word in range(register.width // 32):
            words.append((offset + 4 * word, value >> 32 * word & 0xFFFF_FFFF))
    return sorted(words)


def _registers(name, words):
    return _table(
        "struct quintet_register",
        name,
        [f"{{{offset:#x}, {value:#x}u}}" for offset, value in words],
    )


def _word(value):
    return "true" if value else "false"


# The double-buffered copy of the program


def _copy(plan, name, step, registers, tensors):
    """Tables of ``struct quintet_copy`` and the macro that names it. Empty for a plan without a
    copy, or with a copy that differs in more than addresses."""
    lowered, copy = step.lowered, step.buffered_copy
    if copy is None or copy.setup:
        return []
    moved = {**copy.inputs, **copy.outputs}
    names = {**lowered.inputs, **lowered.outputs}
    places = {placed.tensor: moved[key] for key, placed in names.items() if key in moved}
    twins = [places.get(tensor.place.tensor) for tensor in tensors]
    for tensor, twin in zip(tensors, twins, strict=True):
        if twin is None or _copies(twin.layout) != _copies(tensor.place.layout):
            return []
    segments = _constants(copy)
    if copy.program_at != lowered.program_at:
        segments.insert(0, (copy.program_at, copy.program, "double-buffered copy of the program"))
    zeros = [*copy.zeros, *_cleared(copy)]
    enter, leave = _turns(registers, lowered, copy)
    own = f"{name}_copy"
    parts = ["#ifdef QUINTET_OVERLAP", ""]
    for number, (_, data, what) in enumerate(segments):
        parts += _bytes(f"{own}_data_{number}", data, what)
    parts += _segments(f"{own}_segments", segments, f"{own}_data_", 0)
    parts += _zeros(f"{own}_zeros", zeros)
    parts += _registers(f"{own}_enter", enter)
    parts += _registers(f"{own}_leave", leave)
    parts += _table(
        "uint32_t", f"{own}_addresses", [f"{twin.layout.address:#x}u" for twin in twins]
    )
    return [
        *parts,
        f"static const struct quintet_copy {own} = {{",
        f"    .memory_size = {plan.memory_overlapped}u,",
        *_member("enter", f"{own}_enter", len(enter)),
        *_member("leave", f"{own}_leave", len(leave)),
        *_member("segments", f"{own}_segments", len(segments)),
        *_member("zeros", f"{own}_zeros", len(zeros)),
        f"    .addresses = {own}_addresses,",
        "};",
        f"#define {name.upper()}_COPY &{own}",
        "#else",
        f"#define {name.upper()}_COPY NULL",
        "#endif",
        "",
    ]


def _turns(registers, lowered, copy):
    """Register writes between runs of the program and of its copy: those before a run of the copy,
    and those before a run of the program. Each restores all registers that the run requires."""

    def state(program, *again):
        given = {"program_address": program.program_at, "program_length": len(program.program)}
        return dict(_words(registers, {**program.registers, **given, **dict(*again)}))

    first, later, other = state(lowered), state(lowered, lowered.again), state(copy, copy.again)
    enter = {at: v for at, v in other.items() if v != first.get(at) or v != later.get(at)}
    leave = {at: v for at, v in later.items() if v != other.get(at)}
    return sorted(enter.items()), sorted(leave.items())


# Tensors


@dataclass(frozen=True)
class _Tensor:
    """A tensor of the program that is an input or output of the network."""

    symbol: str
    port: Port
    place: Placed
    dtype: str
    scale: Scale | None


def _copies(layout):
    """Runs of bytes that a list of runs copies, as (offset, bytes, distance, number), and whether
    they form one whole span, since list commands cannot express the strides."""
    strips = [] if isinstance(layout, BitPlanes) else layout.strips()
    by_words = strips and all(
        (layout.address + offset) % 4 == 0
        and (
            count == 1
            or (
                stride % 4 == 0
                and run <= MAX_BYTES
                and stride // 4 - -(-run // 4) < MAX_STEP
                and count <= MAX_RUNS
            )
        )
        for offset, run, stride, count in strips
    )
    if by_words:
        return strips, False
    size = layout.end - layout.first
    return [(layout.first - layout.address, size, size, 1)], True


def _slot(layout):
    """Size in bytes of a tensor in the queue of runs."""
    runs, _ = _copies(layout)
    return sum(-(-run // 4) * 4 * count for _, run, _, count in runs)


def _listed(tensors):
    """Whether a list of runs can copy all tensors: a whole span begins at a word boundary and
    contains no other tensor between its elements."""
    layouts = [tensor.place.layout for tensor in tensors]
    for layout in layouts:
        if not _copies(layout)[1]:
            continue
        if layout.first % 4 or any(
            other is not layout and other.first < layout.end and layout.first < other.end
            for other in layouts
        ):
            return False
    return True


def _tensors(plan, ports, part, placed, prefix):
    """A :class:`_Tensor` for each input and output of the network."""
    found = []
    for number, port in enumerate(ports):
        place = next((p for p in placed.values() if p.tensor == port.tensor), None)
        if place is None:
            raise PlanError(
                f"{plan.network}: {port.name} is not a tensor of the core's program; a host in C "
                f"runs plans whose inputs and outputs all are"
            )
        planes = isinstance(place.layout, BitPlanes)
        dtype = f"int{max(8, place.layout.width)}" if planes else place.layout.dtype
        if dtype not in _TYPES:
            raise PlanError(
                f"{plan.network}: {port.name} lies in memory as {dtype}, expected one of "
                f"{', '.join(_TYPES)}"
            )
        found.append(
            _Tensor(f"{prefix}_{number}", port, place, dtype, part.scales.get(port.tensor))
        )
    return found


def _states(plan, step):
    """For each state: the State, its placed tensor, and its initial bytes."""
    found = []
    for state in plan.states:
        if not plan.on_board(state):
            raise PlanError(
                f"{plan.network}: the state {state.input.name} goes through the host in Python; a "
                f"host in C runs plans whose states all stay in the board's memory"
            )
        place = step.lowered.states[state.input.tensor]
        found.append((state, place, initial_bytes(step, state)))
    return found


def _describe_states(states, part):
    if not states:
        return []
    lines = ["/* States, which each run leaves in the board's memory for the next one:"]
    for state, place, _ in states:
        shape = ", ".join(map(str, place.layout.shape))
        scale = part.scales.get(state.input.tensor)
        step = "float" if scale is None else f"{scale.bits} bits, steps of {scale.step!r}"
        lines.append(
            f" *   {_comment(state.output.name)} -> {_comment(state.input.name)}, "
            f"{place.layout.dtype} [{shape}], {step}, at {place.layout.first:#x}"
        )
    return [*lines, " */"]


def _describe(title, ports, tensors):
    lines = [f"/* {title}, in this order:"]
    for tensor in tensors:
        port, place, scale = tensor.port, tensor.place, tensor.scale
        shape = ", ".join(map(str, place.layout.shape))
        step = "float" if scale is None else f"{scale.bits} bits, a number n stands for n * step"
        lines.append(
            f" *   {tensor.symbol}: {_comment(port.name)}, {tensor.dtype} [{shape}], {step}"
        )
        if port.offset is not None:
            lines.append(" *     less an offset for each place on the last axis")
        if port.factor is not None:
            lines.append(" *     divided by a factor for each place on the last axis")
        lines.append(
            f" *     axes behind the first are axes {', '.join(map(str, port.order))} of the "
            f"network's [{', '.join(map(str, port.shape))}]"
        )
        if port.scale is not None:
            lines.append(
                f" *     the network's own whole numbers q stand for (q - {port.zero_point}) * "
                f"{port.scale!r}"
            )
    return [*lines, " */"]


def _tensor_tables(name, field, tensors):
    lines, rows = [], []
    for tensor in tensors:
        port, dtype, scale = tensor.port, tensor.dtype, tensor.scale
        layout, own = tensor.place.layout, f"{name}_{tensor.symbol}"
        lines += _table("uint32_t", f"{own}_shape", [f"{length}u" for length in layout.shape])
        planes, strips = _planes(layout), _strips(layout)
        lines += _table("struct quintet_planes", f"{own}_planes", planes)
        lines += _table("struct quintet_strip", f"{own}_strips", strips)
        offset = [repr(float(value)) for value in port.offset or ()]
        lines += _table("double", f"{own}_offset", offset)
        factor = [repr(float(value)) for value in port.factor or ()]
        lines += _table("double", f"{own}_factor", factor)
        bits = layout.width if planes else 8 * np.dtype(dtype).itemsize
        rows += [
            "{",
            f"    .name = {_string(port.name)},",
            f"    .address = {layout.address:#x}u,",
            f"    .elements = {int(np.prod(layout.shape))}u,",
            f"    .shape = {own}_shape,",
            f"    .rank = {len(layout.shape)},",
            f"    .bits = {bits if scale is None or planes else scale.bits},",
            f"    .type = {_TYPES[dtype]},",
            f"    .step = {1.0 if scale is None else float(scale.step)!r},",
            *_member("offset", f"{own}_offset", len(offset)),
            *_member("factor", f"{own}_factor", len(factor)),
            *_member("strips", f"{own}_strips", len(strips)),
            *_member("planes", f"{own}_planes", len(planes)),
            *_span(layout),
            f"    .slot = {_slot(layout)}u,",
            "},",
        ]
    return [
        *lines,
        f"static const struct quintet_tensor {name}_{field}[{len(tensors)}] = {{",
        *(f"    {row}" for row in rows),
        "};",
        "",
    ]


def _span(layout):
    """Struct members of a tensor that lists of runs copy as a whole span, gaps included."""
    ((offset, size, *_), *_), spans = _copies(layout)
    if not spans:
        return ["    .span_offset = 0,", "    .span_size = 0,"]
    return [f"    .span_offset = {offset & 0xFFFF_FFFF}u,", f"    .span_size = {size}u,"]


def _planes(layout):
    """C rows of ``struct quintet_planes``, for a bit-plane layout; empty for any other."""
    if not isinstance(layout, BitPlanes):
        return []
    vectors = max(vector for vector, *_ in layout.slots) + 1
    length = int(np.prod(layout.shape)) // vectors
    return [
        f"{{{vector * length + first}u, {at}u, {count}u}}"
        for vector, first, count, at in layout.slots
    ]


def _strips(layout):
    """C rows of ``struct quintet_strip``; empty for a bit-plane layout. Offsets count modulo
    2^32."""
    if isinstance(layout, BitPlanes):
        return []
    return [
        f"{{{offset & 0xFFFF_FFFF}u, {run}u, {stride}u, {count}u}}"
        for offset, run, stride, count in layout.strips()
    ]
