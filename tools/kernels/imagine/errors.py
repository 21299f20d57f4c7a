# SPDX-License-Identifier: BSD-2-Clause
"""What the kernels refuse."""

__all__ = ["KernelError"]


class KernelError(ValueError):
    """A layer or a build that does not go together; the message names the sizes."""
