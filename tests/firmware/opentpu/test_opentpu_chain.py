# SPDX-License-Identifier: BSD-2-Clause
"""The source's chain of commands under its own names: data, training, run, simulation, comparison;
without a TOML."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from quintet.firmware.opentpu import (
    check,
    checker,
    functional,
    gen_one_hot,
    programs,
    runtpu,
    sim,
    simple_nn,
)

ROOT = Path(__file__).resolve().parents[3]
SMALL = [str(programs.FOLDER / name) for name in ("small.a", "small_x.npy", "small_w.npy")]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_chain_of_the_page(here):
    """The commands as they are printed, on a virtual board."""
    page = (ROOT / "docs" / "cores" / "opentpu-software.md").read_text()
    blocks = [block for block in page.split("```")[1::2] if "opentpu.runtpu" in block]
    assert len(blocks) == 1
    (here / "firmware").symlink_to(ROOT / "firmware")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-ec", blocks[0]],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("float32: 100 vectors equal\nint8: 200 vectors equal\n")
    for line in ("float32: 100 vectors equal", "int8: 200 vectors equal"):
        assert line in page
    weights, run = np.load("simple_nn_weight_dram.npy"), np.load("hw8.npy")
    hidden = np.maximum(np.load("simple_test.npy").astype(int) @ weights[0].astype(int), 0).astype(
        np.int8
    )
    assert np.array_equal(run[100:], (hidden.astype(int) @ weights[1].astype(int)).astype(np.int8))


def test_the_simple_example_on_the_sources_full_array(here, capsys):
    """The chain at 256 x 256, the full size of the source, on the golden model; its program is that
    of every other size."""
    for name, shape, limits in (
        ("simple_train", (256, 256), (-5, 5)),
        ("simple_train_label", (256, 1), (0, 2)),
        ("simple_test", (100, 256), (1, 9)),
    ):
        arguments = ["--path", name, "--shape", *map(str, shape), "--range", *map(str, limits)]
        assert gen_one_hot.main(arguments) == 0
    data = ["--path", "simple_train.npy", "--label", "simple_train_label.npy"]
    assert simple_nn.main([*data, "--test", "simple_test.npy", "--epochs", "300"]) == 0
    assert float(capsys.readouterr().out.split("training error at most ")[1].split(",")[0]) < 0.1
    files = ["simple_test.npy", "simple_nn_weight_dram.npy"]
    program = str(programs.FOLDER / "simple_nn_n8.a")
    assert runtpu.main([program, *files, "--quiet"]) == 0
    assert sim.main([program, *files, "--float-weights", "simple_nn_gt.npz:float_tiles"]) == 0
    assert checker.main(["--gt32", "simple_nn_gt.npz:results", "--at", "100"]) == 0
    weights, run = np.load("simple_nn_weight_dram.npy").astype(int), np.load("hw8.npy")
    assert weights.shape == (2, 256, 256) and run.shape == (200, 256)
    hidden = np.maximum(np.load("simple_test.npy").astype(int) @ weights[0], 0)
    assert np.array_equal(run[100:], (hidden @ weights[1]).astype(np.int8)) and run[100:].any()


def test_runtpu(here, capsys):
    assert runtpu.main(SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "on model: done" in lines[0]
    assert lines[1:3] == ["final host memory:", "0 [1, 2, 3, 4]"] and lines[-2:] == [
        "9 [-106, 116, -100, 10]",
        "hw8.npy: 10 vectors",
    ]
    run = np.load("hw8.npy")
    assert run.dtype == np.int8 and run[4:].tobytes() == bytes.fromhex(
        "ffff1efb ff0000ff ff0000ff 0b0bfe04 0ff7fa08 96749c0a"
    )
    # Arrays of an archive, another place, no print.
    np.savez("all.npz", x=np.load(SMALL[1]), w=np.load(SMALL[2]))
    assert runtpu.main([SMALL[0], "all.npz:x", "all.npz:w", "--out", "deep/y.npy", "--quiet"]) == 0
    assert np.array_equal(np.load("deep/y.npy"), run) and "final" not in capsys.readouterr().out


def test_sim_and_checker(here, capsys):
    assert runtpu.main([*SMALL, "--quiet"]) == 0 == sim.main(SMALL)
    floats = np.load("sim32.npy")
    np.save("gt32.npy", floats[7:, :3])  # narrower than the array, from vector 7
    capsys.readouterr()
    assert checker.main(["--at", "7"]) == 0
    assert capsys.readouterr().out == "float32: 3 vectors equal\nint8: 10 vectors equal\n"
    changed = np.load("hw8.npy")
    changed[8, 1] ^= 1
    np.save("hw8.npy", changed)
    assert checker.main(["--at", "7"]) == 1
    assert "int8: vector 8, element 1: hw8.npy has " in capsys.readouterr().out
    assert checker.main(["--at", "7", "--hw8", "sim8.npy"]) == 0


def test_functional_reads_archives(here):
    np.savez(
        "all.npz",
        x=np.load(SMALL[1]),
        w=np.load(SMALL[2]),
        floats=np.load(SMALL[2]).astype(np.float32) / 2,
    )
    assert (
        functional.main(
            [
                SMALL[0],
                "all.npz:x",
                "all.npz:w",
                "--float-weights",
                "all.npz:floats",
                "--out",
                "out",
            ]
        )
        == 0
    )
    assert sim.main(SMALL) == 0
    assert np.array_equal(np.load("out/int8.npy"), np.load("sim8.npy"))
    assert not np.array_equal(np.load("out/float32.npy"), np.load("sim32.npy"))


def test_results_of_other_widths():
    rng = np.random.default_rng(1)
    want = rng.normal(size=(20, 8)).astype(np.float32)
    assert check.compare(want[5:15, :1], want, at=5) is None
    blocks, rows = (
        np.concatenate([want[:6], want[6:12]], axis=1)[:, :11],
        want[:12].reshape(6, 16)[:, :11],
    )
    assert (
        check.compare(blocks, want) is None and check.compare(rows, want, interleaved=True) is None
    )
    assert check.compare(blocks, want, interleaved=True) is not None
    got = blocks.copy()
    got[2, 9] += 1
    assert check.compare(got, want)[:2] == (8, 1)  # the second block's third vector
    got = rows.copy()
    got[2, 9] += 1
    assert check.compare(got, want, interleaved=True)[:2] == (5, 1)
    for shape, message in (
        ((7, 20), "vectors 0 to 20 do not all exist: there are 20"),
        ((20,), r"must be \[rows, columns\]"),
    ):
        with pytest.raises(ValueError, match=message):
            check.compare(np.zeros(shape), want)


@pytest.mark.parametrize(
    "command, arguments, code, message",
    [
        (runtpu, [SMALL[0], "none.npy", SMALL[2]], 2, "runtpu: no such file: none.npy"),
        (
            runtpu,
            [SMALL[0], "x.npz", SMALL[2]],
            2,
            'runtpu: an .npz holds several arrays: name one, as in "data.npz:weights"',
        ),
        (
            runtpu,
            [SMALL[0], "x.bin", SMALL[2]],
            2,
            "runtpu: x.bin: unknown suffix '.bin'; expected .npy or .npz:key",
        ),
        (
            runtpu,
            [SMALL[0], SMALL[2], SMALL[2]],
            2,
            "runtpu: host memory has the shape [2, 4, 4]: expected [vectors, n]",
        ),
        (
            runtpu,
            [SMALL[0], SMALL[1], SMALL[1]],
            2,
            "runtpu: weights: the shape is [3, 4], expected weights of the shape [..., 4, 4]",
        ),
        (
            runtpu,
            [SMALL[0], "wide.npy", SMALL[2]],
            2,
            "runtpu: host memory holds int64: expected int8 in integer mode",
        ),
        (runtpu, ["none.a", *SMALL[1:]], 2, "runtpu: none.a: cannot be read"),
        (runtpu, [*SMALL, "--on", "models"], 3, "runtpu: cannot open models: no such port"),
        (
            runtpu,
            [*SMALL, "--on", "model:opentpu?preset=85f-8x8"],
            2,
            f"runtpu: {SMALL[0]}: params.n = 4: model:opentpu?preset=85f-8x8 was built with n "
            f"= 8; the job needs 4",
        ),
        (runtpu, ["noend.a", *SMALL[1:]], 5, "runtpu: noend.a on model: "),
        (sim, [SMALL[0], "x.npz:y", SMALL[2]], 2, "sim: host memory: no such file: x.npz"),
        (checker, [], 2, "checker: no such file: gt32.npy"),
        (
            checker,
            ["--gt32", "wide.npy", "--sim32", "wide.npy", "--at", "1"],
            2,
            "checker: wide.npy, wide.npy: vectors 1 to 3 do not all exist: there are 3",
        ),
    ],
)
def test_bad_input_is_one_line(here, capsys, command, arguments, code, message):
    np.save("wide.npy", np.zeros((3, 4), np.int64))
    (here / "noend.a").write_text("NOP\n")
    assert command.main(arguments) == code
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith(message) and sum("warning" not in line for line in lines) == 1
    assert not (here / "hw8.npy").exists() and not (here / "sim8.npy").exists()


def test_usage_is_one_line(here, capsys):
    for command in (runtpu, sim, checker):
        with pytest.raises(SystemExit) as stop:
            command.main(["--none"])
        error = capsys.readouterr().err
        assert stop.value.code == 2 and error.count("\n") == 1 and error.endswith("(see --help)\n")
