# SPDX-License-Identifier: BSD-2-Clause
"""The source's own software: functional simulator, checker, generators, networks, and the jobs that
ship."""

import numpy as np
import pytest

from quintet.firmware.opentpu import (
    check,
    functional,
    gen_one_hot,
    programs,
    regression,
    runtpu,
    simple_nn,
)
from quintet.tools import Job, open_target, run_job
from quintet.tools.compiler.backends.opentpu.layout import unpack_matrix, unpack_weights

JOBS = sorted(path.stem for path in programs.FOLDER.glob("*.toml"))


def run(path):
    with open_target("model") as target:
        result = run_job(Job.load(path), target)
    assert result.outcome.status == "done"
    return next(iter(result.tensors.values()))


# Jobs


def test_what_ships():
    assert JOBS == [
        "matmul_n4",
        "matmul_n8",
        "regression_n4",
        "regression_n8",
        "simple_nn_n4",
        "simple_nn_n8",
        "small",
    ]


def test_small():
    want = bytes.fromhex("ffff1efb ff0000ff ff0000ff 0b0bfe04 0ff7fa08 96749c0a")
    assert run(programs.job("small")).tobytes() == want


@pytest.mark.parametrize("n", [4, 8])
def test_matmul(n):
    with np.load(programs.FOLDER / f"matmul_n{n}.npz") as data:
        want = data["hostmem"].astype(int) @ data["tiles"][0].astype(int)
    assert np.abs(want).max() <= 127
    assert np.array_equal(run(programs.job(f"matmul_n{n}")), want)


@pytest.mark.parametrize(
    "name, inputs, hidden",
    [
        ("simple_nn_n4", 4, 4),
        ("simple_nn_n8", 8, 8),
        ("regression_n4", 11, 16),
        ("regression_n8", 11, 16),
    ],
)
def test_two_layer_jobs(name, inputs, hidden):
    """The run's vectors are what plain numpy makes of the job's own inputs and weights."""
    outputs = run(programs.job(name))
    n = outputs.shape[1]
    with np.load(programs.FOLDER / f"{name}.npz") as data:
        first = -(-inputs // n) * -(-hidden // n)
        w1 = unpack_weights(data["tiles"][:first], inputs, hidden).astype(int)
        w2 = unpack_weights(data["tiles"][first:], hidden, 1).astype(int)
        x = unpack_matrix(data["hostmem"], len(outputs), inputs).astype(int)
    want = np.maximum(x @ w1, 0).astype(np.int8).astype(int) @ w2
    assert np.array_equal(unpack_matrix(outputs, len(outputs), 1), want.astype(np.int8))


def test_shipped_programs_are_current(tmp_path):
    for path in (
        programs.small(tmp_path),
        programs.matmul(4, tmp_path),
        programs.matmul(8, tmp_path),
    ):
        for suffix in (".toml", ".a"):
            assert (
                path.with_suffix(suffix).read_text()
                == (programs.FOLDER / path.with_suffix(suffix).name).read_text()
            )


def test_no_such_job():
    with pytest.raises(ValueError, match="no job 'large'; there are .*small"):
        programs.job("large")


# Functional simulator and checker


def test_functional_and_check(tmp_path, capsys):
    """The whole chain of the source: application, simulator in both modes, and a run, compared two
    by two."""
    folder, name = programs.FOLDER, "simple_nn_n8"
    with np.load(folder / f"{name}.npz") as data:
        np.save(tmp_path / "host.npy", data["hostmem"])
        np.save(tmp_path / "weights.npy", data["tiles"])
    with np.load(folder / f"{name}_float.npz") as data:
        np.save(tmp_path / "float_host.npy", data["hostmem"])
        np.save(tmp_path / "float_weights.npy", data["tiles"])
        np.save(tmp_path / "app.npy", data["results"])
    arguments = [
        str(folder / f"{name}.a"),
        str(tmp_path / "host.npy"),
        str(tmp_path / "weights.npy"),
        "--out",
        str(tmp_path),
        "--float-hostmem",
        str(tmp_path / "float_host.npy"),
        "--float-weights",
        str(tmp_path / "float_weights.npy"),
    ]
    assert functional.main(arguments) == 0
    np.save(tmp_path / "run.npy", run(programs.job(name)))
    pairs = [
        "--float",
        str(tmp_path / "app.npy"),
        str(tmp_path / "float32.npy"),
        "--int8",
        str(tmp_path / "run.npy"),
        str(tmp_path / "int8.npy"),
        "--at",
        "100",
    ]
    assert check.main(pairs) == 0
    assert "100 vectors equal" in capsys.readouterr().out
    changed = np.load(tmp_path / "run.npy")
    changed[7, 3] += 1
    np.save(tmp_path / "run.npy", changed)
    assert check.main(pairs) == 1
    assert "int8: vector 107, element 3: " in capsys.readouterr().out
    application = np.load(tmp_path / "app.npy")
    application[2, 0] += 0.01
    np.save(tmp_path / "app.npy", application)
    assert check.main(pairs) == 1
    assert "float32: vector 102, element 0: " in capsys.readouterr().out
    assert check.main([*pairs, "--atol", "0.1"]) == 1  # integers are compared exactly


def test_functional_takes_integers_as_numbers(tmp_path):
    folder = programs.FOLDER
    assert (
        functional.main(
            [
                str(folder / "small.a"),
                str(folder / "small_x.npy"),
                str(folder / "small_w.npy"),
                "--out",
                str(tmp_path),
            ]
        )
        == 0
    )
    whole, floats = np.load(tmp_path / "int8.npy"), np.load(tmp_path / "float32.npy")
    assert (
        whole.dtype == np.int8
        and floats.dtype == np.float32
        and whole.shape == floats.shape == (10, 4)
    )
    # The last three vectors passed through without activation: float mode drops nothing.
    assert floats[9].tolist() == [150, -140, -100, 10]
    assert whole[9].tolist() == [150 - 256, -140 + 256, -100, 10]
    assert abs(floats[4, 2] - 255 / (1 + np.exp(2.0))) < 1e-4 and whole[4, 2] == 30


@pytest.mark.parametrize(
    "change, message",
    [
        ({"hostmem": "missing.npy"}, "functional: host memory: no such file: "),
        ({"weights": "hostmem"}, "expected weights of the shape"),
        ({"program": "bad.a"}, "bad.a:1"),
        ({"program": "noend.a"}, "program_end at instruction 1 .int8., detail 0xe"),
        ({"program": "far.a"}, "the program names host vector 0xffffffff"),
        ({"-P": "n=3"}, "parameter n must be"),
        ({"-P": "n=8"}, "parameter n = 8: expected 4, the size of the data"),
    ],
)
def test_functional_refuses(tmp_path, capsys, change, message):
    (tmp_path / "good.a").write_text("RHM 0, 0, 1\nHLT\n")
    (tmp_path / "bad.a").write_text("RHN 0, 0, 1\n")
    (tmp_path / "noend.a").write_text("NOP\n")
    (tmp_path / "far.a").write_text("RHM 0xffffffff, 0, 1\nHLT\n")
    np.save(tmp_path / "hostmem.npy", np.zeros((4, 4), np.int8))
    np.save(tmp_path / "weights.npy", np.zeros((1, 4, 4), np.int8))
    files = {"program": "good.a", "hostmem": "hostmem.npy", "weights": "weights.npy"}
    files.update({k: v if "." in v else f"{v}.npy" for k, v in change.items() if k in files})
    extra = ["-P", change["-P"]] if "-P" in change else []
    assert (
        functional.main(
            [*(str(tmp_path / f) for f in files.values()), "--out", str(tmp_path / "out"), *extra]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert message.replace(".int8.", "(int8)") in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_check_refuses(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.zeros((4, 4), np.int8))
    np.save(tmp_path / "b.npy", np.zeros((2, 4), np.int8))
    np.save(tmp_path / "c.npy", np.zeros((4, 4), np.float32))
    for pair, message in (
        (("a", "b"), "vectors 0 to 3 do not all exist: there are 2"),
        (("a", "c"), "expected int8"),
        (("a", "none"), "no such file"),
    ):
        assert check.main(["--int8", *(str(tmp_path / f"{name}.npy") for name in pair)]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    with pytest.raises(SystemExit) as stop:
        check.main([])
    assert stop.value.code == 2
    assert (
        capsys.readouterr().err
        == "check: nothing to compare: give --float, --int8 or both (see --help)\n"
    )


# Generators


def test_gen_one_hot(tmp_path):
    path = tmp_path / "train"
    assert gen_one_hot.main(["--path", str(path), "--shape", "8", "8", "--range", "-5", "5"]) == 0
    data = np.load(tmp_path / "train.npy")
    assert data.dtype == np.int8 and data.shape == (8, 8) and (np.diag(data) == 20).all()
    rest = data[~np.eye(8, dtype=bool)]
    assert rest.min() >= -5 and rest.max() <= 4
    gen_one_hot.main(["--path", str(path), "--shape", "100", "8", "--range", "1,", "9"])
    data = np.load(tmp_path / "train.npy")
    assert data.shape == (100, 8) and data.min() == 1 and data.max() == 8


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["--shape", "0", "8", "--range", "0", "2"],
            "shape 0 8: expected two positive integers",
        ),
        (
            ["--shape", "8", "8", "--range", "5", "5"],
            "range 5 5: expected two integers LOW < HIGH from -128 to 128",
        ),
        (["--shape", "8", "8", "--range", "0", "500"], "range 0 500: expected"),
        (
            ["--shape", "8", "8", "--range", "0", "5", "--diagonal", "200"],
            "diagonal 200: expected -128 to 127",
        ),
    ],
)
def test_gen_one_hot_refuses(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        gen_one_hot.main(["--path", str(tmp_path / "x"), *arguments])
    assert stop.value.code == 2 and message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_simple_nn(tmp_path):
    np.save(tmp_path / "train.npy", gen_one_hot.generate((8, 8), -5, 5, diagonal=20))
    np.save(tmp_path / "label.npy", gen_one_hot.generate((8, 1), 0, 2, seed=1))
    np.save(tmp_path / "test.npy", gen_one_hot.generate((100, 8), 1, 9, seed=2))
    np.savez(tmp_path / "all.npz", test=np.load(tmp_path / "test.npy"))
    out = tmp_path / "out"
    assert (
        simple_nn.main(
            [
                "--path",
                str(tmp_path / "train.npy"),
                "--label",
                str(tmp_path / "label.npy"),
                "--out",
                str(out),
                "--test",
                f"{tmp_path / 'all.npz'}:test",
                "--job",
                str(tmp_path),
            ]
        )
        == 0
    )
    tiles = np.load(out / "simple_nn_weight_dram.npy")
    assert tiles.shape == (2, 8, 8) and tiles.dtype == np.int8
    with np.load(out / "simple_nn_gt.npz") as data:
        assert data["w1"].dtype == data["results"].dtype == np.float32 and data[
            "results"
        ].shape == (100, 1)
        fit = simple_nn.apply([data["w1"], data["w2"]], np.load(tmp_path / "train.npy"))
        assert np.abs(fit - np.load(tmp_path / "label.npy")).max() < 0.1
        # Integer results follow the float ones.
        got = run(tmp_path / "simple_nn_n8.toml")[:, :1]
        assert np.corrcoef(got.ravel(), data["results"].ravel())[0, 1] > 0.9


def test_simple_nn_refuses(tmp_path, capsys):
    np.save(tmp_path / "train.npy", np.zeros((8, 8), np.int8))
    np.save(tmp_path / "label.npy", np.zeros((7, 1), np.int8))
    for label, more, message in (
        ("label.npy", [], "expected 8 rows"),
        ("none.npy", [], "no such file"),
        ("train.npy", ["--out", str(tmp_path / "nn.npz")], "nn.npz: expected a folder"),
    ):
        with pytest.raises(SystemExit) as stop:
            simple_nn.main(
                ["--path", str(tmp_path / "train.npy"), "--label", str(tmp_path / label), *more]
            )
        error = capsys.readouterr().err
        assert stop.value.code == 2 and message in error and error.count("\n") == 1


def test_regression(tmp_path, capsys):
    pytest.importorskip("sklearn")
    names = {kind: tmp_path / kind for kind in ("input", "weight", "output")}
    paths = [f"--save-{kind}-path={path}" for kind, path in names.items()]
    assert regression.main(["--N", "10", *paths, "--epochs", "500", f"--job={tmp_path}"]) == 0
    data = {kind: np.load(f"{path}.npy") for kind, path in names.items()}
    assert (
        data["input"].shape == (20, 8)
        and data["weight"].shape == (6, 8, 8)
        and data["output"].shape == (30, 8)
    )
    assert all(array.dtype == np.int8 for array in data.values())
    assert np.load(tmp_path / "gt32.npy").shape == (10, 1)
    # The saved outputs are the run's, the last layer's behind the hidden ones.
    assert np.array_equal(run(tmp_path / "regression_n8.toml"), data["output"][20:])
    report = capsys.readouterr().out.split("test cases: float ")[1]
    assert float(report.split(",")[0]) > 0.6 and float(report.split("int8 ")[1].split(";")[0]) > 0.5
    assert regression.main([*paths, "--raw", "--epochs", "10"]) == 0
    assert np.load(f"{names['weight']}.npy").dtype == np.float32
    with pytest.raises(SystemExit):
        regression.main(["--N", "90"])


def test_the_regression_on_the_sources_full_array(tmp_path):
    pytest.importorskip("sklearn")
    paths = [f"--save-{kind}-path={tmp_path / kind}" for kind in ("input", "weight", "output")]
    sizes = ["--N", "10", "--size", "256", "--epochs", "500"]
    assert regression.main([*sizes, *paths, f"--job={tmp_path}"]) == 0
    assert np.load(tmp_path / "weight.npy").shape == (2, 256, 256)
    assert np.array_equal(
        run(tmp_path / "regression_n256.toml"), np.load(tmp_path / "output.npy")[10:]
    )


@pytest.mark.parametrize("n", [2, 64, 66, 128, 254, 256])
def test_a_product_on_every_array(tmp_path, n):
    path = programs.matmul(n, tmp_path)
    with np.load(path.with_suffix(".npz")) as data:
        want = data["hostmem"].astype(int) @ data["tiles"][0].astype(int)
    assert np.array_equal(run(path), want.astype(np.int8))


@pytest.mark.parametrize("n", [0, 1, 3, 257, 258])
def test_sides_that_no_array_has(tmp_path, capsys, n):
    message = f"parameter n must be an even number from 2 to 256, not {n}"
    with pytest.raises(SystemExit):
        regression.main(["--size", str(n)])
    assert message in capsys.readouterr().err
    (tmp_path / "p.a").write_text("HLT\n")
    np.save(tmp_path / "host.npy", np.zeros((4, n), np.int8))
    np.save(tmp_path / "weights.npy", np.zeros((1, n, n), np.int8))
    files = [str(tmp_path / name) for name in ("p.a", "host.npy", "weights.npy")]
    for command in (functional, runtpu):
        assert command.main(files) == 2
        expected = "an even number from 2 to 256" if n else "host.npy is empty"
        assert expected in capsys.readouterr().err
