# SPDX-License-Identifier: BSD-2-Clause
"""The checker: application against simulator in float32, simulator against a run in int8 (specification, section 7.3).

``python -m quintet.firmware.opentpu.check --float APP.npy float32.npy --int8 RUN.npy int8.npy [--at VECTOR]``; either pair
may be left out. Exit code 0: equal, 1: different, 2: bad input.
"""
import argparse
import sys

import numpy as np

from quintet.gateware.cores.files import load_array

__all__ = ["compare", "main"]


def compare(got, want, *, at=0, rtol=0.0, atol=0.0):
    """First difference between two arrays of vectors.

    Parameters
    ----------
    got : [count, n], the application's or a run's results
    want : [vectors, n], the simulator's host memory; ``got`` corresponds to its vectors from ``at``
    rtol, atol : elements are equal if ``|got - want| <= atol + rtol * |want|``; both 0: exactly

    Returns
    -------
    ``None``, or (vector of ``want``, element, got, want).

    Raises
    ------
    ValueError
        Shapes that do not fit.
    """
    if got.ndim != 2 or want.ndim != 2 or got.shape[1] != want.shape[1]:
        raise ValueError(f"vectors of different shapes: {list(got.shape)} and {list(want.shape)}")
    if at < 0 or at + len(got) > len(want):
        raise ValueError(f"vectors {at} to {at + len(got) - 1} do not all exist: there are {len(want)}")
    part = want[at:at + len(got)]
    if rtol or atol:
        equal = np.isclose(got.astype(np.float64), part.astype(np.float64), rtol=rtol, atol=atol)
    else:
        equal = got == part
    if equal.all():
        return None
    vector, element = (int(v) for v in np.argwhere(~equal)[0])
    return at + vector, element, got[vector, element].item(), part[vector, element].item()


def main(argv=None):
    parser = argparse.ArgumentParser(prog="check", description="Compare application, simulator and hardware.")
    parser.add_argument("--float", nargs=2, metavar=("APP", "FLOAT32"), dest="floats",
                        help="float results of the application, float32.npy of the simulator")
    parser.add_argument("--int8", nargs=2, metavar=("RUN", "INT8"), dest="ints",
                        help="results that a run saved, int8.npy of the simulator")
    parser.add_argument("--at", type=int, default=0, help="first host vector of the results (default 0)")
    parser.add_argument("--rtol", type=float, default=1e-5, help="relative tolerance of floats (default 1e-5)")
    parser.add_argument("--atol", type=float, default=1e-6, help="absolute tolerance of floats (default 1e-6)")
    options = parser.parse_args(argv)
    pairs = [("float32", options.floats, options.rtol, options.atol), ("int8", options.ints, 0, 0)]
    if options.floats is None and options.ints is None:
        parser.error("nothing to compare: give --float, --int8 or both")
    worst = 0
    for kind, files, rtol, atol in pairs:
        if files is None:
            continue
        try:
            got, want = (load_array(name) for name in files)
            if kind == "int8" and not got.dtype == want.dtype == np.int8:
                raise ValueError(f"int8 results must be int8, not {got.dtype} and {want.dtype}")
            difference = compare(got, want, at=options.at, rtol=rtol, atol=atol)
        except (OSError, ValueError, EOFError) as error:
            print(f"check: {files[0]}, {files[1]}: {error}", file=sys.stderr)
            return 2
        if difference is None:
            print(f"{kind}: {len(got)} vectors equal")
        else:
            vector, element, value, wanted = difference
            print(f"{kind}: vector {vector}, element {element}: {files[0]} has {value}, {files[1]} has {wanted}")
            worst = 1
    return worst


if __name__ == "__main__":
    sys.exit(main())
