# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong on a link."""

__all__ = ["BoardError", "LinkError", "RefusedError"]


class LinkError(Exception):
    """The board cannot be talked to: no such port, a port that vanished, no answer in time, a board
    that was reset."""


class BoardError(LinkError):
    """The board answered, and refused.

    Attributes
    ----------
    address : int or None
        Of a bus error, the word that failed.
    """

    def __init__(self, message, *, address=None):
        super().__init__(message)
        self.address = address


class RefusedError(LinkError):
    """What serves the board does not let this host have it; the message is its reason."""
