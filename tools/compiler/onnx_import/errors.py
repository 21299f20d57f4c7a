# SPDX-License-Identifier: BSD-2-Clause
"""Errors of the importer."""

from collections.abc import Iterable, Sequence

from ...errors import InputError

__all__ = ["OnnxError", "Refused", "listed"]


class Refused(Exception):
    """Error of an unsupported node: the text names the attribute or operand and the supported
    alternatives."""


class OnnxError(InputError):
    """Error of a model that cannot be imported.

    Attributes
    ----------
    refusals : list of (node name, operator, reason); of a file that is broken as a whole empty
    """

    def __init__(self, text: str, refusals: Sequence[tuple[str, str, str]] = ()):
        super().__init__(text)
        self.refusals = list(refusals)


def listed(refusals: Iterable[tuple[str, str, str]]) -> str:
    """Formats refusals as text, one line each."""
    return "".join(f"\n  {name} ({operator}): {reason}" for name, operator, reason in refusals)
