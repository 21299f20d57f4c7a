# SPDX-License-Identifier: BSD-2-Clause
"""Results of the measured workloads with kernels of their own, golden model against numpy."""

import numpy as np
import pytest

from quintet.firmware.cherry.measure.run import image_of
from quintet.firmware.cherry.measure.workloads import PRESETS, WORKLOADS, source
from quintet.gateware.cores.cherry.image import Step, list_bytes
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.model.transfers import from_words, to_words
from quintet.gateware.cores.cherry.params import SPACE

_LIST_AT = 0x1000


def run(name, preset, mem):
    """MEM after a workload that starts with ``mem`` (address -> numbers)."""
    workload = next(w for w in WORKLOADS if w.name == name)
    text, names = source(workload, preset)
    data = list_bytes([(image_of(text, name), Step(0), [], []) for name in names])
    model = Model(SPACE.resolve(preset), np.zeros(1 << 16, np.uint8))
    model.memory[_LIST_AT : _LIST_AT + len(data)] = np.frombuffer(data, np.uint8)
    for address, values in mem.items():
        model.mem[address : address + values.size] = from_words(
            "fp32", values.ravel().view("<u4"), values.size
        )
    assert model.run({"program_address": _LIST_AT, "window_limit": 1 << 16}).status == "done"
    return to_words("fp32", model.mem).astype("<u4").view(np.float32)


@pytest.mark.parametrize("preset", PRESETS)
def test_vector_add(preset):
    rng = np.random.default_rng(1)
    x, y = rng.integers(-500, 500, (2, 4096)).astype(np.float32)
    assert (run("vector add 4096", preset, {0: x, 4100: y})[8200 : 8200 + 4096] == x + y).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_saxpy(preset):
    rng = np.random.default_rng(2)
    x, y = rng.integers(-200, 200, (2, 4096)).astype(np.float32)
    assert (
        run("saxpy 4096", preset, {0: x, 4100: y, 12300: np.full(4, 3, np.float32)})[
            4100 : 4100 + 4096
        ]
        == 3 * x + y
    ).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_softmax(preset):
    x = np.random.default_rng(3).integers(-64, 64, (64, 64)).astype(np.float32) / 16
    padded = np.zeros((64, 68), np.float32)
    padded[:, :64] = x
    found = run("softmax 64x64", preset, {0: padded})[4352 : 4352 + 64 * 68].reshape(64, 68)[:, :64]
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    assert np.abs(found - powers / powers.sum(1, keepdims=True)).max() < 5e-3
