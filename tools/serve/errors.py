# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong before anything is served."""

from ..errors import NoDeviceError

__all__ = ["ServeError"]


class ServeError(NoDeviceError):
    """The place to serve on cannot be had; the message names it."""
