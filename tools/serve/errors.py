# SPDX-License-Identifier: BSD-2-Clause
"""Errors of the server of virtual boards."""

from ..errors import NoDeviceError

__all__ = ["ServeError"]


class ServeError(NoDeviceError):
    """Error: the terminal or socket to serve on cannot be opened; the message names it."""
