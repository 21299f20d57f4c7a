# SPDX-License-Identifier: BSD-2-Clause
"""Errors of serving."""

from ..errors import NoDeviceError

__all__ = ["ServeError"]


class ServeError(NoDeviceError):
    """The terminal or socket to serve on cannot be opened; the message names it."""
