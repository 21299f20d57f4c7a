# SPDX-License-Identifier: BSD-2-Clause
"""Splitting of a network that exceeds main memory into consecutive stages that fit."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...graph import Graph
from ...quantised import Quantised
from ..base import LoweringError

__all__ = ["Stage", "stages"]


@dataclass(eq=False)
class Stage(Graph):
    """A subgraph that becomes one program; ``cuts``: names of its inputs that earlier stages
    compute."""

    cuts: frozenset[str] = field(default_factory=frozenset)


def _part(quantised, first, last):
    """Subgraph of nodes ``first`` to ``last`` (exclusive), quantised: tensors from earlier nodes
    become inputs, tensors that later nodes read become outputs."""
    whole = quantised.graph.part(quantised.graph.nodes[first:last])
    part = Stage(
        **vars(whole),
        cuts=frozenset(
            {port.tensor for port in whole.inputs}
            - {port.tensor for port in quantised.graph.inputs}
        ),
    )
    return Quantised(
        graph=part,
        scales={name: scale for name, scale in quantised.scales.items() if name in part.tensors},
        layers={
            node.name: quantised.layers[node.name]
            for node in part.nodes
            if node.name in quantised.layers
        },
    )


def stages(quantised: Quantised, lower: Callable[[Quantised], object]) -> list[Quantised]:
    """Splits a network into the fewest consecutive subgraphs that ``lower`` (Quantised -> Lowered)
    accepts; a network that is accepted stays whole.

    Raises
    ------
    LoweringError
        A node that memory does not hold even by itself.
    """
    nodes, found, first = quantised.graph.nodes, [], 0
    try:
        lower(quantised)
        return [quantised]
    except LoweringError:
        pass
    while first < len(nodes):
        good, last, refused = None, first + 1, None
        while last <= len(nodes):
            part = _part(quantised, first, last)
            try:
                lower(part)
            except LoweringError as error:
                refused = refused or error
                # One that does nothing by itself (a reshape) goes with the next.
                if good is not None or last - first > 2:
                    break
            else:
                good = last, part
            last += 1
        if good is None:
            assert refused is not None  # no part was tried successfully
            raise refused
        found.append(good[1])
        first = good[0]
    return found
