# SPDX-License-Identifier: BSD-2-Clause
"""Acceptance workloads of section 10.2 as programs and bounds: W1 to W9 are networks, W10 is the
worked job."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ....gateware.cores.opu.isa import ISA
from ....gateware.cores.opu.params import SPACE
from ....tools import Job
from ....tools.compiler.backends.opu.codegen.compiler import compile_network
from ....tools.compiler.backends.opu.layers import Network
from .. import small
from . import resnet

__all__ = ["BUILDS", "NETWORKS", "ROWS", "Row", "build_params", "program", "values_of"]

_SERIAL = {"ifm_banks": 1, "ofm_banks": 1}
#: Builds that the workloads run on: name -> (preset, overrides).
BUILDS = {
    "p128": ("85f", {}),
    "p64": ("85f-p64", {}),
    "p16": ("25f", {}),
    "up5k": ("up5k", {}),
    "p128-serial": ("85f", _SERIAL),
    "p64-serial": ("85f-p64", _SERIAL),
    "p256": ("85f-p256", {}),
    "sim": ("sim", {}),
}


def _rng(number):
    return np.random.default_rng(9000 + number)


def _weights(rng, *shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def _bias(rng, out):
    return rng.integers(-32768, 32768, out).astype(np.int16)


def one_tap() -> Network:
    """W1: nine copies of one tap 64->64 at 14x14, as a kernel of 1x9. With the first five taps
    alone the loads are equal, and all of the kernel is loaded before they end."""
    network = Network()
    x = network.input("x", (14, 14 + 8, 64))
    network.conv("tap", x, _weights(_rng(1), 64, 64, 1, 9), shift=12)
    return network


def pooled(batch: int = 1) -> Network:
    """W2, W3: 3x3 64->64 at 14x14, bias, ReLU, 2x2 pool; ``batch`` tiles with the same kernel."""
    rng = _rng(2)
    network = Network(batch=batch)
    x = network.input("x", (16, 16, 64))
    network.conv(
        "conv",
        x,
        _weights(rng, 64, 64, 3, 3),
        bias=_bias(rng, 64),
        shift=12,
        bias_shift=5,
        act="relu",
        pool=(2, 2, 2, 2),
    )
    return network


def residual() -> Network:
    """W4: a residual block 32->32 at 16x16, padded maps, ``pad`` after each layer."""
    rng = _rng(4)
    network = Network()
    x = network.input("x", (16, 16, 32))
    options: dict[str, Any] = {
        "shift": 7,
        "bias_shift": 1,
        "padding": (1, 1, 1, 1),
        "act": "relu",
    }
    y = network.conv("a", x, _weights(rng, 32, 32, 3, 3) // 4, bias=_bias(rng, 32), **options)
    z = network.conv(
        "b", y, _weights(rng, 32, 32, 3, 3) // 4, bias=_bias(rng, 32), residual=x, **options
    )
    network.borders[z] = 1
    return network


def bottleneck() -> Network:
    """W6: 1x1 64->256->64 at 14x14."""
    rng = _rng(6)
    network = Network()
    x = network.input("x", (14, 14, 64))
    y = network.conv(
        "wide",
        x,
        _weights(rng, 256, 64, 1, 1),
        bias=_bias(rng, 256),
        shift=11,
        bias_shift=4,
        act="relu",
    )
    network.conv("narrow", y, _weights(rng, 64, 256, 1, 1), bias=_bias(rng, 64), shift=11)
    return network


def dense(inputs: int = 1024) -> Network:
    """W7: fully connected 1024->64->16."""
    rng = _rng(7)
    network = Network()
    x = network.input("x", (1, 1, inputs))
    y = network.conv(
        "first",
        x,
        _weights(rng, 64, inputs, 1, 1),
        bias=_bias(rng, 64),
        shift=13,
        bias_shift=5,
        act="relu",
    )
    network.conv(
        "second", y, _weights(rng, 16, 64, 1, 1), bias=_bias(rng, 16), shift=8, bias_shift=-1
    )
    return network


def two_tiles() -> Network:
    """W8: 3x3 64->128, 14x26 output, leaky, 2x2 pool, f = +1, b = -2."""
    rng = _rng(8)
    network = Network()
    x = network.input("x", (16, 28, 64))
    network.conv(
        "conv",
        x,
        _weights(rng, 128, 64, 3, 3) // 64,
        bias=_bias(rng, 128),
        shift=7,
        bias_shift=-3,
        act="leaky",
        pool=(2, 2, 2, 2),
    )
    assert {*network.layers[0].f} == {1} and {*network.layers[0].b} == {-2}
    return network


def small_map() -> Network:
    """W9: 3x3 16->16 at 16x16, bias, ReLU."""
    rng = _rng(9)
    network = Network()
    x = network.input("x", (16, 16, 16))
    network.conv(
        "conv",
        x,
        _weights(rng, 16, 16, 3, 3),
        bias=_bias(rng, 16),
        shift=11,
        bias_shift=5,
        padding=(1, 1, 1, 1),
        act="relu",
    )
    return network


class Worked:
    """W10: the worked job of section 7.5, with the interface of a ``Compiled`` that the measurement
    uses."""

    spans = ()

    def __init__(self, build: str) -> None:
        job = Job.load(small.JOB)
        made = job.image(build_params(build), _WORKED_MEMORY)
        self._parts = made.parts
        self.program_at, self.all_registers = job.program_at, dict(made.registers)

    def image(self, values: object = None) -> np.ndarray:
        """Main memory with the program and its data."""
        memory = np.zeros(_WORKED_MEMORY, np.uint8)
        for part in self._parts:
            memory[part.at : part.at + len(part.data)] = np.frombuffer(part.data, np.uint8)
        return memory


_WORKED_MEMORY = 0x8000
#: Name -> function that makes the network; ``None``: the worked job.
NETWORKS: dict[str, Callable[[], Network] | None] = {
    "W1x5": one_tap,
    "W1x9": one_tap,
    "W2": pooled,
    "W3": lambda: pooled(8),
    "W3x4": lambda: pooled(4),
    "W4": residual,
    "W5": resnet.resnet20,
    "W5-tap": lambda: resnet.resnet20(by_tap=True),
    "W5-fold": lambda: resnet.resnet20(fold=True),
    "W6": bottleneck,
    "W7": dense,
    "W7x512": lambda: dense(512),
    "W8": two_tiles,
    "W9": small_map,
    "W10": None,
}


@dataclass(frozen=True)
class Row:
    """A table row: one workload on one build, with its bound.

    Attributes
    ----------
    workload, build : names in NETWORKS, BUILDS
    schedule : whether the program is scheduled (9.3)
    what : the figure that is compared with the bound
    bound, aim : most cycles; of ``bytes a cycle`` the least
    minus : another workload whose figures are subtracted; the difference is divided by ``per``
    memory : ``ideal``, or ``sdram`` for the whole SoC of the ULX3S-85F
    """

    workload: str
    build: str
    schedule: bool
    bound: float | None
    aim: float | None = None
    what: str = "cycles"
    minus: str | None = None
    per: int = 1
    memory: str = "ideal"

    @property
    def title(self) -> str:
        """Title of the row: the workload, and whether it is scheduled."""
        return f"{self.workload.split('x')[0]}{' scheduled' if self.schedule else ''}"


ROWS = (
    Row("W1x9", "p128", False, 14 * 14 * 4 * 8 + 32, what="cycles a tap", minus="W1x5", per=4),
    Row("W1x9", "p64", False, 14 * 14 * 4 * 16 + 32, what="cycles a tap", minus="W1x5", per=4),
    Row("W1x9", "p16", False, 14 * 14 * 4 * 64 + 32, what="cycles a tap", minus="W1x5", per=4),
    Row("W2", "p128-serial", False, 94_500),
    Row("W2", "p64-serial", False, 154_000),
    Row("W2", "p16", False, 510_000),
    Row("W3", "p128", True, 62_500, 60_050, what="cycles a tile", minus="W3x4", per=4),
    Row("W3", "p64", True, 124_500, 117_600, what="cycles a tile", minus="W3x4", per=4),
    Row("W4", "p128-serial", False, 84_500),
    Row("W4", "p64-serial", False, 123_000),
    Row("W4", "p16", False, 356_000),
    Row("W5", "p128-serial", False, 950_000),
    Row("W5", "p64-serial", False, 1_300_000),
    Row("W5", "p128", False, 850_000),
    Row("W5", "p64", False, 1_190_000),
    Row("W5", "p16", False, 3_400_000),
    Row("W5", "p128", True, 620_000),
    Row("W5", "p64", True, 800_000),
    Row("W5-tap", "p128", True, 620_000),
    Row("W5-tap", "p64", True, 800_000),
    Row("W5-fold", "p128", True, 620_000),
    Row("W5-fold", "p64", True, 800_000),
    Row("W6", "p64-serial", False, 205_000),
    Row("W6", "p128-serial", False, 152_000),
    Row("W6", "p64", True, 125_000),
    Row("W6", "p128", True, 117_000),
    Row("W7", "p64", True, 48_000),
    Row("W7", "p128", True, 48_000),
    Row("W7", "p64", True, 1.5, 1.85, what="bytes a cycle", minus="W7x512", per=512 * 64),
    Row("W7", "p128", True, 1.5, 1.85, what="bytes a cycle", minus="W7x512", per=512 * 64),
    Row("W8", "p128-serial", False, 292_000),
    Row("W8", "p64-serial", False, 512_000),
    Row("W8", "p128", True, 265_000),
    Row("W8", "p64", True, 485_000),
    Row("W9", "up5k", False, 84_000),
    # Two products from each of 128 DSPs: no bounds, beside 16-bit SDRAM the memory is the limit.
    Row("W1x9", "p256", False, 14 * 14 * 4 * 4 + 32, what="cycles a tap", minus="W1x5", per=4),
    Row("W3", "p256", True, None, what="cycles a tile", minus="W3x4", per=4),
    Row("W5", "p256", False, None),
    Row("W5", "p256", True, None),
    Row("W8", "p256", True, None),
    *(Row("W10", build, False, None) for build in BUILDS),
    Row("W3", "p128", True, None, what="cycles a tile", minus="W3x4", per=4, memory="sdram"),
    Row("W3", "p64", True, None, what="cycles a tile", minus="W3x4", per=4, memory="sdram"),
    Row("W5", "p128", False, None, memory="sdram"),
    Row("W5", "p64", False, None, memory="sdram"),
    Row("W5", "p128", True, None, memory="sdram"),
    Row("W5", "p64", True, None, memory="sdram"),
    Row(
        "W7",
        "p64",
        True,
        1.5,
        1.75,
        what="bytes a cycle",
        minus="W7x512",
        per=512 * 64,
        memory="sdram",
    ),
    Row(
        "W7",
        "p128",
        True,
        1.5,
        1.75,
        what="bytes a cycle",
        minus="W7x512",
        per=512 * 64,
        memory="sdram",
    ),
)


def build_params(build: str) -> dict[str, Any]:
    """Resolved parameters of a build in :data:`BUILDS`."""
    preset, overrides = BUILDS[build]
    return SPACE.resolve(preset, overrides)


def values_of(network: Network | None) -> dict[str, np.ndarray]:
    """Random inputs of a network, by name."""
    if network is None:
        return {}
    if network.inputs[0].name == "image":
        return {"image": resnet.image(fold=network.inputs[0].channels == 9)}
    rng = _rng(0)
    return {
        t.name: rng.integers(-128, 128, (network.batch, *t.shape)).astype(np.int8)
        for t in network.inputs
    }


@cache
def program(workload: str, build: str, schedule: bool) -> tuple[Network | None, Any]:
    """``(Network, Compiled)`` of a workload for a build; for W10 ``(None, Worked)``."""
    if workload not in NETWORKS:
        raise KeyError(f"no workload {workload!r}; there are {', '.join(NETWORKS)}")
    make = NETWORKS[workload]
    if make is None:
        return None, Worked(build)
    network = make()
    compiled = compile_network(network, build_params(build), schedule=schedule)
    if workload == "W1x5":
        taps = [
            at for at, word in enumerate(compiled.words) if word & 63 == ISA.opcodes["conv.acc"]
        ]
        compiled.words = [word for at, word in enumerate(compiled.words) if at not in taps[4:]]
    return network, compiled
