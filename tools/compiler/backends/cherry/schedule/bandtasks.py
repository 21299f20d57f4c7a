# SPDX-License-Identifier: BSD-2-Clause
"""Band scheduling: runs a chain of layers one strip of rows at a time, so that intermediate maps
fit in the scratchpad."""

from functools import partial

from ..codegen.emit import cuts
from ..kernel_graph import Product, Ref
from .bands import Bands, row_part
from .steps import Place, borders, edges, geometry
from .transfers import Task, moved, whole

__all__ = ["BandTasks"]


class BandTasks:
    """Mixin of :class:`~.tasks.Tasks` for band scheduling."""

    def _segment(self, end, number):
        """Adds the tasks of the operations up to ``end``, split into ``number`` bands."""
        operations = self.kernel_graph.operations[self._number : end]
        made = {operation.out.value for operation in operations}
        later = {
            ref.value
            for operation in self.kernel_graph.operations[end:]
            for ref in operation.refs()
        }
        lasting = {
            *self.places,
            *later,
            *(ref.value for _, ref in self._all_wanted() if not whole(ref)),
        }
        read = {ref.value for operation in operations for ref in operation.refs()}
        lasting |= made - read
        # The search for segments asks for the same bands again and again.
        key = "bands", self._number, end, number, frozenset(map(id, lasting & (made | read)))
        bands = self.arrays_of.once(key, lambda: Bands(operations, number, lasting))
        buffers = {
            value: self.buffer(self._rows_size(rows), value.name or "intermediate result")
            for value, rows in bands.rolling.items()
            if value in made
        }
        before, weights = {}, {}
        for band in range(number):
            places = {}
            for value, rows in bands.rolling.items():
                buffer = (
                    buffers[value]
                    if value in made
                    else self.buffer(self._rows_size(rows), value.name or "input")
                )
                strides, _, _ = geometry(value, self.spread)
                places[value] = Place(
                    buffer,
                    value.shape,
                    strides,
                    value.border[1] * strides[1] - rows.low[band] * strides[0],
                )
            self._slide(bands, band, before, places, operations[0])
            for operation, first, last in bands.done[band]:
                if last > first:
                    part = self.arrays_of.once(
                        ("rows", id(operation), first, last),
                        partial(row_part, operation, first, last),
                    )
                    self._band(operation, part, places, bands, band, weights)
                    self._leave_rows(operation, places, (first, last - first))
                if band == number - 1 and operation.out.value not in places:
                    self._outgoing(operation, self.tasks[-1])
            before = places

    def _all_wanted(self):
        return [
            found
            for value in {ref.value for ref in self.kernel_graph.values.values()}
            for found in self._wanted(value)
        ]

    def _rows_size(self, rows):
        strides, _, _ = geometry(rows.value, self.spread)
        return (rows.most - 1) * strides[0] + (
            rows.value.border[1] + rows.value.shape[1] + rows.value.border[3]
        ) * strides[1]

    def _slide(self, bands, band, before, places, operation):
        """Prepares the buffers of a band: moves the rows kept from the previous band to the front,
        fills the borders, and loads the new rows of inputs."""
        task, does = Task(operation.nodes, None), []
        for value, rows in bands.rolling.items():
            low, high, place = rows.low[band], rows.high[band], places[value]
            given = value.name in self.kernel_graph.inputs
            fresh = given or not band
            if (
                not fresh
                and rows.low[band - 1] < low
                and max(low, 0) < min(rows.new[band], value.shape[0])
            ):
                does.append(
                    partial(
                        self._slid,
                        value,
                        before[value],
                        place,
                        max(low, 0),
                        min(rows.new[band], value.shape[0]),
                    )
                )
            if given:
                first, end = max(low, 0), min(high, value.shape[0])
                task.incoming += (
                    moved("in", place, value.shape, self.arrays[value.name], (first, end - first))
                    if end > first
                    else []
                )
            # Of a value that rolls, every row's sides are filled once.
            around = value, place, low, low + rows.most if fresh and not given else high, fresh
            if edges(*around):
                does.append(partial(self._filled, around, Ref.of(self._filler(value.around, task))))
            task.buffers.add(place.buffer)
        task.emit = lambda emitter: [one(emitter) for one in does]
        if does or task.incoming:
            self._append(task)

    @staticmethod
    def _slid(value, before, place, first, end, emitter):
        emitter.slide(value, before, place, first, end)

    @staticmethod
    def _filled(around, filler, emitter):
        emitter.fill(edges(*around), filler)

    def _band(self, operation, part, places, bands, band, weights):
        """Adds the task that computes one operation's rows of a band."""
        task = Task(operation.nodes, None)
        for ref in (*part.refs(), part.out):
            if ref.value in places:
                task.buffers.add(places[ref.value].buffer)
            else:
                self.place(ref.value, task, surrounded=False)
        self._surround(part, places, task)
        if isinstance(operation, Product):
            (cut,) = cuts(operation, 1 << 30, self.params["contexts"], False)
            if operation not in weights:
                weights[operation], incoming = self._stream(
                    operation, cut, 0, operation.out.shape[0] * operation.out.shape[1]
                )
                task.incoming += incoming
            task.buffers.add(weights[operation])
            task.macs = operation.weights.size * part.out.shape[0] * part.out.shape[1]
            emit = lambda emitter: emitter.operation(part, cut, weights[operation])  # noqa: E731
        else:
            emit = lambda emitter: emitter.operation(part)  # noqa: E731
        surround = task.emit
        task.emit = lambda emitter: (surround and surround(emitter), emit(emitter.within(places)))
        return self._append(task)

    def _surround(self, part, places, task):
        """Fills the border of a result that is stored whole, before anything is written to it."""
        value = part.out.value
        if value in places or not any(value.border) or value in self._surrounded:
            return
        self._surrounded.add(value)
        filler = Ref.of(self._filler(value.around, task))
        task.emit = lambda emitter: emitter.fill(borders(value, self.places[value]), filler)

    def _leave_rows(self, operation, places, rows):
        """Stores the band's rows of a tensor that main memory needs but that is never whole in the
        scratchpad."""
        value = operation.out.value
        if value not in places:
            return
        for name, _ in [
            (name, ref)
            for name, ref in self._everything_wanted
            if ref.value is value and whole(ref)
        ]:
            if name not in self.arrays:
                self.arrays[name] = self.main.take(4 * value.size)
            self.tasks[-1].outgoing += moved(
                "out", places[value], value.shape, self.arrays[name], rows
            )
            self.tasks[-1].at_once = True
