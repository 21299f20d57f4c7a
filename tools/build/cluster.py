# SPDX-License-Identifier: BSD-2-Clause
"""Builds of the matrix on the workers of a Dask cluster, each with the same quintet installed."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...gateware.requirements import extra_command
from ..errors import InputError, NoDeviceError
from .matrix import Cell, build_cell

__all__ = ["cluster_build", "remote_build"]


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
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f"--cluster needs Dask: {extra_command('cluster')}") from None
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise NoDeviceError(f"no Dask cluster at {address}: {error}") from None

    def build(cell, folder):
        # The same cell with another seed of the same sources may well be asked for again.
        return client.submit(remote_build, cell, limit, pure=False).result()

    return build
