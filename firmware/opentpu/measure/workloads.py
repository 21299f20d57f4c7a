# SPDX-License-Identifier: BSD-2-Clause
"""Acceptance workloads of section 10.3 as :class:`~.case.Case`; :func:`workload` builds them by
name."""

import numpy as np

from ....gateware.cores.opentpu.params import SPACE
from ....gateware.cores.opentpu.software import SOFTWARE
from ....gateware.isa.asm import assemble_text
from ....tools.compiler.backends.opentpu.codegen.program import Program, Word, array_time
from ....tools.compiler.backends.opentpu.layout import pack_matrix
from .. import digits, programs
from ..jobs import Layer, Network
from .case import Case, align

__all__ = ["WORKLOADS", "workload"]

#: name -> (rows, layer sizes, preset, overrides, memory kind, bound, aim)
_PRODUCTS = {
    "W1": (240, (40, 32), "85f-8x8", {}, "ideal", 5193, None),
    "W2": (96, (64, 40), "85f-8x8", {}, "ideal", 4206, None),
    "W3": (12, (64, 64), "85f-8x8", {}, "ideal", 1530, None),
    "W4": (100, (16, 12), "25f-4x4", {}, "ideal", 1388, None),
    "W5": (150, (60, 48), "85f-12x12", {}, "ideal", 3319, None),
    "W6": (224, (96, 48), "85f-16x16", {}, "ideal", 4416, None),
    "W7": (250, (128, 128), "85f-8x8", {}, "sdram16", 70881, None),
    "W8": (240, (40, 32), "85f-8x8", {}, "sdram16", 13479, None),
    "W9": (64, (256, 256, 256, 16), "85f-8x8", {"ub_rows": 4096}, "sdram16", 151200, 146000),
    "W10": (128, (256, 256, 256, 16), "85f-8x8", {}, "sdram16", 299800, 283000),
}

WORKLOADS = (*_PRODUCTS, "W11", "W12", "W15", "W16", "W18")


def apply_network(layers: list[Layer], matrix: np.ndarray) -> np.ndarray:
    """Computes the network in plain numpy int64, without tiles or the golden model."""
    for layer in layers:
        total = matrix.astype(np.int64) @ layer.weights.astype(np.int64)
        matrix = (np.maximum(total, 0) if layer.relu else total).astype(np.int8)
    return matrix


def _place(name, params, program, vectors, tiles, results, **more):
    """Test case of a program with its inputs at host vector 0, followed by ``results`` vectors."""
    n = params["n"]
    step = 48 if n % 3 == 0 else 64
    data = program.data()
    host = align(len(data), step)
    limit = host + (len(vectors) + results) * n
    weights = align(limit, step)
    memory = np.zeros(align(weights + tiles.size, 64), np.uint8)
    memory[: len(data)] = np.frombuffer(data, np.uint8)
    memory[host : host + vectors.size] = vectors.view(np.uint8).ravel()
    memory[weights : weights + tiles.size] = tiles.view(np.uint8).ravel()
    registers = {
        "program_address": 0,
        "program_length": len(data),
        "hostmem_base": host,
        "hostmem_limit": limit,
        "weights_base": weights,
        "weights_limit": weights + tiles.size,
    }
    traffic = sum(
        {1: n * w.count, 6: n * w.count, 2: n * n}.get(w.opcode, 0) + 14 for w in program.words
    )
    return Case(
        name,
        params,
        program.words,
        registers,
        memory,
        program=data,
        ranges=[(host, limit - host)],
        traffic=traffic,
        t_a=array_time(program.words, n),
        **more,
    )


def _network(name, preset, overrides, layers, matrix, kind, **more):
    """Test case of a compiled network whose layers have no shifts."""
    params = SPACE.resolve(preset, overrides)
    n = params["n"]
    memory = {"kind": "block RAM", "beat_bytes": n} if kind == "ideal" else {}
    network = Network(layers, params, memory=memory)
    lowered = network.lower(len(matrix))
    results = pack_matrix(apply_network(layers, matrix), n)
    case = _place(
        name,
        params,
        Program(Word.unpack_all(lowered.program)),
        *network.operands(lowered, matrix),
        len(results),
        kind=kind,
        **more,
    )
    case.expected[case.registers["hostmem_limit"] - results.size] = results
    return case


def _product(name):
    rows, sizes, preset, overrides, kind, bound, aim = _PRODUCTS[name]
    rng = np.random.default_rng(int(name[1:]))
    # ReLU between the layers, the plain low byte at the end: every bit pattern occurs.
    layers = [
        Layer(rng.integers(-128, 128, shape).astype(np.int8), relu=k < len(sizes) - 2)
        for k, shape in enumerate(zip(sizes, sizes[1:], strict=False))
    ]
    matrix = rng.integers(-128, 128, (rows, sizes[0])).astype(np.int8)
    return _network(name, preset, overrides, layers, matrix, kind, bound=bound, aim=aim)


# W11, W12: the digits (the network without norm) and the two-layer network, by the rule of section
# 10.1


def _rule(case):
    case.bound = int(1.1 * max(case.t_a, case.traffic / 1.6) + 200)
    return case


def _digits(name):
    return _rule(_network(name, "85f-8x8", {}, digits.layers(), digits.inputs(), "sdram16"))


def _two_layers(name):
    rng = np.random.default_rng(12)
    layers = [
        Layer(rng.integers(-9, 10, (8, 8)).astype(np.int8), relu=True),
        Layer(rng.integers(-9, 10, (8, 1)).astype(np.int8)),
    ]
    matrix = rng.integers(1, 9, (100, 8)).astype(np.int8)
    return _rule(_network(name, "85f-8x8", {}, layers, matrix, "sdram16"))


# W15, W16: convolution 3x3, 8 -> 8 channels, 16x16 image, and a 2x2 max-pool of its 14x14 result

_SIDE, _OUT = 16, 14
_TAIL = (
    40  # cycles from the last row's activation until its write is acknowledged, for reading back
)


def _image():
    rng = np.random.default_rng(15)
    image = rng.integers(-128, 128, (_SIDE, _SIDE, 8)).astype(np.int8)
    kernel = rng.integers(-128, 128, (3, 3, 8, 8)).astype(np.int8)  # row, column, input, output
    sums = np.zeros((_OUT, _OUT, 8), np.int64)
    for r in range(3):
        for c in range(3):
            sums += image[r : r + _OUT, c : c + _OUT].astype(np.int64) @ kernel[r, c].astype(
                np.int64
            )
    return image, kernel, sums


def _convolution(name, pooled):
    params = SPACE.resolve("85f-8x8", {"ext_conv": True, "ext_pool": True})
    image, kernel, sums = _image()
    program = Program()
    program.rhm(0, 0, _SIDE * _SIDE)
    program.cfg("conv", _OUT | 1 << 8 | _SIDE << 16)
    for tap in range(9):
        program.mmc(
            tap // 3 * _SIDE + tap % 3, 0, _OUT * _OUT, tile=tap, overwrite=tap == 0, convolve=True
        )
    host, ub = _SIDE * _SIDE, 512
    if pooled:
        program.cfg("norm", 0x1_0109)  # shift 9 with rounding, to int8
        program.cfg("pool", 2 | 2 << 4 | 7 << 8 | 2 << 16)
        program.cfg("poolrow", _OUT | 2 * _OUT << 16)
        program.act(0, ub, 49, "none", pool=True)
        program.whm(ub, host, 49)
        best = sums.reshape(7, 2, 7, 2, 8).max(axis=(1, 3))
        expected = np.clip((best + 256) >> 9, -128, 127).astype(np.int8).reshape(49, 8)
        # The load of the image, nine passes, four cycles an output, the results.
        bound = _SIDE * _SIDE + 9 * (_OUT * _OUT + 1) + 60 + 4 * 49 + 60 + 49 + _TAIL
    else:
        parts = []
        for k in range(4):  # all 32 bits, a byte at a time
            program.cfg("norm", 8 * k)
            program.act(0, ub + k * 256, _OUT * _OUT)
            program.whm(ub + k * 256, host + k * _OUT * _OUT, _OUT * _OUT)
            parts.append((sums >> 8 * k).astype(np.int8).reshape(-1, 8))
        expected = np.concatenate(parts)
        bound = _SIDE * _SIDE + 9 * (_OUT * _OUT + 1) + 60 + 4 * (_OUT * _OUT + _TAIL)
    program.hlt()
    case = _place(
        name,
        params,
        program.scheduled(),
        image.reshape(-1, 8),
        kernel.reshape(9, 8, 8),
        len(expected),
        kind="ideal",
        bound=bound,
    )
    case.expected[case.registers["hostmem_base"] + image.size] = expected
    return case


# W18: the small job of section 7.4

SMALL_Y = "ffff1efb ff0000ff ff0000ff 0b0bfe04 0ff7fa08 96749c0a"


def _small(name):
    data = assemble_text(SOFTWARE, programs.job("small").with_suffix(".a").read_text()).data
    memory = np.zeros(0x4000, np.uint8)
    for at, part in (
        (0x1000, np.frombuffer(data, np.uint8)),
        (0x2000, programs.SMALL_X),
        (0x3000, programs.SMALL_W),
    ):
        memory[at : at + part.size] = part.view(np.uint8).ravel()
    registers = {
        "program_address": 0x1000,
        "program_length": len(data),
        "hostmem_base": 0x2000,
        "hostmem_limit": 0x2040,
        "weights_base": 0x3000,
        "weights_limit": 0x3020,
    }
    words = Word.unpack_all(data)
    return Case(
        name,
        SPACE.resolve("sim"),
        words,
        registers,
        memory,
        program=data,
        ranges=[(0x2000, 0x40)],
        expected={0x2010: np.frombuffer(bytes.fromhex(SMALL_Y), np.int8).reshape(6, 4)},
        t_a=array_time(words, 4),
        traffic=212 + 24,
        bound=200,
        kind="ideal",
    )


def workload(name: str) -> Case:
    """Builds the workload ``name`` of section 10.3, W1 to W12, W15, W16, W18.

    W13 and W14 are campaigns over ``random_case`` and ``pad`` of
    ``tests/gateware/cores/opentpu/bench/programs.py``; W17 is about bitstreams. W15 and W16 have
    the load of the image (256 vectors) and the reading back in their bound, since all of it is one
    program.
    """
    if name in _PRODUCTS:
        return _product(name)
    if name == "W11":
        return _digits(name)
    if name == "W12":
        return _two_layers(name)
    if name in ("W15", "W16"):
        return _convolution(name, name == "W16")
    if name == "W18":
        return _small(name)
    raise KeyError(f"no workload {name!r}; there are {', '.join(WORKLOADS)}")
