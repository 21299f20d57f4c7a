# SPDX-License-Identifier: BSD-2-Clause
"""Networks of the OPU's layers: comparison of their programs on the golden model with plain numpy,
and random ones with all kinds of layers in all orders."""

import numpy as np

from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.layers import Network
from quintet.tools.compiler.backends.opu.reference import run_network

__all__ = ["build", "check", "random_network", "random_values", "random_weights"]

TYPES = ("8-8-16-16",) * 6 + ("8-8-32-32", "16-16-32-32")
SIDES = (1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17)
CHANNELS = (1, 1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 70, 128, 130)
#: Multiplications of a network, at most, so that the model takes no minute.
MOST = 3_000_000


def build(preset="85f", **overrides):
    return SPACE.resolve(preset, overrides)


def random_weights(rng, *shape, most=40):
    return rng.integers(-most, most + 1, shape)


def random_values(rng, network):
    half = 1 << network.set.ifm - 1
    return {t.name: rng.integers(-half, half, (network.batch, *t.shape)) for t in network.inputs}


def check(network, params, values, *, varied=True, **options):
    """Compiles and runs a network on memory with random contents, compares every output, and
    returns the Compiled and the Outcome.

    ``varied``: an output of which all values are equal says nothing, and fails.
    """
    compiled = compile_network(network, params, **options)
    memory = compiled.image(values)
    free = np.ones(memory.size, bool)
    spans = [(compiled.program_at, len(compiled.data))]
    spans += [(at, data.size) for at, data in compiled.all_constants]
    for tensor in network.inputs:
        buffer = compiled.buffers[tensor]
        spans.append((compiled.maps_at + 64 * buffer.base, 64 * buffer.units))
    for at, size in spans:
        free[at : at + size] = False
    memory[free] = np.random.default_rng(0).integers(0, 256, int(free.sum()))
    outcome = Model(params, memory).run(compiled.all_registers)
    assert outcome.status == "done", outcome.fault
    found = compiled.results(memory)
    for tensor, expected in run_network(network, values).items():
        got = found[tensor.name]
        assert np.array_equal(got, expected), (
            f"{tensor.name}: {(got != expected).sum()} of {got.size} differ"
        )
        assert not varied or expected.size < 64 or expected.min() != expected.max(), (
            f"{tensor.name} says nothing: all {expected.min()}"
        )
    return compiled, outcome


class _Maker:
    def __init__(self, chance, types, sides, channels):
        self.chance, self.sides, self.channels = chance, sides, channels
        self.numbers = np.random.default_rng(chance.randrange(1 << 32))
        self.network = Network(types or chance.choice(TYPES), chance.choice((1, 1, 1, 2, 3)))
        self.tensors = []

    def array(self, bits, *shape):
        """Random integers: of the whole range, of a small one, or only the extremes."""
        half = 1 << bits - 1
        kind = self.chance.random()
        if kind < 0.15:
            return self.numbers.choice([-half, half - 1, 0], shape)
        most = half if kind < 0.4 else max(1, half >> self.chance.randint(1, bits - 2))
        return self.numbers.integers(-most, most, shape)

    def weights(self, *shape):
        """Weights [out, in, rows, columns], some with zeros that a program may leave out: whole
        taps, channels, taps of a block of output channels, or all of them."""
        weights = self.array(self.network.set.ker, *shape)
        if self.chance.random() < 0.7:
            return weights
        blocks = -(-shape[0] // 16)
        masks = {
            "taps": (1, 1, *shape[2:]),
            "in": (1, shape[1], 1, 1),
            "out": (shape[0], 1, 1, 1),
            "blocks": (blocks, 1, *shape[2:]),
            "each": shape,
            "all": (1, 1, 1, 1),
        }
        mask = self.numbers.integers(0, 2, masks[kind := self.chance.choice(sorted(masks))])
        if kind == "blocks":
            mask = np.repeat(mask, 16, axis=0)[: shape[0]]
        return weights * mask

    def shift(self):
        """A shift of the instruction set, rarely one that leaves nothing of the numbers."""
        kind = self.chance.random()
        limits = (-128, 127) if kind < 0.05 else (-20, 12) if kind < 0.2 else (-4, 4)
        return self.chance.randint(*limits)

    def shifts(self, out, split):
        """One shift for all output channels, or one for each channel block."""
        if self.chance.random() < 0.5:
            return self.shift()
        each = 16 if split and out > 16 else 64
        return np.repeat([self.shift() for _ in range(0, out, each)], each)[:out]

    def scaled(self, out, split):
        """Options for the numbers of a layer with weights."""
        f, b = self.shifts(out, split), self.shifts(out, split)
        options = {"shift": self.network.set.store_shift - f, "split": split}
        if self.chance.random() < 0.6:
            options.update(bias=self.array(self.network.set.bias, out), bias_shift=b - f)
        return options

    def input(self, index):
        vector = self.chance.random() < 0.15
        sides = (
            (1, 1) if vector else (self.chance.choice(self.sides), self.chance.choice(self.sides))
        )
        shape = *sides, self.chance.choice(self.channels)
        split = self.chance.random() < 0.3
        self.tensors.append(self.network.input(f"x{index}", shape, split=split))

    def window(self, source):
        """Options and taps of a convolution's window; half of them keep the sides."""
        chance = self.chance
        if chance.random() < 0.5:
            high, wide = (chance.choice((1, 1, 3, 5)) for _ in range(2))
            return {"padding": (high // 2, high // 2, wide // 2, wide // 2)}, (high, wide)
        padding = chance.choice(
            ((0,) * 4, (0,) * 4, (1,) * 4, (1, 0, 0, 2), (3, 1, 2, 0), (17, 3, 0, 1), (0, -1, 1, 0))
        )
        dilation = chance.choice(((1, 1), (1, 1), (1, 1), (2, 1), (3, 2), (1, 7), (1, 17)))
        stride = chance.choice(
            ((1, 1), (1, 1), (2, 2), (3, 3), (7, 7), (1, 2), (5, 1), (8, 2), (3, 11))
        )
        taps = []
        for axis, far in enumerate(dilation):
            size = source.shape[axis] + sum(padding[2 * axis : 2 * axis + 2])
            if size < 1:  # nothing would be left of a single column
                padding, size = (0,) * 4, source.shape[axis]
            most = chance.choice((1, 2, 3, 3, 5, 9, 20))
            taps.append(chance.randint(1, min(most, (size - 1) // far + 1)))
        return {"padding": padding, "dilation": dilation, "stride": stride}, tuple(taps)

    def after(self, source, taps, options):
        """What follows a convolution: activation, pooling, and a residual if a tensor fits."""
        chance, trial = self.chance, Network()
        trial.conv("", source, None, taps=taps, shift=0, **options)
        found = {"act": chance.choice((None, "relu", "leaky"))}
        sides, order = (trial.layers[0].rows, trial.layers[0].columns), chance.choice((0, 1, 1, 2))
        if chance.random() < 0.4 and not trial.layers[0].strided:
            window = chance.choice(((1, 1), (2, 2), (2, 2), (1, 2), (4, 3), (9, 9)))
            window = tuple(min(pair) for pair in zip(window, sides, strict=True))
            found["pool"] = *window, *chance.choice(((1, 1), (2, 2), (2, 1), (5, 5)))
            if order == 2:
                pooled = trial.conv("", source, None, taps=taps, shift=0, **options, **found)
                sides = pooled.shape[:2]
        fitting = [tensor for tensor in self.tensors if tensor.shape[:2] == sides]
        if fitting and chance.random() < 0.6:
            found.update(residual=chance.choice(fitting), order=order)
            if order == 1 and chance.random() < 0.5:
                # The instruction's shift of the tap is at most 127.
                least = self.network.set.store_shift - 127
                found.update(by_tap=True, residual_shift=max(-self.shift(), least))
        return found

    def conv(self, name):
        chance, source = self.chance, self.chance.choice(self.tensors)
        window, taps = self.window(source)
        after, channels = self.after(source, taps, window), source.channels
        divisors = [g for g in range(1, channels + 1) if channels % g == 0]
        groups = chance.choice((1, 1, chance.choice(divisors), channels))
        out, split = groups * chance.randint(1, 3), chance.random() < 0.4
        if "residual" in after:
            out, split = after["residual"].channels, after["residual"].split
            groups = groups if out % groups == 0 else 1
        elif groups == 1:
            out = chance.choice(self.channels)
        weights = self.weights(out, channels // groups, *taps)
        return self.network.conv(
            name, source, weights, groups=groups, **window, **after, **self.scaled(out, split)
        )

    def each(self, name):
        """Each channel by itself: an average, or a factor."""
        source = self.chance.choice(self.tensors)
        window, taps = self.window(source)
        if self.chance.random() < 0.3:
            window, taps = {}, source.shape[:2]
        after = self.after(source, taps, window)
        residual = after.get("residual", source)
        if (residual.channels, residual.split) != (source.channels, source.split):
            after = {"act": after["act"]}
        factor, shift = self.chance.choice((1, 1, -1, 37)), self.chance.randint(0, 8)
        return self.network.conv(
            name, source, None, taps=taps, identity=factor, shift=shift, **window, **after
        )

    def dense(self, name):
        source, out = self.chance.choice(self.tensors), self.chance.choice(self.channels)
        rows, columns, channels = source.shape
        out = max(1, min(out, 200_000 // (rows * columns * channels)))
        weights = self.weights(out, channels, rows, columns)
        split = self.chance.random() < 0.3
        return self.network.conv(name, source, weights, **self.scaled(out, split))

    def product(self, name):
        """A product of two tensors, the second of them as it is or turned."""
        batched = self.chance.random() < 0.5
        fitting = [t for t in self.tensors if not t.split and (batched or t.width == 1)]
        if not fitting:
            return self.dense(name)
        source, second = self.chance.choice(fitting), self.chance.choice(fitting)
        if self.chance.random() < 0.4:
            second = self.network.turned(f"{name}_turned", second, batched=batched)
        if second.channels != source.channels or (batched and second.height != source.height):
            second = source
        ones = np.eye(second.channels, dtype=int)[:, :, None, None]
        kernel = self.network.conv(f"{name}_kernel", second, ones, shift=0, full=True)
        shift = self.chance.randint(4, 12)
        return self.network.product(name, source, kernel, shift=shift, batched=batched)

    def interleave(self, name):
        """A map of phases that lie in one tensor, or in several row phases of it."""
        source = self.chance.choice(self.tensors)
        down, across = self.chance.choice(((2, 1), (1, 2), (2, 2), (3, 1), (1, 3)))
        across = min(across, source.channels)
        channels = source.channels // across
        phases = [[(source, column * channels) for column in range(across)]] * down
        return self.network.interleave([f"{name}_{k}" for k in range(down)], phases, channels)

    def layers(self, most):
        kinds = (self.conv,) * 6 + (self.dense, self.each, self.each, self.product, self.interleave)
        for index in range(self.chance.randint(1, most)):
            self.tensors.append(self.chance.choice(kinds)(f"y{index}"))
            if sum(layer.macs for layer in self.network.layers) * self.network.batch > MOST:
                break

    def outputs(self):
        for tensor in self.tensors:  # an input too may be kept
            chance = 0.1 if tensor in self.network.inputs else 0.5
            if self.chance.random() < chance:
                self.network.outputs.append(tensor)
                self.network.borders[tensor] = self.chance.choice((0, 0, 0, 1, 3))


def random_network(chance, *, types=None, sides=SIDES, channels=CHANNELS, most=5):
    """Makes a network of up to ``most`` layers from the random numbers of ``chance``."""
    maker = _Maker(chance, types, sides, channels)
    for index in range(chance.choice((1, 1, 2))):
        maker.input(index)
    maker.layers(most)
    maker.outputs()
    return maker.network
