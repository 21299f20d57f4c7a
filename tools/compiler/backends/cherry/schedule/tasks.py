# SPDX-License-Identifier: BSD-2-Clause
"""Tasks of the operations: their instructions, the placement of their values, and their DMA
transfers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arithmetic import bits
from ..codegen.emit import Emitter, cuts, packed_weights
from ..kernel_graph import Chain, KernelGraph, Product, Ref, Regroup, Value
from ..operations import streamed
from .bandtasks import BandTasks
from .steps import Buffer, Place, borders, geometry
from .transfers import MOST, Arrays, Main, Task, Transfer, boxed, moved, whole

__all__ = ["Tasks"]

#: Part of the scratchpad that weights may take which stay for later operations.
_SHARE = 8
#: Elements of weights that are brought at a time.
_MOST_ELEMENTS = 8192


class Tasks(BandTasks):
    """Generates the tasks of a network's operations, in order.

    Parameters
    ----------
    kernel_graph, params : as they are
    keep : bool, every tensor of the graph goes to main memory
    most : elements of a weight tile
    spread : pixels lie at pitches that spread tiles over the banks, though that takes memory
    segments : list of (first operation, end, number of bands), of operations that are done in bands
    main : Main; ``arrays``: Arrays, the same for all attempts with a kernel graph

    Attributes
    ----------
    tasks : list of Task; ``places``: dict, Value -> Place; ``buffers``: list
    fills : list of Transfer: constants of one element, brought first
    arrays : dict, tensor name -> address of its array in main memory, fp32, C order
    """

    def __init__(
        self,
        kernel_graph: KernelGraph,
        params: Mapping[str, Any],
        *,
        keep: bool,
        most: int,
        spread: bool,
        main: Main,
        arrays: Arrays,
        segments: Sequence[tuple[int, int, int]] = (),
    ):
        self.kernel_graph, self.params, self.keep, self.most, self.spread, self.main = (
            kernel_graph,
            params,
            keep,
            most,
            spread,
            main,
        )
        self.arrays_of = arrays
        self.tasks: list[Task] = []
        self.places: dict[Value, Place] = {}
        self.buffers: list[Buffer] = []
        self.fills: list[Transfer] = []
        self.arrays: dict[str, int] = {}
        self._weights: dict[Any, Any] = {}
        self._surrounded: set[Value] = set()
        self._everything_wanted = [
            (name, kernel_graph.values[name])
            for name in (kernel_graph.values if keep else kernel_graph.outputs)
        ]
        for name, value in kernel_graph.inputs.items():
            self.arrays[name] = main.take(4 * value.size)
        #: Value -> address of its array, of those that lie in main memory.
        self.outside: dict[Value, int] = {}
        self._held: dict[Any, list[Transfer]] = {}
        self._lay_outside()
        self._remaining: dict[Value, int] = {}
        for operation in kernel_graph.operations:
            self._remaining[operation.out.value] = self._remaining.get(operation.out.value, 0) + 1
        self._uses: dict[Any, Any] = {}
        for number, operation in enumerate(kernel_graph.operations):
            for ref in operation.refs():
                self._uses[ref.value] = number
        begins = {first: (end, bands) for first, end, bands in segments}
        self._number = 0
        while self._number < len(kernel_graph.operations):
            if self._number in begins:
                self._segment(*begins[self._number])
                self._number = begins[self._number][0]
            else:
                self._operation(kernel_graph.operations[self._number])
                self._number += 1
        self._leave_unmade()

    def relocate(self, move: Callable[[int], int]) -> None:
        """Moves the arrays in main memory by ``move(address)``."""
        self.arrays = {name: move(address) for name, address in self.arrays.items()}
        self.outside = {value: move(address) for value, address in self.outside.items()}

    def _lay_outside(self):
        """Assigns addresses to the values that stay in main memory; a reshaped value shares the
        address of its source."""
        kernel_graph = self.kernel_graph
        if not kernel_graph.outside:
            return
        same = {
            operation.out.value: operation.source.value
            for operation in kernel_graph.operations
            if isinstance(operation, Regroup)
            and {operation.out.value, operation.source.value} <= kernel_graph.outside
        }
        made = [operation.out.value for operation in kernel_graph.operations]
        boxes = [value.box.value for value in made if value.box is not None]
        for value in dict.fromkeys([*kernel_graph.inputs.values(), *boxes, *made]):
            if value not in kernel_graph.outside:
                continue
            if kernel_graph.inputs.get(value.name) is value:
                self.outside[value] = self.arrays[value.name]
            elif value in same:
                self.outside[value] = self.outside[same[value]]
            else:
                self.outside[value] = self.main.take(4 * value.size)
        for name, ref in self._everything_wanted:
            if ref.value in self.outside and name not in self.arrays:
                self.arrays[name] = self.outside[ref.value]

    def buffer(self, size: int, what: str) -> Buffer:
        """Adds a scratchpad buffer."""
        # The last tile of a narrow view may reach three elements further.
        found = Buffer(size + 3 + -(size + 3) % 4, what)
        self.buffers.append(found)
        return found

    def place(self, value: Value, task: Task, surrounded: bool = True) -> None:
        """Places a value when ``task`` first uses it, with its loads and its border."""
        if value not in self.places:
            self._lay(value)
            if value.data is not None:
                self._constant(value, task)
            elif value.box is not None:
                if value.box.comes:
                    there = value.box.value
                    task.incoming += boxed("in", self.places[value], value.box, self.outside[there])
                    task.ordered |= there not in self.kernel_graph.inputs.values()
            elif (
                value.name in self.kernel_graph.inputs
                and self.kernel_graph.inputs[value.name] is value
            ):
                task.incoming += moved(
                    "in", self.places[value], value.shape, self.arrays[value.name]
                )
            if any(value.border) and (surrounded or value.name in self.kernel_graph.inputs):
                self._surrounded.add(value)
                filler = Ref.of(self._filler(value.around, task))
                before = task.emit

                def surround(emitter: Emitter) -> None:
                    emitter.fill(borders(value, self.places[value]), filler)
                    if before is not None:
                        before(emitter)

                task.emit = surround
        task.buffers.add(self.places[value].buffer)

    def _lay(self, value):
        strides, lead, size = geometry(value, self.spread)
        self.places[value] = Place(
            self.buffer(size, value.name or "intermediate result"), value.shape, strides, lead
        )

    def _filler(self, number, task):
        for value in self.places:
            if value.data is not None and value.size == 1 and value.data.item() == number:
                task.buffers.add(self.places[value].buffer)
                return value
        value = Value((1, 1, 1), data=np.full((1, 1, 1), number))
        self.place(value, task)
        return value

    def _constant(self, value, task):
        buffer = self.places[value].buffer
        buffer.what = "constants"
        if value.size == 1:
            self.fills.append(Transfer("fill", buffer, 0, 1, 1, main=int(bits(value.data).item())))
            return
        data = self.arrays_of.once(id(value), lambda: value.data.ravel().copy())
        for first in range(0, data.size, MOST - 15):
            some = data[first : first + MOST - 15]
            task.incoming.append(
                Transfer(
                    "in",
                    buffer,
                    first,
                    1,
                    some.size,
                    "packed",
                    self.main.hold(some, "packed", "constants"),
                )
            )

    # Operations

    def _operation(self, operation):
        if isinstance(operation, Regroup):
            self._regroup(operation)
        elif isinstance(operation, Product):
            self._product(operation)
        else:
            if isinstance(operation, Chain):
                self._in_place(operation)
            task = self._task(operation, lambda emitter: emitter.operation(operation))
            self._outgoing(operation, task)

    def _in_place(self, operation):
        """Lets a result overwrite an operand that nothing reads afterwards."""
        out = operation.out
        if out.value in self.places or not whole(out) or self.keep:
            return
        # Stores to main memory follow the step, in which the result may be made already.
        lasting = [
            *self.kernel_graph.inputs.values(),
            *(ref.value for ref in self.kernel_graph.outputs.values()),
        ]
        for ref in [part[1] for part in operation.parts if not isinstance(part, str)]:
            value = ref.value
            others = [r for r in operation.refs() if r.value is value and r is not ref]
            if (
                value not in self.places
                or value.data is not None
                or self._uses[value] > self._number
                or value in lasting
            ):
                continue
            if (
                whole(ref)
                and ref.shape == out.shape
                and all(whole(r) and r.shape == ref.shape for r in others)
                and all(
                    mine <= there
                    for mine, there in zip(out.value.border, value.border, strict=True)
                )
                and (not any(out.value.border) or out.value.around == value.around)
            ):
                self.places[out.value] = self.places[value]
                return

    def _task(self, operation, emit):
        task = Task(operation.nodes, emit)
        for ref in (*operation.refs(), operation.out):
            self.place(ref.value, task)
        return self._append(task)

    def _copied(self, node, source, out):
        operation = Chain(node=node, out=out, parts=[("OUTPUT", source)])
        return self._task(operation, lambda emitter: emitter.operation(operation))

    def _append(self, task):
        task.number = self._number
        self.tasks.append(task)
        return task

    def _product(self, operation):
        total = operation.weights.size
        results = operation.out.shape[0] * operation.out.shape[1]
        parts = cuts(operation, self.most, self.params["contexts"], self.params["acc_frac"] == 9)
        if all(cut.first and cut.last for cut in parts) and operation.source.value not in {
            part[1].value for part in operation.parts if not isinstance(part, str)
        }:
            self._in_place(operation)
        for number, cut in enumerate(parts):
            weights, incoming = self._stream(operation, cut, number, results)
            task = self._task(
                operation,
                lambda emitter, cut=cut, weights=weights: emitter.operation(
                    operation, cut, weights
                ),
            )
            task.buffers.add(weights)
            task.incoming += incoming
            task.macs = total * results // len(parts)
        self._outgoing(operation, task)

    def _stream(self, operation, cut, number, results):
        """Adds the buffer of a tile of weights and the transfers that load it; small weights shared
        by several operations are loaded once."""
        key = id(operation.weights), number
        if key in self._weights:
            return self._weights[key], []
        box = operation.results is not None
        results = operation.results or results
        of = id(operation.weights if box else operation)
        elements = self.arrays_of.once((of, cut), lambda: packed_weights(operation, cut))
        fmt = (
            "bf16"
            if not operation.each and streamed(operation.weights, results, self.params)
            else "packed"
        )
        buffer = self.buffer(elements.size, f"weights of {operation.node}")
        few = operation.weights.size <= (1 << self.params["log_mem"]) // _SHARE
        if few and not operation.passing:
            self._weights[key] = buffer
        if box and (of, cut) in self._held:
            return buffer, [replace(one, buffer=buffer) for one in self._held[of, cut]]
        incoming = []
        for first in range(0, elements.size, _MOST_ELEMENTS):
            some = elements[first : first + _MOST_ELEMENTS]
            incoming.append(
                Transfer(
                    "in",
                    buffer,
                    first,
                    1,
                    some.size,
                    fmt,
                    self.main.hold(some, fmt, f"weights of {operation.node}"),
                )
            )
        self._held[of, cut] = incoming
        return buffer, incoming

    def _regroup(self, operation):
        """Adds a reshape through main memory: the value is stored with one shape and loaded with
        the other."""
        source, out = operation.source, operation.out
        if source.value in self.outside and out.value in self.outside:
            self._remaining[out.value] -= 1
            return
        if source.value in self.outside:
            self._come(operation, self.outside[source.value])
            return
        if not whole(source):
            copied = Ref.of(Value(source.shape))
            self._copied(operation.node, source, copied)
            source = copied
        array = self.outside.get(out.value) or self.main.take(4 * source.value.size)
        leaving = Task(operation.node and (operation.node,), lambda emitter: None)
        self.place(source.value, leaving)
        leaving.outgoing += moved("out", self.places[source.value], source.shape, array)
        self._append(leaving)
        if out.value in self.outside:
            self._remaining[out.value] -= 1
            return
        self._come(operation, array)

    def _come(self, operation, array):
        """Adds the task that loads the result of a :class:`Regroup` from its array in main
        memory."""
        out = operation.out
        coming = Task((operation.node,), lambda emitter: None, ordered=True)
        self.place(out.value, coming)
        coming.incoming += moved("in", self.places[out.value], out.shape, array)
        self._append(coming)
        self._outgoing(operation, coming)

    def _wanted(self, value):
        """Pairs (tensor name, Ref) of a value's tensors that must be stored to main memory."""
        names = self.kernel_graph.values if self.keep else self.kernel_graph.outputs
        return [
            (name, self.kernel_graph.values[name])
            for name in names
            if self.kernel_graph.values[name].value is value and name not in self.arrays
        ]

    def _outgoing(self, operation, task):
        """Stores a value to main memory once it is complete, if it is needed there."""
        value = operation.out.value
        self._remaining[value] -= 1
        if not self._remaining[value]:
            if value.box is not None and value.box.leaves:
                there = self.outside[value.box.value]
                task.outgoing += boxed("out", self.places[value], value.box, there)
            for name, ref in self._wanted(value):
                self._leave(name, ref, task)

    def _leave(self, name, ref, task=None):
        """Stores a tensor to main memory, together with the task that made it; a view with another
        layout is copied first."""
        if task is None or not whole(ref):
            copied = Ref.of(Value(ref.shape))
            task, ref = self._copied(task.nodes[-1] if task else name, ref, copied), copied
        self.arrays[name] = self.main.take(4 * ref.value.size)
        task.outgoing += moved("out", self.places[ref.value], ref.shape, self.arrays[name])

    def _leave_unmade(self):
        """Stores the tensors that no operation makes: inputs, constants, and views of them."""
        for value in list(dict.fromkeys(ref.value for ref in self.kernel_graph.values.values())):
            if value in self.outside:
                continue
            for name, ref in self._wanted(value):
                self._leave(name, ref)
