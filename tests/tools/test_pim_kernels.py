# SPDX-License-Identifier: BSD-2-Clause
"""PIM's kernel library: every layer against plain numpy on the golden model, both ways of sharing out, refusals."""
from pathlib import Path

import numpy as np
import pytest

from quintet.gateware.cores.pim.model import Model
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.tools import Job, open_target, run_job
from quintet.tools.asm import assemble_text
from quintet.tools.kernels.pim import (
    Conv,
    Dense,
    KernelError,
    Network,
    Pool,
    compile_columns,
    compile_network,
    run_network,
)

BIG = SPACE.resolve("85f")


def dense(rng, inputs, outputs, **more):
    return Dense(f"dense{outputs}", rng.integers(-128, 128, (inputs, outputs), dtype=np.int8),
                 rng.integers(-20000, 20000, outputs, dtype=np.int32), 7, **more)


def conv(rng, kh, kw, cin, cout, **more):
    return Conv(f"conv{cout}", rng.integers(-128, 128, (kh, kw, cin, cout), dtype=np.int8),
                rng.integers(-20000, 20000, cout, dtype=np.int32), 8, **more)


def run(compiled, values, params, at=0x10000):
    """Results of a program on the model."""
    memory = np.zeros(1 << 22, np.uint8)
    data = compiled.data
    memory[at:at + len(data)] = np.frombuffer(data, np.uint8)
    values = values.astype(np.int8)
    memory[compiled.inputs:compiled.inputs + values.size] = values.view(np.uint8).ravel()
    model = Model(params, memory)
    outcome = model.run({"program_address": at, "program_length": len(data)})
    assert outcome.status == "done", (outcome, model.report)
    count = int(np.prod(compiled.out_shape)) * compiled.bits // 8
    return memory[compiled.outputs:compiled.outputs + count].view(f"<i{compiled.bits // 8}").reshape(compiled.out_shape), outcome


def check(network, params, compiled, seed=1):
    rng = np.random.default_rng(seed)
    values = rng.integers(-128, 128, compiled.in_shape)
    got, outcome = run(compiled, values, params)
    assert np.array_equal(got, run_network(network, values).reshape(got.shape))
    text = compiled.text("g.json")
    assert text.count(".core") == len(compiled.parts)
    return outcome


GMEM = {"gmem": 0x200000}


@pytest.mark.parametrize("cores, chunk", [(1, 1), (4, 1), (2, 3)])
def test_mlp_by_images(cores, chunk):
    rng = np.random.default_rng(2)
    network = Network((200,), [dense(rng, 200, 70, relu=True), dense(rng, 70, 10, bits=16)])
    compiled = compile_network(network, BIG, images=12, cores=cores, chunk=chunk, **GMEM)
    outcome = check(network, BIG, compiled)
    assert outcome.counters["operations"] == 12 * network.macs == 12 * (200 * 70 + 70 * 10)


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
def test_mlp_by_columns(cores):
    rng = np.random.default_rng(3)
    network = Network((300,), [dense(rng, 300, 50, relu=True), dense(rng, 50, 33), dense(rng, 33, 3, bits=32)])
    check(network, BIG, compile_columns(network, BIG, images=2, cores=cores, **GMEM))


@pytest.mark.parametrize("relu", [False, True])
def test_more_rows_than_a_group_takes(relu):
    rng = np.random.default_rng(4)
    params = SPACE.resolve("85f", {"arrays": 32})
    network = Network((1100,), [dense(rng, 1100, 60, relu=relu, bits=16)])
    compiled = compile_network(network, params, images=1, cores=1, **GMEM)
    assert len(compiled.image.cores[0].groups) == 2
    check(network, params, compiled)


@pytest.mark.parametrize("shape, layers", [
    ((8, 8, 1), [(3, 3, 1, 16, 1)]), ((6, 5, 3), [(3, 2, 3, 4, 0)]), ((4, 4, 16), [(1, 1, 16, 32, 0)]),
    ((6, 6, 40), [(3, 3, 40, 20, 1)]), ((5, 9, 2), [(1, 3, 2, 8, 1), (3, 3, 8, 8, 1)]),
])
def test_convolutions(shape, layers):
    rng = np.random.default_rng(5)
    network = Network(shape, [conv(rng, kh, kw, a, b, padding=p, relu=True) for kh, kw, a, b, p in layers])
    check(network, BIG, compile_network(network, BIG, images=2, cores=2, **GMEM))


@pytest.mark.parametrize("chunk", [1, 2])
def test_cnn_with_pooling(chunk):
    rng = np.random.default_rng(6)
    network = Network((8, 8, 1), [conv(rng, 3, 3, 1, 16, padding=1, relu=True), Pool("pool1"),
                                  conv(rng, 3, 3, 16, 32, padding=1, relu=True), Pool("pool2"),
                                  dense(rng, 128, 64, relu=True), dense(rng, 64, 10, bits=16)])
    compiled = compile_network(network, BIG, images=4, cores=2, chunk=chunk, **GMEM)
    check(network, BIG, compiled)
    assert network.macs == 64 * 144 + 16 * 4608 + 8192 + 640


def test_text_gives_the_same_image(tmp_path):
    rng = np.random.default_rng(7)
    network = Network((20,), [dense(rng, 20, 10)])
    for mode in ("64", "packed"):
        compiled = compile_network(network, BIG, images=8, cores=2, mode=mode, **GMEM)
        (tmp_path / "g.json").write_text(compiled.groups())
        text = compiled.text("g.json").replace('"g.json"', f'"{tmp_path}/g.json"')
        assert assemble_text(SOFTWARE, text).data == compiled.data


def refuse(message, function, *args, **more):
    with pytest.raises(KernelError) as info:
        function(*args, **more)
    assert str(info.value) == message


def test_refusals():
    rng = np.random.default_rng(8)
    one = dense(rng, 4, 3)
    refuse("a network needs a layer", Network, (4,), [])
    refuse("dense3: weights are (4, 3), expected (5, outputs)", Network, (5,), [one])
    refuse("conv8: a convolution needs rows, columns and channels, not (4,)", Network, (4,), [conv(rng, 3, 3, 1, 8)])
    refuse("conv8: weights are (3, 3, 1, 8), expected (rows, columns, 2, outputs)", Network, (4, 4, 2), [conv(rng, 3, 3, 1, 8)])
    refuse("conv8: a window of 3 x 3 does not fit 2 x 4", Network, (2, 4, 1), [conv(rng, 3, 3, 1, 8)])
    refuse("p: pooling needs an even number of rows and columns, not (3, 4, 1)", Network, (3, 4, 1), [Pool("p")])
    refuse("dense3: weights are float64, expected int8", Network, (4,), [Dense("dense3", np.zeros((4, 3)))])
    refuse("d: bias is int64 (3,), expected int32 (3,)", Network, (4,),
           [Dense("d", one.weights, np.zeros(3, np.int64))])
    refuse("d: shift is 48, expected 0 to 47", Network, (4,), [Dense("d", one.weights, None, 48)])
    refuse("dense3: results of 16 bits, expected 8 in front of another layer", Network, (4,),
           [dense(rng, 4, 3, bits=16), dense(rng, 3, 3)])
    refuse("dense3: results of 12 bits, expected 8, 16 or 32", Network, (4,), [dense(rng, 4, 3, bits=12)])
    network = Network((4,), [one])
    refuse("5 cores, expected 1 to 4 (cores)", compile_network, network, BIG, cores=5)
    refuse("3 images do not share out among 2 cores in chunks of 1", compile_network, network, BIG, cores=2, images=3)
    refuse("mode '16', expected 64, 32, packed", compile_network, network, BIG, images=4, mode="16")
    refuse("network must be a Network, not list", compile_network, [], BIG)
    refuse("results of 32 bits, this build has 16 (max_biw)", compile_network, Network((4,), [dense(rng, 4, 3, bits=32)]),
           SPACE.resolve("up5k"))
    refuse("pool: only dense layers are cut by columns", compile_columns, Network((2, 2, 1), [Pool("pool")]), BIG)
    refuse("dense300: a group of 192 x 300 does not fit what is left of the core (1 arrays of 64 x 64, 212 biases)",
           compile_network, Network((2000,), [dense(rng, 2000, 300)]), BIG, images=4)
    refuse("dense1100: 1100 outputs take 18 arrays side by side, expected at most 16", compile_network,
           Network((4,), [dense(rng, 4, 1100)]), BIG, images=4)
    refuse("the results: 1010 bytes of local memory are needed, there are 1008 (lmem_bytes)", compile_network,
           Network((1000,), [dense(rng, 1000, 10)]), {**BIG, "lmem_bytes": 1008}, images=4)
    refuse("the input: 2000 bytes of local memory are needed, there are 1024 (lmem_bytes)", compile_network,
           Network((20, 20, 5), [conv(rng, 3, 3, 5, 4)]), {**BIG, "lmem_bytes": 1024}, images=4)
    refuse("conv64: its weights do not fit what is left of the core (2 arrays, 64 biases)", compile_network,
           Network((8, 8, 64), [conv(rng, 3, 3, 64, 64)]), SPACE.resolve("sim", {"lmem_bytes": 16384}), images=2)
    refuse("p: pooling needs a convolution in front of it", compile_network,
           Network((4, 4, 1), [conv(rng, 1, 1, 1, 4), Pool("q"), Pool("p")]), BIG, images=4)
    refuse("a network that ends with a map takes chunks of one image", compile_network,
           Network((4, 4, 1), [conv(rng, 1, 1, 1, 4)]), BIG, images=8, chunk=2)


def test_example_of_the_document(tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[2] / "docs" / "pim-software.md").read_text(encoding="utf-8")
    names = {}
    monkeypatch.chdir(tmp_path)
    exec(text.split("```python")[1].split("```")[0], names)
    with open_target("model:pim") as target:
        result = run_job(Job.load(tmp_path / "out" / "mine.toml"), target)
    assert result.outcome.status == "done" and np.array_equal(result.tensors["mine_y.npy"], names["expected"])
