# SPDX-License-Identifier: BSD-2-Clause
"""Graph simplification passes that all cores share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from . import activations, affine, constants, moving, normal, padding, recurrent, selecting, windows
from .editor import Editor

if TYPE_CHECKING:
    from ..graph import Graph, Node

__all__ = ["RULES", "apply", "simplify"]

#: Name -> rule: a function of an :class:`Editor` and one of its nodes that changes the graph and
#: says whether it did.
RULES = {
    rule.__name__: rule
    for rule in (
        constants.fold_constants,
        constants.remove_no_ops,
        windows.pool_reductions,
        recurrent.take_last_state,
        normal.recognise_layer_norm,
        selecting.recognise_shuffle,
        selecting.rows_to_channels,
        selecting.split_channels,
        selecting.merge_selections,
        selecting.cut_into_padding,
        moving.merge_reshapes,
        moving.merge_transposes,
        moving.sink_transposes,
        moving.move_into_dense,
        moving.move_into_ports,
        affine.binary_to_affine,
        affine.merge_affines,
        affine.sink_affines,
        affine.fold_behind,
        affine.fold_before,
        padding.fold_padding,
        activations.plainer_activation,
        activations.recognise_hard_swish,
        activations.merge_limits,
        activations.fuse_activation,
        activations.lift_activation,
    )
}


def apply(graph: Graph, rules: Iterable[Callable[[Editor, Node], bool]]) -> Graph:
    """Applies ``rules`` (keys of RULES) to a copy of the graph until none of them changes anything,
    then removes dead nodes."""
    editor = Editor(graph)
    # Every rule takes a node away or moves one towards the outputs; the bound is for a rule that
    # would not.
    for _ in range(len(graph.nodes) + 10):
        changed = False
        for name in list(editor.nodes):
            for rule in rules:
                node = editor.nodes.get(name)
                changed |= node is not None and rule(editor, node)
        if not changed:
            break
    editor.drop_dead()
    return editor.graph()


def simplify(graph: Graph) -> Graph:
    """Simplifies a graph (returns a new one): constants folded; normalisations, paddings and
    biases folded into convolutions and dense layers; Transposes eliminated where possible;
    activations fused. Tensors that remain keep their names; inputs and outputs are identified by
    their ports."""
    return apply(graph, RULES.values())
