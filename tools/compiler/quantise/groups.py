# SPDX-License-Identifier: BSD-2-Clause
"""Groups of tensors that must share one scale, and the width of each group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..backends.base import LoweringError
from ..graph import (
    Activation,
    Affine,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Transpose,
)

if TYPE_CHECKING:
    from ..quantised import Arithmetic

__all__ = ["Groups", "UnionFind", "tied", "widths"]

#: Functions that change no number but its sign, or cut it.
_SCALE_FREE = ("relu", "leaky", "clip", "abs", "neg")


class UnionFind:
    """Union-find over names."""

    def __init__(self, names: Iterable[Any]):
        self._above = {name: name for name in names}

    def find(self, name: Any) -> Any:
        """Representative of the set that contains ``name``."""
        while self._above[name] != name:
            self._above[name] = name = self._above[self._above[name]]
        return name

    def join(self, names: Iterable[Any]) -> None:
        """Merges the sets of ``names``."""
        names = list(names)
        for name in names[1:]:
            self._above[self.find(name)] = self.find(names[0])

    def names(self) -> list[Any]:
        """All names, in insertion order."""
        return list(self._above)

    def sets(self) -> dict[Any, list[Any]]:
        """All sets, representative -> names, in insertion order."""
        result: dict[Any, list[Any]] = {}
        for name in self._above:
            result.setdefault(self.find(name), []).append(name)
        return result


def tied(node: Node, arithmetic: Arithmetic) -> list[str]:
    """Names of the tensors of ``node`` that must share one scale."""
    if isinstance(node, Affine | Conv | Dense):
        return [*node.inputs[1:], node.output] if arithmetic.equal_scales else []
    free = (
        isinstance(node, Activation)
        and node.function in _SCALE_FREE
        or isinstance(node, Reduce)
        and node.function == "max"
    )
    if free or isinstance(node, Concat | MaxPool | Pad | Reshape | Slice | Transpose):
        return [*node.inputs, node.output]
    if isinstance(node, Binary | MatMul) and getattr(node, "function", "mul") in ("mul", "div"):
        return []
    return (
        [*node.inputs, node.output]
        if arithmetic.equal_scales or arithmetic.same_scale or arithmetic.power_of_two
        else []
    )


class Groups:
    """Partition of a graph's tensors by common scale.

    Parameters
    ----------
    graph : Graph, legalised
    arithmetic : dict, node name -> Arithmetic
    alike : groups of tensors that have one scale besides, as the two ends of a state

    Attributes
    ----------
    members : dict, name that stands for a group -> its tensors, constants among them
    """

    def __init__(
        self,
        graph: Graph,
        arithmetic: Mapping[str, Arithmetic],
        alike: Iterable[Sequence[str]] = (),
    ):
        self._joined = UnionFind(graph.tensors)
        for node in graph.nodes:
            self._joined.join(tied(node, arithmetic[node.name]))
        for names in alike:
            self._joined.join(name for name in names if name in graph.tensors)
        self.members = self._joined.sets()

    def of(self, tensor: str) -> str:
        """The representative of a tensor's group."""
        return self._joined.find(tensor)


def _read(arithmetic):
    return set(arithmetic.reads or (arithmetic.bits,))


def widths(
    graph: Graph, arithmetic: Mapping[str, Arithmetic], groups: Groups, bits: int | None = None
) -> dict[str, int]:
    """Chooses the width of every group, by its representative: one that its producers offer and its
    readers accept, in the producers' order of preference.

    Parameters
    ----------
    bits : int or ``None``: the width to take wherever it may be taken

    Raises
    ------
    LoweringError
        No width suits all.
    """
    result = {}
    for name, tensors in groups.members.items():
        members = set(tensors)
        wanted: list[int] = []
        allowed: set[int] | None = None
        text: list[str] = []
        against: str | None = None
        for node in graph.nodes:
            numbers = arithmetic[node.name]
            for can, how in (
                (set(numbers.out_bits) if node.output in members else None, "gives"),
                (_read(numbers) if members & set(node.inputs) else None, "takes"),
            ):
                if can is not None:
                    allowed = can if allowed is None else allowed & can
                    if not allowed and against is None:
                        against = node.name
                    text.append(f"{node.name} {how} {'/'.join(map(str, sorted(can)))}")
            if node.output in members:
                wanted += numbers.out_bits
            elif members & set(node.inputs):
                wanted += numbers.reads or (numbers.bits,)
        if allowed is None:
            allowed, wanted = {8}, [8]  # a tensor that no node makes or reads
        if not allowed:
            raise LoweringError(
                f"tensor {tensors[0]}: no width of numbers suits all: {', '.join(text)}", against
            )
        result[name] = (
            bits
            if bits is not None and bits in allowed
            else next(width for width in wanted if width in allowed)
        )
    return result
