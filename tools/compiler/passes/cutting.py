# SPDX-License-Identifier: BSD-2-Clause
"""Clips where the grids of a QDQ model end: most of them do nothing that counts, since a quantiser
chose the grid for the values that it saw, and are left out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..evaluate import run_graph
from ..graph import Activation, Graph, Node, Tensor
from ..ranges import never_negative
from ..values import to_graph
from .centring import few_inputs
from .rewriting import Editor

__all__ = ["without_idle_cuts"]

#: Operators that bring a clip with them; a Clip of the model's own stays.
_QUANTISERS = {"QuantizeLinear", "QLinearConv", "QLinearMatMul", "Quant", "IntQuant", "Trunc"}
#: Greatest squared error of a tensor whose clip is left out, as a share of its power: 30 dB, about
#: what 8 bits lose by rounding.
_SHARE = 1e-3


def without_idle_cuts(graph: Graph, calibration: Mapping[str, np.ndarray] | None) -> Graph:
    """Returns the graph without the clips that cut nothing but some rare value where a tensor's own
    grid ends. Of a clip from zero a relu is left.

    Parameters
    ----------
    graph : Graph
    calibration : dict, name of every input -> array in the user's layout; ``None``: no clip cuts
    """
    cuts = [node for node in graph.nodes if _is_cut(node, graph.tensors[node.output])]
    if not cuts:
        return graph
    if calibration is not None:
        inputs = few_inputs(graph, calibration)
        given = {port.tensor: to_graph(port, inputs[port.name]) for port in graph.inputs}
        values = run_graph(graph, given, keep=True)
        values |= {
            name: one.data[None] for name, one in graph.tensors.items() if one.data is not None
        }
        cuts = [node for node in cuts if _is_idle(node, [values[name] for name in node.inputs])]
    editor = Editor(graph)
    for node in cuts:
        # As it is now: it may read the result of one that was left out.
        _leave_out(editor, editor.nodes[node.name])
    return editor.graph()


def _clip(node: Any) -> Any:
    """The clip that a node is, or that is fused into it; else ``None``."""
    found = node if isinstance(node, Activation) else getattr(node, "activation", None)
    return found if found is not None and found.function == "clip" else None


def _is_cut(node: Node, result: Tensor) -> bool:
    """Whether a quantiser clips a node's result to the ends of its grid, or from zero to the upper
    one."""
    clip = _clip(node)
    if clip is None or result.scale is None or not _QUANTISERS & {*node.origin.split("+")}:
        return False
    low, high = result.ends()
    # A narrow range leaves out the least number.
    near = 1.5 * result.scale
    return abs(clip.high - high) <= near and (clip.low == 0 or abs(clip.low - low) <= near)


def _is_idle(node: Any, operands: list[np.ndarray]) -> bool:
    """Whether a clip cuts next to nothing; below zero a relu does it."""
    clip = _clip(node)
    values = operands[0] if clip is node else replace(node, activation=None).run(*operands)
    kept = np.maximum(values, 0 if clip.low == 0 else -np.inf)
    cut = clip.run(values)
    return bool(np.square(kept - cut).sum() <= _SHARE * np.square(cut).sum())


def _leave_out(editor: Editor, node: Any) -> None:
    clip = _clip(node)
    relu = None
    if clip.low == 0 and not (clip is node and never_negative(editor.maker, node.inputs[0])):
        relu = replace(clip, function="relu", low=-np.inf, high=np.inf)
    if clip is not node:
        editor.put(replace(node, activation=relu))
    elif relu is not None:
        editor.put(relu)
    else:
        source = editor.tensors[node.inputs[0]]
        if source.scale is None:
            source.take_grid(editor.tensors[node.output])
        editor.bypass(node, source.name)
