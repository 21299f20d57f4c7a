# SPDX-License-Identifier: BSD-2-Clause
"""Runs modules of Cherry's kernels on the golden model, which looks for races and broken promises
of double buffering."""

import numpy as np

from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.kernels.cherry import Module, Stored
from quintet.tools.kernels.cherry.jobs import to_bf16
from quintet.tools.kernels.cherry.stored import from_array, to_array

__all__ = ["check_padding", "module", "rounded", "run", "run_model"]

AT = 0x1000


def module(log_mem=16, **sizes):
    """A module for the build ``sim`` with another scratchpad and 16 contexts."""
    return Module(SPACE.resolve("sim", {"log_mem": log_mem, "contexts": 16, **sizes}))


def rounded(x):
    """float64 to the nearest Cherry float of normal size."""
    m, e = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(m * 1024) / 1024, e)


def run_model(m, arrays, shuffle=None):
    """The model after a run of a module with ``arrays``; the assembler must not have warned."""
    program = assemble_text(
        SOFTWARE, m.source(), params=SPACE.resolve("85f", {"acc_frac": m.acc_frac})
    )
    assert not program.warnings, program.warnings
    params = SPACE.resolve(
        "sim",
        {"log_mem": m.elements.bit_length() - 1, "contexts": m.contexts, "acc_frac": m.acc_frac},
    )
    model = Model(params, np.zeros(1 << 22, np.uint8), shuffle=shuffle)
    model.mem[:] = 0x1FF00  # nothing may depend on what the scratchpad held
    data = np.frombuffer(program.data, np.uint8)
    model.memory[AT : AT + data.size] = data
    for name, (address, fmt, matrix) in m.inputs.items():
        raw = (
            from_array(arrays[name], fmt)
            if isinstance(matrix, Stored) or fmt == "fp32"
            else to_bf16(arrays[name])
        )
        raw = raw.view(np.uint8).ravel()
        model.memory[address : address + raw.size] = raw
    outcome = model.run({"program_address": AT, "program_length": len(program.data)})
    assert outcome.status == "done", outcome
    return model


def run(m, arrays, shuffle=None):
    """Outputs of a module on the model."""
    model, found = run_model(m, arrays, shuffle), {}
    for name, (address, fmt, matrix) in m.outputs.items():
        pitch = (
            matrix.pitch
            if isinstance(matrix, Stored)
            else matrix.cols * {"fp32": 4, "bf16": 2}[fmt]
        )
        found[name] = to_array(
            model.memory[address : address + matrix.rows * pitch]
            .view("<u4")
            .reshape(matrix.rows, -1),
            matrix.cols,
            fmt,
        )
    check_padding(model, m)
    return found


def check_padding(model, m):
    """What the module says of the padding of its outputs is what lies there."""
    for name, (_, _, matrix) in m.outputs.items():
        if (
            isinstance(matrix, Stored)
            or matrix.area.everywhere is not None
            or matrix.padding is None
        ):
            continue
        rows, cols = (size + -size % 4 for size in matrix.shape)
        places = (
            matrix.address
            + np.arange(rows)[:, None] * matrix.stride_y
            + np.arange(cols) * matrix.stride_x
        )
        inside = np.zeros((rows, cols), bool)
        inside[: matrix.rows, : matrix.cols] = True
        assert (model.mem[places][~inside] == matrix.padding).all(), (name, matrix)
