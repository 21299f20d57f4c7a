# SPDX-License-Identifier: BSD-2-Clause
"""Works to a program list: packed into steps, placed in the scratchpad, assembled."""
from itertools import product

from .....gateware.cores.cherry.image import row_words
from .....gateware.cores.cherry.software import SOFTWARE
from .....gateware.isa.asm import assemble_text
from ....kernels.cherry.nests import Nests, ProgramSource, TooLarge
from ....kernels.cherry.tilework import Costs
from ....kernels.cherry.timing import program_cycles
from ...layout import dense_layout
from ..base import LayerSpan, Lowered, LoweringError, Placed
from .bands import rows_apart
from .emit import Emitter
from .places import Crowded
from .schedule import Timeline, image_cycles, transfer_cycles
from .steps import Steps
from .transfers import Arrays, Main
from .works import Works

__all__ = ["lower_machine"]

#: Elements of a part of weights that are tried, the largest first.
_PARTS = (16384, 8192, 4096, 2048, 1024, 512, 256)#: Cycles of an input's coming that may be worth bands.
_LONG = 4000


def lower_machine(machine, graph, params, memory_size, keep):
    """:class:`Lowered` of a machine; raises LoweringError where nothing fits."""
    arrays = Arrays()

    def way(most, ahead, spread, segments=()):
        return _Lowering(machine, graph, params, memory_size, keep, arrays, most, ahead, spread, segments)
    failed, found = None, []
    for in_parts in (False, True):
        for spread in (True, False) if params["banks"] > 4 else (False,):
            for ahead, most in product((True, False), _PARTS):
                try:
                    segments = in_bands(machine, lambda segments, *way_of: way(*way_of, segments).tight(), most, ahead, spread) if in_parts else ()
                    if segments is not None:
                        found.append(way(most, ahead, spread, segments).lowered())
                        break
                except LoweringError as error:
                    failed = failed or error
            if found and not in_parts and spread:
                # Whole, and spread over the banks: nothing else is quicker.
                return _better(found, machine, way)
    if not found:
        raise failed
    return _better(found, machine, way)


def _cycles(lowered):
    return sum(layer.cycles for layer in lowered.layers)


def _better(found, machine, way):
    """The quickest of ``found``, or one that brings the input in bands, beside the first operations."""
    best = min(found, key=_cycles)
    coming = sum(value.size for value in machine.inputs.values()) * 2
    if coming < max(_LONG, _cycles(best) / 20):
        return best
    for end, bands in product(range(1, 7), (4, 8)):
        if end > len(machine.operations) or not all(map(rows_apart, machine.operations[:end])):
            break
        for most in _PARTS[:2]:
            try:
                best = min(best, way(most, True, True, [(0, end, bands)]).lowered(), key=_cycles)
            except LoweringError:
                continue
    return best


def in_bands(machine, stuck_at, *way):
    """Segments of operations that are done in bands so that everything fits; ``None`` where none do.

    ``stuck_at(segments, *way)``: number of the operation at which the scratchpad is too small, ``None`` if it is nowhere.
    """
    def tight(segments):
        return stuck_at(segments, *way)
    apart = [rows_apart(operation) for operation in machine.operations]
    segments = []
    while True:
        at = tight(segments)
        if at is None:
            return segments
        taken = [s for s in segments if s[0] <= at < s[1]]
        others = [s for s in segments if s not in taken]
        best = _segment(apart, at, others, tight, taken)
        if best is None:
            return None
        segments = sorted([*others, best])


def _segment(apart, at, others, tight, taken):
    """The shortest run of operations around number ``at`` that, in bands, lets the scratchpad get further."""
    for length in range(2, 13):
        for first in range(max(0, at - length + 1), at + 1):
            end = first + length
            if end > len(apart) or not all(apart[first:end]) or any(first < s[1] and s[0] < end for s in others):
                continue
            for bands in (2, 4, 8, 16, 32):
                if (first, end, bands) in taken:
                    continue
                stuck = tight(sorted([*others, (first, end, bands)]))
                if stuck is None or stuck >= end:
                    return first, end, bands
    return None


class _Lowering:
    def __init__(self, machine, graph, params, memory_size, keep, arrays, most, ahead, spread, segments):
        self.machine, self.graph, self.params, self.memory_size, self.keep, self.ahead = machine, graph, params, memory_size, keep, ahead
        self.main = Main(arrays)
        self.made = Works(machine, params, keep=keep, most=most, spread=spread, main=self.main, arrays=arrays, segments=segments)
        self.costs = Costs(params["macs"], params["banks"])
        self.elements = 1 << params["log_mem"]
        self.program = {"imem": params["imem"], "acc_frac": params["acc_frac"]}

    def lowered(self):
        provisional = self._spread()
        try:
            steps = self._steps(provisional, True)
        except Crowded:
            # Works of a step of their own need less at a time.
            steps = self._steps(provisional, False)
        again = iter(body for work in self._bodies() for body in work)
        for step in steps.steps:
            step.bodies = [(node, next(again)) for node, _ in step.bodies]
        lines, programs, cycles, entries = [], {}, {}, []
        spent, moved, timeline, last = {}, {}, Timeline(), None
        for number, step in enumerate(steps.steps):
            source = ProgramSource([body for _, body in step.bodies], **self.program)
            text = "\n".join(source.text("")[1:])
            if text not in programs:
                programs[text] = f"p{len(programs)}"
                cycles[text] = self._cycles(step)
            name = programs[text]
            coming = [a.transfer for a in steps.arrivals if a.at == number] + (self.made.fills if number == 0 else [])
            prefetched, deferred = steps.prefetched(number), steps.deferred(number)
            here = timeline.step(cycles[text], sum(map(transfer_cycles, coming)) + (name != last) * image_cycles(source.words),
                                 sum(map(transfer_cycles, step.outgoing)), prefetched, deferred)
            last = name
            self._attribute(step, here, [*coming, *step.outgoing], spent, moved)
            entries.append(f".step {name}" + " prefetch" * prefetched + " defer" * deferred)
            entries += [t.line() for t in (*coming, *step.outgoing)]
        for text, name in programs.items():
            lines += [f".program {name}", *text.splitlines()]
        source = "\n".join([*lines, *entries]) + "\n"
        data = assemble_text(SOFTWARE, source, f"{self.graph.name}.s", params=self.params).data
        return self._result(source, data, spent, moved)

    def _cycles(self, step):
        return program_cycles([body for _, body in step.bodies], self.params, self.costs) if step.bodies else 0

    def _steps(self, bodies, joining):
        """Steps with their buffers placed; raises Crowded."""
        steps = Steps(self.made, bodies, self._fits, ahead=self.ahead, joining=joining)
        for step in steps.steps:
            ProgramSource([body for _, body in step.bodies], **self.program)
        steps.place(self.elements)
        steps.hoist(self.elements, [self._cycles(step) for step in steps.steps])
        return steps

    def tight(self):
        """Number of the operation at which the scratchpad is too small, were every work a step; ``None``: it never is."""
        bodies = [[] for _ in self.made.works]
        try:
            Steps(self.made, bodies, lambda bodies: True, ahead=self.ahead, joining=False).place(self.elements)
        except Crowded as error:
            return self.made.works[error.step].number
        return None

    def _spread(self):
        """Addresses for a first emission, in which buffers lie apart."""
        at = 0
        for buffer in self.made.buffers:
            buffer.address, at = at, at + buffer.size
        return self._bodies()

    def _bodies(self):
        """The bodies of each work's nests."""
        found = []
        for work in self.made.works:
            nests = Nests(self.params["contexts"])
            work.emit(Emitter(nests, self.costs, self.made.places))
            found.append(nests.bodies)
        return found

    def _fits(self, bodies):
        try:
            ProgramSource(bodies, **self.program)
        except TooLarge:
            return False
        return True

    def _attribute(self, step, cycles, transfers, spent, moved):
        """A step's cycles to the nodes of its bodies, by what each would take alone; its bytes to the last of them."""
        nodes = [node for node, _ in step.bodies] or [work.nodes[-1] for work in step.works]
        shares = [program_cycles([body], self.params, self.costs) for _, body in step.bodies] if len(set(nodes)) > 1 else [1] * len(nodes)
        for node, share in zip(nodes, shares, strict=True):
            spent[node] = spent.get(node, 0) + cycles * share / sum(shares)
        moved[nodes[-1]] = moved.get(nodes[-1], 0) + sum(4 * t.rows * row_words(t.fmt, t.cols) for t in transfers if t.op != "fill")

    def _result(self, source, data, spent, moved):
        arrays = {name: Placed(name, dense_layout(address, (1, *self.graph.shape(name)), "float32")) for name, address in self.made.arrays.items()}
        program_at = self.main.take(len(data))
        if self.main.end > self.memory_size:
            constants = sum(size.size for _, size, _ in self.main.constants)
            raise LoweringError(f"it takes {self.main.end:,} bytes of main memory, there are {self.memory_size:,}: {constants:,} constants, "
                                f"{len(data):,} program, {program_at - constants:,} inputs and results")
        inputs = {name: arrays[name] for name in self.machine.inputs}
        outputs = {name: arrays[name] for name in self.machine.outputs}
        macs = {}
        for work in self.made.works:
            for node in work.nodes[-1:]:
                macs[node] = macs.get(node, 0) + work.macs
        names = {node: work.nodes for work in self.made.works for node in work.nodes[-1:]}
        layers = [LayerSpan(node, tuple(names[node]), None, None, macs[node], int(spent.get(node, 0)), moved.get(node, 0)) for node in names]
        params = {"contexts": self.params["contexts"], "log_mem": self.params["log_mem"], "imem": self.params["imem"]}
        return Lowered(program=bytes(data), text=source, program_at=program_at, registers={"program_address": program_at, "program_length": len(data)},
                       constants=self.main.constants, inputs=inputs, outputs=outputs, tensors=arrays, memory=self.main.end, layers=layers, params=params)
