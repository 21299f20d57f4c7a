# SPDX-License-Identifier: BSD-2-Clause
"""The error of PIM's kernel library."""

__all__ = ["KernelError"]


class KernelError(ValueError):
    """A network that PIM, or this build of it, cannot run. The message names the layer, the value, and what is legal."""
