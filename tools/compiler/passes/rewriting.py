# SPDX-License-Identifier: BSD-2-Clause
"""Graph simplification: rules that all cores share, and the editable graph on which they run."""

from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Graph, Node, Tensor
from . import folding, moving, recognition

__all__ = ["RULES", "Editor", "apply", "simplify"]


class Editor:
    """An editable copy of a graph, which keeps the producer and readers of every tensor up to date.

    Attributes
    ----------
    nodes : dict, name -> node, each after those whose results it reads
    tensors : dict, name -> Tensor
    inputs, outputs : lists of ports
    """

    def __init__(self, graph: Graph):
        self.name = graph.name
        self.nodes: dict[str, Node] = {}
        self.makers: dict[str, str] = {}
        self._readers: dict[str, Any] = {}
        self.tensors = {name: replace(tensor) for name, tensor in graph.tensors.items()}
        self.inputs, self.outputs = list(graph.inputs), list(graph.outputs)
        for node in graph.nodes:
            self.put(replace(node, inputs=list(node.inputs)))

    def graph(self) -> Graph:
        """The edited graph, without unused tensors."""
        nodes = list(self.nodes.values())
        known = {name for node in nodes for name in (*node.inputs, node.output)} | {
            port.tensor for port in (*self.inputs, *self.outputs)
        }
        return Graph(
            self.name,
            list(self.inputs),
            list(self.outputs),
            nodes,
            {name: tensor for name, tensor in self.tensors.items() if name in known},
        )

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Shape of a tensor."""
        return self.tensors[tensor].shape

    def data(self, tensor: str) -> np.ndarray | None:
        """Values of a constant, ``None`` for an activation."""
        return self.tensors[tensor].data

    def maker(self, tensor: str, kind: Any = object) -> Any:
        """The node that computes a tensor, if it is of class ``kind``, else ``None``."""
        node = self.nodes.get(self.makers.get(tensor, ""))
        return node if isinstance(node, kind) else None

    def kept(self, tensor: str) -> bool:
        """Whether a tensor is an output of the network."""
        return any(port.tensor == tensor for port in self.outputs)

    def readers(self, tensor: str) -> list[Node]:
        """Nodes that read a tensor."""
        return [self.nodes[name] for name in self._readers.get(tensor, ())]

    def sole_reader(self, tensor: str) -> Any:
        """The only node that reads a tensor, if it reads it once and the tensor is not an output;
        else ``None``."""
        readers = self.readers(tensor)
        if len(readers) != 1 or self.kept(tensor) or readers[0].inputs.count(tensor) != 1:
            return None
        return readers[0]

    def sole_source(self, node: Node, kind: Any) -> Any:
        """The node of class ``kind`` that computes the first operand of ``node`` and has no other
        reader, else ``None``."""
        made = self.maker(node.inputs[0], kind)
        return made if made is not None and self.sole_reader(made.output) is node else None

    # Changes

    def put(self, node: Node) -> None:
        """Adds a node, or replaces the node with the same name."""
        old = self.nodes.get(node.name)
        if old is not None:
            self._forget(old)
        self.nodes[node.name] = node
        self.makers[node.output] = node.name
        for tensor in node.inputs:
            self._readers.setdefault(tensor, {})[node.name] = None

    def _forget(self, node):
        if self.makers.get(node.output) == node.name:
            del self.makers[node.output]
        for tensor in set(node.inputs):
            del self._readers[tensor][node.name]

    def remove(self, node: Node) -> None:
        """Removes a node."""
        self._forget(node)
        del self.nodes[node.name]

    def join(self, first: Node, second: Node, **changes: Any) -> None:
        """Fuses ``second``, the reader of its result, into ``first``, which gets that node's output
        and the ``changes``."""
        self.remove(second)
        origin = (
            first.origin
            if not second.origin or second.origin == first.origin
            else f"{first.origin}+{second.origin}"
        )
        self.put(replace(first, output=second.output, origin=origin, **changes))

    def swallow(self, first: Node, second: Node, **changes: Any) -> None:
        """Fuses ``first``, the producer of its first operand, into ``second``, which gets that
        node's operand and the ``changes``."""
        origin = (
            second.origin
            if not first.origin or second.origin == first.origin
            else f"{first.origin}+{second.origin}"
        )
        self.put(
            replace(second, inputs=[first.inputs[0], *second.inputs[1:]], origin=origin, **changes)
        )
        if not self.readers(first.output) and not self.kept(first.output):
            self.remove(first)

    def bypass(self, node: Node, tensor: str) -> None:
        """Removes a node; its readers read ``tensor``, of the same shape, instead."""
        self.remove(node)
        for reader in self.readers(node.output):
            self.put(
                replace(
                    reader,
                    inputs=[tensor if name == node.output else name for name in reader.inputs],
                )
            )
        self.outputs = [
            replace(port, tensor=tensor) if port.tensor == node.output else port
            for port in self.outputs
        ]

    def keep_grid(
        self,
        tensor: str,
        other: str,
        scale: np.ndarray | float = 1.0,
        shift: np.ndarray | float = 0.0,
        limits: tuple[float, float] = (-np.inf, np.inf),
    ) -> bool:
        """Moves the grid of ``tensor``, which a rule is about to remove, to ``other``, the operand
        or the result of a node beside it.

        Parameters
        ----------
        scale, shift : numbers or float64 [channels]: ``other`` holds ``tensor`` times ``scale``
            plus ``shift``
        limits : between which an activation then clips ``other``

        Returns
        -------
        bool, whether ``other`` is cut where ``tensor`` was; if not, nothing has changed, and the
        rule must not be applied
        """
        grid, found = self.tensors[tensor], self.tensors[other]
        if grid.scale is None:
            return True
        scale, shift = np.atleast_1d(scale), np.atleast_1d(shift)
        least, greatest = np.sort(np.multiply.outer(grid.ends(), scale) + shift, axis=0)
        if found.scale is not None:
            # Its own grid is enough if it ends first.
            low, high = np.clip(found.ends(), *limits)
            half = found.scale / 2
            return bool(np.all(least <= low + half) and np.all(greatest >= high - half))
        maker = self.maker(tensor)
        before = maker is not None and other in maker.inputs
        if before and self.sole_reader(other) is not maker:
            return False
        low, high = np.clip((least[0], greatest[0]), *limits)
        if np.ptp(least) != 0 or np.ptp(greatest) != 0 or low == high:
            return False
        found.take_grid(grid)
        found.scale = float(grid.scale * abs(scale[0]))
        # Factors and offsets of models are of single precision.
        found.zero_point = round(float(grid.least - least[0] / found.scale), 3)
        return True

    def put_before(self, node: Node, added: Node) -> None:
        """Inserts the node ``added`` before ``node`` and adds a tensor for its result."""
        self.tensors[added.output] = Tensor(
            added.output, added.shape_of(*(self.shape(name) for name in added.inputs))
        )
        self._put_at(list(self.nodes).index(node.name), added)

    def put_behind(self, node: Node, added: Node) -> None:
        """Inserts the node ``added`` after ``node``; its result tensor must exist."""
        self._put_at(list(self.nodes).index(node.name) + 1, added)

    def _put_at(self, place, added):
        behind = list(self.nodes)[place:]
        self.put(added)
        for name in behind:
            self.nodes[name] = self.nodes.pop(name)

    def unused(self, wanted: str, names: Container[str]) -> str:
        """Makes a name unique: ``wanted``, with a number appended if ``names`` contains it."""
        name, number = wanted, 1
        while name in names:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def constant(self, wanted: str, data: np.ndarray) -> str:
        """Adds a constant and returns its name."""
        name = self.unused(wanted, self.tensors)
        self.tensors[name] = Tensor(name, data.shape, data)
        return name

    def drop_dead(self) -> None:
        """Removes nodes whose results are unused."""
        for node in reversed(list(self.nodes.values())):
            if not self.readers(node.output) and not self.kept(node.output):
                self.remove(node)


#: Name -> rule: a function of an :class:`Editor` and one of its nodes that changes the graph and
#: says whether it did.
RULES = {
    rule.__name__: rule
    for rule in (
        folding.fold_constants,
        folding.remove_no_ops,
        recognition.pool_reductions,
        recognition.take_last_state,
        recognition.recognise_layer_norm,
        moving.recognise_shuffle,
        moving.rows_to_channels,
        moving.split_channels,
        moving.merge_selections,
        moving.cut_into_padding,
        moving.merge_reshapes,
        moving.raise_units,
        moving.drop_units,
        moving.slice_before_split,
        moving.merge_transposes,
        moving.sink_transposes,
        moving.move_into_dense,
        moving.move_into_ports,
        folding.binary_to_affine,
        folding.merge_affines,
        folding.sink_affines,
        folding.fold_behind,
        folding.fold_before,
        folding.fold_padding,
        folding.plainer_activation,
        folding.recognise_hard_swish,
        folding.merge_limits,
        folding.fuse_activation,
        folding.lift_activation,
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
