# SPDX-License-Identifier: BSD-2-Clause
"""Validation of build parameters."""

from collections.abc import Mapping
from typing import Any

from quintet.gateware.cores.pim.params import SPACE

from ..inputs import KernelError

__all__ = ["check_params"]


def check_params(params: Mapping[str, Any]) -> None:
    """Raises KernelError for build parameters that are not integers."""
    if not isinstance(params, dict):
        raise KernelError(f"params must be a dict of build parameters, not {type(params).__name__}")
    for names, what in (
        (SPACE.parameters.keys() - params.keys(), "lack"),
        (params.keys() - SPACE.parameters.keys(), "have an unknown"),
    ):
        if names:
            raise KernelError(f"params {what} {', '.join(sorted(map(str, names)))}")
