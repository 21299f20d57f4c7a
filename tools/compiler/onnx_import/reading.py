# SPDX-License-Identifier: BSD-2-Clause
"""Parser of a model's file: checked nodes with plain attributes, constants as arrays. The only
module that uses the package onnx."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ....gateware.requirements import extra_command
from ...errors import NoDeviceError, suggestion
from ...examples import user_path
from .errors import OnnxError
from .external import external_bytes
from .formats import other_format
from .older import modernise

__all__ = ["OLDEST_OPSET", "Body", "Model", "Node", "Value", "read_model"]

#: Earlier ones broadcast by an attribute.
OLDEST_OPSET = 7
#: Size limit of protobuf for one file.
_MOST_BYTES = 2**31 - 1
_MOST_NODES = 5000
_MOST_AXES = 8
_MOST_ELEMENTS = 2**28
_DEFAULT_DOMAINS = ("", "ai.onnx")
#: ONNX's second domain, of scikit-learn's converters.
_LEARNING = "ai.onnx.ml"


@dataclass
class Body:
    """A subgraph of a control-flow node: its nodes in execution order, which also read tensors of
    the graph around it, and the names of its own inputs and outputs."""

    nodes: list["Node"]
    inputs: list[str]
    outputs: list[str]


@dataclass
class Node:
    """A node of the model: ``attributes`` are numbers, strings, lists of those, or arrays;
    ``bodies``: attribute -> subgraph of an If or a Loop, whose ``inputs`` also list the tensors
    that its subgraphs read."""

    name: str
    operator: str
    domain: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    bodies: dict[str, Body] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """An input or output of the model: ``shape`` has a number, a name or ``None`` for each axis, or
    is ``None`` if the model does not give it."""

    name: str
    dtype: np.dtype
    shape: tuple[int | str | None, ...] | None


@dataclass
class Model:
    """A model's graph with nodes in execution order; ``refused``: name -> reason, of nodes that are
    not ONNX's; ``vocabulary``: texts of a language model's tokens, where the file has them."""

    name: str
    opset: int
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    vocabulary: tuple[str, ...] = ()

    def every_node(self) -> Iterator[Node]:
        """All nodes in execution order, those of subgraphs before the node that holds them."""
        return _with_bodies(self.nodes)


def _with_bodies(nodes):
    for node in nodes:
        for body in node.bodies.values():
            yield from _with_bodies(body.nodes)
        yield node


#: Control flow whose subgraphs are read -> the attributes that hold them.
_CONTROL = {"If": ("then_branch", "else_branch"), "Loop": ("body",)}
#: Domain -> its operators that are read, of exports by quantising trainers.
_TRAINERS = dict.fromkeys(
    ("qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"),
    ("Quant", "IntQuant", "BipolarQuant", "Trunc"),
)
#: Default graph names of exporters: PyTorch's two, and none at all. The file's name says more.
_NAMES_OF_EVERY_GRAPH = ("main_graph", "torch_jit", "torch-jit-export", "")


def _onnx():
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
    except ImportError:
        raise NoDeviceError(
            f"reading a model needs the package onnx: {extra_command('compile')}"
        ) from None
    return onnx


def _first_line(error):
    return next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )


def read_model(path: str | Path, content: bytes | None = None) -> Model:
    """Reads the file at ``path``, or the bytes ``content`` (then ``path`` only names it in
    messages), into a :class:`Model`. Raises :class:`OnnxError`, or NoDeviceError if onnx is not
    installed."""
    onnx = _onnx()
    if content is None:
        path = Path(user_path(path))
        content = _read(path)
    path = Path(path)
    from google.protobuf.message import DecodeError

    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(content)
        whole = proto.HasField("graph") and proto.ir_version
    except DecodeError:
        whole = False
    if not whole:
        other = other_format(path.name, content)
        raise OnnxError(f"{path}: {other or 'no ONNX model, or a truncated one'}")
    return _checked(path, onnx, proto)


def _read(path: Path) -> bytes:
    try:
        if (size := path.stat().st_size) > _MOST_BYTES:
            raise OnnxError(
                f"{path}: {size:,} bytes, a model has {_MOST_BYTES:,} at most; keep the "
                f"weights as external data"
            )
        return path.read_bytes()
    except OSError as error:
        raise OnnxError(f"{path}: {error.strerror or error}") from None


def _checked(path: Path, onnx: ModuleType, proto: Any) -> Model:
    opset = _opset(path, onnx, proto)
    if not proto.graph.node:
        raise OnnxError(f"{path}: the graph is empty")
    proto = _without_functions(path, proto)
    count = sum(len(graph.node) for graph in _graphs(proto.graph))
    if count > _MOST_NODES:
        raise OnnxError(f"{path}: {count} nodes: expected at most {_MOST_NODES}")
    _names(path, proto.graph)
    _name_all(proto.graph)
    named = proto.graph.name not in _NAMES_OF_EVERY_GRAPH
    model = Model(proto.graph.name if named else path.stem, opset)
    model.refused = _refused(onnx, proto, opset)
    model.vocabulary = _vocabulary(proto)
    elements = sum(
        prod(tensor.dims) for graph in _graphs(proto.graph) for tensor in graph.initializer
    )
    if elements > _MOST_ELEMENTS:
        raise OnnxError(f"{path}: {elements:,} weights: expected at most {_MOST_ELEMENTS:,}")
    model.constants = {
        tensor.name: _array(path, onnx, tensor) for tensor in proto.graph.initializer
    }
    if proto.graph.sparse_initializer:
        raise OnnxError(f"{path}: weights kept as sparse tensors: expected dense ones")
    model.inputs = [
        _value(path, onnx, value, "input")
        for value in proto.graph.input
        if value.name not in model.constants
    ]
    model.outputs = [_value(path, onnx, value, "output") for value in proto.graph.output]
    known = {*model.constants, *(value.name for value in model.inputs)}
    model.nodes = _nodes(path, onnx, proto.graph, known)
    made = known | {name for node in model.nodes for name in node.outputs}
    for value in model.outputs:
        if value.name not in made:
            raise OnnxError(
                f"{path}: nothing makes the output "
                f"{value.name}{suggestion(value.name, sorted(made), 'there are')}"
            )
    if not model.refused:
        # Of a whole model the checker tells its first fault alone; nodes at fault are listed with
        # whatever else is refused.
        _check(path, onnx, proto, model)
    modernise(model)
    return model


def _without_functions(path, proto):
    """The model with the nodes of its local functions in place of their calls."""
    if not proto.functions:
        return proto
    callers = {
        (function.domain, function.name): {
            (node.domain, node.op_type) for graph in _graphs(function) for node in graph.node
        }
        for function in proto.functions
    }
    while leaves := [name for name, called in callers.items() if not called & callers.keys()]:
        for name in leaves:
            del callers[name]
    if callers:
        name = next(iter(callers))[1]
        raise OnnxError(f"{path}: the local function {name} calls itself, or one that does")
    from onnx import inliner

    try:
        return inliner.inline_local_functions(proto)
    except Exception as error:  # the inliner is C++ and names no type
        raise OnnxError(
            f"{path}: its local functions cannot be expanded: {_first_line(error)}"
        ) from None


def _graphs(graph):
    """A graph, or a function, and the subgraphs of its control flow."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in _CONTROL.get(node.op_type, ()):
                yield from _graphs(attribute.g)


def _vocabulary(proto):
    """Vocabulary of a language model: the metadata of that name, a JSON list of texts. Metadata of
    another form is another tool's."""
    texts = [entry.value for entry in proto.metadata_props if entry.key == "vocabulary"]
    try:
        found = json.loads(texts[0]) if texts else []
    except (TypeError, ValueError, RecursionError):
        return ()
    listed = isinstance(found, list) and all(isinstance(text, str) for text in found)
    return tuple(found) if listed else ()


def _opset(path, onnx, proto):
    newest = onnx.defs.onnx_opset_version()
    versions = [entry.version for entry in proto.opset_import if entry.domain in _DEFAULT_DOMAINS]
    if not versions:
        raise OnnxError(f"{path}: names no opset: expected {OLDEST_OPSET} to {newest}")
    if not OLDEST_OPSET <= max(versions) <= newest:
        raise OnnxError(
            f"{path}: opset {max(versions)}: expected {OLDEST_OPSET} to {newest} (by onnx "
            f"{onnx.__version__})"
        )
    return max(versions)


def _names(path, graph):
    """Checks names: each is text, and those of tensors that nodes, inputs and constants define are
    unique."""
    every = [
        name
        for part in _graphs(graph)
        for node in part.node
        for name in (node.name, node.op_type, node.domain, *node.input, *node.output)
    ]
    every += [
        one.name
        for part in _graphs(graph)
        for one in (*part.initializer, *part.input, *part.output)
    ]
    # Protobuf gives bytes where a text is no UTF-8.
    broken = [name for name in every if not isinstance(name, str)]
    if broken:
        raise OnnxError(f"{path}: the name {broken[0]!r} is no UTF-8")
    made = Counter(name for node in graph.node for name in node.output if name)
    made.update(tensor.name for tensor in graph.initializer)
    made.update(
        {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    )
    twice = [name for name, count in made.items() if count > 1]
    if twice:
        raise OnnxError(f"{path}: more than one node, input or constant makes {', '.join(twice)}")


def _name_all(graph):
    """Gives every node a unique name.

    ONNX has names of nodes as labels: they may be missing, and several nodes may share one. A node
    without a name gets its operator and its number, one whose name is taken gets its number behind
    it.
    """
    nodes = [node for part in _graphs(graph) for node in part.node]
    names, given = {node.name for node in nodes}, set()
    for index, node in enumerate(nodes):
        if not node.name or node.name in given:
            node.name = f"{node.name or node.op_type}_{index}"
            while node.name in names:
                node.name += "_"
            names.add(node.name)
        given.add(node.name)


def _refused(onnx, proto, opset):
    """Finds invalid nodes among ONNX's own operators: node name -> reason."""
    context = type(onnx.checker.DEFAULT_CONTEXT)()
    learning = [entry.version for entry in proto.opset_import if entry.domain == _LEARNING]
    context.ir_version, context.opset_imports = (
        proto.ir_version,
        {"": opset, **({_LEARNING: learning[0]} if learning else {})},
    )
    refused = {}
    for node in (node for graph in _graphs(proto.graph) for node in graph.node):
        if node.op_type in _TRAINERS.get(node.domain, ()):
            continue
        if node.domain not in (*_DEFAULT_DOMAINS, _LEARNING):
            refused[node.name] = f"of the domain {node.domain}: expected ONNX's own operators"
        elif node.op_type in _CONTROL:
            held = {attribute.name for attribute in node.attribute if attribute.HasField("g")}
            lacking = [name for name in _CONTROL[node.op_type] if name not in held]
            if lacking:
                refused[node.name] = f"has no graph {lacking[0]}"
        elif any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            refused[node.name] = (
                "holds a graph of its own: expected no control flow but If and Loop"
            )
        else:
            try:
                onnx.checker.check_node(node, context)
            except (onnx.checker.ValidationError, ValueError) as error:
                refused[node.name] = f"onnx refuses it: {_first_line(error)}"
    return refused


def _array(path, onnx, tensor):
    """Values of a constant: float64, or integers of their own type."""
    dims = list(tensor.dims)
    if len(dims) > _MOST_AXES or any(length < 0 for length in dims):
        raise OnnxError(
            f"{path}: constant {tensor.name} has the shape {dims}: expected at most {_MOST_AXES} "
            f"axes"
        )
    if tensor.data_type == onnx.TensorProto.STRING:
        raise OnnxError(f"{path}: constant {tensor.name} holds text: expected numbers")
    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.raw_data = external_bytes(
                path,
                tensor.name,
                {entry.key: entry.value for entry in tensor.external_data},
                _bytes(onnx, tensor),
            )
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
        data = onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        raise OnnxError(
            f"{path}: constant {tensor.name} cannot be read: {_first_line(error)}"
        ) from None
    if data.dtype.kind == "c":
        raise OnnxError(f"{path}: constant {tensor.name} holds complex numbers: expected real ones")
    if data.dtype.kind in "iub":
        return data
    # Signalling NaNs would warn; what is no number is refused where it is used.
    with np.errstate(invalid="ignore"):
        return data.astype(np.float64) if data.dtype.kind == "f" else _small(data)


def _bytes(onnx, tensor):
    """Number of bytes of a constant's values, with elements smaller than a byte packed."""
    bits = {"UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2}.get(
        onnx.TensorProto.DataType.Name(tensor.data_type)
    )
    if bits is None:
        bits = 8 * np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)).itemsize
    return -(-prod(tensor.dims) * bits // 8)


def _small(data):
    """Decodes types for which numpy needs an extension: integers of 4 bits and less, floats of 16
    bits and less."""
    return (
        data.astype(np.int8)
        if data.dtype.name.startswith(("int", "uint"))
        else data.astype(np.float64)
    )


def _value(path, onnx, value, what):
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise OnnxError(f"{path}: {what} {value.name} is no tensor")
    tensor = value.type.tensor_type
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    except (KeyError, TypeError):
        raise OnnxError(f"{path}: {what} {value.name} has no type of elements") from None
    if dtype.kind not in "fiub" and not dtype.name.startswith(("bfloat", "int", "uint")):
        raise OnnxError(
            f"{path}: {what} {value.name} holds {dtype.name}: expected floats or integers"
        )
    if not tensor.HasField("shape"):
        return Value(value.name, dtype, None)
    return Value(value.name, dtype, tuple(map(_length, tensor.shape.dim)))


def _length(dimension):
    """A dimension's length, its name, or ``None``. Some exporters write an unknown length as -1."""
    if dimension.HasField("dim_value"):
        return None if dimension.dim_value == -1 else dimension.dim_value
    return dimension.dim_param or None


def _nodes(path, onnx, graph, known):
    """Nodes of a graph in execution order. ``known``: names of tensors that they may read beside
    their own."""
    visible, nodes = known | {name for node in graph.node for name in node.output}, []
    for node in graph.node:
        attributes, bodies = {}, {}
        for attribute in node.attribute:
            if attribute.name in _CONTROL.get(node.op_type, ()) and attribute.HasField("g"):
                bodies[attribute.name] = _body(path, onnx, attribute.g, visible)
                continue
            if attribute.HasField("t"):
                attributes[attribute.name] = _array(path, onnx, attribute.t)
                continue
            try:
                found = onnx.helper.get_attribute_value(attribute)
            except ValueError:
                raise OnnxError(
                    f"{path}: {node.name} ({node.op_type}): attribute {attribute.name} has no value"
                ) from None
            found = [_text(one) for one in found] if isinstance(found, list) else _text(found)
            attributes[attribute.name] = found
        domain = "" if node.domain in _DEFAULT_DOMAINS else node.domain
        around = {name for body in bodies.values() for name in _read_around(body)}
        inputs = [*node.input, *sorted(around - set(node.input))]
        nodes.append(
            Node(node.name, node.op_type, domain, inputs, list(node.output), attributes, bodies)
        )
    return _ordered(path, nodes, known)


def _body(path, onnx, graph, known):
    """The :class:`Body` of a subgraph; its constants become nodes."""
    inputs = [value.name for value in graph.input]
    constants = [
        Node(tensor.name, "Constant", "", [], [tensor.name], {"value": _array(path, onnx, tensor)})
        for tensor in graph.initializer
    ]
    own = {*inputs, *(tensor.name for tensor in graph.initializer)}
    nodes = _nodes(path, onnx, graph, known | own)
    outputs = [value.name for value in graph.output]
    made = known | own | {name for node in nodes for name in node.outputs}
    for name in outputs:
        if name not in made:
            raise OnnxError(f"{path}: nothing makes {name}, an output of the subgraph {graph.name}")
    return Body([*constants, *nodes], inputs, outputs)


def _read_around(body):
    """Names of the tensors that a subgraph reads of the graph around it."""
    read = {name for node in body.nodes for name in node.inputs if name} | set(body.outputs)
    return read - set(body.inputs) - {name for node in body.nodes for name in node.outputs}


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _ordered(path, nodes, known):
    """Sorts nodes topologically; raises an error for a cycle or a tensor that no node computes."""
    nodes = list(nodes)
    made = {name for node in nodes for name in node.outputs if name}
    for node in nodes:
        for name in node.inputs:
            if name and name not in made and name not in known:
                raise OnnxError(
                    f"{path}: {node.name} ({node.operator}) reads {name}, which nothing makes"
                )
    makers = {name: node for node in nodes for name in node.outputs if name}
    waiting = {
        node.name: {makers[name].name for name in node.inputs if name in makers} for node in nodes
    }
    by_name = {node.name: node for node in nodes}
    readers = {}
    for name, needs in waiting.items():
        for need in needs:
            readers.setdefault(need, []).append(name)
    ready, ordered = [name for name, needs in waiting.items() if not needs], []
    while ready:
        name = ready.pop(0)
        ordered.append(by_name[name])
        for reader in readers.get(name, ()):
            waiting[reader].discard(name)
            if not waiting[reader]:
                ready.append(reader)
    if len(ordered) < len(nodes):
        left = [name for name, needs in waiting.items() if needs]
        raise OnnxError(
            f"{path}: the nodes {', '.join(left[:8])}{', ...' if len(left) > 8 else ''} stand "
            f"in a cycle or behind one"
        )
    return ordered


def _check(path, onnx, proto, model):
    """Checks the whole model with onnx's own checker."""
    # It wants nodes in order, and knows nothing of weights that are already read.
    by_name = {node.name: node for node in proto.graph.node}
    nodes = [by_name[node.name] for node in model.nodes]
    checked = onnx.ModelProto()
    checked.CopyFrom(proto)
    del checked.graph.node[:]
    checked.graph.node.extend(nodes)
    # Shapes of intermediate tensors and of outputs are computed, never believed, and inputs without
    # a shape are refused by name; the checker wants all to have some.
    del checked.graph.value_info[:]
    for value in (*checked.graph.input, *checked.graph.output):
        value.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(checked)
    except (onnx.checker.ValidationError, ValueError, UnicodeDecodeError) as error:
        raise OnnxError(f"{path}: onnx refuses it: {_first_line(error)}") from None
