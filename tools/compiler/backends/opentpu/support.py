# SPDX-License-Identifier: BSD-2-Clause
"""Support checks of OpenTPU: which nodes of a network a build can run."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ... import graph as g
from ...ranges import never_negative
from ..base import DECOMPOSED, HOST, NATIVE, Support
from ..rewriting import against_product, interleaved, is_interleaving, is_whole_maximum, turns
from .arithmetic import wired_norm
from .legalise import (
    FUNCTIONS,
    LONGEST_WINDOW,
    MOST_STRIDE,
    REWRITINGS,
    StoredError,
    as_map,
    axes_of,
    dense_parts,
    reshaped,
    stored_shapes,
)

__all__ = ["check_support"]


def _conv(graph, node, params):
    strided = (
        ""
        if node.stride == (1, 1) or params["ext_conv"]
        else ", a product a position: the stride wants ext_conv"
    )
    what = {
        "conv": "one product a tap and group of channels",
        "depthwise": "diagonal tiles",
        "grouped": "tiles of the channels that have weights in common",
    }
    return Support(DECOMPOSED, what[node.kind] + strided)


def _activated(node):
    """Reason why a node's activation cannot be fused into it, or ``None``."""
    activation = node if isinstance(node, g.Activation) else node.activation
    if (
        activation is None
        or activation.function in FUNCTIONS
        and activation.function not in ("leaky", "clip")
    ):
        return None
    if activation.function == "leaky":
        return (
            None
            if 0 <= activation.alpha <= 1
            else f"slope {activation.alpha} of a leaky relu: expected 0 to 1"
        )
    if activation.function == "clip":
        return (
            None
            if activation.low == 0 and activation.high > 0
            else f"clip from {activation.low}, taken from 0 (relu, relu6)"
        )
    return f"{activation.function}: no table of the core's is fine enough"


def _binary(graph, node, params):
    constants = [graph.tensors[name].data is not None for name in node.inputs]
    a, b = (graph.shape(name) for name in node.inputs)
    if all(constants):
        return Support(HOST, "two constants")
    if any(constants):
        constant = graph.tensors[node.inputs[constants.index(True)]]
        flow = graph.shape(node.inputs[constants.index(False)])
        if (
            constant.size not in (1, flow[-1])
            or constant.size > 1
            and constant.shape[-1] != flow[-1]
        ):
            return Support(
                HOST, f"constant of shape {constant.shape}: expected one number or one per channel"
            )
        if node.function == "div" and constants[0]:
            return Support(HOST, "a constant divided by a tensor")
        return Support(DECOMPOSED, "diagonal tiles")
    if node.function not in ("add", "sub"):
        return Support(HOST, f"{node.function} of two tensors: expected add or sub")
    stored = stored_shapes(graph, params["n"])
    if a != b or stored[node.inputs[0]] != stored[node.inputs[1]]:
        return Support(HOST, f"shapes {a} and {b}: expected equal ones")
    return Support(DECOMPOSED, "unit tiles times a factor")


def _max_pool(graph, node, params):
    if node.dilation != (1, 1):
        return Support(HOST, f"dilation {node.dilation} of a window: expected 1")
    if max(node.window) > LONGEST_WINDOW and is_whole_maximum(graph, node):
        return Support(DECOMPOSED, "windows of up to 13 elements, then their results")
    if any(p >= w for p, w in zip(node.padding, node.window * 2, strict=True)):
        return Support(HOST, f"padding {node.padding} as wide as the window")
    large = max(node.window) > LONGEST_WINDOW or max(node.stride) > MOST_STRIDE
    steps = f"windows of up to {LONGEST_WINDOW} elements, then their results"
    if params["ext_pool"]:
        return Support(DECOMPOSED, steps) if large else Support(NATIVE)
    if any(node.padding) and not never_negative(graph.maker, node.inputs[0]):
        return Support(
            HOST,
            f"padding {node.padding} of numbers that may be negative; it wants ext_pool, or a "
            f"relu in front",
        )
    return Support(
        DECOMPOSED,
        steps
        if large
        else "a + relu(b - a) a position of the window; ext_pool does it in one instruction",
    )


def _average(graph, node, params):
    if any(node.padding) and not node.include_padding:
        return Support(
            HOST,
            f"padding {node.padding} that does not count, taken where it counts "
            f"(count_include_pad) or is 0",
        )
    return Support(DECOMPOSED, "one product a position of the window")


def _activation(graph, node, params):
    return Support(DECOMPOSED, "unit tiles")


def _interleaves(params):
    return Support(
        DECOMPOSED,
        "phases read in turns"
        + ("" if params["ext_pool"] else ", a product a position: it wants ext_pool"),
    )


def _concat(graph, node, params):
    if is_interleaving(graph, node):
        return _interleaves(params)
    constants = [name for name in node.inputs if graph.tensors[name].data is not None]
    if constants:
        return Support(HOST, f"joins the constant {constants[0]}: expected computed tensors only")
    stored = stored_shapes(graph, params["n"])
    axes = len(graph.shape(node.output))
    if node.axis % axes != axes - 1:
        # Rows or columns: each is where its own axes have it.
        moved = [name for name in node.inputs if stored[name] != as_map(graph.shape(name))]
        if moved:
            return Support(HOST, f"{moved[0]}: a map that was made of another shape's elements")
        return Support(DECOMPOSED, "unit tiles, shifted")
    positions = {stored[name][:2] for name in node.inputs}
    if len(positions) > 1 or any(graph.shape(name)[-1] != stored[name][2] for name in node.inputs):
        return Support(HOST, "a map that was reshaped to a vector")
    return Support(DECOMPOSED, "unit tiles, shifted")


def _slice(graph, node, params):
    name, shape = node.inputs[0], graph.shape(node.inputs[0])
    if len(shape) == 1 or graph.shape(node.output)[-1] != shape[-1] or node.step[-1] != 1:
        return Support(HOST, "slice of channels: expected rows and columns")
    if any(step != 1 for step in node.step):
        return Support(HOST, f"slice by steps {node.step}: expected 1")
    if stored_shapes(graph, params["n"])[name] != as_map(shape):
        return Support(HOST, "a map that was made of another shape's elements")
    return Support(DECOMPOSED, "unit tiles, shifted")


def _matmul(graph, node, params):
    reason = against_product(graph, node)
    if reason is None and len(graph.shape(node.output)) > 2:
        reason = f"{graph.shape(node.output)[0]} products of matrices: expected one"
    if reason:
        return Support(HOST, reason)
    stored = stored_shapes(graph, params["n"])
    if any(stored[name][2] != graph.shape(name)[1] for name in node.inputs):
        return Support(HOST, "a matrix that was made of another shape's elements")
    return Support(DECOMPOSED, "the second written to main memory, read as tiles")


def _transpose(graph, node, params):
    readers = graph.readers(node.output)
    if (
        turns(graph, node)
        and len(node.order) == 2
        and node.output not in graph.kept()
        and readers
        and all(
            isinstance(reader, g.MatMul) and reader.inputs[0] != node.output for reader in readers
        )
    ):
        return Support(DECOMPOSED, "within the product that reads it")
    return Support(HOST, "this core moves whole rows, no single elements")


def _reshape(graph, node, params):
    if interleaved(graph, node) is not None:
        return _interleaves(params)
    reshaped(
        stored_shapes(graph, params["n"])[node.inputs[0]], node.shape
    )  # raises where elements would have to move
    return Support(NATIVE)


_KINDS = {
    g.Conv: _conv,
    g.Dense: lambda *_: Support(DECOMPOSED, "one product a tile, the bias by another"),
    g.Binary: _binary,
    g.MaxPool: _max_pool,
    g.AveragePool: _average,
    g.Activation: _activation,
    g.Concat: _concat,
    g.Reshape: _reshape,
    g.Slice: _slice,
    g.MatMul: _matmul,
    g.Transpose: _transpose,
    **{kind: rewriting.support for kind, rewriting in REWRITINGS.items()},
}

_HOST = {
    g.Softmax: "this core has no exponential function",
    g.TopK: "this core does not sort",
    g.Lstm: "this core has no sigmoid and tanh, which the gates need",
    g.Gru: "this core has no sigmoid and tanh, which the gates need",
    g.LayerNorm: "this core has no division and no root",
}


@cache
def _boards_with_norm():
    """Names of the boards whose default preset has the normaliser that networks need."""
    from .....boards import board_names, open_board
    from .....gateware.cores import open_core

    package = open_core("opentpu")
    found = []
    for name in board_names():
        preset = open_board(name).preset_for(package)
        if preset is not None and package.params.SPACE.resolve(preset)["ext_norm"]:
            found.append(name)
    return found


def _is_dense(graph, node):
    """Whether a node is a dense layer, as a convolution by a window over the whole map or of one
    position is, with no other activation than a relu."""
    if isinstance(node, g.Conv):
        single = graph.shape(node.output)[:2] == (1, 1) and not any(node.padding)
        if node.kind != "conv" or not (
            single or tuple(node.window) == tuple(node.stride) == (1, 1) and not any(node.padding)
        ):
            return False
    elif not isinstance(node, g.Dense):
        return False
    return node.activation is None or node.activation.function == "relu"


def _without_norm(graph, node, norm):
    """Reason why a build with the normalisation ``norm`` wired in has no arithmetic for a node that
    others run, or ``None``."""
    if norm.mode == 2:
        return (
            "norm_reset saturates to uint8, but activations are signed: expected mode 0 or 1, or a "
            "build with ext_norm"
        )
    if isinstance(node, g.Reshape) or _is_dense(graph, node):
        return None
    return (
        "needs a shift of its own after its sums: a build with ext_norm; without it expected dense "
        "layers with a relu or no activation. Boards whose default preset has it: "
        f"{', '.join(_boards_with_norm())}. On others compile, and build the board, with "
        "-P ext_norm=true, if it fits the FPGA (not an iCE40: it takes 7,940 logic cells, an UP5K "
        "has 5,280)"
    )


def check_support(graph: g.Graph, node: g.Node, params: Mapping[str, Any]) -> Support:
    """Support check of a node for build parameters ``params``."""
    found, norm = _check_support(graph, node, params), wired_norm(params)
    reason = _without_norm(graph, node, norm) if norm is not None and found.runs else None
    return found if reason is None else Support(HOST, reason)


def _check_support(graph, node, params):
    """Support check of a node, as far as it does not depend on ext_norm."""
    if type(node) not in _KINDS:
        return Support(HOST, _HOST.get(type(node), f"{node.kind}: no lowering"))
    reason = (
        _activated(node)
        if isinstance(node, g.Activation | g.Conv | g.Dense | g.Binary | g.Affine)
        else None
    )
    if reason:
        return Support(HOST, reason)
    try:
        for name in (*node.inputs, node.output):
            if len(graph.shape(name)) not in (1, 2, 3) and graph.tensors[name].data is None:
                return Support(
                    HOST, f"tensor {name} of {len(graph.shape(name))} axes: expected 1 to 3"
                )
        maps = [
            name
            for name in node.inputs
            if len(graph.shape(name)) == 3 and graph.tensors[name].data is None
        ]
        anyway = isinstance(node, g.Reshape | g.Dense | g.Activation)
        if not anyway and any(
            stored_shapes(graph, params["n"])[name] != graph.shape(name) for name in maps
        ):
            return Support(HOST, "a map that was made of another shape's elements")
        result = _KINDS[type(node)](graph, node, params)
        # The Concat of phases is stored as the Reshape behind it has it.
        phases = isinstance(node, g.Concat) and is_interleaving(graph, node)
        if (
            result.runs
            and not phases
            and (not isinstance(node, g.Reshape) or node.output in graph.kept())
        ):
            axes_of(
                graph.shape(node.output),
                dense_parts(stored_shapes(graph, params["n"])[node.output], params["n"]),
            )
        return result
    except StoredError as error:
        return Support(HOST, str(error))
