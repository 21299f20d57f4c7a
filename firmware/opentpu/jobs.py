# SPDX-License-Identifier: BSD-2-Clause
"""Writer of OpenTPU jobs: program, data and TOML of a network on given sizes
(docs/how/contracts.md; specification, section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.firmware.opentpu.network import Network
from quintet.tools.compiler.backends.opentpu.layout import blocks
from quintet.tools.jobs.job import Job, Load, Save, Source
from quintet.tools.jobs.recognition import Recognition

if TYPE_CHECKING:
    from quintet.firmware.opentpu.network import Layer
    from quintet.tools.compiler.backends.opentpu.codegen.program import Program

__all__ = ["network_job", "write_job"]


def _align(address, step=64):
    return -(-address // step) * step


def write_job(
    folder: str | Path,
    name: str,
    program: Program,
    params: dict[str, Any],
    hostmem: np.ndarray,
    tiles: np.ndarray,
    results: tuple[int, int],
    *,
    comment: str = "",
    cycles: int = 100_000_000,
    extra: Mapping[str, np.ndarray] | None = None,
    memory: int | None = None,
    recognition: Recognition | None = None,
) -> Path:
    """Writes ``name.toml``, ``name.a`` and ``name.npz`` into ``folder``.

    Parameters
    ----------
    folder, name : of the files
    program : Program
    params : dict
        Requirements of the job on its target, as ``[params]``: ``n`` at least.
    hostmem : int8 [vectors, n], host memory from its vector 0
    tiles : int8 [tiles, n, n], weight memory
    results : (first host vector, number of vectors) to save, as ``<name>_out.npy``
    comment : first lines of the job and the program
    extra : further arrays for the npz
    memory : bytes of main memory that the job must fit, or ``None``
    recognition : :class:`~quintet.tools.jobs.recognition.Recognition` of the images whose scores
        the results are, or ``None``

    Returns
    -------
    Path of the job.
    """
    n = params["n"]
    first, count = results
    host = _align(14 * len(program.words))
    host_end = host + n * max(len(hostmem), first + count)
    weights = _align(host_end)
    end = weights + tiles.size
    if memory is not None and end > memory:
        raise ValueError(f"job {name} takes {end} bytes of memory, more than {memory}")
    job = Job(
        core="opentpu",
        program=Source(f"{name}.a", program.text(comment)),
        program_at=0,
        params=params,
        registers={
            "hostmem_base": host,
            "hostmem_limit": host_end,
            "weights_base": weights,
            "weights_limit": end,
        },
        loads=[
            Load(host, np.asarray(hostmem), f"{name}.npz:hostmem"),
            Load(weights, tiles, f"{name}.npz:tiles"),
        ],
        saves=[
            Save(
                host + n * first,
                f"{name}_out.npy",
                dtype="int8",
                shape=(count, n),
                recognition=recognition,
            )
        ],
        cycle_limit=cycles,
        origin=f"job {name}",
    )
    return job.save(
        Path(folder, f"{name}.toml"),
        comment=comment,
        extra={f"{name}.npz:{key}": array for key, array in (extra or {}).items()},
    )


def network_job(
    folder: str | Path,
    name: str,
    layers: Sequence[Layer],
    inputs: np.ndarray,
    params: dict[str, Any],
    *,
    batch: int | None = None,
    comment: str = "",
    cycles: int = 100_000_000,
    memory: int | None = None,
    extra: Mapping[str, np.ndarray] | None = None,
    labels: np.ndarray | None = None,
) -> Path:
    """The job that applies ``layers`` to int8 ``inputs`` [rows, K] on a core of ``params``; each
    layer is a :class:`~quintet.firmware.opentpu.network.Layer`.

    ``[params]`` of the job names n, ub_rows, acc_rows and, where a layer has ``norm``, ext_norm.
    The npz also holds ``batch`` and ``rows``: with them
    :meth:`quintet.firmware.opentpu.network.Network.unpack_outputs` reads the saved vectors.
    With ``labels`` of the inputs the job says how many of them it recognised.
    """
    rows = len(inputs)
    if batch is None:
        most = min(rows, Network(layers, params).batch)
        # As few batches as fit; where there are labels they are of one size, so that it can be said
        # how the scores lie.
        batch = (
            next(n for n in range(most, 0, -1) if rows % n == 0)
            if labels is not None
            else -(-rows // -(-rows // most))
        )
    network = Network(layers, params, batch=batch)
    vectors = network.pack_inputs(inputs)
    wanted = {"n": params["n"], "ub_rows": params["ub_rows"], "acc_rows": params["acc_rows"]}
    if any(layer.norm is not None for layer in layers):
        wanted["ext_norm"] = True
    else:
        wanted["norm_reset"] = 0
    shape = np.array([network.batch, rows, layers[-1].weights.shape[1]], np.int32)
    count, n = layers[-1].weights.shape[1], params["n"]
    recognition = None
    if labels is not None:
        recognition = Recognition(
            np.asarray(labels),
            (rows // network.batch, blocks(count, n), network.batch, n),
            (0, 2, 1, 3),
            count,
        )
    return write_job(
        folder,
        name,
        network.program(rows),
        wanted,
        vectors,
        network.tiles,
        (len(vectors), network.output_vectors(rows)),
        comment=comment,
        cycles=cycles,
        memory=memory,
        extra={"batch_rows_outputs": shape, **(extra or {})},
        recognition=recognition,
    )
