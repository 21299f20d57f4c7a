# SPDX-License-Identifier: BSD-2-Clause
"""Writes jobs: program, data and TOML for a network on given sizes (docs/contracts.md; specification, section 7)."""
import os
from pathlib import Path

import numpy as np

from quintet.tools.recognition import job_lines

from .layout import blocks
from .network import Network

__all__ = ["network_job", "write_job", "write_text"]


def _align(address, step=64):
    return -(-address // step) * step


def write_text(path, text):
    """Write ``text`` whole or not at all (a reader never sees half a file) and return ``path``."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(text.encode())
    os.replace(part, path)
    return path


def _npz(path, **arrays):
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(part, path)


def write_job(folder, name, program, params, hostmem, tiles, results, *, comment="", cycles=100_000_000, extra=None,
              memory=None, scores=()):
    """Write ``name.toml``, ``name.a`` and ``name.npz`` into ``folder``.

    Parameters
    ----------
    folder, name : where, and what the files are called
    program : Program
    params : dict
        What the job asks of its target, as ``[params]``: ``n`` at least.
    hostmem : int8 [vectors, n], host memory from its vector 0
    tiles : int8 [tiles, n, n], weight memory
    results : (first host vector, number of vectors) to save, as ``<name>_out.npy``
    comment : first lines of the job and the program
    extra : further arrays for the npz
    memory : bytes of main memory that the job must fit, or ``None``
    scores : lines of the save that say which classes its vectors stand for

    Returns
    -------
    Path of the job.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n = params["n"]
    first, count = results
    host = _align(14 * len(program.words))
    host_end = host + n * max(len(hostmem), first + count)
    weights = _align(host_end)
    end = weights + tiles.size
    if memory is not None and end > memory:
        raise ValueError(f"job {name} takes {end} bytes of memory, more than {memory}")
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [
        'core = "opentpu"', f'program = "{name}.a"', "program_at = 0x0",
        "[params]", *(f"{key} = {str(value).lower()}" for key, value in params.items()),
        "[registers]", f"hostmem_base = {host:#x}", f"hostmem_limit = {host_end:#x}", f"weights_base = {weights:#x}",
        f"weights_limit = {end:#x}",
        "[[load]]", f'file = "{name}.npz:hostmem"', f"at = {host:#x}",
        "[[load]]", f'file = "{name}.npz:tiles"', f"at = {weights:#x}",
        "[[save]]", f'file = "{name}_out.npy"', f"at = {host + n * first:#x}", 'dtype = "int8"',
        f"shape = [{count}, {n}]", *scores,
        "[limits]", f"cycles = {cycles}", ""]
    _npz(folder / f"{name}.npz", hostmem=np.ascontiguousarray(hostmem), tiles=tiles, **(extra or {}))
    write_text(folder / f"{name}.a", program.text(comment))
    return write_text(folder / f"{name}.toml", "\n".join(lines))


def network_job(folder, name, layers, inputs, params, *, batch=None, comment="", cycles=100_000_000, memory=None, extra=None,
                labels=None):
    """The job that applies ``layers`` (of :class:`.network.Layer`) to int8 ``inputs`` [rows, K] on a core of ``params``.

    ``[params]`` of the job names n, ub_rows, acc_rows and, where a layer has ``norm``, ext_norm. The npz also holds
    ``batch`` and ``rows``: with them :meth:`.network.Network.unpack_outputs` reads the saved vectors. With ``labels`` of the inputs,
    where the batches are of equal size, the job says how many of them it recognised.
    """
    rows = len(inputs)
    if batch is None:       # as few batches as fit, of equal size
        batches = -(-rows // Network(layers, params).batch)
        batch = -(-rows // batches)
    network = Network(layers, params, batch=batch)
    vectors = network.pack_inputs(inputs)
    wanted = {"n": params["n"], "ub_rows": params["ub_rows"], "acc_rows": params["acc_rows"]}
    if any(layer.norm is not None for layer in layers):
        wanted["ext_norm"] = True
    else:
        wanted["norm_reset"] = 0
    shape = np.array([network.batch, rows, layers[-1].weights.shape[1]], np.int32)
    count, n, folder = layers[-1].weights.shape[1], params["n"], Path(folder)
    scores = []
    if labels is not None and rows % network.batch == 0:
        folder.mkdir(parents=True, exist_ok=True)
        scores = job_lines(folder, name, labels, shape=(rows // network.batch, blocks(count, n), network.batch, n), order=(0, 2, 1, 3),
                           classes=count)
    return write_job(folder, name, network.program(rows), wanted, vectors, network.tiles,
                     (len(vectors), network.output_vectors(rows)), comment=comment, cycles=cycles, memory=memory,
                     extra={"batch_rows_outputs": shape, **(extra or {})}, scores=scores)
