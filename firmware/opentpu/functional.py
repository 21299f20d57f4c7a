# SPDX-License-Identifier: BSD-2-Clause
"""Functional simulator of OpenTPU, in 8-bit integer and in 32-bit float mode (specification,
section 7.3).

``python -m quintet.firmware.opentpu.functional PROG HOSTMEM.npy WEIGHTS.npy --out DIR`` runs a
program twice and writes host memory as it is afterwards: ``int8.npy`` and ``float32.npy``, both
[vectors, n].
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.gateware.isa.parameters import ParameterError
from quintet.tools.errors import InputError
from quintet.tools.jobs.arrays import encode, read_array
from quintet.tools.outputs import place_below, write_places

from ..commandline import Parser, guarded

if TYPE_CHECKING:
    from quintet.gateware.isa.outcome import Outcome

__all__ = ["FunctionalError", "check_arrays", "grown", "main", "places", "simulate", "vectors_used"]

_MOST_VECTORS = 1 << 22


class FunctionalError(InputError):
    """Error: arrays do not fit the program, or a run ended with a fault; the message says which."""


def vectors_used(program: bytes) -> int:
    """Number of host vectors that RHM and WHM of ``program`` (bytes) access: one more than the
    highest."""
    highest = 0
    for at in range(0, len(program), 14):
        word = program[at : at + 14]
        if word[0] == ISA.opcodes["HLT"]:
            break
        if word[0] in (ISA.opcodes["RHM"], ISA.opcodes["WHM"]):
            highest = max(highest, int.from_bytes(word[3:11], "big") + (word[2] or 256))
    if highest > _MOST_VECTORS:
        raise FunctionalError(
            f"the program names host vector {highest - 1:#x}; at most {_MOST_VECTORS} are simulated"
        )
    return highest


def check_arrays(hostmem: np.ndarray, weights: np.ndarray, *, integers: bool = True) -> int:
    """Array side n of ``hostmem`` [vectors, n] and ``weights`` [tiles, n, n]; raises
    :class:`FunctionalError` if their shapes disagree or they are not int8."""
    if hostmem.ndim != 2:
        raise FunctionalError(
            f"host memory has the shape {list(hostmem.shape)}: expected [vectors, n]"
        )
    n = hostmem.shape[1]
    for name, array, shape in (("host memory", hostmem, (n,)), ("weights", weights, (n, n))):
        if array.shape[1:] != shape:
            raise FunctionalError(
                f"{name}: the shape is {list(array.shape)}, expected {name} of the shape "
                f"[..., {', '.join(map(str, shape))}]"
            )
        if integers and array.dtype != np.int8:
            raise FunctionalError(f"{name} holds {array.dtype}: expected int8 in integer mode")
    return n


def grown(program: bytes, hostmem: np.ndarray) -> np.ndarray:
    """Extends ``hostmem`` with zeros up to the last vector that ``program`` (bytes) accesses."""
    host = np.zeros((max(len(hostmem), vectors_used(program)), hostmem.shape[1]), hostmem.dtype)
    host[: len(hostmem)] = hostmem
    return host


def places(size: int, host: np.ndarray, weights: np.ndarray) -> dict[str, int]:
    """Registers of the memory regions after a program of ``size`` bytes at address 0."""
    base = _align(size)
    limit = base + host.size
    tiles = _align(limit)
    return {
        "hostmem_base": base,
        "hostmem_limit": limit,
        "weights_base": tiles,
        "weights_limit": tiles + weights.size,
    }


def _align(address):
    return -(-address // 64) * 64


def simulate(
    program: bytes,
    hostmem: np.ndarray,
    weights: np.ndarray,
    params: dict[str, Any],
    *,
    mode: str = "int8",
    registers: Mapping[str, int] | None = None,
) -> tuple[np.ndarray, Outcome]:
    """Runs ``program`` and returns host memory after it.

    Parameters
    ----------
    program : bytes
    hostmem : [vectors, n], int8 (or float32 in float mode);
        extended by zeros to the last vector that the program accesses
    weights : [tiles, n, n], likewise
    params : dict of build parameters
    mode : ``"int8"`` or ``"float32"``
    registers : dict, optional
        Further registers (``sigmoid_compat``, ``cfg_*``).

    Returns
    -------
    (numpy.ndarray, Outcome)

    Raises
    ------
    FunctionalError
        Shapes that do not fit, or a fault: its name, the instruction and the detail.
    """
    n = check_arrays(hostmem, weights, integers=mode == "int8")
    dtype = np.int8 if mode == "int8" else np.float32
    host = grown(program, hostmem.astype(dtype))
    tiles = np.ascontiguousarray(weights, dtype)
    at = places(len(program), host, tiles)
    memory = np.zeros(_align(at["weights_limit"] + 64), np.uint8)
    memory[: len(program)] = np.frombuffer(program, np.uint8)
    values = {"program_address": 0, "program_length": len(program), **at, **(registers or {})}
    if mode == "int8":
        memory[at["hostmem_base"] : at["hostmem_limit"]] = host.view(np.uint8).ravel()
        memory[at["weights_base"] : at["weights_limit"]] = tiles.view(np.uint8).ravel()
        outcome = Model(dict(params), memory).run(values)
        host = memory[at["hostmem_base"] : at["hostmem_limit"]].view(np.int8).reshape(-1, n).copy()
    else:
        outcome = Model(dict(params), memory, mode=mode, hostmem=host, weights=tiles).run(values)
    if outcome.fault is not None:
        fault = outcome.fault
        raise FunctionalError(
            f"{fault.name} at instruction {fault.pc // 14} ({mode}), detail {fault.detail:#x}"
        )
    return host, outcome


def _load(name, what):
    try:
        return read_array(name)
    except InputError as error:
        raise FunctionalError(f"{what}: {error}") from None


def _run(options, names):
    hostmem, weights = _load(options.hostmem, "host memory"), _load(options.weights, "weights")
    n = check_arrays(hostmem, weights)
    given = dict(item.split("=", 1) if "=" in item else (item, "") for item in options.params)
    params = SPACE.resolve(options.preset, {"n": n, **given})
    if params["n"] != n:
        raise ParameterError(f"parameter n = {params['n']}: expected {n}, the size of the data")
    program = load_program(SOFTWARE, options.program, params).data
    float_host = _load(options.float_hostmem, "float inputs") if options.float_hostmem else hostmem
    float_weights = (
        _load(options.float_weights, "float weights") if options.float_weights else weights
    )
    registers = {"sigmoid_compat": int(options.sigmoid_compat)}
    results = {
        "int8": simulate(program, hostmem, weights, params, registers=registers),
        "float32": simulate(
            program, float_host, float_weights, params, mode="float32", registers=registers
        ),
    }
    write_places(
        {place_below(options.out, names[mode]): encode(host) for mode, (host, _) in results.items()}
    )
    for mode, (host, outcome) in results.items():
        print(
            f"{options.out / names[mode]}: {len(host)} vectors, "
            f"{outcome.counters['instructions']} instructions"
        )
    return 0


def main(
    argv: Sequence[str] | None = None,
    *,
    prog: str = "functional",
    names: Mapping[str, str] | None = None,
) -> int:
    """Entry point of this module's command line. ``names``: names of its output files, by mode."""
    names = names or {"int8": "int8.npy", "float32": "float32.npy"}
    parser = Parser(prog=prog, description="Simulate an OpenTPU program in int8 and float32.")
    parser.add_argument("program", type=Path, help="assembly (.a, .s) or binary (.out, .bin)")
    parser.add_argument("hostmem", help=".npy or .npz:key, int8 [vectors, n]")
    parser.add_argument("weights", help=".npy or .npz:key, int8 [tiles, n, n]")
    parser.add_argument(
        "--out", type=Path, default=Path("."), help=f"folder of {' and '.join(names.values())}"
    )
    parser.add_argument(
        "--float-hostmem",
        metavar="FILE",
        help="float inputs; default: the int8 ones as numbers",
    )
    parser.add_argument("--float-weights", metavar="FILE", help="float weights, likewise")
    parser.add_argument(
        "--preset", help="sizes (default: the core's default preset); n is the data's"
    )
    parser.add_argument(
        "-P",
        dest="params",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="build parameter",
    )
    parser.add_argument(
        "--sigmoid-compat",
        action="store_true",
        help="sigmoid of negative values is 255, as published",
    )
    options = parser.parse_args(argv)
    return guarded(prog, lambda: _run(options, names))


if __name__ == "__main__":
    sys.exit(main())
