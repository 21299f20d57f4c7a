# SPDX-License-Identifier: BSD-2-Clause
"""Runner of a program with the original project's three files: program, host memory, weights
(specification, section 7.3).

    python -m quintet.firmware.opentpu.runtpu PROG HOSTMEM.npy WEIGHTS.npy \\
        [--on TARGET] [--out hw8.npy]

Prints host memory after the run, a line per vector, and writes it as int8 [vectors, n].
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.tools import Job, open_target, run_job
from quintet.tools.errors import Exit
from quintet.tools.jobs.arrays import encode, read_array
from quintet.tools.jobs.job import Load, Save
from quintet.tools.jobs.report import describe_outcome
from quintet.tools.outputs import place_below, write_places

from ..commandline import Parser, guarded
from .functional import check_arrays, grown, places

__all__ = ["job_of", "main"]


def job_of(
    program: str | Path,
    hostmem: np.ndarray,
    weights: np.ndarray,
    *,
    name: str = "hw8.npy",
    cycles: int | None = None,
) -> Job:
    """Job of a program (path), ``hostmem`` int8 [vectors, n] and ``weights`` int8 [tiles, n, n]; it
    saves all of host memory.

    Raises
    ------
    AsmError, FunctionalError, JobError
        The message names the file, or the shape that does not fit.
    """
    n = check_arrays(hostmem, weights)
    data = load_program(SOFTWARE, program).data
    host = grown(data, hostmem)
    registers = places(len(data), host, weights)
    return Job(
        core="opentpu",
        program=program,
        program_at=0,
        params={"n": n},
        registers=registers,
        loads=[
            Load(registers[f"{kind}_base"], array, kind)
            for kind, array in (("hostmem", host), ("weights", weights))
            if array.size
        ],
        saves=[Save(registers["hostmem_base"], name, dtype="int8", shape=host.shape)]
        if host.size
        else [],
        cycle_limit=cycles,
        origin=str(program),
    )


def _run(options):
    job = job_of(
        options.program,
        read_array(options.hostmem),
        read_array(options.weights),
        name=options.out,
        cycles=options.cycles,
    )
    with open_target(options.on) as target:
        result = run_job(job, target)
    for warning in result.image.program.warnings:
        print(warning, file=sys.stderr)
    if result.outcome.status != "done":
        print(
            f"runtpu: {options.program} on {options.on}: {describe_outcome(result)}",
            file=sys.stderr,
        )
        return Exit.FAULT
    print(f"{options.program} on {options.on}: {describe_outcome(result)}")
    for name, host in result.tensors.items():
        write_places({place_below(Path(name).parent, Path(name).name): encode(host)})
        if not options.quiet:
            print("final host memory:")
            for address, vector in enumerate(host.tolist()):
                print(address, vector)
        print(f"{name}: {len(host)} vectors")
    return Exit.OK


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = Parser(
        prog="runtpu", description="Run an OpenTPU program on a core, virtual or physical."
    )
    parser.add_argument("program", type=Path, help="assembly (.a, .s) or binary (.out, .bin)")
    parser.add_argument("hostmem", help=".npy or .npz:key, int8 [vectors, n]")
    parser.add_argument("weights", help=".npy or .npz:key, int8 [tiles, n, n]")
    parser.add_argument(
        "--on", metavar="TARGET", default="model", help="as of `quintet run` (default: model)"
    )
    parser.add_argument(
        "--out",
        default="hw8.npy",
        metavar="FILE",
        help="host memory after the run (default: hw8.npy)",
    )
    parser.add_argument(
        "--cycles", type=int, default=1_000_000_000, help="most cycles (default: 1,000,000,000)"
    )
    parser.add_argument("--quiet", action="store_true", help="do not print host memory")
    options = parser.parse_args(argv)
    return guarded("runtpu", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
