# SPDX-License-Identifier: BSD-2-Clause
"""Segmentation: a U-Net marks the discs among stripes and noise, pixel by pixel. Convolutions with
fixed weights see features; on each level of the way up a layer learns by least squares to draw the
coarse mask, and the last one the fine mask. It learns from small pictures. The same network runs on
the golden models of three cores, on pictures of 160 x 160 pixels unless `--side` says otherwise."""

import argparse

import numpy as np

from quintet import Net, compile_model
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import reference_tensors
from quintet.tools.compiler.plan import Plan
from quintet.tools.compiler.values import check_inputs, from_graph, to_graph

CORES = ("opu", "opentpu", "cherry")
#: Channels of the maps on the way down, from the whole size to an eighth of it.
CHANNELS = (8, 16, 32, 64)
#: Channels of the maps on the way up, from a quarter of the size to the whole.
UP = (32, 16, 16)
#: Pictures that are trained with, their side, and the pixels of each that a layer is trained with.
TRAINED, TRAINED_SIDE, PIXELS = 32, 96, 1200
#: Pictures to calibrate with, to judge floating point, and for the golden models.
CALIBRATION, HELD_OUT, TRIED = 8, 8, 1
#: Least share of the mask in a pixel that belongs to it.
LEAST = 0.4


def picture(rng: np.random.Generator, side: int) -> tuple[np.ndarray, np.ndarray]:
    """A picture [1, side, side] with discs, stripes as bright as these, and noise, and the mask
    [side, side] of the discs."""
    rows, columns = np.mgrid[:side, :side]
    image, mask = rng.normal(0, 0.15, (side, side)), np.zeros((side, side), bool)
    for _ in range(rng.integers(3, 7)):
        angle, at = rng.uniform(0, np.pi), rng.uniform(0, side, 2)
        across = (rows - at[0]) * np.cos(angle) + (columns - at[1]) * np.sin(angle)
        image[np.abs(across) < 1.5] = rng.uniform(0.6, 1.0)
    for _ in range(rng.integers(2, 5) * side**2 // 96**2 + 1):
        centre, radius = rng.uniform(0, side, 2), rng.uniform(6, 16)
        disc = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2
        image[disc] = rng.uniform(0.6, 1.0) + rng.normal(0, 0.15, int(disc.sum()))
        mask |= disc
    return image[None].astype(np.float32), mask


class UNet:
    """Weights of the network: ``down`` and ``up`` of the convolutions on each level, ``enlarge`` of
    the transposed convolutions, ``last`` of the layer that gives the mask."""

    def __init__(self, rng: np.random.Generator):
        def weights(*shape, inputs):
            return rng.normal(0, np.sqrt(2 / inputs), shape)

        before = (1, *CHANNELS)
        self.down = [
            weights(b, a, 3, 3, inputs=9 * a) for a, b in zip(before, CHANNELS, strict=False)
        ]
        before = (CHANNELS[-1], *UP)
        self.enlarge = [weights(a, b, 2, 2, inputs=a) for a, b in zip(before, UP, strict=False)]
        self.up: list[tuple[np.ndarray, np.ndarray]] = []
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def size(self) -> int:
        """Number of weights."""
        layers = [*self.up, self.last]
        return sum(w.size for w in [*self.down, *self.enlarge]) + sum(
            array.size for layer in layers for array in layer
        )

    def network(self, side: int) -> Net:
        """The network as far as it is trained: its output is the mask, or what the first layer
        without weights reads."""
        net = Net("segmentation")
        here = net.input("picture", (1, side, side))
        skips = []
        for level, kernel in enumerate(self.down):
            if level:
                here = net.max_pool(here, 2)
            here = net.conv(here, kernel, padding=1, activation="relu")
            skips.append(here)
        for level, kernel in enumerate(self.enlarge):
            here = net.concat(net.conv_transpose(here, kernel), skips[-2 - level], axis=0)
            if level == len(self.up):
                break
            weights, bias = self.up[level]
            here = net.conv(here, weights, bias, padding=1, activation="relu")
        if self.last is not None:
            here = net.conv(here, *self.last)
        net.output(here, "mask")
        return net


def in_floating_point(net: Net, pictures: np.ndarray) -> np.ndarray:
    """What a network gives, [pictures, channels, rows, columns]."""
    graph = net.graph()
    port = graph.inputs[0]
    values = run_graph(graph, {port.tensor: to_graph(port, pictures)})
    return from_graph(graph.outputs[0], values[graph.outputs[0].tensor])


def coarse(masks: np.ndarray, factor: int) -> np.ndarray:
    """Shares of the mask in blocks of ``factor`` pixels a side."""
    count, rows, columns = masks.shape
    return masks.reshape(count, rows // factor, factor, columns // factor, factor).mean((2, 4))


def solve(rows: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights [results, features] and biases of a linear layer, by least squares."""
    mean = rows.mean(0)
    rows = rows - mean
    square = rows.T @ rows
    square += 1e-3 * np.trace(square) / len(square) * np.eye(len(square))
    weights = np.linalg.solve(square, rows.T @ (wanted - wanted.mean(0))).T
    return weights, wanted.mean(0) - weights @ mean


def neighbours(maps: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The 3 x 3 positions around ``places`` (picture, row, column), [places, channels * 9]."""
    padded = np.pad(maps, ((0, 0), (0, 0), (1, 1), (1, 1)))
    number, row, column = places.T
    seen = [padded[number, :, row + r, column + c] for r in range(3) for c in range(3)]
    return np.stack(seen, 2).reshape(len(places), -1)


def train(net: UNet, pictures: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> None:
    """Trains the layers on the way up, one after the other, and the last one."""
    side = masks.shape[-1]
    # What the results of a layer stand for: shares of the mask here and around, and the rest of
    # these, so that a relu loses nothing.
    moves = sorted(np.ndindex(5, 5), key=lambda at: (at[0] - 2) ** 2 + (at[1] - 2) ** 2)
    for level, width in enumerate(UP):
        maps = in_floating_point(net.network(side), pictures)
        places = chosen(maps, rng)
        number, row, column = places.T
        share = coarse(masks, 2 ** (len(UP) - 1 - level))
        padded = np.pad(share, ((0, 0), (2, 2), (2, 2)), mode="edge")
        near = np.stack([padded[number, row + r, column + c] for r, c in moves[: width // 2]], 1)
        weights, bias = solve(neighbours(maps, places), np.concatenate([near, 1 - near], 1))
        net.up.append((weights.reshape(width, -1, 3, 3), bias))
    maps = in_floating_point(net.network(side), pictures)
    number, row, column = chosen(maps, rng).T
    weights, bias = solve(maps[number, :, row, column], masks[number, row, column][:, None])
    net.last = weights[:, :, None, None], bias - LEAST


def chosen(maps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random places (picture, row, column) of maps."""
    count, _, rows, columns = maps.shape
    return np.stack([rng.integers(0, n, count * PIXELS) for n in (count, rows, columns)], 1)


def by_reference(plan: Plan, pictures: np.ndarray) -> np.ndarray:
    """What plain numpy gives for a compiled network."""
    port = plan.outputs[0]
    given = check_inputs(plan.network, plan.inputs, {plan.inputs[0].name: pictures})
    return from_graph(port, reference_tensors(plan, given)[1][port.tensor])


def overlap(outputs: np.ndarray, masks: np.ndarray) -> str:
    """Pixels that the marked area and the mask share, over those that either covers."""
    marked = outputs[:, 0] > 0
    return f"IoU {(marked & masks).sum() / (marked | masks).sum():.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=160, help="a multiple of 8")
    side = parser.parse_args().side
    rng = np.random.default_rng(1)

    def drawn(count, side):
        pictures, masks = zip(*(picture(rng, side) for _ in range(count)), strict=True)
        return np.stack(pictures), np.stack(masks)

    net = UNet(rng)
    train(net, *drawn(TRAINED, TRAINED_SIDE), rng)
    calibration, _ = drawn(CALIBRATION, side)
    pictures, masks = drawn(HELD_OUT, side)
    exact = in_floating_point(net.network(side), pictures)
    print(f"{side} x {side} pixels, {net.size:,} weights; floating point: {overlap(exact, masks)}")
    pictures, masks = pictures[:TRIED], masks[:TRIED]
    print(f"floating point, {TRIED} of {HELD_OUT} pictures: {overlap(exact[:TRIED], masks)}")
    for core in CORES:
        compiled = compile_model(net.network(side), f"model:{core}", calibration=calibration)
        with compiled.open() as session:
            outputs = session(pictures)
        same = np.array_equal(outputs, by_reference(compiled.plan, pictures))
        print(
            f"{core}: {overlap(outputs, masks)}, equal to the reference: {same}; "
            f"{compiled.plan.cycles:,.0f} cycles"
        )


if __name__ == "__main__":
    main()
