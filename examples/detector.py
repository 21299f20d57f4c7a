# SPDX-License-Identifier: BSD-2-Clause
"""A detector: find rectangles in noisy pictures. Convolutions with fixed weights see features. A
1x1 convolution, trained by least squares, gives each cell of a grid a score and a box, and the host
decodes the boxes. The same network runs on the golden models of three cores."""

import numpy as np

from quintet import Net, compile_model
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.values import from_graph, to_graph

SIDE, CELL = 96, 8
GRID = SIDE // CELL
CORES = ("opu", "opentpu", "cherry")
CHANNELS = (12, 24, 48, 96)
#: Pictures in all; those that training does not see; those that the golden
#: models work on, some seconds each.
PICTURES, HELD_OUT, TRIED = 600, 100, 4
Boxes = list[tuple[float, float, float, float]]


def picture(rng: np.random.Generator) -> tuple[np.ndarray, Boxes]:
    """A picture [1, SIDE, SIDE] with one to three bright rectangles, and their boxes (row, column,
    height, width) by their centres."""
    image, boxes = rng.normal(0, 0.1, (1, SIDE, SIDE)), []
    for _ in range(rng.integers(1, 4)):
        height, width = rng.integers(10, 22, 2)
        top, left = rng.integers(0, SIDE - height), rng.integers(0, SIDE - width)
        box = top + height / 2, left + width / 2, float(height), float(width)
        if all(max(abs(box[0] - b[0]), abs(box[1] - b[1])) > 26 for b in boxes):
            image[0, top : top + height, left : left + width] += rng.uniform(0.7, 1.2)
            boxes.append(box)
    return image.astype(np.float32), boxes


def fixed_weights(rng: np.random.Generator) -> list[np.ndarray]:
    """Kernels [results, channels, 3, 3] of the convolutions that are not trained."""
    widths = (1, *CHANNELS)
    return [
        rng.normal(0, np.sqrt(2 / (9 * before)), (after, before, 3, 3))
        for before, after in zip(widths, CHANNELS, strict=False)
    ]


def network(kernels: list[np.ndarray], head: np.ndarray | None = None) -> Net:
    """The network [1, SIDE, SIDE] to features [96, GRID, GRID], or with ``head`` [5, features + 1]
    to scores and boxes [5, GRID, GRID]."""
    net = Net("detector")
    here = net.input("picture", (1, SIDE, SIDE))
    for kernel, stride in zip(kernels, (2, 2, 2, 1), strict=True):
        here = net.conv(here, kernel, stride=stride, padding=1, activation="relu")
    if head is not None:
        here = net.conv(here, head[:, :-1, None, None], head[:, -1])
    net.output(here, "found")
    return net


def in_floating_point(net: Net, pictures: np.ndarray) -> np.ndarray:
    """What a network gives, [pictures, channels, GRID, GRID]."""
    graph = net.graph()
    port = graph.inputs[0]
    values = run_graph(graph, {port.tensor: to_graph(port, pictures)})
    return from_graph(graph.outputs[0], values[graph.outputs[0].tensor])


def train(found: np.ndarray, boxes: list[Boxes]) -> np.ndarray:
    """Weights [5, features + 1] of the head, the last of each a bias, by least squares: a score
    for every cell, and row, column, height, width of the boxes for cells that have a centre."""
    found = found.transpose(0, 2, 3, 1)
    rows = np.concatenate([found, np.ones((*found.shape[:3], 1))], axis=3)
    score = np.zeros(found.shape[:3])
    cells, wanted = [], []
    for number, own in enumerate(boxes):
        for row, column, height, width in own:
            at = number, int(row // CELL), int(column // CELL)
            score[at] = 1
            cells.append(rows[at])
            wanted.append([row / CELL - at[1], column / CELL - at[2], height / CELL, width / CELL])

    def solve(a, b, ridge):
        return np.linalg.solve(a.T @ a + ridge * np.eye(a.shape[1]), a.T @ b)

    weight = np.sqrt(1 + 20 * score.reshape(-1, 1))
    every = rows.reshape(-1, rows.shape[-1]) * weight
    first = solve(every, score.reshape(-1, 1) * weight, 1.0)
    return np.concatenate([first, solve(np.array(cells), np.array(wanted), 1.0)], axis=1).T


def decode(output: np.ndarray, least: float = 0.4) -> Boxes:
    """Boxes of one output [5, GRID, GRID]: cells whose score is the greatest around them."""
    score, boxes = output[0], []
    for row, column in np.argwhere(score > least):
        near = score[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]
        if score[row, column] == near.max():
            down, right, height, width = output[1:, row, column] * CELL
            boxes.append((row * CELL + down, column * CELL + right, height, width))
    return boxes


def overlap(a: tuple, b: tuple) -> float:
    """Area that two boxes share, over the area that both cover."""
    inside = 1.0
    for middle, size in ((0, 2), (1, 3)):
        begin = max(a[middle] - a[size] / 2, b[middle] - b[size] / 2)
        end = min(a[middle] + a[size] / 2, b[middle] + b[size] / 2)
        inside *= max(0.0, end - begin)
    return inside / (a[2] * a[3] + b[2] * b[3] - inside)


def judge(outputs: np.ndarray, boxes: list[Boxes]) -> str:
    """How many of the ``boxes`` were found (half of the area shared), and how many others."""
    right = others = 0
    for output, own in zip(outputs, boxes, strict=True):
        decoded = decode(output)
        hits = sum(any(overlap(one, box) > 0.5 for one in decoded) for box in own)
        right, others = right + hits, others + len(decoded) - hits
    return f"{right} of {sum(map(len, boxes))} rectangles found, {others} boxes too many"


def main() -> None:
    rng = np.random.default_rng(1)
    pictures, boxes = zip(*(picture(rng) for _ in range(PICTURES)), strict=True)
    pictures, boxes = np.stack(pictures), list(boxes)
    kernels = fixed_weights(rng)
    seen = in_floating_point(network(kernels), pictures[:-HELD_OUT])
    net = network(kernels, train(seen, boxes[:-HELD_OUT]))
    exact = in_floating_point(net, pictures[-HELD_OUT:])
    print(f"floating point: {judge(exact, boxes[-HELD_OUT:])}")
    for core in CORES:
        compiled = compile_model(net, f"model:{core}", calibration=pictures[:64])
        with compiled.open() as session:
            outputs = session(pictures[-TRIED:])
        plan = compiled.plan
        print(f"{core}: {judge(outputs, boxes[-TRIED:])}; {plan.cycles:,.0f} cycles")


if __name__ == "__main__":
    main()
