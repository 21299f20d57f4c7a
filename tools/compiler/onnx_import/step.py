# SPDX-License-Identifier: BSD-2-Clause
"""One node of the model while it is translated, and the table of what translates which operator."""

import numpy as np

from .errors import Refused
from .views import Constant, View

__all__ = ["OPERATORS", "Step", "operator"]

#: Operator -> function of a :class:`Step` that gives the value of its first output, or a list with
#: one for each.
OPERATORS = {}


def operator(*names):
    """Enter a function as what translates the operators ``names``."""

    def enter(function):
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return enter


class Step:
    """A node of the model, its operands as views and constants.

    Attributes
    ----------
    draft : Draft, which the graph's nodes are added to
    operator : str
    opset : int
    operands : list of View, Constant or (left out) ``None``
    outputs : list of names, empty where one is left out
    used : set of the names that other nodes or the network's outputs read
    """

    def __init__(self, draft, node, opset, operands, used):
        self.draft, self.operator, self.opset, self.operands, self.used = (
            draft,
            node.operator,
            opset,
            operands,
            used,
        )
        self.outputs, self._attributes = node.outputs, node.attributes

    def attribute(self, name, default=None):
        return self._attributes.get(name, default)

    def operand(self, index):
        """View, Constant, or ``None`` where it is left out."""
        return self.operands[index] if index < len(self.operands) else None

    def view(self, index=0, what="its input"):
        """The operand as a View, of whatever numbers."""
        found = self.operand(index)
        if not isinstance(found, View):
            raise Refused(
                f"{what} is a constant; a tensor that depends on the network's inputs is taken"
            )
        return found

    def flowing(self, index=0, what="its input"):
        """The operand as a View of real numbers."""
        found = self.view(index, what)
        if found.grid is not None:
            raise Refused(
                f"{what} holds quantised numbers; a DequantizeLinear in front of it is taken"
            )
        if found.integer:
            raise Refused(f"{what} holds whole numbers; a Cast to float in front of it is taken")
        return found

    def fixed(self, index, what, default=None):
        """The operand as a :class:`Constant` of real numbers, ``default`` where it is left out."""
        found = self.operand(index)
        if found is None:
            return default
        if not isinstance(found, Constant):
            raise Refused(f"{what} depends on the network's inputs; a constant is taken")
        if found.whole:
            raise Refused(
                f"{what} holds quantised numbers; a DequantizeLinear in front of it is taken"
            )
        return found

    def numbers(self, index, what, default=None):
        """The operand as a list of whole numbers (axes, lengths, borders), ``default`` where it is
        left out."""
        found = self.operand(index)
        if found is None:
            return default
        if not isinstance(found, Constant):
            raise Refused(f"{what} depends on the network's inputs; a constant is taken")
        if found.data.ndim > 1 or found.data.dtype.kind not in "iu":
            raise Refused(
                f"{what} is an array of {found.data.dtype} with {found.data.ndim} axes; a list "
                f"of whole numbers is taken"
            )
        return [int(number) for number in found.data.ravel()]

    def number(self, index, what, default=None):
        """The operand as one number."""
        found = self.fixed(index, what)
        if found is None:
            return default
        if found.data.size != 1:
            raise Refused(f"{what} has {found.data.size} elements; one number is taken")
        return float(found.data.reshape(()))

    def axes(self, count, default=None, index=1):
        """Axes out of the attribute ``axes`` or operand ``index``, counted from the front, of a
        tensor that has ``count``."""
        given = (
            self.attribute("axes")
            if self.attribute("axes") is not None
            else self.numbers(index, "axes")
        )
        return default if given is None else self.counted("axes", given, count)

    def counted(self, what, axes, count):
        """``axes`` counted from the front, each once."""
        axes = list(axes)
        if any(not -count <= axis < count for axis in axes) or len(
            {axis % max(count, 1) for axis in axes}
        ) != len(axes):
            raise Refused(f"{what} {axes} of a tensor of {count} axes")
        return [axis % count for axis in axes]

    def wants(self, name, taken, default):
        """Refuse an attribute with another value than ``taken``."""
        value = self.attribute(name, default)
        if value not in taken:
            raise Refused(f"{name} = {value!r}; {' or '.join(map(repr, taken))} is taken")
        return value

    def only_output(self, *names):
        """Refuse a node whose outputs beyond the first (called ``names``) are used."""
        for output, name in zip(self.outputs[1:], names, strict=False):
            if output and output in self.used:
                raise Refused(f"its output {name} is used; the first output alone is taken")

    @property
    def output(self):
        """Name of the first output."""
        return self.outputs[0]

    def unary(self, kind, **attributes):
        """A node that works element by element on the first operand."""
        return self.draft.same(kind, self.flowing(), self.output, **attributes)

    @staticmethod
    def finite(what, data):
        """``data`` as float64, if it is all numbers."""
        data = np.asarray(data, np.float64)
        if not np.isfinite(data).all():
            raise Refused(f"{what} holds NaN or infinity; finite numbers are taken")
        return data
