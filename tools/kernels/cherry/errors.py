# SPDX-License-Identifier: BSD-2-Clause
"""What the kernels refuse."""

__all__ = ["KernelError"]


class KernelError(ValueError):
    """An operation that cannot be built: shapes that do not fit each other, values that are none, or more than the scratchpad holds; a job that
    cannot be written."""
