# SPDX-License-Identifier: BSD-2-Clause
"""Checker of OpenTPU results: compares application and simulator in float32, and simulator and core
in int8 (specification, section 7.3).

``python -m quintet.firmware.opentpu.check --float APP.npy float32.npy --int8 RUN.npy int8.npy [--at
VECTOR]``; either pair may be left out. Exit code 0: equal, 1: different, 2: bad input.
"""

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from quintet.tools.errors import InputError
from quintet.tools.jobs.arrays import read_array

from ..commandline import Parser, guarded

__all__ = ["compare", "main", "parser", "run"]


def compare(
    got: np.ndarray,
    want: np.ndarray,
    *,
    at: int = 0,
    rtol: float = 0.0,
    atol: float = 0.0,
    interleaved: bool = False,
) -> tuple[int, int, float, float] | None:
    """Finds the first difference between results and vectors of host memory.

    Parameters
    ----------
    got : [rows, columns], the application's or a run's results
    want : [vectors, n], the simulator's host memory;
        ``got`` corresponds to its vectors from ``at``. Results narrower than a vector are compared
        with its first elements; wider ones lie in blocks of ``rows`` vectors (section 7.1)
    rtol, atol : elements are equal if ``|got - want| <= atol + rtol * |want|``; both 0: exactly
    interleaved : the vectors of a row of wide results follow one another,
        as programs of the source leave them

    Returns
    -------
    ``None``, or (vector of ``want``, element, got, want).

    Raises
    ------
    ValueError
        Shapes that do not fit.
    """
    if got.ndim != 2 or want.ndim != 2 or not got.shape[1] or not want.shape[1]:
        raise ValueError(
            f"results and host memory have the shapes {list(got.shape)} and "
            f"{list(want.shape)}: expected [rows, columns] and [vectors, n]"
        )
    (rows, columns), n = got.shape, want.shape[1]
    blocks = -(-columns // n)
    if at < 0 or at + rows * blocks > len(want):
        raise ValueError(
            f"vectors {at} to {at + rows * blocks - 1} do not all exist: there are {len(want)}"
        )
    numbers = np.arange(rows * blocks)  # of the vectors, by row and block
    numbers = at + (
        numbers.reshape(rows, blocks) if interleaved else numbers.reshape(blocks, rows).T
    )
    part = want[numbers].reshape(rows, blocks * n)[:, :columns]
    if rtol or atol:
        equal = np.isclose(got.astype(np.float64), part.astype(np.float64), rtol=rtol, atol=atol)
    else:
        equal = got == part
    if equal.all():
        return None
    # The first by vector, then by element.
    row, column = min(
        np.argwhere(~equal).tolist(),
        key=lambda place: (numbers[place[0], place[1] // n], place[1] % n),
    )
    return (
        int(numbers[row, column // n]),
        column % n,
        got[row, column].item(),
        part[row, column].item(),
    )


def parser(prog: str, description: str) -> Parser:
    """Argument parser of the checkers: index of the results, tolerances."""
    made = Parser(prog=prog, description=description)
    made.add_argument(
        "--at", type=int, default=0, help="first host vector of the results (default 0)"
    )
    made.add_argument(
        "--rtol", type=float, default=1e-5, help="relative tolerance of floats (default 1e-5)"
    )
    made.add_argument(
        "--atol", type=float, default=1e-6, help="absolute tolerance of floats (default 1e-6)"
    )
    made.add_argument(
        "--interleaved",
        action="store_true",
        help="results wider than the array: the vectors of a row follow one another",
    )
    return made


def run(
    prog: str,
    options: argparse.Namespace,
    *,
    floats: Sequence[str] | None,
    ints: Sequence[str] | None,
    ints_at: int,
) -> int:
    """Compares the pairs of files ``floats`` and ``ints`` (or ``None``); returns the exit code."""

    def work():
        worst = 0
        for kind, files, at, rtol, atol in (
            ("float32", floats, options.at, options.rtol, options.atol),
            ("int8", ints, ints_at, 0, 0),
        ):
            if files is None:
                continue
            got, want = (read_array(name) for name in files)
            try:
                if kind == "int8" and not got.dtype == want.dtype == np.int8:
                    raise ValueError(f"types {got.dtype} and {want.dtype}: expected int8 for both")
                difference = compare(
                    got, want, at=at, rtol=rtol, atol=atol, interleaved=options.interleaved
                )
            except ValueError as error:
                raise InputError(f"{files[0]}, {files[1]}: {error}") from None
            if difference is None:
                print(f"{kind}: {len(got)} vectors equal")
            else:
                vector, element, value, wanted = difference
                print(
                    f"{kind}: vector {vector}, element {element}: {files[0]} has {value}, "
                    f"{files[1]} has {wanted}"
                )
                worst = 1
        return worst

    return guarded(prog, work)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    made = parser("check", "Compare application, simulator and hardware.")
    made.add_argument(
        "--float",
        nargs=2,
        metavar=("APP", "FLOAT32"),
        dest="floats",
        help="float results of the application, float32.npy of the simulator",
    )
    made.add_argument(
        "--int8",
        nargs=2,
        metavar=("RUN", "INT8"),
        dest="ints",
        help="results that a run saved, int8.npy of the simulator",
    )
    options = made.parse_args(argv)
    if options.floats is None and options.ints is None:
        made.error("nothing to compare: give --float, --int8 or both")
    return run("check", options, floats=options.floats, ints=options.ints, ints_at=options.at)


if __name__ == "__main__":
    sys.exit(main())
