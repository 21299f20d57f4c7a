# SPDX-License-Identifier: BSD-2-Clause
"""Models that cannot be taken, with every reason."""

from ...errors import InputError

__all__ = ["OnnxError", "Refused", "listed"]


class Refused(Exception):
    """A node that is not taken: the text names the attribute or operand and what is taken
    instead."""


class OnnxError(InputError):
    """A model that cannot be taken.

    Attributes
    ----------
    refusals : list of (node name, operator, reason); of a file that is broken as a whole empty
    """

    def __init__(self, text, refusals=()):
        super().__init__(text)
        self.refusals = list(refusals)


def listed(refusals):
    """One line a refusal, for messages."""
    return "".join(f"\n  {name} ({operator}): {reason}" for name, operator, reason in refusals)
