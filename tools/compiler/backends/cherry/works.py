# SPDX-License-Identifier: BSD-2-Clause
"""Works: what one program can do at least, with the buffers that it takes and what DMA brings before it and takes away after it."""
from dataclasses import dataclass, field

import numpy as np

from ....kernels.cherry.stored import from_array
from .decompose import streamed
from .emit import cuts, packed_weights
from .machine import Chain, Product, Ref, Regroup
from .places import Buffer, Place, geometry

__all__ = ["Main", "Transfer", "Work", "Works"]

#: Columns of a descriptor's row, at most.
_MOST = 65535


class Main:
    """Main memory from an address on, taken piece by piece.

    Attributes
    ----------
    constants : list of (address, uint8 array, what it is); ``end``: the first free address
    """
    def __init__(self, start=0):
        self.constants, self.end = [], start

    def take(self, size):
        address, self.end = self.end, self.end + (size + 63 & ~63)
        return address

    def hold(self, elements, fmt, what):
        """The address of a row of constant elements."""
        data = from_array(elements.reshape(1, -1), fmt).astype("<u4").view(np.uint8).ravel()
        address = self.take(data.size)
        self.constants.append((address, data, what))
        return address


@dataclass
class Transfer:
    """A DMA descriptor: ``op`` in, out or fill, ``rows`` x ``cols`` elements at ``offset`` of ``buffer``."""
    op: str
    buffer: Buffer
    offset: int
    rows: int
    cols: int
    fmt: str = "fp32"
    main: object = 0
    pitch: int = 0
    mem_pitch: int = 0

    def line(self):
        """As assembly source."""
        mem = self.buffer.address + self.offset
        if self.op == "fill":
            return f".fill {self.main} {mem} {self.rows} {self.cols}"
        spaced = f" pitch={self.pitch} mem_pitch={self.mem_pitch}" if self.rows > 1 else ""
        return f".{self.op} {self.fmt} {self.main:#x} {mem} {self.rows} {self.cols}{spaced}"


@dataclass
class Work:
    """``emit(emitter)`` makes its loop nests.

    Attributes
    ----------
    nodes : names of the graph's nodes
    buffers : that its program touches
    incoming, outgoing : lists of Transfer
    ordered : what comes in has left with the work before: nothing is prefetched
    """
    nodes: tuple
    emit: object
    buffers: set = field(default_factory=set)
    incoming: list = field(default_factory=list)
    outgoing: list = field(default_factory=list)
    ordered: bool = False
    macs: int = 0


def moved(op, place, shape, main, rows=None):
    """Transfers of a value whose array lies at ``main`` in fp32, C order; ``rows``: (first, number) of its rows."""
    height, width, depth = shape
    first, number = rows or (0, height)
    row, pixel, _ = place.strides
    whole = width * depth
    if pixel == depth or width == 1:
        if width == 1 and pixel != depth:
            whole, pixel = depth, depth
        if whole <= _MOST:
            return [Transfer(op, place.buffer, place.lead + first * row, number, whole, main=main + 4 * first * whole, pitch=4 * whole, mem_pitch=row)]
    return [Transfer(op, place.buffer, place.lead + y * row, width, depth, main=main + 4 * y * whole, pitch=4 * depth, mem_pitch=pixel)
            for y in range(first, first + number)]


class Works:
    """Works of a machine's operations, in order.

    Parameters
    ----------
    machine, params : as they are
    keep : bool, every tensor of the graph goes to main memory
    most : elements of a part of weights
    main : Main

    Attributes
    ----------
    works : list of Work; ``places``: dict, Value -> Place; ``buffers``: list
    fills : list of Transfer: constants of one element, brought first
    arrays : dict, tensor name -> address of its array in main memory, fp32, C order
    """
    def __init__(self, machine, params, *, keep, most, main):
        self.machine, self.params, self.keep, self.most, self.main = machine, params, keep, most, main
        self.works, self.places, self.buffers, self.fills, self.arrays = [], {}, [], [], {}
        self._weights, self._waiting = {}, []
        for name, value in machine.inputs.items():
            self.arrays[name] = main.take(4 * value.size)
        self._remaining = {}
        for operation in machine.operations:
            self._remaining[operation.out.value] = self._remaining.get(operation.out.value, 0) + 1
        for operation in machine.operations:
            self._operation(operation)
        self._leave_unmade()

    def buffer(self, size, what):
        found = Buffer(size + -size % 4, what)
        self.buffers.append(found)
        return found

    def place(self, value, work):
        """Where a value lies; the first that asks brings or surrounds it."""
        if value not in self.places:
            strides, lead, size = geometry(value)
            buffer = self.buffer(size, value.name or "intermediate result")
            self.places[value] = Place(buffer, value.shape, strides, lead)
            if value.data is not None:
                self._constant(value, work)
            elif value.name in self.machine.inputs and self.machine.inputs[value.name] is value:
                work.incoming += moved("in", self.places[value], value.shape, self.arrays[value.name])
            if any(value.border):
                filler = Ref.of(self._filler(value.around, work))
                before = work.emit
                work.emit = lambda emitter: (emitter.around(value, filler), before(emitter))
        work.buffers.add(self.places[value].buffer)

    def _filler(self, number, work):
        from .machine import Value
        for value in self.places:
            if value.data is not None and value.size == 1 and value.data.item() == number:
                work.buffers.add(self.places[value].buffer)
                return value
        value = Value((1, 1, 1), data=np.full((1, 1, 1), number))
        self.place(value, work)
        return value

    def _constant(self, value, work):
        buffer = self.places[value].buffer
        buffer.what = "constants"
        if value.size == 1:
            number = value.data.item()
            self.fills.append(Transfer("fill", buffer, 0, 1, 1, main=repr(number)))
            return
        data = value.data.ravel()
        for first in range(0, data.size, _MOST - 15):
            some = data[first:first + _MOST - 15]
            work.incoming.append(Transfer("in", buffer, first, 1, some.size, "packed", self.main.hold(some, "packed", "constants")))

    # Operations

    def _operation(self, operation):
        if isinstance(operation, Regroup):
            self._regroup(operation)
        elif isinstance(operation, Product):
            self._product(operation)
        else:
            work = self._work(operation, lambda emitter: emitter.operation(operation))
            self._outgoing(operation, work)

    def _work(self, operation, emit):
        work = Work(getattr(operation, "nodes", (operation.node,)), emit)
        for ref in (*operation.refs(), operation.out):
            self.place(ref.value, work)
        self.works.append(work)
        return work

    def _product(self, operation):
        total = operation.weights.size
        results = operation.out.shape[0] * operation.out.shape[1]
        parts = cuts(operation, self.most, self.params["contexts"], self.params["acc_frac"] == 9)
        for number, cut in enumerate(parts):
            weights, incoming = self._stream(operation, cut, number, results)
            work = self._work(operation, lambda emitter, cut=cut, weights=weights: emitter.operation(operation, cut, weights))
            work.buffers.add(weights)
            work.incoming += incoming
            work.macs = total * results // len(parts)
        self._outgoing(operation, work)

    def _stream(self, operation, cut, number, results):
        """The buffer of a part of weights, and what brings it; weights that several operations share are brought once."""
        key = id(operation.weights), number, self.most
        shared = getattr(operation, "shared", None)
        if shared is not None and (shared, number) in self._weights:
            return self._weights[shared, number], []
        elements = packed_weights(operation, cut)
        fmt = "bf16" if not operation.each and streamed(operation.weights, results, self.params) else "packed"
        buffer = self.buffer(elements.size, f"weights of {operation.node}")
        self._weights[(shared, number) if shared is not None else key] = buffer
        incoming = []
        for first in range(0, elements.size, _MOST - 15):
            some = elements[first:first + _MOST - 15]
            incoming.append(Transfer("in", buffer, first, 1, some.size, fmt, self.main.hold(some, fmt, f"weights of {operation.node}")))
        return buffer, incoming

    def _regroup(self, operation):
        """By way of main memory: out under one shape, in under the other."""
        source, out = operation.source, operation.out
        if (source.axes, source.start, source.step, source.shape) != ((0, 1, 2), (0, 0, 0), (1, 1, 1), source.value.shape):
            from .machine import Value
            whole = Ref.of(Value(source.shape))
            self._work(Chain(node=operation.node, out=whole, parts=[("OUTPUT", source)]),
                       lambda emitter: emitter.operation(Chain(node=operation.node, out=whole, parts=[("OUTPUT", source)])))
            source = whole
        array = self.main.take(4 * source.value.size)
        leaving = Work(operation.node and (operation.node,), lambda emitter: None)
        self.place(source.value, leaving)
        leaving.outgoing += moved("out", self.places[source.value], source.shape, array)
        self.works.append(leaving)
        coming = Work((operation.node,), lambda emitter: None, ordered=True)
        self.place(out.value, coming)
        coming.incoming += moved("in", self.places[out.value], out.shape, array)
        self.works.append(coming)
        self._outgoing(operation, coming)

    def _outgoing(self, operation, work):
        """Takes the value that is complete now to main memory, if it is wanted there."""
        value = operation.out.value
        self._remaining[value] -= 1
        if self._remaining[value]:
            return
        for name, ref in self.machine.values.items():
            if ref.value is value and name not in self.machine.inputs and (name in self.machine.outputs or (self.keep and name == value.name)):
                self._leave(name, ref, work)

    def _leave(self, name, ref, work):
        if name in self.arrays:
            return
        view = self.places[ref.value]
        if (ref.axes, ref.start, ref.step, ref.shape) != ((0, 1, 2), (0, 0, 0), (1, 1, 1), ref.value.shape):
            from .machine import Value
            whole = Ref.of(Value(ref.shape))
            operation = Chain(node=work.nodes[-1], out=whole, parts=[("OUTPUT", ref)])
            work = self._work(operation, lambda emitter: emitter.operation(operation))
            view = self.places[whole.value]
        self.arrays[name] = self.main.take(4 * ref.value.size)
        shape = ref.shape
        work.outgoing += moved("out", view, shape, self.arrays[name])

    def _leave_unmade(self):
        """Outputs that are inputs, or parts of them, seen otherwise."""
        for name in self.machine.outputs:
            if name not in self.arrays:
                from .machine import Value
                ref = self.machine.values[name]
                whole = Ref.of(Value(ref.shape))
                operation = Chain(node=name, out=whole, parts=[("OUTPUT", ref)])
                work = self._work(operation, lambda emitter, operation=operation: emitter.operation(operation))
                self.arrays[name] = self.main.take(4 * whole.value.size)
                work.outgoing += moved("out", self.places[whole.value], ref.shape, self.arrays[name])
