# SPDX-License-Identifier: BSD-2-Clause
"""Builds on the workers of a Dask cluster, each with the same quintet installed: cells of the
matrix, and placements of one netlist with several seeds."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...gateware.requirements import extra_command
from ..errors import InputError, NoDeviceError
from .bitstream import BuildError, run_script
from .matrix import Cell, build_cell
from .seeds import Place
from .toolchain import tool_environment

__all__ = ["cluster_build", "cluster_place", "remote_build", "remote_place"]


def remote_build(cell: Cell, limit: float | None = None) -> dict[str, Any]:
    """Builds a cell on a worker, in a temporary folder, and returns its result."""
    with tempfile.TemporaryDirectory(prefix="quintet-", dir=Path.cwd()) as folder:
        # Below the working directory: YoWASP's tools do not see the system's folder for temporary
        # files.
        result = build_cell(cell, Path(folder), limit)
    result.pop("bitstream", None)
    return result


def cluster_build(
    address: str, timeout: int = 10, limit: float | None = None
) -> Callable[[Cell, Path], dict[str, Any]]:
    """A builder for :func:`~.matrix.run_matrix` that submits cells to the cluster at ``address``;
    only results are returned. ``limit``: see :func:`~.matrix.build_cell`.

    Raises
    ------
    InputError
        Dask is not installed here.
    NoDeviceError
        Nobody answers there.
    """
    client = _client(address, timeout)

    def build(cell, folder):
        # The same cell with another seed of the same sources may well be asked for again.
        return client.submit(remote_build, cell, limit, pure=False).result()

    return build


def remote_place(
    name: str, files: dict[str, bytes], family: str, limit: float | None
) -> tuple[dict[str, bytes], str | None]:
    """Runs the script ``name`` on a worker, in a temporary folder with ``files``; the files that it
    has written, and why it failed, or ``None``."""
    with tempfile.TemporaryDirectory(prefix="quintet-", dir=Path.cwd()) as folder:
        for file, content in files.items():
            Path(folder, file).write_bytes(content)
        error = None
        try:
            run_script(name, Path(folder), tool_environment(family), limit)
        except BuildError as failed:
            error = str(failed)
        written = {
            path.name: path.read_bytes()
            for path in Path(folder).iterdir()
            if path.is_file() and path.name not in files
        }
    return written, error


def cluster_place(address: str, timeout: int = 10) -> Place:
    """A :class:`~.seeds.Place` that runs placements on the cluster at ``address``.

    Raises
    ------
    InputError, NoDeviceError
        As :func:`cluster_build`.
    """
    client = _client(address, timeout)

    def place(name, folder, job, limit):
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        written, error = client.submit(
            remote_place, name, files, job.board.family, limit, pure=False
        ).result()
        for file, content in written.items():
            (folder / file).write_bytes(content)
        if error is not None:
            raise BuildError(error)

    return place


def _client(address, timeout):
    """Dask's client of a cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f"--cluster needs Dask: {extra_command('cluster')}") from None
    try:
        return Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise NoDeviceError(f"no Dask cluster at {address}: {error}") from None
