# SPDX-License-Identifier: BSD-2-Clause
"""Lowering of tasks to a program list, packed into steps, placed in the scratchpad, encoded; and
search over candidate schedules (memory layouts and operation orders) for the fastest that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from struct import pack, unpack_from
from typing import TYPE_CHECKING, Any

from .....gateware.cores.cherry.engine.ops import tile_elements
from .....gateware.cores.cherry.image import Step, image_bytes, list_bytes, row_words
from .....gateware.cores.cherry.software import SOFTWARE
from .....gateware.isa.asm import disassemble
from ...layout import dense_layout
from ..base import LayerSpan, Lowered, LoweringError, Placed, copyable_states, with_states
from .codegen.emit import Emitter
from .codegen.nests import Body, Nests, Program, TooLarge, body_key
from .codegen.tilework import Costs
from .cost import program_cycles
from .kernel_graph import Regroup
from .schedule.bands import rows_separable
from .schedule.memory import Memory, image_cycles, transfer_cycles
from .schedule.memory_map import PROGRAM, StepTraffic, order_of, places_of
from .schedule.steps import Buffer, Crowded, Steps, Timeline, geometry
from .schedule.tasks import Tasks
from .schedule.tiling import Limits, tiled
from .schedule.transfers import MOST, Arrays, Main, Transfer

if TYPE_CHECKING:
    from ...graph import Graph
    from .kernel_graph import KernelGraph, Value

__all__ = ["Lowering", "lower_kernel_graph"]


#: Cycles of a program besides its bodies.
_AROUND = 30
#: Offset of the number of steps, the upper half of a word, in a program list.
_COUNT = 4


class Lowering:
    """One candidate schedule of a network. ``segments``: operations that run in bands; ``most``:
    greatest number of weights in a tile; ``ahead``: DMA runs before the programs that use the data;
    ``spread``: pixels are distributed over the memory banks. It ends with copies of ``states``,
    pairs (input, output), from the outputs to the inputs."""

    def __init__(
        self,
        kernel_graph: KernelGraph,
        graph: Graph,
        params: Mapping[str, Any],
        memory_size: int,
        keep: bool,
        arrays: Arrays,
        most: int,
        ahead: bool,
        spread: bool,
        segments: Sequence[tuple[int, int, int]],
        states: Sequence[tuple[str, str]] = (),
        *,
        memory: Memory,
    ):
        self.kernel_graph, self.graph, self.params, self.memory_size, self.keep, self.ahead = (
            kernel_graph,
            graph,
            params,
            memory_size,
            keep,
            ahead,
        )
        self._arrays, self._states, self._memory = arrays, states, memory
        # Programs of builds without on-chip memory stay as they were made, by a timing that takes a
        # tile file of rows for one of whole tiles.
        self._words = 16 // tile_elements(params) if memory.border else 1
        #: Timing that steps are packed by, timing of their estimate.
        self._packing = self._timing = replace(memory, border=0)
        #: Address of the program list, if there is a map.
        self._program_at: int | None = None
        self._program_on_chip = False
        self.main = Main(arrays)
        self.made = Tasks(
            kernel_graph,
            params,
            keep=keep,
            most=most,
            spread=spread,
            main=self.main,
            arrays=arrays,
            segments=segments,
        )
        self.costs = Costs(params["macs"], params["banks"])
        self.elements = 1 << params["log_mem"]
        self.program = {"imem": params["imem"], "acc_frac": params["acc_frac"]}

    def plan(self) -> Lowering:
        """Places everything and estimates the cycles; raises LoweringError if it does not fit."""
        provisional = self._spread()
        far = replace(self._memory, border=0)
        self._schedule(provisional, far, far)
        if not self._memory.border:
            return self
        regions = self.main.regions
        orders = [
            order_of(regions, len(self._list()), self._traffic, self._memory),
            [*range(len(regions)), PROGRAM],
        ]
        # Transfers come early by what they take, which depends on the map: neither is best always.
        trials = [(order, packing) for order in orders for packing in (far, self._memory)]
        best = min(trials, key=lambda trial: self._try_map(provisional, *trial))
        self._try_map(provisional, *best)
        return self

    def _try_map(self, provisional, order, packing):
        """Plans with the regions of main memory in this order; returns the estimated cycles."""
        self._place_regions(order)
        self._schedule(provisional, packing, self._memory)
        # The list is shorter or longer by what has moved between steps.
        self._place_regions(order)
        return self.cycles

    def _schedule(self, provisional, packing, memory):
        """Packs the tasks into steps by the transfers' cycles of ``packing``, and estimates their
        cycles with those of ``memory``."""
        self._packing, self._timing = packing, memory
        self._spent: dict[Any, Any] = {}
        self._moved: dict[Any, Any] = {}
        try:
            steps = self._steps(provisional, True)
        except Crowded:
            # Tasks of a step of their own need less at a time.
            steps = self._steps(provisional, False)
        again = iter(body for task in self._bodies() for body in task)
        for step in steps.steps:
            step.bodies = [(node, next(again)) for node, _ in step.bodies]
        self._entries: list[Any] = []
        self._traffic: list[StepTraffic] = []
        timeline, last = Timeline(), None
        self._steps_of: dict[Any, Any] = {}
        for number, step in enumerate(steps.steps):
            image = Program([body for _, body in step.bodies], **self.program).image
            program = image_bytes(image)
            coming = [a.transfer for a in steps.arrivals if a.at == number] + (
                self.made.fills if number == 0 else []
            )
            traffic = StepTraffic(
                cycles=self._cycles(step),
                coming=coming,
                leaving=step.outgoing,
                image=image.size if program != last else 0,
                prefetch=steps.prefetched(number),
                defer=steps.deferred(number),
            )
            here = self._spend(timeline, traffic)
            last = program
            self._attribute(step, here, [*coming, *step.outgoing])
            for node in {
                *(node for node, _ in step.bodies),
                *(task.nodes[-1] for task in step.tasks),
            }:
                self._steps_of[node] = self._steps_of.get(node, (number,))[0], number
            self._add_entry(program, traffic)
        self._copy_states(timeline)

    def _spend(self, timeline, traffic):
        """Adds a step to the timeline; returns the cycles that it adds."""
        self._traffic.append(traffic)
        image = traffic.image and image_cycles(traffic.image, self._timing, self._program_on_chip)
        return timeline.step(
            traffic.cycles,
            self._cycles_of(traffic.coming) + image,
            self._cycles_of(traffic.leaving),
            traffic.prefetch,
            traffic.defer,
        )

    def _add_entry(self, program, traffic):
        """Adds a step to the program list."""
        step = Step(0, prefetch=traffic.prefetch, defer=traffic.defer)
        self._entries.append((program, step, traffic.coming, traffic.leaving))

    def _place_regions(self, order):
        """Moves the regions of main memory to this order."""
        size = len(self._list())
        places, end = places_of(order, self.main.regions, size)
        self._program_at = places[PROGRAM]
        self._program_on_chip = self._program_at + size <= self._memory.border
        move = self.main.rearrange(places, end)
        self.made.relocate(move)
        transfers = {
            id(transfer): transfer
            for step in self._traffic
            for transfer in (*step.coming, *step.leaving)
            if transfer.op != "fill"
        }
        for transfer in transfers.values():
            transfer.main = move(transfer.main)

    def _list(self):
        """The program list in its bytes."""
        return list_bytes(
            [
                (program, step, *([t.descriptor() for t in transfers] for transfers in lists))
                for program, step, *lists in self._entries
            ]
        )

    def _cycles_of(self, transfers):
        return sum(transfer_cycles(transfer, self._timing) for transfer in transfers)

    def _copy_states(self, timeline):
        """Adds steps at the end that copy outputs, through the scratchpad, to where the next run
        reads its inputs; they count as part of the last layer."""
        for source, output in self._kept_states():
            begin, end = self._span(output)
            for at in range(begin, end, 4 * self._most_copied):
                count = min(self._most_copied, (end - at) // 4)
                buffer = Buffer(count, output)
                target = self.made.arrays[source] + at - begin
                coming, going = (
                    Transfer(op, buffer, 0, 1, count, main=main)
                    for op, main in (("in", at), ("out", target))
                )
                image = Program([], **self.program).image
                traffic = StepTraffic(
                    cycles=0,
                    coming=[coming],
                    leaving=[going],
                    image=image.size,
                    prefetch=False,
                    defer=False,
                )
                spent = self._spend(timeline, traffic)
                self._spent[self._last] = self._spent.get(self._last, 0) + spent
                self._add_entry(image_bytes(image), traffic)

    @property
    def _most_copied(self):
        """Greatest number of elements in a copy, limited by a descriptor and the scratchpad."""
        return min(MOST, self.elements)

    @property
    def _last(self):
        """Name of the last node that is a layer of its own."""
        return next(reversed(self._steps_of))

    def _kept_states(self):
        """The states whose input and output have memory of their own."""
        known = [pair for pair in self._states if set(pair) <= self.made.arrays.keys()]
        return copyable_states(known, self._span)

    def _span(self, name):
        begin = self.made.arrays[name]
        return begin, begin + 4 * prod(self.graph.shape(name))

    @property
    def cycles(self) -> float:
        """Estimated cycles of a run; after :meth:`plan`."""
        return sum(self._spent.values())

    def lowered(self) -> Lowered:
        """Generates the :class:`Lowered` program of the plan."""
        return self._result(self._list())

    def _cycles(self, step):
        """Cycles of a step's program; equal programs are timed once for all candidates."""
        if not step.bodies:
            return 0
        return sum(self._body_cycles(body) for _, body in step.bodies) - _AROUND * (
            len(step.bodies) - 1
        )

    def _body_cycles(self, body):
        return self._arrays.once(
            body_key(body),
            lambda: program_cycles([body], self.params, self.costs, self._words),
        )

    def _steps(self, bodies, joining):
        """Packs the tasks into steps and allocates their buffers; raises Crowded."""
        steps = self._packed(bodies, self._fits, joining)
        for step in steps.steps:
            Program([body for _, body in step.bodies], **self.program)
        steps.place(self.elements)
        steps.hoist(self.elements, [self._cycles(step) for step in steps.steps])
        return steps

    def _packed(self, bodies, fits, joining):
        return Steps(
            self.made,
            bodies,
            fits,
            ahead=self.ahead,
            joining=joining,
            memory=self._packing,
        )

    def tight(self) -> int | None:
        """Index of the first operation for which the scratchpad is too small with one task per
        step; ``None`` if all fit."""
        bodies: list[list[Body]] = [[] for _ in self.made.tasks]
        try:
            self._packed(bodies, lambda bodies: True, False).place(self.elements)
        except Crowded as error:
            return self.made.tasks[error.step].number
        return None

    def _spread(self):
        """Provisional addresses for a first emission, in which no two buffers overlap."""
        at = 0
        for buffer in self.made.buffers:
            buffer.address, at = at, at + buffer.size
        return self._bodies()

    def _bodies(self):
        """Bodies of each task's loop nests."""
        found = []
        for task in self.made.tasks:
            nests = Nests(self.params["contexts"])
            task.emit(Emitter(nests, self.costs, self.made.places))
            found.append(nests.bodies)
        return found

    def _fits(self, bodies):
        try:
            Program(bodies, **self.program)
        except TooLarge:
            return False
        return True

    def _attribute(self, step, cycles, transfers):
        """Attributes the cycles of a step to the nodes of its bodies, in proportion to the cycles
        of each body alone; the bytes go to the last of them."""
        nodes = [node for node, _ in step.bodies] or [task.nodes[-1] for task in step.tasks]
        shares = [self._body_cycles(body) for _, body in step.bodies] or [1] * len(nodes)
        for node, share in zip(nodes, shares, strict=True):
            self._spent[node] = self._spent.get(node, 0) + cycles * share / sum(shares)
        self._moved[nodes[-1]] = self._moved.get(nodes[-1], 0) + sum(
            4 * t.rows * row_words(t.fmt, t.cols) for t in transfers if t.op != "fill"
        )

    def _cuts(self, data, nodes):
        """Range of program steps that ends each node (:class:`~..base.LayerSpan`). If a step holds
        bodies of several nodes, or their bands alternate, only the last node gets a range."""
        (word,) = unpack_from("<I", data, _COUNT)
        found = {}
        for index, node in enumerate(nodes):
            last = max(self._steps_of[before][1] for before in nodes[: index + 1])
            if all(self._steps_of[behind][0] > last for behind in nodes[index + 1 :]):
                found[node] = ((_COUNT, pack("<I", word & 0xFFFF | last + 1 << 16).hex()),)
        return {**found, nodes[-1]: None}

    def _result(self, data):
        arrays = {
            name: Placed(name, dense_layout(address, (1, *self.graph.shape(name)), "float32"))
            for name, address in self.made.arrays.items()
        }
        program_at = self._program_at
        if program_at is None:
            program_at = self.main.take(len(data))
        if self.main.end > self.memory_size:
            constants = sum(size.size for _, size, _ in self.main.constants)
            others = self.main.end - (len(data) + 63 & ~63) - constants
            raise LoweringError(
                f"it takes {self.main.end:,} bytes of main memory, there are "
                f"{self.memory_size:,}: {constants:,} constants, "
                f"{len(data):,} program, {others:,} inputs and results",
                bytes_needed=self.main.end,
            )
        inputs = {name: arrays[name] for name in self.kernel_graph.inputs}
        outputs = {name: arrays[name] for name in self.kernel_graph.outputs}
        macs = {}
        for task in self.made.tasks:
            for node in task.nodes[-1:]:
                macs[node] = macs.get(node, 0) + task.macs
        names = {node: task.nodes for task in self.made.tasks for node in task.nodes[-1:]}
        cuts = self._cuts(data, list(names))
        layers = [
            LayerSpan(
                node,
                tuple(names[node]),
                None,
                None,
                macs[node],
                int(self._spent.get(node, 0)),
                self._moved.get(node, 0),
                cuts.get(node),
            )
            for node in names
        ]
        params = {name: self.params[name] for name in ("contexts", "log_mem", "imem", "acc_frac")}
        lowered = Lowered(
            program=data,
            text=disassemble(SOFTWARE, data),
            program_at=program_at,
            registers={"program_address": program_at, "program_length": len(data)},
            constants=self.main.constants,
            inputs=inputs,
            outputs=outputs,
            tensors=arrays,
            memory=self.main.end,
            layers=layers,
            params=params,
        )
        return with_states(lowered, [name for name, _ in self._kept_states()])


#: Sizes of weight tiles that are tried, in elements, the largest first.
_PARTS = (16384, 8192, 4096, 2048, 1024, 512, 256)
#: Segments that are looked for, numbers of bands that are tried, and candidates that one search
#: for segments looks at in vain: of networks for which it finds some, those are at most a third as
#: many; the same where the first program that fits is enough.
_TURNS, _BANDS, _LOOKS, _FEW_LOOKS = 12, (2, 4, 8, 16), 160, 60
#: Share of main memory that the first program found may take.
_PLENTY = 0.8
#: Of a tiled network: shares of the scratchpad that a value takes to stay in it, and that the boxes
#: of an operation take together; tried in this order.
_SHARES = ((3, 2), (6, 2), (16, 3), (64, 4), (1 << 20, 4), (1 << 20, 16))
#: Fractional places of an accumulator that stores its sums as elements without a loss.
FEWEST_PLACES = 9
#: Cycles of an input's coming that may be worth bands.
_LONG = 4000


def lower_kernel_graph(
    kernel_graph: KernelGraph,
    graph: Graph,
    params: Mapping[str, Any],
    memory_size: int,
    keep: bool,
    memory: Memory,
    quick: bool = False,
    states: Sequence[tuple[str, str]] = (),
) -> Lowered:
    """Lowers a :class:`~.kernel_graph.KernelGraph` by the fastest candidate schedule that fits,
    or, if ``quick``, by the first; raises LoweringError if none fits. ``memory``: timing of main
    memory; ``states``: pairs (input, output) that are copied at the end
    (:attr:`~..base.Backend.states`)."""
    arrays = Arrays()

    def candidate(most, ahead, spread, segments=(), of=kernel_graph):
        choice = most, ahead, spread, segments
        return Lowering(
            of, graph, params, memory_size, keep, arrays, *choice, states, memory=memory
        )

    spreads = (True, False) if params["banks"] > 4 else (False,)
    failed: list[LoweringError] = []
    wanted = 1 if quick else 2

    def whole(spread):
        # If the maps alone exceed the scratchpad, one candidate reports what is missing.
        hopeless = _exceeds(kernel_graph, spread, 1 << params["log_mem"])
        return _whole(candidate, spread, failed, wanted, hopeless)

    found = whole(spreads[0])
    if not found:
        found = [plan for spread in spreads[1:] for plan in whole(spread)]
        for spread in () if found and quick else spreads:
            looks = _FEW_LOOKS if quick else _LOOKS
            found += _cut(kernel_graph, candidate, spread, failed, looks)
            if found and quick:
                break
    if not found:
        found = _tiled(kernel_graph, candidate, params, spreads, keep, failed, wanted)
    if not found:
        raise failed[0]
    if not quick:
        return _better(found, kernel_graph, candidate).lowered()
    try:
        lowered = found[0].lowered()
        if lowered.memory <= _PLENTY * memory_size:
            return lowered
    except LoweringError:
        pass
    # Whether a close case fits can only be found with the actual program.
    return lower_kernel_graph(kernel_graph, graph, params, memory_size, keep, memory, states=states)


def _exceeds(kernel_graph, spread, elements):
    """Whether the values that are live at the same time exceed the scratchpad even without any
    weights."""
    uses: dict[Value, tuple[int, int]] = {}
    for number, operation in enumerate(kernel_graph.operations):
        for ref in (*operation.refs(), operation.out):
            if ref.value.data is None:
                uses[ref.value] = uses.get(ref.value, (number, 0))[0], number
    for number, operation in enumerate(kernel_graph.operations):
        live = [value for value, (first, last) in uses.items() if first <= number <= last]
        taken = sum(geometry(value, spread)[2] for value in live)
        # A result may take the place of an operand, and a reshape goes by way of main memory.
        if not isinstance(operation, Regroup):
            if taken - geometry(operation.out.value, spread)[2] > elements:
                return True
            if not any(ref.value.shape == operation.out.value.shape for ref in operation.refs()):
                if taken > elements:
                    return True
    return False


def _whole(candidate, spread, failed, wanted, hopeless):
    """Returns up to ``wanted`` candidate schedules that keep every map whole. Larger weight tiles
    are tried first; smaller ones let more of the loading overlap programs."""
    for ahead in (True, False):
        found = []
        for most in _PARTS:
            if failed and hopeless:
                return []
            try:
                attempt = candidate(most, ahead, spread)
                if attempt.tight() is None:
                    found.append(attempt.plan())
                elif not failed:
                    attempt.plan()
            except LoweringError as error:
                failed.append(error)
            if len(found) == wanted:
                break
        if found:
            return found
    return []


def _cut(kernel_graph, candidate, spread, failed, most_looks):
    """Returns a candidate schedule that runs operations in bands where their maps are too large."""
    looks = iter(range(most_looks))
    for most, ahead in ((_PARTS[0], True), (_PARTS[2], True), (_PARTS[-1], False)):

        def tight(segments, most=most, ahead=ahead):
            return candidate(most, ahead, spread, segments).tight()

        segments = in_bands(kernel_graph, tight, looks)
        if segments is None:
            continue
        try:
            return [candidate(most, ahead, spread, segments).plan()]
        except LoweringError as error:
            failed.append(error)
    return []


def _tiled(kernel_graph, candidate, params, spreads, keep, failed, wanted):
    """Returns up to ``wanted`` candidate schedules that keep large values in main memory."""
    elements, partial = 1 << params["log_mem"], params["acc_frac"] == FEWEST_PLACES
    found = []
    # Cached data of an operation are keyed by its identity: all attempts stay.
    made = []
    for resident, box in _SHARES:
        for spread in spreads:
            limits = Limits(elements, elements // resident, elements // box, spread, partial)
            try:
                made.append(tiled(kernel_graph, limits, keep))
            except LoweringError as error:
                failed.append(error)
                return found
            for most in (elements // 4, elements // 16, elements // 64):
                try:
                    attempt = candidate(most, True, spread, of=made[-1])
                    if attempt.tight() is None:
                        found.append(attempt.plan())
                        break
                except LoweringError as error:
                    failed.append(error)
            if len(found) == wanted:
                return found
    return found


def _better(found, kernel_graph, candidate):
    """Returns the fastest of ``found``, or a schedule that loads the input in bands while the first
    operations run, if that is faster."""
    best = min(found, key=lambda plan: plan.cycles)
    coming = sum(value.size for value in kernel_graph.inputs.values()) * 2
    if coming < max(_LONG, best.cycles / 20):
        return best
    for end in range(1, 7):
        if end > len(kernel_graph.operations) or not rows_separable(
            kernel_graph.operations[end - 1]
        ):
            break
        for bands in (4, 8):
            try:
                best = min(
                    best,
                    candidate(_PARTS[0], True, True, [(0, end, bands)]).plan(),
                    key=lambda plan: plan.cycles,
                )
            except LoweringError:
                continue
    return best


def in_bands(
    kernel_graph: KernelGraph,
    tight: Callable[[list[tuple[int, int, int]]], int | None],
    looks: Iterator[int],
) -> list[tuple[int, int, int]] | None:
    """Chooses segments of operations to run in bands so that everything fits: a list of (first
    operation, end, number of bands). ``None`` if no choice fits, or if ``looks``, the budget of
    failed candidates, is exhausted.

    ``tight(segments)``: number of the operation at which the scratchpad is too small, ``None`` if
    it is nowhere.
    """
    separable = [rows_separable(operation) for operation in kernel_graph.operations]
    segments: list[tuple[int, int, int]] = []
    for _ in range(_TURNS):
        at = tight(segments)
        if at is None:
            return segments
        segments = _segment(separable, at, segments, tight, looks)
        if segments is None:
            break
    return None


def _segment(separable, at, segments, tight, looks):
    """Adds to ``segments`` the shortest run of operations around number ``at`` that, run in bands,
    lets later operations fit the scratchpad; it absorbs the segments that it overlaps."""
    for length in range(2, 13):
        for first in range(max(0, at - length + 1), at + 1):
            end = first + length
            if end > len(separable) or not all(separable[first:end]):
                continue
            others = [s for s in segments if s[1] <= first or end <= s[0]]
            tried = [
                sorted([*others, (first, end, bands)])
                for bands in _BANDS
                if (first, end, bands) not in segments
            ]
            # If the greatest number of bands does not help, fewer bands do not either.
            if not tried or not _gets_past(end, tight(tried[-1])):
                if next(looks, None) is None:
                    return None
                continue
            return next(some for some in tried if _gets_past(end, tight(some)))
    return None


def _gets_past(end, stuck):
    return stuck is None or stuck >= end
