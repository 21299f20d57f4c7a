# SPDX-License-Identifier: BSD-2-Clause
"""Works to a program list: packed into steps, placed in the scratchpad, assembled."""
from dataclasses import dataclass, field
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
from .places import Crowded, allocate
from .schedule import Timeline, image_cycles, transfer_cycles
from .transfers import Main, Work
from .works import Works

__all__ = ["lower_machine"]

#: Elements of a part of weights that are tried, the largest first.
_PARTS = (16384, 8192, 4096, 2048, 1024, 512, 256)
#: Elements that may come in for a work which joins the step of the one before.
_FEW = 256


@dataclass
class _Step:
    """Bodies of a program: (work, body) by their numbers."""
    bodies: list = field(default_factory=list)
    works: list = field(default_factory=list)


def lower_machine(machine, graph, params, memory_size, keep):
    """:class:`Lowered` of a machine; raises LoweringError where nothing fits."""
    ways = product((True, False) if params["banks"] > 4 else (False,), _PARTS, (True, False))
    failed = None
    for spread, most, ahead in ways:
        try:
            return _Lowering(machine, graph, params, memory_size, keep, most, ahead, spread, ()).lowered()
        except LoweringError as error:
            failed = failed or error
    for spread, most, ahead in product((True, False) if params["banks"] > 4 else (False,), _PARTS[1::2], (True, False)):
        segments = in_bands(machine, lambda segments, way=(most, ahead, spread): _Lowering(machine, graph, params, memory_size, keep, *way, segments).tight())
        if segments is not None:
            return _Lowering(machine, graph, params, memory_size, keep, most, ahead, spread, segments).lowered()
    raise failed


def in_bands(machine, tight):
    """Segments of operations that are done in bands so that everything fits; ``None`` where none do.

    ``tight(segments)``: number of the operation at which the scratchpad is too small, ``None`` if it is nowhere.
    """
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
    def __init__(self, machine, graph, params, memory_size, keep, most, ahead, spread, segments):
        self.machine, self.graph, self.params, self.memory_size, self.keep, self.ahead = machine, graph, params, memory_size, keep, ahead
        self.main = Main()
        self.made = Works(machine, params, keep=keep, most=most, spread=spread, main=self.main, segments=segments)
        self.costs = Costs(params["macs"], params["banks"])
        self.elements = 1 << params["log_mem"]
        self.program = {"imem": params["imem"], "acc_frac": params["acc_frac"]}

    def lowered(self):
        places = self._spread()
        steps = self._packed(places)
        self._lifetimes(steps)
        allocate(self.made.buffers, self.elements)
        bodies = self._bodies()
        lines, programs = [], {}
        entries = []
        spent, moved, timeline, known, last = {}, {}, Timeline(), {}, None
        for number, step in enumerate(steps):
            text = "\n".join(ProgramSource([bodies[w][b] for w, b in step.bodies], **self.program).text("NAME")[1:])
            name = programs.setdefault(text, f"p{len(programs)}")
            coming = [t for w in step.works for t in self.made.works[w].incoming] + (self.made.fills if number == 0 else [])
            leaving = [t for w in step.works for t in self.made.works[w].outgoing]
            if text not in known:
                known[text] = program_cycles([bodies[w][b] for w, b in step.bodies], self.params, self.costs) if step.bodies else 0
            words = 8 + 6 * text.count(".apu") + 2 * text.count(".loop") + text.count("\n")
            cycles = timeline.step(known[text], sum(map(transfer_cycles, coming)) + (name != last) * image_cycles(words),
                                   sum(map(transfer_cycles, leaving)), self._prefetched(step, number), self._deferred(steps, number))
            last = name
            self._attribute(step, cycles, [*coming, *leaving], spent, moved)
            entries.append(f".step {name}" + " prefetch" * self._prefetched(step, number) + " defer" * self._deferred(steps, number))
            first = [t for t in self.made.fills] if number == 0 else []
            entries += [t.line() for t in (*first, *(t for w in step.works for t in self.made.works[w].incoming),
                                           *(t for w in step.works for t in self.made.works[w].outgoing))]
        for text, name in programs.items():
            lines += [f".program {name}", *text.splitlines()]
        source = "\n".join([*lines, *entries]) + "\n"
        data = assemble_text(SOFTWARE, source, f"{self.graph.name}.s", params=self.params).data
        return self._result(source, data, spent, moved)

    def tight(self):
        """Number of the operation at which the scratchpad is too small, were every work a step; ``None``: it never is."""
        self._lifetimes([_Step([], [number]) for number in range(len(self.made.works))])
        try:
            allocate(self.made.buffers, self.elements)
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

    def _fits(self, bodies, step):
        try:
            ProgramSource([bodies[w][b] for w, b in step], **self.program)
        except TooLarge:
            return False
        return True

    def _packed(self, bodies):
        """Steps, each as much as a program holds; what DMA has to bring begins a step of its own."""
        steps = []
        for number, work in enumerate(self.made.works):
            brought = sum(t.rows * t.cols for t in work.incoming)
            mine = [(number, b) for b in range(len(bodies[number]))]
            before = self.made.works[number - 1] if number else None
            joins = steps and not work.ordered and brought <= _FEW and not (before.ordered and work.ordered) and \
                not (before.outgoing and self._regrouped(number)) and self._fits(bodies, steps[-1].bodies + mine)
            if joins:
                steps[-1].bodies += mine
                steps[-1].works.append(number)
                continue
            steps.append(_Step([], [number]))
            for body in mine:
                if steps[-1].bodies and not self._fits(bodies, [*steps[-1].bodies, body]):
                    # What comes in is there for the first of its steps, what goes out is complete after the last.
                    steps.append(_Step([], []))
                steps[-1].bodies.append(body)
                if not self._fits(bodies, [body]):
                    ProgramSource([bodies[number][body[1]]], **self.program)
        return self._outgoing_last(steps)

    def _regrouped(self, number):
        return self.made.works[number].ordered

    def _outgoing_last(self, steps):
        for number in range(len(steps) - 1, 0, -1):
            if not steps[number].works:
                # A work in several steps: the transfers out belong to the last of them.
                first = next(k for k in range(number - 1, -1, -1) if steps[k].works)
                work = steps[first].works[-1]
                steps[number].works, out = [], self.made.works[work].outgoing
                if out and not getattr(self.made.works[work], "left", None):
                    self.made.works.append(Work(self.made.works[work].nodes, lambda emitter: None, outgoing=out))
                    self.made.works[work].outgoing = []
                    steps[number].works = [len(self.made.works) - 1]
        return steps

    def _lifetimes(self, steps):
        last = len(steps) - 1
        for transfer in self.made.fills:
            transfer.buffer.use(0, last)
        for number, step in enumerate(steps):
            for w in {*step.works, *(w for w, _ in step.bodies)}:
                for buffer in self.made.works[w].buffers:
                    buffer.use(number, number)
            for w in step.works:
                work = self.made.works[w]
                for transfer in work.incoming:
                    transfer.buffer.use(max(0, number - (self.ahead and not work.ordered)), number)
                for transfer in work.outgoing:
                    transfer.buffer.use(number, min(last, number + self._deferred(steps, number)))

    def _prefetched(self, step, number):
        works = [self.made.works[w] for w in step.works]
        return number > 0 and (self.ahead or not any(work.incoming for work in works)) and not any(work.ordered for work in works)

    def _deferred(self, steps, number):
        works = self.made.works
        return self.ahead and number < len(steps) - 1 and any(works[w].outgoing for w in steps[number].works) and \
            not any(works[w].at_once for w in steps[number].works) and not any(works[w].ordered for w in steps[number + 1].works)

    def _attribute(self, step, cycles, transfers, spent, moved):
        """A step's cycles to the nodes of its bodies, its bytes to the last of them."""
        nodes = [self.made.works[w].nodes[-1] for w, _ in step.bodies] or [self.made.works[w].nodes[-1] for w in step.works]
        for node in nodes:
            spent[node] = spent.get(node, 0) + cycles / len(nodes)
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
