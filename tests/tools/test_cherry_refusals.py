# SPDX-License-Identifier: BSD-2-Clause
"""Refusals of Cherry's kernels and jobs: one clear error each, and nothing written."""

import numpy as np
import pytest

from quintet.gateware.cores.cherry.params import SPACE
from quintet.tools.jobs.reading import read_job
from quintet.tools.kernels.cherry import KernelError, Module, write_job
from quintet.tools.kernels.cherry.jobs import to_bf16
from quintet.tools.kernels.cherry.module import Matrix
from tests.tools.cherry_modules import module, run

NAN, INF = np.nan, np.inf


def put(m, *shape):
    """Another input."""
    return m.input(f"i{len(m.inputs)}", *shape)


def product(m, **more):
    x = put(m, 4, 4)
    return m.matmul(x, x, **more)


def plain():
    """A build without special functions."""
    return Module({**SPACE.resolve("sim"), "sfu_lanes": 0})


@pytest.mark.parametrize(
    "build, message",
    [
        # Sizes, values, names
        (lambda m: m.matrix(2.5, 4), "rows is 2.5, expected an integer of at least 0"),
        (lambda m: m.matrix(4, True), "cols is True, expected an integer of at least 0"),
        (lambda m: m.stored("4", 4), "rows is '4', expected an integer of at least 0"),
        (lambda m: m.stored(4, -1), "cols is -1, expected an integer of at least 0"),
        (lambda m: m.input("x", 0, 4), "a matrix of 0x4 has no elements"),
        (
            lambda m: m.constant("one"),
            "a constant must be a number or its text, such as 0.5 or '-inf', not 'one'",
        ),
        (lambda m: m.constant(None), "a constant must be a number"),
        (lambda m: m.constant(1j), "a constant must be a number"),
        (lambda m: m.constant("1e400"), "a constant is 1e400, which is beyond the largest number"),
        (lambda m: m.matrix(4, 4, fill="0x1FE00"), "fill must be a number or its text"),
        (
            lambda m: m.input("x/y", 4, 4),
            "input 'x/y': the name must be of letters, digits and _ . [+] - alone",
        ),
        (lambda m: m.stored_input("", 4, 4), "input '': the name must be"),
        (lambda m: m.output(3, put(m, 4, 4)), "output 3: the name must be"),
        (
            lambda m: [m.input("x", 4, 4), m.stored_input("x", 4, 4)],
            "input x: there is one of this name",
        ),
        (
            lambda m: [m.output("y", put(m, 4, 4)) for _ in range(2)],
            "output y: there is one of this name",
        ),
        (
            lambda m: m.output("y", m.stored_input("x", 4, 4), "bf16"),
            "output y lies in main memory in fp32, not bf16",
        ),
        (
            lambda m: m.output("y", m.matrix(4, 3, 0.5), "bf16"),
            "rows of 3 elements in bf16 are no whole words",
        ),
        (
            lambda m: Module(SPACE.resolve("sim"), base=0xFFFF_FFC0).stored(4, 8),
            "arrays reach to 0x100000040, beyond the 4 GiB",
        ),
        (lambda m: Module(SPACE.resolve("sim"), base=6), "base must be a multiple of 4, not 0x6"),
        (
            lambda m: Module(SPACE.resolve("sim"), base="0"),
            "base is '0', expected an integer of at least 0",
        ),
        (
            lambda m: Module({"log_mem": 12}),
            "params must be those of a build of Cherry; contexts, macs, banks, sfu_lanes, "
            "imem, acc_frac is not there",
        ),
        (lambda m: Module("sim"), "params must be those of a build of Cherry"),
        # Operands
        (
            lambda m: m.unary("exp", np.ones((4, 4))),
            "operation exp takes matrices of a module, not ndarray",
        ),
        (
            lambda m: m.binary("add", put(m, 4, 4), 1.0),
            "operation add takes matrices of a module, not float",
        ),
        (
            lambda m: m.maximum(put(m, 4, 4), None),
            "maximum takes matrices of a module, not NoneType",
        ),
        (lambda m: m.copy(1), "copy takes matrices"),
        (lambda m: m.matmul(put(m, 4, 4), [1]), "a product takes matrices of a module, not list"),
        (
            lambda m: product(m, out=3),
            "the result of a product takes matrices of a module, not int",
        ),
        (
            lambda m: m.copy(put(m, 4, 4), 3),
            "the result of a chain takes matrices of a module, not int",
        ),
        (lambda m: m.output("y", 3), "output y takes matrices of a module, not int"),
        (lambda m: m.copy(put(module(), 4, 4)), "copy: a matrix of 4x4 belongs to another module"),
        (
            lambda m: m.output("y", module().stored_input("x", 4, 4)),
            "output y: a matrix of 4x4 belongs to another module",
        ),
        (
            lambda m: m.reduce("sum", m.stored_input("x", 4, 4), 0),
            "a reduction works in the scratchpad, a matrix of 4x4 lies in main memory",
        ),
        (lambda m: m.softmax(m.stored_input("x", 4, 4)), "softmax works in the scratchpad"),
        (
            lambda m: m.layer_norm(put(m, 4, 4), put(m, 1, 4), m.stored_input("x", 1, 4)),
            "layer_norm works in the scratchpad",
        ),
        (
            lambda m: m.conv3x3(m.stored_input("x", 4, 36), put(m, 36, 4), 4, 4, 4, 4),
            "a convolution works in the scratchpad",
        ),
        (
            lambda m: m.layer_norm(put(m, 4, 6), put(m, 4, 6), put(m, 1, 6)),
            "gamma of a matrix of 4x6 must be 1x6, not 4x6",
        ),
        (
            lambda m: m.layer_norm(put(m, 4, 6), put(m, 1, 6), put(m, 1, 4)),
            "beta of a matrix of 4x6 must be 1x6, not 1x4",
        ),
        (
            lambda m: m.layer_norm(put(m, 4, 6), put(m, 1, 6), put(m, 1, 6), -1),
            "epsilon must be a finite number from 0, not -1",
        ),
        (
            lambda m: m.conv3x3(put(m, 4, 36), put(m, 36, 4), 4, 0, 4, 4),
            "height is 0, expected an integer of at least 1",
        ),
        (
            lambda m: m.conv3x3(put(m, 4, 36), put(m, 36, 4), 4.0, 4, 4, 4),
            "channels is 4.0, expected an integer of at least 1",
        ),
        # What is not there yet
        (
            lambda m: m.copy(m.matrix(4, 4)),
            "a matrix of 4x4 is read before anything is written to it",
        ),
        (
            lambda m: m.matmul(put(m, 4, 4), m.matrix(4, 5)),
            "a matrix of 4x5 is read before anything",
        ),
        (lambda m: m.reduce("sum", m.matrix(5, 5), 1), "a matrix of 5x5 is read before anything"),
        (
            lambda m: product(m, out=m.matrix(4, 4), accumulate=True),
            "a matrix of 4x4 is read before anything",
        ),
        (
            lambda m: product(m, accumulate=True),
            "accumulate adds to a result that is there: give it as out",
        ),
        (lambda m: m.copy(m.stored(4, 4)), "a matrix of 4x4 is read before anything"),
        (
            lambda m: m.matmul(m.stored_input("x", 4, 5), m.stored(5, 4)),
            "a matrix of 5x4 is read before anything",
        ),
        (lambda m: m.output("y", m.stored(4, 4)), "a matrix of 4x4 is read before anything"),
        # Results
        (
            lambda m: m.binary("add", m.constant(1), m.constant(2), m.constant(3)),
            "a result cannot be written to a constant or to a matrix that is repeated",
        ),
        (
            lambda m: m.copy(put(m, 4, 4), put(m, 1, 4).broadcast(4, 4)),
            "a result cannot be written to a constant",
        ),
        (
            lambda m: [x := put(m, 4, 4), m.binary("add", x, x.transposed, x)],
            "in place on a matrix that it reads transposed or repeated",
        ),
        (
            lambda m: [x := put(m, 4, 4), m.matmul(x, put(m, 4, 4), x)],
            "a product cannot take the place of a factor",
        ),
        (
            lambda m: m.copy(Matrix(65530, 4, 4, 4)),
            "a matrix of 4x4 reaches to element 65545, the scratchpad has 65536",
        ),
        (
            lambda m: m.copy(put(m, 4, 4), Matrix(65530, 4, 4, 4)),
            "a matrix of 4x4 reaches to element 65545",
        ),
        # Chains
        (lambda m: m.chain(4, 4, "exp"), "the parts of a chain are a list, not str"),
        (
            lambda m: m.chain(4, 4, [put(m, 4, 4)]),
            r"a part of a chain is an instruction or a pair \(register, matrix\) with one of "
            r"INPUT, WEIGHTS",
        ),
        (lambda m: m.chain(4, 4, [("$r0", put(m, 4, 4))]), "a part of a chain is"),
        (
            lambda m: m.chain(4.5, 4, [("OUTPUT", put(m, 4, 4))]),
            "rows is 4.5, expected an integer of at least 1",
        ),
        (
            lambda m: m.chain(4, 4, [("OUTPUT", put(m, 4, 4)), "sum 1"]),
            "'sum 1' is no instruction of a chain; there are mulacc, add",
        ),
        (
            lambda m: m.chain(4, 4, [("OUTPUT", put(m, 4, 4)), ""]),
            "'' is no instruction of a chain",
        ),
        (
            lambda m: m.chain(4, 4, [("OUTPUT", put(m, 4, 4)), "copy INPUT"]),
            "'copy INPUT': copy takes dst and src, of INPUT, WEIGHTS, OUTPUT, ACC",
        ),
        (
            lambda m: m.chain(4, 4, [("INPUT", put(m, 4, 4)), "exp 1"]),
            "'exp 1': exp takes no operands$",
        ),
        (
            lambda m: m.chain(4, 4, [("INPUT", put(m, 4, 4)), "add"]),
            "'add' reads WEIGHTS, which nothing before it in the chain fills",
        ),
        (lambda m: m.chain(4, 4, [("INPUT", put(m, 4, 4))]), "no part of the chain leaves OUTPUT"),
        (
            lambda m: m.chain(4, 4, [(r, put(m, 4, 4)) for r in ["INPUT", "OUTPUT"] * 17]),
            "a chain of 34 operands takes more than the 32 address units",
        ),
        (
            lambda m: [m._steps.extend([None] * 65535), m.source()],
            "65535 steps and one for what is moved last, a list holds 65535",
        ),
        (
            lambda m: [
                m.chain(4, 4, [("INPUT", put(m, 4, 4)), *["exp", "copy INPUT, OUTPUT"] * 300]),
                m.source(),
            ],
            "an operation takes 604 instructions, this build has room for 512",
        ),
        # Builds
        (
            lambda m: plain().unary("exp", Matrix(0, 4, 4, 4)),
            r"exp needs special functions, of which this build has none \(sfu_lanes 0\)",
        ),
        (lambda m: plain().softmax(Matrix(0, 4, 4, 4)), "softmax needs special functions"),
        (
            lambda m: plain().layer_norm(*[Matrix(0, 1, 4, 4)] * 3),
            "layer_norm needs special functions",
        ),
    ],
)
def test_what_operations_refuse(build, message):
    with pytest.raises(KernelError, match=message):
        build(module())


def test_numbers_without_a_point_are_numbers():
    """To the assembler they would be patterns."""
    m = module()
    total = m.binary(
        "add",
        m.binary("add", m.constant(3), m.constant("4")),
        m.binary("mul", m.constant(np.float32(0.5)), m.constant(" 1. ")),
    )
    m.output("y", m.binary("add", m.matrix(3, 3, fill=2), total))
    assert (run(m, {})["y"] == 9.5).all()


def test_a_convolution_reads_its_operands_as_they_lie():
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(4, 36)), rng.normal(size=(36, 4))
    results = []
    for flip in (False, True):
        m = module()
        planes, taps = (
            (m.input("x", 36, 4).transposed, m.input("w", 4, 36).transposed)
            if flip
            else (m.input("x", 4, 36), m.input("w", 36, 4))
        )
        m.output("y", m.conv3x3(planes, taps, 4, 4, 4, 4))
        results.append(run(m, {"x": x.T if flip else x, "w": w.T if flip else w})["y"])
    assert (results[0] == results[1]).all() and results[0].any()


def test_a_build_with_wide_sums(tmp_path):
    m = module(acc_frac=17)
    m.output("y", m.unary("exp", m.matmul(m.input("a", 4, 9), m.input("b", 9, 4))))
    # 1 + 2^-11 twice: lost one by one in sums of 10 bits.
    a = np.zeros((4, 9))
    a[:, 0], a[:, [4, 8]] = 1, 2.0**-11
    assert np.allclose(
        run(m, {"a": a, "b": np.ones((9, 4))})["y"], np.exp(1 + 2.0**-10), rtol=2.0**-10
    )
    text = write_job(m, {"a": a, "b": np.ones((9, 4))}, tmp_path, "wide").read_text()
    assert "acc_frac = 17\n" in text and "sfu_lanes = 1\n" in text


# Jobs


def doubled(base=0x10_0000, fmt="fp32"):
    m = Module(SPACE.resolve("sim"), base=base)
    x = m.input("x", 2, 4, fmt)
    m.output("y", m.binary("add", x, x))
    return m


ONES = {"x": np.ones((2, 4))}


@pytest.mark.parametrize(
    "given, message",
    [
        ({}, "input x is missing, expected an array of 2x4"),
        ({"x": np.ones((2, 4)), "z": 1}, "input z is unknown, expected x"),
        (None, "inputs are NoneType, expected arrays by name: x"),
        ({"x": np.ones((4, 2))}, "input x must be an array of 2x4, not 4x2"),
        ({"x": 3.0}, "input x must be an array of 2x4, not a number"),
        ({"x": np.ones(8)}, "input x must be an array of 2x4, not 8"),
        ({"x": np.ones((0, 4))}, "input x must be an array of 2x4, not 0x4"),
        ({"x": [[1, 2, 3, 4], [5]]}, "input x is no array: its rows differ in length"),
        (
            {"x": np.ones((2, 4), complex)},
            "input x must be an array of real numbers, not complex128",
        ),
        ({"x": np.full((2, 4), "1")}, "input x must be an array of real numbers, not <U1"),
        ({"x": np.full((2, 4), None)}, "input x must be an array of real numbers, not object"),
        (
            {"x": [[1, 2, 3, 4], [5, 1e39, 7, 8]]},
            r"input x: element \(1, 1\) is 1e\+39, which would become infinity in fp32",
        ),
        ({"x": np.full((2, 4), 3.402e38)}, r"input x: element \(0, 0\) is 3.402e\+38"),
    ],
)
def test_arrays_that_a_job_refuses(given, message, tmp_path):
    with pytest.raises(KernelError, match=message):
        write_job(doubled(), given, tmp_path, "job")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "make, more, message",
    [
        (doubled, {"name": "a/b"}, "job 'a/b': the name must be"),
        (doubled, {"cycles": 0}, "cycles is 0, expected an integer of at least 1"),
        (doubled, {"program_at": 0x1002}, "program_at must be a multiple of 4, not 0x1002"),
        (
            doubled,
            {"program_at": 0x10_0000},
            "a program of .* bytes at 0x100000 lies over the arrays, which are at 0x100000 to "
            "0x100080",
        ),
        (
            lambda: doubled(base=0x1080),
            {},
            "lies over the arrays, which are at 0x1080 to 0x1100: choose program_at, or base "
            "of the module",
        ),
        (lambda: 3, {}, "module must be a Module, not int"),
    ],
)
def test_places_that_a_job_refuses(make, more, message, tmp_path):
    with pytest.raises(KernelError, match=message):
        write_job(make(), ONES, tmp_path, **{"name": "job", **more})
    assert not list(tmp_path.iterdir())


def test_a_job_keeps_something_and_under_a_name_of_its_own(tmp_path):
    m = Module(SPACE.resolve("sim"))
    x = m.input("x", 2, 4)
    with pytest.raises(KernelError, match="the module has no output, a run would keep nothing"):
        write_job(m, ONES, tmp_path, "job")
    m.output("x", m.unary("relu", x, x))
    with pytest.raises(
        KernelError,
        match="x is an input and an output: a job would save into the file that it loads",
    ):
        write_job(m, ONES, tmp_path, "job")


def test_a_job_right_behind_its_program(tmp_path):
    """Places that touch do not overlap, and the folder is made."""
    m = doubled(base=0x1000)
    job = write_job(m, ONES, tmp_path / "new", "job", program_at=0x1080)
    assert read_job(job)["program_at"] == m.end == 0x1080


@pytest.mark.parametrize("fmt", ["fp32", "bf16"])
def test_infinities_and_nan_are_elements(fmt, tmp_path, quintet):
    m = doubled(fmt=fmt)
    x = np.array(
        [[INF, -INF, NAN, 1], [0, -2, 3, np.frombuffer(b"\xff\xff\xff\xff", np.float32)[0]]],
        np.float32,
    )
    job = write_job(m, {"x": x}, tmp_path, "job")
    ran = quintet("run", job, "--on", "model", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "job_y.npy"), 2 * x)


def test_every_nan_stays_one_in_bf16():
    for pattern in (0x7FFF_FFFF, 0xFFFF_FFFF, 0x7F80_0001, 0xFFC0_0000):
        assert to_bf16(np.array([pattern], np.uint32).view(np.float32)) == 0x7FC0
