# SPDX-License-Identifier: BSD-2-Clause
"""Back ends of the compiler, one per instruction set."""

from .base import Backend, backend_class, backend_names

__all__ = ["Backend", "backend_class", "backend_names"]
