# SPDX-License-Identifier: BSD-2-Clause
"""Diagonal tiles of OpenTPU's programs: with ext_diag, memory holds their diagonals alone."""

import numpy as np
import pytest

from quintet.tools.compiler.backends.opentpu.codegen.program import RW, Program, Word
from quintet.tools.compiler.backends.opentpu.cost import main_memory, word_times
from quintet.tools.compiler.backends.opentpu.layout import are_diagonal
from quintet.tools.compiler.backends.opentpu.memory_map import align
from quintet.tools.compiler.graph import Binary, MatMul
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.opentpu_networks import (
    backend_of,
    fused,
    quantised_of,
    run_model,
    whole_inputs,
)

#: Bytes of an instruction word.
WORD = 14
DIAGONAL = {"ext_diag": True}


def depthwise(channels=8):
    """A depthwise and a pointwise convolution without biases: nine diagonal tiles for each block
    of channels, and full ones."""
    b = Builder("net", (5, 6, channels))
    b.conv(channels, (3, 3), groups=channels, bias=False)
    b.conv(channels, (1, 1), bias=False)
    return fused(b.finish())


def addition():
    """Factors of an addition are diagonals, and so are those of an average."""
    b = Builder("net", (4, 4, 8))
    first = b.here
    b.conv(8, (1, 1))
    b.add(Binary, first, b.here, function="add")
    return fused(b.finish())


def product():
    """A tensor as tiles, whose numbers count from the begin of host memory, beside constant
    tiles that turn it: a single one in each, some on the diagonal."""
    b = Builder("net", (6, 8))
    b.add(MatMul, b.here, b.input((8, 8)), turned=True)
    return fused(b.finish())


NETWORKS = {"depthwise": depthwise, "addition": addition, "product": product}


def lowered_of(graph, backend):
    quantised = quantised_of(graph, backend)
    return quantised, backend.lower(quantised)


def reads_of(lowered, diagonal):
    """Tile reads of a program: those of diagonals, or the others."""
    reads = [word for word in Word.unpack_all(lowered.program) if word.opcode == RW]
    return [word for word in reads if bool(word.flags) == diagonal]


@pytest.mark.parametrize("n", [4, 12])
@pytest.mark.parametrize("name", NETWORKS)
def test_results_and_bytes_of_builds_with_and_without(name, n):
    """The same results, and n bytes for each diagonal tile in place of n * n."""
    found = {}
    for built in (False, True):
        backend = backend_of("sim-ext", n=n, ub_rows=1024, ext_diag=built)
        quantised, lowered = lowered_of(NETWORKS[name](), backend)
        inputs = whole_inputs(quantised.graph)
        tensors, outcome = run_model(lowered, backend, inputs)
        assert outcome.fault is None
        wanted = backend.reference(quantised, inputs)
        for port in quantised.graph.outputs:
            assert np.array_equal(tensors[port.tensor], wanted[port.tensor]), port.tensor
        found[built] = lowered, outcome.counters["bytes_read"]
        assert sum(layer.bytes for layer in lowered.layers) == (
            outcome.counters["bytes_read"] + outcome.counters["bytes_written"]
        )
    short = reads_of(found[True][0], True)
    assert short and not reads_of(found[False][0], True)
    assert found[False][1] - found[True][1] == len(short) * (n * n - n)


def test_a_depthwise_convolution_reads_diagonals():
    """Nine taps of two blocks of four channels; the pointwise convolution has full tiles."""
    _, lowered = lowered_of(depthwise(), backend_of("sim-ext", **DIAGONAL))
    assert len(reads_of(lowered, True)) == 18 and len(reads_of(lowered, False)) == 4


def test_full_tiles_begin_at_a_multiple_of_their_bytes():
    """Rows of diagonals that fill no whole tile are padded: no bytes of two tiles overlap."""
    n = 4
    _, lowered = lowered_of(depthwise(12), backend_of("sim-ext", **DIAGONAL))
    spans = {(n * word.addr, n * word.addr + n) for word in reads_of(lowered, True)}
    assert len(spans) % n  # the padded case
    spans |= {(n * n * word.addr, n * n * (word.addr + 1)) for word in reads_of(lowered, False)}
    ordered = sorted(spans)
    assert all(end <= begin for (_, end), (begin, _) in zip(ordered, ordered[1:], strict=False))
    size = lowered.registers["weights_limit"] - lowered.registers["weights_base"]
    assert ordered[-1][1] == size


def test_diagonals_lie_in_front_of_full_tiles_on_chip():
    """A memory map with too little on chip for program and tiles."""
    border = 1280
    backend = backend_of("sim-ext", **DIAGONAL)
    backend.main_memory = {
        "kind": "SDRAM",
        "beat_bytes": 2,
        "size": 1 << 24,
        "on_chip": {"size": border, "beat_bytes": 4},
    }
    b = Builder("net", (4, 4, 16))
    b.conv(16, (3, 3), groups=16, bias=False)
    b.conv(32, (1, 1), bias=False)
    quantised, lowered = lowered_of(fused(b.finish()), backend)
    base, n = lowered.registers["weights_base"], 4
    diagonals = [base + n * word.addr for word in reads_of(lowered, True)]
    full = [base + n * n * word.addr for word in reads_of(lowered, False)]
    assert len(diagonals) >= 35 and max(diagonals) < min(full, default=0) < border
    inputs = whole_inputs(quantised.graph)
    tensors, outcome = run_model(lowered, backend, inputs)
    wanted = backend.reference(quantised, inputs)
    assert outcome.fault is None
    assert all(np.array_equal(tensors[p.tensor], wanted[p.tensor]) for p in quantised.graph.outputs)


def test_the_memory_of_a_network_counts_diagonals_as_rows():
    """A board that holds the network only with ext_diag."""
    sizes = {}
    for built in (False, True):
        _, lowered = lowered_of(depthwise(64), backend_of("sim-ext", ext_diag=built))
        sizes[built] = lowered.memory
    assert sizes[False] - sizes[True] == align(9 * 16 * 16) - align(9 * 16 * 4)
    small = backend_of("sim-ext", memory_size=sizes[True], **DIAGONAL)
    assert lowered_of(depthwise(64), small)[1].memory == sizes[True]


def test_tiles_that_a_build_stores_as_diagonals():
    tiles = np.zeros((3, 4, 4), np.int8)
    tiles[0] = np.diag([1, -2, 0, 127])
    tiles[1, 2, 3] = 1
    assert are_diagonal(tiles, {"n": 4, "ext_diag": True}).tolist() == [True, False, True]
    assert not are_diagonal(tiles, {"n": 4, "ext_diag": False}).any()


def test_a_diagonal_tile_takes_the_time_of_its_rows():
    """Main memory gives two bytes a cycle: 128 cycles for a full tile of 16 x 16, eight for a
    diagonal. Its rows then take one cycle each, and the switch two more."""
    params = backend_of("85f-16x16-fast", **DIAGONAL).params
    times = {}
    for diagonal in (False, True):
        program = Program()
        program.rhm(0, 0, 8)
        for tile in range(40):
            program.rw(tile, diagonal=diagonal)
            program.mmc(0, 0, 8, switch=True, overwrite=True)
        program.hlt()
        words = program.scheduled().words
        times[diagonal] = word_times(
            words, params, main_memory({"kind": "SDRAM", "beat_bytes": 2})
        )[1]
    assert times[False] > 40 * 128
    assert 40 * 18 < times[True] < times[False] / 2
