# SPDX-License-Identifier: BSD-2-Clause
"""Every kernel of Cherry's library as an operation on one matrix, with the same in float64 and the
error that it may have."""

import numpy as np

from tests.tools.cherry_modules import module, rounded, run_model

__all__ = ["OPERATIONS", "STEP", "Bench", "product"]

#: Twice the error of a rounding to 10 bits of significand, and what is lost below the smallest
#: number.
STEP, SMALLEST = 2.0**-10, 1e-35
#: Beyond this, squares and sums leave the range of a Cherry float where float64 does not.
LARGE = 1e15


class Bench:
    """A module, its arrays, and what its results must be."""

    def __init__(self, seed=1, log_mem=17):
        self.m, self.rng = module(log_mem), np.random.default_rng(seed)
        self.arrays, self.expected, self.areas = {}, [], []
        make = self.m.matrix
        self.m.matrix = lambda *args, **more: (
            self.areas.append(make(*args, **more)) or self.areas[-1]
        )

    def input(self, *shape, mean=10.0, stored=False):
        """A matrix and its values, which Cherry floats hold exactly; ``stored``: it stays in main
        memory."""
        name, values = f"i{len(self.arrays)}", rounded(self.rng.normal(mean, 1, size=shape))
        self.arrays[name] = values
        return (self.m.stored_input if stored else self.m.input)(name, *shape), values

    def expect(self, label, result, reference, *operands):
        """``reference``: values of ``operands`` (names of outputs) -> result in float64 and its
        tolerance; gives the result's name."""
        self.expected.append((label, self.kept(result), reference, operands))
        return self.expected[-1][1]

    def kept(self, matrix):
        """The name of an output."""
        name = f"o{len(self.m.outputs)}"
        self.m.output(name, matrix)
        return name

    def check(self):
        """Runs it; gives how many elements were compared."""
        model = run_model(self.m, self.arrays)
        found = {}
        for name, (address, _, matrix) in self.m.outputs.items():
            raw = model.memory[address : address + 4 * matrix.rows * matrix.cols]
            found[name] = raw.view(np.float32).reshape(matrix.shape).astype(np.float64)
        compared = 0
        for label, name, reference, operands in self.expected:
            with np.errstate(all="ignore"):
                wanted, tolerance = reference(*(found[operand] for operand in operands))
                usable = np.isfinite(wanted) & (np.abs(wanted) < 1e30) & np.isfinite(tolerance)
                error = np.abs(found[name] - wanted)
                wrong = usable & ~(error <= tolerance + SMALLEST)
            assert found[name].shape == wanted.shape, label
            assert not wrong.any(), (
                f"{label}: {found[name][wrong][:4]} instead of {wanted[wrong][:4]}"
            )
            compared += int(usable.sum())
        self._check_padding(model)
        return compared

    def _check_padding(self, model):
        """What the module says of the padding of its matrices is what lies there."""
        for matrix in self.areas:
            rows, cols = (size + -size % 4 for size in matrix.shape)
            beside = np.ones((rows, cols), bool)
            beside[: matrix.rows, : matrix.cols] = False
            places = matrix.address + np.arange(rows)[:, None] * matrix.stride_y + np.arange(cols)
            if matrix.padding is not None:
                assert (model.mem[places][beside] == matrix.padding).all(), (matrix, matrix.padding)


def _elements(exact, steps=2):
    """Reference of an operation element by element with an error of some roundings."""

    def reference(x):
        wanted = np.asarray(exact(x), np.float64)
        return wanted, steps * STEP * np.abs(wanted)

    return reference


def _unary(op, exact):
    return op, lambda b, x: (b.m.unary(op, x), _elements(exact))


def _in_place(op, exact):
    def make(b, x):
        # Of a copy: the operand is compared, too.
        same = b.m.copy(x)
        return b.m.unary(op, same, same), _elements(exact)

    return f"{op} in place", make


def _binary(op, exact, shape, mean=10.0, turned=False):
    def make(b, x):
        y, values = b.input(x.rows if "y" in shape else 1, x.cols if "x" in shape else 1, mean=mean)
        result = b.m.binary(op, *((y, x) if turned else (x, y)))
        return result, _elements(
            lambda x: exact(values, x) if turned else exact(x, values), 8 if op == "pow" else 2
        )

    return f"{op} {shape or '1'}{' turned' * turned}", make


def _maximum(b, x):
    y, values = b.input(1, x.cols, mean=9.0)
    return b.m.maximum(x, y), lambda x: (
        np.maximum(x, values),
        2 * STEP * (np.abs(x) + np.abs(values)),
    )


def _chain(b, x):
    two = b.m.constant(2)
    parts = [
        ("INPUT", x),
        "exp",
        "copy INPUT, OUTPUT",
        ("WEIGHTS", two),
        "mul",
        "zero ACC",
        "copy WEIGHTS, OUTPUT",
        "mulacc",
        "copy OUTPUT, ACC",
    ]
    return b.m.chain(x.rows, x.cols, parts), _elements(lambda x: 2 * np.exp(x) ** 2, 8)


def product(a, b):
    """Reference of a product."""
    return a @ b, 4 * STEP * (np.abs(a) @ np.abs(b))


def _by(b, x):
    w, values = b.input(x.cols, 5, mean=-3.0)
    return b.m.matmul(x, w), lambda x: product(x, values)


def _of(b, x):
    w, values = b.input(3, x.rows, mean=-3.0)
    return b.m.matmul(w, x), lambda x: product(values, x)


def _added(b, x):
    w, values = b.input(x.cols, 6, mean=2.0)
    start, before = b.input(x.rows, 6)

    def reference(x):
        wanted, tolerance = product(x, values)
        return wanted + before, tolerance + 4 * STEP * np.abs(before)

    return b.m.matmul(x, w, start, accumulate=True), reference


def _reduce(op, axis):
    def make(b, x):
        def reference(x):
            if op == "max":
                return x.max(axis, keepdims=True), np.zeros(1)
            return x.sum(axis, keepdims=True), 4 * STEP * np.abs(x).sum(axis, keepdims=True)

        return b.m.reduce(op, x, axis), reference

    return f"{op} along {axis}", make


def _softmax(b, x):
    def reference(x):
        powers = np.exp(x - x.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True), np.full(x.shape, 5e-3)

    return b.m.softmax(x), reference


def _layer_norm(b, x):
    (gamma, g), (beta, h) = b.input(1, x.cols), b.input(1, x.cols)

    def reference(x):
        width = np.sqrt(x.var(1, keepdims=True) + 1e-5)
        most = np.abs(x).max(1, keepdims=True)
        normal = (x - x.mean(1, keepdims=True)) / width
        # The mean is off by some roundings of the largest element, and the width with it.
        off = 8 * STEP * most / width
        off = off * (1 + np.abs(normal)) + 8 * STEP * np.abs(normal)
        return normal * g + h, np.where(
            most < LARGE, off * np.abs(g) + 4 * STEP * (np.abs(normal * g) + np.abs(h)), np.inf
        )

    return b.m.layer_norm(x, gamma, beta), reference


def _convolution(b, x):
    """Of planes of 4 columns with their border, where ``x`` is that."""
    height = x.cols // 6 - 2
    if x.rows != 4 or x.cols % 6 or height < 1:
        return None
    w, values = b.input(36, 8, mean=0.5)

    def reference(x):
        planes, taps = x.reshape(4, height + 2, 6), values.reshape(3, 3, 4, 8)
        wanted = tolerance = 0
        for i in range(3):
            for j in range(3):
                part = planes[:, i : i + height, j : j + 4]
                wanted = wanted + np.einsum("chw,cf->fhw", part, taps[i, j])
                tolerance = tolerance + 6 * STEP * np.einsum(
                    "chw,cf->fhw", np.abs(part), np.abs(taps[i, j])
                )
        return wanted.reshape(8, -1), tolerance.reshape(8, -1)

    return b.m.conv3x3(x, w, 4, height, 4, 8), reference


#: Method of the module -> its operations: label, and bench, matrix -> result, reference (``None``
#: where the shape does not fit).
OPERATIONS = {
    "unary": [
        _unary("relu", lambda x: np.maximum(x, 0)),
        _unary("gtz", lambda x: (x > 0) * 1.0),
        _unary("exp", np.exp),
        _unary("log", np.log2),
        _in_place("exp", np.exp),
    ],
    "binary": [
        _binary("add", np.add, "yx"),
        _binary("add", np.add, "x"),
        _binary("sub", np.subtract, "y"),
        _binary("mul", np.multiply, ""),
        _binary("div", np.divide, "x"),
        _binary("div", np.divide, "yx", turned=True),
        _binary("pow", np.power, "x", mean=0.5),
    ],
    "maximum": [("maximum", _maximum)],
    "copy": [
        ("copy", lambda b, x: (b.m.copy(x), _elements(lambda x: x, 0))),
        ("copy transposed", lambda b, x: (b.m.copy(x.transposed), _elements(lambda x: x.T, 0))),
    ],
    "chain": [("chain", _chain)],
    "matmul": [
        ("x by w", _by),
        ("w by x", _of),
        ("x by w added", _added),
        ("x.T by x", lambda b, x: (b.m.matmul(x.transposed, x), lambda x: product(x.T, x))),
        ("x by x.T", lambda b, x: (b.m.matmul(x, x.transposed), lambda x: product(x, x.T))),
    ],
    "reduce": [_reduce(op, axis) for op in ("sum", "max") for axis in (0, 1)],
    "softmax": [("softmax", _softmax)],
    "layer_norm": [("layer_norm", _layer_norm)],
    "conv3x3": [("convolution", _convolution)],
}
