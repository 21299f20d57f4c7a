# SPDX-License-Identifier: BSD-2-Clause
"""A network as programs of all cores: layer after layer, between them all cores meet."""
from struct import pack

import numpy as np

from quintet.gateware.cores.pim.image.codes import code_of
from quintet.gateware.cores.pim.image.fields import CORE_ENTRY
from quintet.gateware.cores.pim.image.image import CoreProgram, Image
from quintet.gateware.cores.pim.storage import MODES

from ....kernels.inputs import KernelError
from ....kernels.pim.builder import CoreBuilder
from ...graph import AveragePool, Binary, Concat, Conv, Dense, Gru, Lstm, MatMul, MaxPool, Slice, Transpose
from ...quantised import Integer, Quantised, Scale
from ..base import LoweringError
from .assign import Need, assign
from .flat import DenseColumns, Products, add_rows, average_channels, clipped, copy_rows, flat
from .joined import IN_PLACE, Joined
from .maps import ConvRows, PoolRows, clip_bounds, share
from .matrices import dense_pieces, matrices_of
from .products import emit_product, emit_transpose
from .recurrent import Cell, need_of
from .stages import emit_stages, needed_rows
from .tables import TABLES

__all__ = ["ProgramWriter", "empty_numbers", "unique"]

_ALIGN = 64
#: Events of the meeting between layers: arrived, go on.
_ARRIVED, _GO = 0, 1


class ProgramWriter:
    """Writes one program.

    Parameters
    ----------
    quantised : Quantised
    params : build parameters
    joined : list of :class:`~.joined.Joined` (:mod:`.choose`): nodes that run together; all others are stored layer by layer

    Attributes
    ----------
    places : tensor name -> byte address in main memory
    stretches : list of (names of nodes, words of each core before it, behind it)
    """
    def __init__(self, quantised, params, joined=()):
        self.q, self.graph, self.params = quantised, quantised.graph, params
        self.cores = [CoreBuilder(params, n) for n in range(params["cores"])]
        self.places, self.stretches = {}, []
        self.joined = {id(node): some for some in joined for node in some.nodes}

    # Where tensors lie

    def size(self, tensor):
        """Bytes of an element."""
        return self.q.scales[tensor].bits // 8

    def map_shape(self, tensor):
        """(rows, columns, channels) of a tensor: a vector is one place, a sequence a map of one column."""
        shape = self.graph.shape(tensor)
        return shape if len(shape) == 3 else (1, 1, *shape) if len(shape) == 1 else (shape[0], 1, shape[1])

    def place_all(self, at):
        """Give every tensor an address from ``at`` on; reshaped ones, and parts of vectors, lie in their source. Returns the end."""
        for name in [port.tensor for port in self.graph.inputs] + [node.output for node in self.graph.nodes]:
            maker = self.graph.maker(name)
            if isinstance(maker, IN_PLACE):
                begin = maker.start[0] if isinstance(maker, Slice) else 0
                self.places[name] = self.places[maker.inputs[0]] + begin * self.size(name)
                continue
            self.places[name] = at
            at = -(-(at + self.graph.tensors[name].size * self.size(name)) // _ALIGN) * _ALIGN
        return at

    # Weights

    def needs(self):
        """(node, matrices or columns, Need) of every layer with weights; layers of a chain share one Need, stages have their core's."""
        found = self._needs()
        for some in {id(some): some for some in self.joined.values()}.values():
            own = [k for k, (node, _, _) in enumerate(found) if any(node is n for n in some.nodes)]
            if some.stages is not None:
                for k in own:
                    found[k][2].homes = some.stages.homes[found[k][0].name]
            elif own:
                need = self._chain_need(some, [found[k] for k in own])
                for k in own:
                    found[k] = *found[k][:2], need
        return found

    def _chain_need(self, chain, own):
        nodes, needs = chain.nodes, [need for _, _, need in own]
        height = self.graph.shape(nodes[-1].output)[0]
        # Rows that a band makes only because others have theirs: what a quarter of the map takes above a quarter of all.
        band = height // 4, max(height // 2, height // 4 + 1)
        cost = {node.name: need.cycles / self.graph.shape(node.output)[0] for node, _, need in own}
        whole, part = (sum(len(rows.get(node.output, ())) * cost.get(node.name, 0) for node in nodes)
                       for rows in (needed_rows(self.graph, nodes, some) for some in ((0, height), band)))
        return Need(nodes[-1].name, sum(n.arrays for n in needs), sum(n.biases for n in needs), sum(n.groups for n in needs), round(whole),
                    self.floor(nodes), min(height, self.params["cores"]), max(0, round(part - whole * (band[1] - band[0]) / height)))

    def _needs(self):
        found, p = [], self.params
        for node in self.graph.nodes:
            numbers = self.q.layers.get(node.name)
            if isinstance(node, Conv):
                height, width, _ = self.graph.shape(node.output)
                together = self.joined.get(id(node))
                matrices = matrices_of(node, numbers, p, width, whole=together is not None)
                if any(m.shape[0] > 1024 or m.arrays(p) > 16 for m in matrices):
                    largest = max(matrices, key=lambda m: m.arrays(p))
                    raise LoweringError(f"{node.name}: a neighbourhood of {largest.shape[0]} values for {largest.outputs} channels takes "
                                        f"{largest.arrays(p)} arrays, a group has at most 1024 rows and 16 arrays")
                # Channels of the result may be different cores', but in a chain, where a core makes whole rows.
                for some in [matrices] if together is not None else [[m] for m in matrices]:
                    found.append((node, some, Need(node.name, sum(m.arrays(p) for m in some), sum(m.shape[1] for m in some if m.bias is not None),
                                                   len(some), round(height * width * sum(m.cycles(p) for m in some)), self.floor([node]), min(height, p["cores"]))))
            elif isinstance(node, Dense):
                out, rows = node.weights.shape
                wide = p["xb_cols"]
                for first in range(0, out, wide):
                    cols = min(wide, out - first)
                    pieces = dense_pieces(rows, cols, p)
                    if not pieces:
                        raise LoweringError(f"{node.name}: {cols} columns of {rows} rows fit no group")
                    arrays = sum(-(-n // p["xb_rows"]) for _, n in pieces)
                    found.append((node, (first, cols), Need(node.name, arrays, cols if numbers.bias is not None or len(pieces) > 1 else 0, len(pieces),
                                                            rows * -(-cols // p["lanes"]), 0, 1)))
            elif isinstance(node, Lstm | Gru):
                found.append((node, None, need_of(self.graph, node, p)))
        return found

    def floor(self, nodes):
        """Cycles that main memory takes at least for the maps that nodes, a layer or a chain, read and store."""
        made = {node.output for node in nodes}
        names = {name for node in nodes for name in node.inputs} - made | {nodes[-1].output}
        return sum(self.graph.tensors[name].size * self.size(name) for name in names) / 2

    # The program

    def write(self):
        """Emit all layers. ``place_all`` comes first."""
        needs = self.needs()
        assign(unique(needs), self.params)
        held = {}
        for node, what, need in needs:
            held.setdefault(node.name, []).append((what, need.cores))
        self.pointers = [core.pointer(0) for core in self.cores]
        groups = self._groups(held)
        for node in self.graph.nodes:
            some = self.joined.get(id(node), Joined([node]))
            nodes = some.nodes
            if node is not nodes[-1] or isinstance(node, IN_PLACE):
                continue
            marks = [core.used for core in self.cores]
            before = [len(core.words) for core in self.cores]
            try:
                if some.stages is not None:
                    emit_stages(self, some.stages, some.plan, groups, range(len(self.cores)))
                elif len(nodes) > 1:
                    self._chain(some, held, groups)
                else:
                    self._node(node, held.get(node.name), groups)
            except KernelError as error:
                raise LoweringError(f"{node.name}: {error}") from None
            self._meet()
            for core, mark in zip(self.cores, marks, strict=True):
                core.used = mark
            self.stretches.append((tuple(n.name for n in nodes), before, [len(core.words) for core in self.cores]))

    def _groups(self, held):
        """Group numbers and dense parts by (node, core)."""
        found = {}
        for node in self.graph.nodes:
            for what, cores in held.get(node.name, ()):
                for c in cores:
                    core = self.cores[c]
                    if isinstance(node, Lstm | Gru):
                        found[node.name, c] = Cell(core, node, self.q.layers[node.name])
                    elif isinstance(node, Dense):
                        found.setdefault((node.name, c), []).append(DenseColumns(core, node, self.q.layers[node.name], *what))
                    else:
                        found.setdefault((node.name, c), []).extend((m, core.group(*m.group(), m.shift, node.name)) for m in what)
        return found

    def _meet(self):
        """All cores wait until all have stored what they had to."""
        if len(self.cores) == 1:
            return
        for core in self.cores[1:]:
            core.emit("sync", event=_ARRIVED, core=0)
            core.emit("wait", event=_GO, value=1)
        self.cores[0].emit("wait", event=_ARRIVED, value=len(self.cores) - 1)
        for core in self.cores[1:]:
            self.cores[0].emit("sync", event=_GO, core=core.number)

    def _node(self, node, held, groups):
        if isinstance(node, Conv):
            self._conv(node, held, groups)
        elif isinstance(node, Dense):
            self._dense(node, groups)
        elif isinstance(node, MaxPool):
            self._rows(node, lambda core, pointer: PoolRows(core, pointer, node, self._source(node), self._target(node)))
        elif isinstance(node, AveragePool):
            channels = self.graph.shape(node.output)[-1]
            for core, pointer, cut in zip(self.cores, self.pointers, share(channels, len(self.cores)), strict=True):
                if cut[0] < cut[1]:
                    average_channels(core, pointer, self.places[node.inputs[0]], self.map_shape(node.inputs[0]), self.places[node.output],
                                     self.size(node.output), cut, node.name)
        elif isinstance(node, Concat):
            self._concat(node)
        elif isinstance(node, Lstm | Gru):
            source = node.inputs[0]
            (_, (c,)), = held
            groups[node.name, c].emit(self.pointers[c], self.places[source], self.places[node.output], self.graph.shape(source)[0], self.size(source))
        elif isinstance(node, MatMul):
            emit_product(self, node)
        elif isinstance(node, Transpose):
            emit_transpose(self, node)
        else:
            self._elements(node)

    def _source(self, node):
        name = node.inputs[0]
        return self.places[name], self.map_shape(name), self.size(name)

    def _target(self, node):
        return self.places[node.output], self.map_shape(node.output), self.size(node.output)

    def _rows(self, node, make):
        """A layer by rows, shared out over all cores."""
        rows = self.map_shape(node.output)[0]
        for core, pointer, (first, end) in zip(self.cores, self.pointers, share(rows, len(self.cores)), strict=True):
            if first < end:
                make(core, pointer).emit(first, end)

    def _chain(self, chain, held, groups):
        rows, weighted = self.map_shape(chain.nodes[-1].output)[0], [node.name for node in chain.nodes if node.name in held]
        cores = held[weighted[0]][0][1] if weighted else range(len(self.cores))
        matrices = {name: held[name][0][0] for name in weighted}
        for c, (first, end) in zip(cores, share(rows, len(cores)), strict=True):
            if first < end:
                stages, plan = chain.band(self.graph, self.size, matrices, self.params, first, end)
                if plan is None:
                    raise KernelError(f"{self.params['lmem_bytes']} bytes of local memory do not hold the rows of {len(chain.nodes)} layers")
                emit_stages(self, stages, plan, groups, [c])

    def relu(self, node):
        """Whether the multiplication keeps the activation's lower bound, zero, by itself."""
        return node.activation is not None and (node.activation.function == "relu" or _is_relu(node.activation))

    def _conv(self, node, held, groups):
        target = self._target(node)
        for matrices, cores in held:
            count = target[1][1] * sum(m.outputs for m in matrices)
            for c, (first, end) in zip(cores, share(target[1][0], len(cores)), strict=True):
                if first >= end:
                    continue
                core, pointer = self.cores[c], self.pointers[c]
                mark, numbers = core.used, {id(m): group for m, group in groups[node.name, c]}
                ConvRows(core, pointer, node, matrices, [numbers[id(m)] for m in matrices], self._source(node), target, self.relu(node),
                         lambda at, core=core, count=count: self.clip(core, node.activation, node.output, at, count)).emit(first, end)
                core.used = mark

    def clip(self, core, activation, tensor, at, count):
        """Bounds of a clip that the multiplication itself cannot keep."""
        if activation is None or activation.function != "clip":
            return
        low, high = clip_bounds(activation, self.q.scales[tensor])
        clipped(core, at, count, self.size(tensor), None if _is_relu(activation) else low, high)

    def add(self, core, node, result, operands, count):
        """``count`` elements of an addition or subtraction, with its activation."""
        add_rows(core, result, operands, count, self.size(node.output), node.function == "sub")
        self.activate(core, node.activation, node.output, result, count)

    def activate(self, core, activation, tensor, at, count):
        """An activation in place."""
        if activation is None:
            return
        size = self.size(tensor)
        if activation.function in TABLES:
            core.widths(8 * size, 8 * size)
            core.vector1(TABLES[activation.function], at, at, count, size=size)
        elif activation.function == "relu":
            core.widths(8 * size, 8 * size)
            core.vector1("vrelu", at, at, count, size=size)
        else:
            clipped(core, at, count, size, *clip_bounds(activation, self.q.scales[tensor]))

    def _dense(self, node, groups):
        steps = self.graph.shape(node.output)[0] if node.steps else 1
        size, out_size = self.size(node.inputs[0]), self.size(node.output)
        rows, out = node.weights.shape[1], node.weights.shape[0]
        for c, core in enumerate(self.cores):
            mark = core.used
            for part in groups.get((node.name, c), ()):
                for step in range(steps):
                    core.used = mark
                    _, y, count, target = part.emit(self.pointers[c], self.places[node.inputs[0]] + step * rows * size,
                                                    self.places[node.output] + step * out * out_size, size, out_size, self.relu(node))
                    self.clip(core, node.activation, node.output, y, count // out_size)
                    core.store(self.pointers[c], y, count, target)

    def _elements(self, node):
        """Additions, and activations by themselves: equal shares of all elements."""
        count, size = self.graph.tensors[node.output].size, self.size(node.output)
        periods = [self.graph.tensors[name].size for name in node.inputs]
        sources = [self.places[name] if period == count else (self.places[name], period) for name, period in zip(node.inputs, periods, strict=True)]

        for core, pointer, (first, end) in zip(self.cores, self.pointers, share(count, len(self.cores)), strict=True):
            if first == end:
                continue

            product = isinstance(node, Binary) and node.function == "mul"
            products = Products(core, end - first, int(self.q.layers[node.name].shift.flat[0]), node.name) if product else None

            def work(result, operands, some, core=core, products=products):
                if products is not None:
                    products.emit(result, operands, some, size)
                    self.activate(core, node.activation, node.output, result, some)
                elif isinstance(node, Binary):
                    self.add(core, node, result, operands, some)
                else:
                    self.activate(core, node, node.output, result, some)

            flat(core, pointer, sources, self.places[node.output], first, end - first, size, node.name, work, **({"most": Products.MOST} if product else {}))

    def _concat(self, node):
        shape, size = self.graph.shape(node.output), self.size(node.output)
        after = int(np.prod(shape[node.axis + 1:], dtype=int)) * size
        pieces, offset = [], 0
        for name in node.inputs:
            run = self.graph.shape(name)[node.axis] * after
            for k in range(int(np.prod(shape[:node.axis], dtype=int))):
                pieces.append((self.places[name] + k * run, self.places[node.output] + k * shape[node.axis] * after + offset, run))
            offset += run
        marks = [core.used for core in self.cores]
        for k, (source, target, run) in enumerate(pieces):
            core = self.cores[k % len(self.cores)]
            core.used = marks[core.number]
            copy_rows(core, self.pointers[core.number], source, target, run, node.name)

    def cuts(self, table):
        """What ends the program behind each stretch (:class:`~..base.LayerSpan`): number and bytes of every core's instructions; ``table``: offset of the
        cores' entries in the image."""
        found, counts, sizes = [], [0] * len(self.cores), [0] * len(self.cores)
        for _, _, after in self.stretches:
            for k, (core, end) in enumerate(zip(self.cores, after, strict=True)):
                sizes[k] += len(code_of(np.array(core.words[counts[k]:end], np.uint64), MODES["packed"]))
                counts[k] = end
            found.append(tuple((table + CORE_ENTRY * k + 4, pack("<II", *both).hex()) for k, both in enumerate(zip(counts, sizes, strict=True))))
        return [*found[:-1], None] if found else []

    def image(self):
        """The program image, in the packed code form."""
        cores = []
        for core in self.cores:
            words = np.array(core.words, np.uint64)
            cores.append(CoreProgram(code_of(words, MODES["packed"]), len(words), MODES["packed"], groups=core.groups))
        return Image(cores, self.params["xb_rows"], self.params["xb_cols"])


def unique(needs):
    """Every :class:`Need` once."""
    return list({id(need): need for _, _, need in needs}.values())


def empty_numbers(graph, bits):
    """A :class:`Quantised` of zeros, to see what a graph takes."""
    # A layer without biases has them where the quantiser makes up for what rounding does to a mean.
    layers = {node.name: Integer(weights=np.zeros(node.weights.shape, np.int8), bias=np.zeros(len(node.weights), np.int32),
                                 shift=np.zeros(1, np.int64), bias_shift=np.zeros(1, np.int64)) for node in graph.nodes if isinstance(node, Conv | Dense)}
    nothing, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
    layers.update({node.name: Integer(weights=node.weights, bias=node.bias, shift=one, bias_shift=one, recurrent=node.recurrent, recurrent_shift=one)
                   for node in graph.nodes if isinstance(node, Lstm | Gru)})
    layers.update({node.name: Integer(weights=nothing, bias=None, shift=np.zeros(1, np.int64), bias_shift=nothing) for node in graph.nodes
                   if isinstance(node, MatMul) or isinstance(node, Binary) and node.function == "mul"})
    return Quantised(graph=graph, scales={name: Scale(1.0, bits) for name in graph.tensors}, layers=layers)


def _is_relu(activation):
    """Whether an activation's lower bound is zero, which a multiplication keeps by itself."""
    return activation is not None and activation.function == "clip" and activation.low == 0
