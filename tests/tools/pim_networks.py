# SPDX-License-Identifier: BSD-2-Clause
"""Networks for PIM at random, and the run of a compiled one on the golden model."""

import numpy as np

from quintet.gateware.cores.pim.model.model import Model
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.kernels.pim import (
    Conv,
    Dense,
    KernelError,
    Network,
    Pool,
    compile_columns,
    compile_network,
    run_network,
)

_BUILDS = (
    ("85f", {}),
    ("85f", {"arrays": 64, "lmem_bytes": 65536}),
    ("25f", {}),
    ("up5k", {}),
    ("hx8k", {}),
    ("sim", {}),
    ("85f", {"xb_rows": 16, "xb_cols": 16, "lanes": 16, "arrays": 64, "bias_words": 96}),
    (
        "sim",
        {"cores": 3, "xb_rows": 16, "xb_cols": 32, "arrays": 40, "groups": 24, "bias_words": 200},
    ),
    ("85f", {"xb_rows": 256, "xb_cols": 256, "arrays": 4, "max_biw": 16, "groups": 5}),
)
#: Whole builds: arrays of several sizes, few and many, narrow results, no biases.
BUILDS = tuple(SPACE.resolve(preset, more) for preset, more in _BUILDS)


class Seeded:
    """Choices from a seed."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def number(self, low, high):
        return int(self._rng.integers(low, high + 1))

    def one(self, values):
        return values[self.number(0, len(values) - 1)]


class Drawn(Seeded):
    """Choices that hypothesis makes; ``draw_number(low, high)``."""

    def __init__(self, draw_number):
        self.number = draw_number


def _array(choose, shape, low, high, kind):
    """Values all over the range, or at its ends, or small, or one and the same."""
    rng, how = np.random.default_rng(choose.number(0, 1 << 32)), choose.number(0, 6)
    if how == 0:
        return np.full(shape, choose.one((low, high)), kind)
    if how == 1:
        return rng.choice([low, high], shape).astype(kind)
    if how == 2:
        return rng.integers(-3, 4, shape).astype(kind)
    return rng.integers(low, high, shape, endpoint=True).astype(kind)


def _bias(choose, outputs):
    how = choose.number(0, 4)
    if how == 0:
        return None
    if how == 1:
        return _array(choose, outputs, -1 << 31, (1 << 31) - 1, np.int32)
    if how == 2:
        edge = choose.one((-(1 << 31), (1 << 31) - 1 - 3000, (1 << 30) - 100, -(1 << 24)))
        return (edge + _array(choose, outputs, 0, 3000, np.int64).clip(0)).astype(np.int32)
    return _array(choose, outputs, -20000, 20000, np.int32)


def _layer(choose, number, shape, last, most_bits):
    """A layer that takes ``shape``, most of the time."""
    kind = choose.one(("dense", "conv", "conv", "pool", "pool") if len(shape) == 3 else ("dense",))
    if kind == "pool" and (shape[0] % 2 or shape[1] % 2) and choose.number(0, 19):
        kind = "conv"
    bits = choose.one((8, 16, 32)) if last else 8
    bits = bits if bits <= most_bits or choose.number(0, 9) == 0 else 8
    more = {
        "shift": choose.one((0, 1, 5, 7, 8, 9, 12, choose.number(0, 47), choose.number(28, 35))),
        "relu": bool(choose.number(0, 1)),
        "bits": bits,
    }
    if kind == "pool":
        return Pool(f"pool{number}")
    if kind == "dense":
        outputs = choose.one((1, 3, 10, choose.number(1, 40), choose.number(1, 120)))
        weights = _array(choose, (int(np.prod(shape)), outputs), -128, 127, np.int8)
        return Dense(f"dense{number}", weights, _bias(choose, outputs), **more)
    outputs = choose.one((1, 2, 4, 6, choose.number(1, 20)))
    padding = choose.one((0, 0, 1, 1, 2, tuple(choose.number(0, 2) for _ in range(4))))
    stride, dilation = (
        choose.one((1, 1, 1, 2, (choose.number(1, 3), choose.number(1, 3)))) for _ in range(2)
    )
    kernel = []
    for n in range(2):
        have = shape[n] + (
            padding[n] + padding[n + 2] if isinstance(padding, tuple) else 2 * padding
        )
        apart = dilation[n] if isinstance(dilation, tuple) else dilation
        kernel.append(choose.number(1, min(4, (have - 1) // apart + 1)))
    weights = _array(choose, (*kernel, shape[2], outputs), -128, 127, np.int8)
    return Conv(
        f"conv{number}",
        weights,
        _bias(choose, outputs),
        padding=padding,
        stride=stride,
        dilation=dilation,
        **more,
    )


def _network(choose, most_bits):
    if choose.number(0, 4):
        even = choose.number(1, 2)
        shape = (
            even * choose.number(1, 8 // even),
            even * choose.number(1, 10 // even),
            choose.one((1, 2, 3, 4, 5, 8)),
        )
        if choose.number(0, 29) == 0:
            shape = (2, 2 * choose.number(100, 1200), shape[2])
    else:
        shape = (choose.one((1, 20, 64, choose.number(1, 400), choose.number(1, 1500))),)
    count, shapes, layers = choose.number(1, 5), [shape], []
    for number in range(count):
        layer = _layer(choose, number, shapes[-1], number + 1 == count, most_bits)
        layers.append(layer)
        shapes.append(layer.shape(shapes[-1]))
    return Network(shape, layers)


def run(compiled, values, params, at=None):
    """Results of a program on the golden model, and the outcome."""
    data = compiled.data
    at = compiled.areas.program_at if at is None else at
    count = int(np.prod(compiled.out_shape)) * compiled.bits // 8
    memory = np.random.default_rng(1).integers(
        0,
        256,
        (max(at + len(data), compiled.inputs + values.size, compiled.outputs + count) + 127) & -64,
        dtype=np.uint8,
    )
    memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
    before = memory.copy()
    memory[compiled.inputs : compiled.inputs + values.size] = (
        np.asarray(values).astype(np.int8).view(np.uint8).ravel()
    )
    before[compiled.inputs : compiled.inputs + values.size] = memory[
        compiled.inputs : compiled.inputs + values.size
    ]
    model = Model(params, memory)
    outcome = model.run({"program_address": at, "program_length": len(data)})
    assert outcome.status == "done", (outcome, model.report)
    got = memory[compiled.outputs : compiled.outputs + count].copy()
    # Nothing else was written.
    memory[compiled.outputs : compiled.outputs + count] = before[
        compiled.outputs : compiled.outputs + count
    ]
    assert np.array_equal(memory, before)
    return got.view(f"<i{compiled.bits // 8}").reshape(compiled.out_shape), outcome


def try_network(choose, folder=None):
    """Chooses a network and its way onto a build, and compares a run with plain numpy; whether it
    was accepted.

    ``folder`` : where the text of some of the programs is written and assembled again
    """
    params = choose.one(BUILDS)
    chunk = choose.one((1, 1, 1, 2, 3))
    cores = choose.one((None, choose.number(1, params["cores"])))
    more = {
        "mode": choose.one(("packed", "64")),
        "program_at": 64 * choose.number(0, 40),
        "gmem": choose.one((None, None, 0x40000)),
        "inputs": choose.one((0, choose.number(0, 500))),
        "cores": cores,
    }
    try:
        network = _network(choose, params["max_biw"])
        if choose.number(0, 1) and all(isinstance(layer, Dense) for layer in network.layers):
            compiled = compile_columns(network, params, images=choose.number(1, 3), **more)
        else:
            chunk = chunk if len(network.shapes[-1]) == 1 or choose.number(0, 9) == 0 else 1
            images = chunk * (cores or choose.number(1, 4)) * choose.number(1, 2)
            compiled = compile_network(network, params, images=images, chunk=chunk, **more)
    except KernelError:
        return False
    values = _array(choose, compiled.in_shape, -128, 127, np.int8)
    got, _ = run(compiled, values, params)
    assert np.array_equal(got, run_network(network, values)), (
        params,
        network.shapes,
        network.layers,
        more,
    )
    if folder is not None:
        (folder / "g.json").write_text(compiled.groups())
        text = compiled.text(f"{folder}/g.json")
        assert assemble_text(SOFTWARE, text).data == compiled.data
    return True
