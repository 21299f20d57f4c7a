# SPDX-License-Identifier: BSD-2-Clause
"""Errors of the host link."""

__all__ = ["BoardError", "LinkError", "RefusedError"]


class LinkError(Exception):
    """Error of communication with the board: no such port, a port that vanished, no answer in time,
    or a board that was reset."""


class BoardError(LinkError):
    """Error: the board answered a request with an error status.

    Attributes
    ----------
    address : int or None
        Of a bus error, the word that failed.
    """

    def __init__(self, message: str, *, address: int | None = None) -> None:
        super().__init__(message)
        self.address = address


class RefusedError(LinkError):
    """Error: the server of a board refused this host; the message is its reason."""
