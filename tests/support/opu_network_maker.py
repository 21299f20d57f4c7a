# SPDX-License-Identifier: BSD-2-Clause
"""Random networks for the OPU with all kinds of layers in all orders, most of them legal, and
options for compiling each."""

import numpy as np

from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.types import type_set
from quintet.tools.compiler.backends.opu.codegen import KernelError, Network, Tiling

__all__ = ["make_network"]

PRESETS = ("85f", "85f-p64", "85f-p256", "45f", "25f", "up5k", "hx8k")
TYPES = ("8-8-16-16",) * 6 + ("8-8-32-32", "16-16-32-32")
CHANNELS = (1, 1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 70, 128, 130)
#: Multiplications of an example, at most, so that the model takes no minute.
MOST = 3_000_000


class _Maker:
    def __init__(self, chance):
        self.chance = chance
        self.numbers = np.random.default_rng(chance.randrange(1 << 32))
        self.network = Network(types=chance.choice(TYPES), batch=chance.choice((1, 1, 1, 2, 3)))
        self.tensors, self.work, self.refused = [], 0, []

    def array(self, bits, *shape):
        """Random integers: of the whole range, of a small one, or only the extremes."""
        half = 1 << bits - 1
        kind = self.chance.random()
        if kind < 0.15:
            return self.numbers.choice([-half, half - 1, 0], shape)
        most = half if kind < 0.4 else max(1, half >> self.chance.randint(1, bits - 2))
        return self.numbers.integers(-most, most, shape)

    def fraction(self):
        chance = self.chance.random()
        return (
            self.chance.randint(-140, 140)
            if chance < 0.06
            else self.chance.randint(-8, 24)
            if chance < 0.2
            else self.chance.randint(2, 7)
        )

    def side(self):
        return self.chance.choice((1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17))

    def input(self, index):
        shape = (
            (self.side(), self.side(), self.chance.choice(CHANNELS))
            if self.chance.random() < 0.85
            else (1, 1, self.chance.choice(CHANNELS))
        )
        self.tensors.append(
            self.network.input(f"x{index}", shape, fraction=self.chance.randint(0, 8))
        )

    def common(self, out):
        """Random options that conv and dense share."""
        chance = self.chance
        options = {
            "weight_fraction": self.fraction(),
            "fraction": self.fraction(),
            "act": chance.choice((None, "relu", "leaky")),
        }
        if chance.random() < 0.6:
            options.update(
                bias=self.array(self.network.set.bias, out), bias_fraction=self.fraction()
            )
        return options

    def conv(self, name):
        chance, source = self.chance, self.chance.choice(self.tensors)
        residual = chance.choice(self.tensors) if chance.random() < 0.35 else None
        out = (
            residual.channels
            if residual is not None and chance.random() < 0.95
            else chance.choice(CHANNELS)
        )
        taps = tuple(
            chance.randint(1, min(side + 4, chance.choice((1, 2, 3, 3, 5, 9, 20))))
            for side in source.shape[:2]
        )
        options = self.common(out)
        options["padding"] = chance.choice(
            (0, 0, 1, 1, 2, (1, 0), (taps[0] // 2, taps[1] // 2), (1, 0, 0, 2), (3, 1, 2, 0))
        )
        if residual is None:
            options["stride"] = chance.choice((1, 1, 1, 2, 3, 7, (1, 2), (5, 1)))
        else:
            if chance.random() < 0.9:
                options["fraction"] = residual.fraction
            if residual.shape[:2] == source.shape[:2] and chance.random() < 0.9:
                taps = tuple(t | 1 for t in taps)
                options["padding"] = tuple(t // 2 for t in taps)
            options.update(
                residual=residual, order=chance.choice((0, 1, 1, 2)), by_tap=chance.random() < 0.3
            )
        if chance.random() < 0.4:
            options["pool"] = chance.choice((1, 2, 2, 3, (1, 2), (4, 3), 9))
            if chance.random() < 0.5:
                options["pool_stride"] = chance.choice((1, 2, (2, 1), 5))
        weights = self.array(self.network.set.ker, out, source.channels, *taps)
        return self.network.conv(name, source, weights, **options)

    def dense(self, name):
        source, out = self.chance.choice(self.tensors), self.chance.choice(CHANNELS)
        size = source.height * source.width * source.channels
        if size * out > 200_000:
            raise KernelError("larger than wanted here")
        return self.network.dense(
            name, source, self.array(self.network.set.ker, out, size), **self.common(out)
        )

    def average(self, name):
        chance, source = self.chance, self.chance.choice(self.tensors)
        window = chance.choice((1, 2, 3, (2, 1), (3, 5), source.shape[:2], source.shape[:2]))
        return self.network.average(
            name,
            source,
            window,
            stride=chance.choice((None, None, 1, 2, (1, 3))),
            fraction=chance.choice((None, None, self.fraction())),
            act=chance.choice((None, "relu", "leaky")),
        )

    def layers(self):
        for index in range(self.chance.randint(1, 5)):
            kind = self.chance.choice((self.conv, self.conv, self.conv, self.dense, self.average))
            try:
                made = kind(f"y{index}")
            except KernelError as error:
                self.refused.append(str(error))
                continue
            self.tensors.append(made)
            self.work += self.network.layers[-1].macs * self.network.batch
            if self.work > MOST:
                break

    def outputs(self):
        for tensor in self.tensors:  # an input too may be kept
            if self.chance.random() < (0.1 if tensor in self.network.inputs else 0.5):
                self.network.output(tensor, border=self.chance.choice((0, 0, 0, 1, 3)))

    def compile_options(self):
        chance, options = self.chance, {"schedule": self.chance.random() < 0.6}
        if chance.random() < 0.3:
            options["group"] = chance.randint(1, self.network.batch)
        if chance.random() < 0.3:
            options["program_at"] = 64 * chance.randint(0, 50)
        if chance.random() < 0.25 and self.network.layers:
            sizes = (1, 1, 2, 3, 5, 8, 200)
            options["tilings"] = {
                chance.choice(self.network.layers).name: Tiling(
                    chance.choice(sizes),
                    chance.choice(sizes),
                    chance.choice(sizes),
                    chance.random() < 0.5,
                    chance.random() < 0.5,
                    chance.random() < 0.5,
                )
            }
        return options


def make_network(chance):
    """Makes ``(network, params, options of compile_network, inputs)`` from the random numbers of
    ``chance``."""
    maker = _Maker(chance)
    for index in range(chance.choice((1, 1, 2))):
        maker.input(index)
    maker.layers()
    maker.outputs()
    network = maker.network
    types = network.types if chance.random() < 0.97 else "8-8-16-16"
    params = SPACE.resolve(
        chance.choice(PRESETS if types == "8-8-16-16" else PRESETS[:1]), {"types": types}
    )
    values = {
        t.name: maker.array(type_set(network.types).ifm, network.batch, *t.shape)
        for t in network.inputs
    }
    return network, params, maker.compile_options(), values
