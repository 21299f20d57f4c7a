# SPDX-License-Identifier: BSD-2-Clause
"""Kernel library of OpenTPU: maps in vectors, biases, places, parts, order of loads, cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.chunks import chunks, slot_rows
from quintet.tools.compiler.backends.opentpu.codegen.program import Program, array_time
from quintet.tools.compiler.backends.opentpu.cost import SDRAM16, Memory, main_memory, word_times
from quintet.tools.compiler.backends.opentpu.form import (
    KernelStep,
    PoolStep,
    Step,
    bias_tiles,
    conv_matrices,
    copy_terms,
    cut,
    gather,
    packed_biases,
    packed_rows,
    packed_sizes,
    packed_vector,
    scale_tile,
    spread_of,
    window_terms,
)
from quintet.tools.compiler.backends.opentpu.layout import Planes
from quintet.tools.compiler.backends.opentpu.lower import compile_steps, constant_vectors
from quintet.tools.compiler.backends.opentpu.portions import Read, divide
from quintet.tools.compiler.backends.opentpu.schedule import Item, allocate
from quintet.tools.compiler.common.inputs import KernelError

SIM = SPACE.resolve("sim-ext")


@settings(deadline=None, max_examples=80)
@given(
    n=st.sampled_from([2, 4, 8]),
    channels=st.integers(1, 30),
    first=st.integers(0, 20),
    behind=st.integers(0, 9),
    factor=st.sampled_from([1, -1, 5, -128]),
)
def test_copies_are_those_of_the_whole_matrix(n, channels, first, behind, factor):
    total, at = first + channels + behind, np.arange(channels)
    matrix = np.zeros((-(-channels // n) * n, total), np.int8)
    matrix[at, first + at] = factor
    found, want = (
        [[(t.source, t.block, t.line, t.place, t.tile.tolist()) for t in each] for each in terms]
        for terms in (
            copy_terms(channels, first, total, n, source=2, factor=factor, line=1, place=-1),
            cut({(1, -1): matrix}, total, n, source=2),
        )
    )
    assert found == want


def test_copies_of_long_vectors_take_little_memory():
    terms = copy_terms(1 << 20, 0, 1 << 20, 2)
    assert len(terms) == 1 << 19 and len({id(each[0].tile) for each in terms}) == 1


@settings(deadline=None, max_examples=80)
@given(
    lines=st.integers(1, 6),
    length=st.integers(1, 6),
    channels=st.integers(1, 11),
    phases=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    data=st.data(),
)
def test_planes_put_every_element_where_window_and_phase_say(lines, length, channels, phases, data):
    shift = tuple(data.draw(st.integers(0, 1)) if p == 2 else 0 for p in phases)
    planes = Planes(lines, length, channels, 4, gap=2, lead=1, phases=phases, shift=shift)
    strides, seen = planes.strides(), set()

    def moved(kind, index):
        vectors = elements = 0
        for size, v, e in reversed(strides[kind]):
            index, digit = divmod(index, size)
            vectors, elements = vectors + digit * v, elements + digit * e
        return vectors, elements

    for line in range(lines):
        for place in range(length):
            for channel in range(channels):
                parts = [
                    strides["begin"],
                    moved("line", line),
                    moved("place", place),
                    moved("channel", channel),
                ]
                vector, element = map(sum, zip(*parts, strict=True))
                (row, down), (column, across) = (
                    divmod(line + shift[0], phases[0]),
                    divmod(place + shift[1], phases[1]),
                )
                block, lane = divmod(planes.lane(down, across, channel), 4)
                assert (vector, element) == (planes.vector(block, row, column), lane)
                seen.add((vector, element))
    assert len(seen) == lines * length * channels and all(
        0 <= v < planes.size and 0 <= e < 4 for v, e in seen
    )


@given(
    st.lists(st.integers(-(1 << 23), 1 << 23), min_size=1, max_size=9), st.sampled_from([2, 4, 8])
)
def test_bias_tiles_add_up(values, n):
    bias = np.pad(np.array(values, np.int64), (0, -len(values) % n))
    vector = constant_vectors(1, n)[0].astype(np.int64)
    for block, tiles in zip(bias.reshape(-1, n), bias_tiles(bias, n), strict=True):
        assert np.array_equal(sum(vector @ tile.astype(np.int64) for tile in tiles), block)
    assert all(len(tiles) == 1 for tiles in bias_tiles(np.full(n, 127 * 127 * (n - 1)), n))


@pytest.mark.parametrize("n", [4, 10, 16])
def test_packed_biases_share_tiles(n):
    """Each slot's constant vector takes its block's bias out of the tile; a bias that is too large
    has a tile of its own, and the others leave no tile but the last one of a size unfilled."""
    rng, sizes = np.random.default_rng(n), packed_sizes(n)
    limits = {rows: 127 * 127 * (rows - 1) + 63 for rows in sizes}
    bias = np.concatenate(
        [rng.integers(-most, most + 1, (2 * (n // rows) + 3, n)) for rows, most in limits.items()]
    )
    bias[0], bias[1] = limits[2], -limits[2]
    bias[2, 0] = limits[sizes[-1]] + 1
    found = packed_biases(bias.ravel(), n, sizes)
    assert found[2] is None and packed_rows(bias, n)[:3] == [2, 2, None]
    vectors = constant_vectors(3, n, packed=dict.fromkeys(sizes, 2)).astype(np.int64)
    assert vectors.shape == (3 + 2 * sum(n // rows for rows in sizes), n)
    for one, block in zip(found, bias, strict=True):
        if one is None:
            continue
        behind = sum(2 * (n // rows) for rows in sizes if rows < one.rows)
        for vector in vectors[3 + behind + 2 * one.slot :][:2]:
            assert np.array_equal(vector @ one.tile.astype(np.int64), block)
    taken = sum(one.rows for one in found if one is not None)
    most_left = sum(rows - 1 for rows in sizes) + n % sizes[-1]
    tiles = len({one.tile.tobytes() for one in found if one is not None})
    assert tiles * (n - n % sizes[-1]) <= taken + n + most_left
    # Of sizes that have no constant vectors none is packed.
    assert all(one is None or one.rows == 2 for one in packed_biases(bias, n, [2]))


@pytest.mark.parametrize(
    "rows, tiles", [((12, 4), 1), ((6, 6, 4), 1), ((8, 6), 2), ((2, 12, 2, 6), 2)]
)
def test_packed_biases_fill_their_tiles(rows, tiles):
    bias = np.zeros((len(rows), 16), np.int64)
    bias[:, 0] = [127 * 127 * (count - 1) for count in rows]
    found = packed_biases(bias.ravel(), 16, packed_sizes(16))
    assert [one.rows for one in found] == list(rows)
    assert len({one.tile.tobytes() for one in found}) == tiles
    for one, block in zip(found, bias, strict=True):
        vector = packed_vector(16, one.rows, one.slot).astype(np.int64)
        assert np.array_equal(vector @ one.tile.astype(np.int64), block)


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12
    ),
    st.integers(30, 120),
)
def test_places_do_not_overlap(drawn, end):
    items = [Item(k, size, first, first + more) for k, (size, first, more) in enumerate(drawn)]
    places = allocate(items, 3, end)
    if isinstance(places, Item):
        assert places in items
        return
    for a in items:
        assert 3 <= places[a.name] and places[a.name] + a.size <= end
        for b in items:
            if a is not b and a.first <= b.last and b.first <= a.last:
                assert (
                    places[a.name] + a.size <= places[b.name]
                    or places[b.name] + b.size <= places[a.name]
                )


def test_places_from_both_ends_where_the_largest_first_leaves_gaps():
    chain = [Item("input", 47, 0, 0), Item("a", 23, 0, 1), Item("b", 23, 1, 2), Item("c", 47, 2, 3)]
    assert isinstance(allocate(chain, 0, 71), dict)
    assert allocate(chain, 0, 69).name in ("input", "a", "b", "c")


def _conv_step(planes, shape=(3, 3), out=4, before=(1, 1), **more):
    weights = (
        np.arange(1, out * shape[0] * shape[1] * planes.channels + 1).reshape(
            out, *shape, planes.channels
        )
        % 100
    )
    matrices, stride = conv_matrices(weights, planes, before=before)
    return Step(
        name="conv",
        target="y",
        sources=["x"],
        terms=cut(matrices, out, planes.n),
        shifts=[7] * -(-out // planes.n),
        stride=stride,
        **more,
    )


def test_parts_fit_their_accumulators_and_long_lines_are_cut():
    planes = {"x": Planes(9, 30, 4, 4), "y": Planes(9, 30, 4, 4, gap=1, lead=1)}
    parts = chunks(_conv_step(planes["x"]), planes, SIM)
    assert [(c.first, c.end) for c in parts] == [(0, 3), (3, 6), (6, 9)] and all(
        c.rows < slot_rows(SIM) for c in parts
    )
    planes = {"x": Planes(2, 300, 4, 4), "y": Planes(2, 300, 4, 4)}
    parts = chunks(_conv_step(planes["x"]), planes, SIM)
    assert [(c.first, c.begin, c.stop) for c in parts] == [
        (k, a, min(a + 128, 300)) for k in range(2) for a in (0, 128, 256)
    ]


def test_few_channels_are_gathered_where_that_is_shorter():
    planes, target = Planes(12, 12, 1, 4), Planes(12, 12, 8, 4)
    matrices, stride = conv_matrices(np.ones((8, 3, 3, 1)), planes, before=(1, 1))
    result = gather(matrices, planes, target, stride)
    assert len(result.matrices) == 3 and len(result.terms[0]) == 4 and result.planes.channels == 4
    assert (
        gather(matrices, Planes(12, 12, 3, 4), target, stride) is None
    )  # a vector holds one position
    one, _ = conv_matrices(np.ones((4, 1, 1, 1)), planes, before=(0, 0))
    assert gather(one, planes, Planes(12, 12, 4, 4), stride) is None  # nothing to save


def test_a_mean_over_all_positions_goes_over_all_blocks_at_once():
    planes = {"x": Planes(3, 3, 16, 4), "y": Planes(1, 1, 16, 4)}
    step = Step(
        name="mean",
        target="y",
        sources=["x"],
        terms=window_terms(16, (3, 3), (0, 0), 4, 57),
        shifts=[9] * 4,
    )
    assert len(spread_of(step, planes["x"])) == 9
    compiled = compile_steps([step], planes, inputs=["x"], stored={"y"}, params=SIM)
    products = [word for word in compiled.program.words if word.mnemonic == "MMC"]
    assert len(products) == 9 and all(word.flags & 2 and word.count == 4 for word in products)
    plain = compile_steps([step], planes, inputs=["x"], stored={"y"}, params=SPACE.resolve("sim"))
    assert sum(word.mnemonic == "MMC" for word in plain.program.words) == 36


def test_phases_are_those_of_the_stride():
    with pytest.raises(ValueError, match=r"phases \(2, 2\) are not the stride \(1, 1\)"):
        conv_matrices(np.ones((4, 1, 1, 4)), Planes(4, 4, 4, 4, phases=(2, 2)), before=(0, 0))


def test_depthwise_products_meet_only_their_own_channels():
    planes = Planes(5, 5, 12, 4)
    matrices, _ = conv_matrices(np.ones((12, 3, 3, 1)), planes, before=(1, 1), groups=12)
    terms = cut(matrices, 12, 4)
    assert [len(each) for each in terms] == [9, 9, 9] and all(
        t.block == block for block, each in enumerate(terms) for t in each
    )


def test_windows_that_no_buffer_holds_are_refused():
    step = PoolStep(
        name="pool", target="y", sources=["x"], window=(9, 8), stride=(1, 1), before=(0, 0)
    )
    planes = {"x": Planes(9, 90, 4, 4), "y": Planes(1, 83, 4, 4)}
    message = (
        r"pool: a window of 9 x 8 takes more than the 64 accumulator rows of this build, or "
        r"its elements more than the \d+ rows of the unified buffer"
    )
    params = SPACE.resolve("sim-ext", {"acc_rows": 64})
    with pytest.raises(KernelError, match=message):
        compile_steps([step], planes, inputs=["x"], stored={"y"}, params=params)


@pytest.mark.parametrize(
    ("buffer", "accumulators", "rows"),
    [
        (256, 256, 32),  # whole tiles
        (64, 256, 16),  # of 63 rows of the buffer two results and a portion
        (256, 32 * 2, 32),  # a slot of the accumulators holds a tile
    ],
)
def test_turned_tiles_are_made_in_rows_that_the_buffers_hold(buffer, accumulators, rows):
    step = KernelStep(name="product", target="y", sources=["x"], rows=32, turned=True)
    planes = {"x": Planes(1, 70, 32, 32), "y": Planes(1, 1, 32 * 96, 32)}
    params = SPACE.resolve("sim-ext", {"n": 32, "ub_rows": buffer, "acc_rows": accumulators})
    compiled = compile_steps([step], planes, inputs=["x"], stored={"y"}, params=params)
    assert {word.count for word in compiled.program.words if word.mnemonic == "WHM"} == {rows}


def test_reads_of_a_portion_share_its_vectors():
    reads = [Read(0, 0, 10, (0, 0)), Read(0, 5, 12, (0, 1)), Read(0, 14, 16, (0, 2))]
    (portion,) = divide(reads, 16)
    assert portion.runs == [(0, 0, 16)] and [row for _, row in portion.reads] == [0, 5, 14]
    reads += [Read(0, 40, 44, (0, 3)), Read(1, 40, 42, (0, 4))]
    first, second = divide(reads, 20)
    assert first.runs == [(0, 0, 16), (0, 40, 44)] and first.reads[-1] == (reads[3], 16)
    assert second.runs == [(1, 40, 42)] and second.reads == [(reads[4], 0)]


def test_what_does_not_fit_goes_through_main_memory():
    planes = {"x": Planes(20, 20, 4, 4), "y": Planes(20, 20, 4, 4)}
    compiled = compile_steps(
        [_conv_step(planes["x"])], planes, inputs=["x"], stored={"y"}, params=SIM
    )
    assert not compiled.resident
    loads = [word for word in compiled.program.words if word.mnemonic == "RHM"]
    assert all(word.count <= 32 for word in loads[1:])


def test_cycles_are_bounded_by_array_and_memory():
    program = Program()
    program.rhm(0, 0, 200)
    for tile in range(20):
        program.mmc(0, 0, 200, tile=tile, overwrite=tile == 0)
    program.hlt()
    words = program.scheduled(2).words
    times, total = word_times(
        words, SPACE.resolve("85f-8x8"), Memory(bandwidth=8.0, latency=8, overhead=0)
    )
    assert (
        times == sorted(times)
        and array_time(words, 8) <= total <= 1.05 * array_time(words, 8) + 300
    )
    _, slow = word_times(
        words, SPACE.resolve("85f-8x8"), Memory(bandwidth=0.25, latency=8, overhead=0)
    )
    assert slow >= (200 * 8 + 20 * 64 + 14 * len(words)) / 0.25


def test_tiles_that_are_alike_are_kept_once():
    planes = {"x": Planes(1, 5, 8, 4), "y": Planes(1, 5, 8, 4)}
    step = Step(name="copy", target="y", sources=["x"], terms=copy_terms(8, 0, 8, 4), shifts=[0, 0])
    compiled = compile_steps([step], planes, inputs=["x"], stored={"y"}, params=SIM)
    assert (
        np.array_equal(compiled.tiles, [scale_tile(4)])
        and sum(word.mnemonic == "RW" for word in compiled.program.words) == 1
    )


def test_memory_of_an_estimate_is_that_of_the_build():
    assert main_memory({}) == main_memory({"kind": "SDRAM", "beat_bytes": 2}) == SDRAM16
    assert main_memory({"kind": "SDRAM", "beat_bytes": 4}).bandwidth == 4
    assert main_memory({"kind": "block RAM", "beat_bytes": 8}).bandwidth == 8
    assert main_memory({"kind": "SPRAM", "beat_bytes": 4}).bandwidth == 4
    assert main_memory({"kind": "SRAM", "beat_bytes": 4}).bandwidth < 2
    both = main_memory(
        {"kind": "SDRAM", "beat_bytes": 2, "on_chip": {"size": 4096, "beat_bytes": 16}}
    )
    assert [both.at(address).bandwidth for address in (0, 4095, 4096, 1 << 20)] == [16, 16, 2, 2]


def test_each_operand_takes_the_time_of_its_own_memory():
    program = Program()
    program.rhm(0, 0, 200)
    for tile in range(40):
        program.mmc(0, 0, 1, tile=tile, overwrite=tile == 0)
    program.hlt()
    words, params = program.scheduled(2).words, SPACE.resolve("85f-16x16")
    memory = main_memory(
        {"kind": "SDRAM", "beat_bytes": 2, "on_chip": {"size": 1 << 16, "beat_bytes": 16}}
    )
    ends = [
        word_times(words, params, memory, host, weights)[1]
        for host, weights in ((4096, 8192), (1 << 20, 8192), (4096, 1 << 20), (1 << 20, 1 << 20))
    ]
    # 200 vectors are 3,200 bytes, and 40 tiles 10,240; two bytes a cycle of SDRAM.
    assert ends[0] < 1500 and ends[1] > 1600 and ends[2] > 5120 and ends[3] > 6720
