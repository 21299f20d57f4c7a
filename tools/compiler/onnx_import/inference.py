# SPDX-License-Identifier: BSD-2-Clause
"""Shape inference by the onnx package, for the results of refused nodes. It runs in a subprocess,
since a broken model may crash it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ....gateware.processes import run_child

if TYPE_CHECKING:
    from .reading import Model

__all__ = ["inferred_shapes"]

_SECONDS = 20
_SCRIPT = """
import json, sys
import onnx
from onnx.shape_inference import infer_shapes
order = json.load(sys.stdin)
proto = onnx.load(sys.argv[1], load_external_data=False)
by_output = {name: node for node in proto.graph.node for name in node.output}
nodes = [by_output[name] for name in order]
del proto.graph.node[:]
proto.graph.node.extend(nodes)
shapes = {}
for value in infer_shapes(proto).graph.value_info:
    shapes[value.name] = [max(d.dim_value, 0) for d in value.type.tensor_type.shape.dim]
json.dump(shapes, sys.stdout)
"""


def inferred_shapes(path: Path, model: Model) -> dict[str, tuple[int, ...]]:
    """Shapes that onnx can infer, tensor name -> axis lengths.

    Parameters
    ----------
    model : Model read from the file at ``path``;
        nodes that are none of onnx's would make it give up, and are left out
    """
    order = [
        next(filter(None, node.outputs))
        for node in model.nodes
        if node.name not in model.refused and any(node.outputs)
    ]
    try:
        done = run_child(
            [sys.executable, "-c", _SCRIPT, str(path)],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode:
        return {}
    shapes = {}
    for name, dims in json.loads(done.stdout).items():
        # A batch without a number is one, as everywhere.
        dims[:1] = [dims[0] or 1] if dims else []
        if all(length > 0 for length in dims):
            shapes[name] = tuple(dims)
    return shapes
