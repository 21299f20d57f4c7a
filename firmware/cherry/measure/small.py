# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's small engine: jobs through the link on the virtual iCE40 boards, each compared with the
golden model."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ....tools import Job, open_target, run_job
from ....tools.measure import Choice, Differs, Row
from .workloads import FOLDER

__all__ = ["BOARDS", "function_rows", "job_rows", "jobs"]

BOARDS = {"blackice-ii": "hx8k", "blackice-mx": "hx8k", "icebreaker": "up5k"}
_AT, _LOADS, _SIZE = 0x1000, 16, (16, 32)
#: Carried out by the microprogram and the units alone, the same on every board.
FUNCTIONS = ("div", "pow", "exp", "log", "max 0, 2")


def _kernel(folder, name, shape, places):
    """The job of a program in ``programs/``: random arrays a and b, and the result c after them."""
    shutil.copy(FOLDER / f"{name}.s", folder)
    rng = np.random.default_rng(3)
    lines = ['core = "cherry"', f'program = "{name}.s"', f"program_at = {_AT:#x}"]
    for key, at in zip("ab", places, strict=False):
        np.save(folder / f"{name}_{key}.npy", rng.normal(size=shape).astype(np.float32))
        lines += ["[[load]]", f'file = "{name}_{key}.npy"', f"at = {at:#x}"]
    lines += ["[[save]]", f'file = "{name}_c.npy"', f"at = {places[2]:#x}"]
    lines += ['dtype = "float32"', f"shape = {list(shape)}"]
    (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return folder / f"{name}.toml"


def _text(folder, name, lines):
    (folder / f"{name}.s").write_text("\n".join(lines) + "\n")
    (folder / f"{name}.toml").write_text(
        f'core = "cherry"\nprogram = "{name}.s"\nprogram_at = {_AT:#x}\n'
    )
    return folder / f"{name}.toml"


def _repeated(folder, text, count):
    """The job of one instruction executed ``count`` times, with INPUT and OUTPUT from 0.3 to 5.85
    and WEIGHTS from -2.5 to 2.5."""
    fills = [
        f".fill {value:.3f} {at} 1 1"
        for k in range(16)
        for at, value in ((k, 0.3 + 0.37 * k), (16 + k, (k - 7.5) / 3))
    ]
    loads = ["load x, INPUT", "load x, OUTPUT", "load y, WEIGHTS"]
    return _text(
        folder,
        f"{text.split()[0]} {count}",
        [*fills, ".program p", ".apu x 0 1 4", ".apu y 16 1 4", *loads, *[text] * count],
    )


def jobs(folder: Path) -> dict[str, Path]:
    """Writes the jobs into ``folder``: name -> path."""
    rows, cols = _SIZE
    return {
        "addition of 512 elements": _kernel(folder, "addition", _SIZE, (0x4000, 0x4800, 0x5000)),
        "product of 16x16 by 16x16": _kernel(folder, "product", (16, 16), (0x4000, 0x4400, 0x4800)),
        "nothing": _text(folder, "nothing", [".apu x 0 1 4", "nop"]),
        "loads": _text(folder, "loads", [".apu x 0 1 4"] + ["load x, INPUT"] * _LOADS + ["nop"]),
        "in": _text(
            folder, "in", [f".in fp32 0x4000 0 {rows} {cols}", ".program p", ".apu x 0 1 4", "nop"]
        ),
        "out": _text(
            folder,
            "out",
            [
                f".fill 1.0 0 {rows} {cols}",
                f".out fp32 0x4000 0 {rows} {cols}",
                ".program p",
                ".apu x 0 1 4",
                "nop",
            ],
        ),
        "fill": _text(
            folder, "fill", [f".fill 1.0 0 {rows} {cols}", ".program p", ".apu x 0 1 4", "nop"]
        ),
    }


def _cycles(path, board, preset):
    job = Job.load(path)
    with (
        open_target(f"sim:{board}/cherry?preset={preset}") as target,
        open_target(f"model:cherry?preset={preset}") as model,
    ):
        got, expected = run_job(job, target), run_job(job, model, like=target.info)
    if got.outcome.status != "done" or got.raw != expected.raw:
        raise Differs(f"{path.stem} on {board} does not give what the model gives")
    return got.outcome.counters["cycles"]


def job_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of whole jobs, and of the cost of a further load or element."""
    with tempfile.TemporaryDirectory() as folder:
        paths = jobs(Path(folder))
        for board in choice.presets:
            c = {name: _cycles(path, board, BOARDS[board]) for name, path in paths.items()}
            elements = _SIZE[0] * _SIZE[1]
            for what, cycles in (
                *((name, c[name]) for name in list(c)[:2]),
                ("load of a tile", (c["loads"] - c["nothing"]) / _LOADS),
                ("element of fp32 in", (c["in"] - c["nothing"]) / elements),
                ("element of fp32 out", (c["out"] - c["fill"]) / elements),
            ):
                yield Row(what, cycles, "cycles", more={"board": board})


def function_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of single instructions of microprogram and units, for one tile each."""
    with tempfile.TemporaryDirectory() as folder:
        for board in choice.presets:
            for text in FUNCTIONS:
                if choice.takes(text):
                    one, more = (
                        _cycles(_repeated(Path(folder), text, count), board, BOARDS[board])
                        for count in (1, 1 + _LOADS)
                    )
                    yield Row(text, (more - one) / _LOADS, "cycles a tile", more={"board": board})
