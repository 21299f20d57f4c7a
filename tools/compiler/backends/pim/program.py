# SPDX-License-Identifier: BSD-2-Clause
"""Program writer: a network as programs of all cores, layer after layer, with a barrier between
layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.gateware.cores.pim.image.fields import CORE_ENTRY
from quintet.gateware.cores.pim.image.image import CoreProgram, Image, code_of
from quintet.gateware.cores.pim.storage import MODES

from ...common.inputs import KernelError
from ...graph import Activation, Binary, Dense, Gru, Lstm, Node, Slice
from ..base import LoweringError, copyable_states
from .arithmetic import TABLES
from .arrays.assign import assign, layer_needs, unique
from .cells import cells_of
from .codegen import CoreBuilder
from .cost import SDRAM, Timing
from .flat import DenseColumns, add_rows, clipped, copy_rows
from .layers import emit_layer
from .maps import clip_bounds, share
from .schedule import IN_PLACE, FusedGroup
from .stages import emit_stages

if TYPE_CHECKING:
    from ...quantised import Quantised

__all__ = ["ProgramWriter"]

_ALIGN = 64
#: Events of the meeting between layers: arrived, go on.
_EVENTS = 0, 1


class ProgramWriter:
    """Writer of one program: places its tensors, and emits the code of all cores.

    Parameters
    ----------
    quantised : Quantised
    params : build parameters
    fused : list of :class:`~.schedule.FusedGroup` (:mod:`.choose`): fused nodes; all others are
        stored layer by layer
    states : pairs (input, output) of tensors; the program ends with copies of the outputs to the
        places of the inputs
    timing : of main memory, by which layers are assigned to cores

    Attributes
    ----------
    places : tensor name -> byte address in main memory
    constants : list of (byte address, uint8 array, description): what the program reads beside
        tensors
    end : byte address behind all that has a place in main memory
    left : of each core, arrays and groups that no layer has yet
    stretches : list of (names of nodes, words of each core before it, behind it)
    """

    def __init__(
        self,
        quantised: Quantised,
        params: Mapping[str, Any],
        fused: Sequence[FusedGroup] = (),
        states: Sequence[tuple[str, str]] = (),
        timing: Timing = SDRAM,
    ):
        self.q, self.graph, self.params = quantised, quantised.graph, params
        self.cores = [CoreBuilder(params, n) for n in range(params["cores"])]
        self.places: dict[str, int] = {}
        self.constants: list[tuple[int, np.ndarray, str]] = []
        self.end = 0
        self.left = [(params["arrays"], params["groups"])] * params["cores"]
        self.stretches: list[tuple[Any, ...]] = []
        self.fused, self._states, self.timing = fused, states, timing

    # Where tensors lie

    def size(self, tensor: str) -> int:
        """Bytes per element of a tensor."""
        return self.q.scales[tensor].bits // 8

    def map_shape(self, tensor: str) -> tuple[int, int, int]:
        """Shape of a tensor as a map, (rows, columns, channels): a vector is one position, a
        sequence a map of one column."""
        shape = self.graph.shape(tensor)
        return (
            shape
            if len(shape) == 3
            else (1, 1, *shape)
            if len(shape) == 1
            else (shape[0], 1, shape[1])
        )

    def place_all(self, at: int) -> None:
        """Assigns every tensor an address from ``at`` on; reshaped tensors and parts of vectors
        share their source's memory."""
        for name in [port.tensor for port in self.graph.inputs] + [
            node.output for node in self.graph.nodes
        ]:
            maker = self.graph.maker(name)
            if isinstance(maker, IN_PLACE):
                (source,) = maker.inputs
                begin = 0
                if isinstance(maker, Slice):
                    begin = int(np.ravel_multi_index(maker.start, self.graph.shape(source)))
                self.places[name] = self.places[source] + begin * self.size(name)
                continue
            self.places[name] = at
            at = -(-(at + self.graph.tensors[name].size * self.size(name)) // _ALIGN) * _ALIGN
        self.end = at

    def scratch(self, size: int) -> int:
        """Reserves ``size`` bytes of main memory, after :meth:`place_all`; their address."""
        at = self.end
        self.end = -(-(at + size) // _ALIGN) * _ALIGN
        return at

    def constant(self, values: np.ndarray, what: str) -> int:
        """Reserves main memory for numbers that the program reads; their address."""
        data = np.frombuffer(values.tobytes(), np.uint8)
        at = self.scratch(len(data))
        self.constants.append((at, data, what))
        return at

    def kept_states(self) -> list[tuple[str, str]]:
        """Pairs (input, output) whose outputs the program copies to the inputs."""
        return copyable_states(self._states, self._span)

    def _span(self, name):
        begin = self.places[name]
        return begin, begin + self.graph.tensors[name].size * self.size(name)

    def take(self, core: int, arrays: int, groups: int) -> None:
        """Takes arrays and groups of a core from those that are left."""
        before = self.left[core]
        self.left[core] = before[0] - arrays, before[1] - groups

    # The program

    def write(self) -> None:
        """Emits all layers; after :meth:`place_all`."""
        needs = layer_needs(self.q, self.params, self.fused, self.timing.rate)
        for need in assign(unique(needs), self.params):
            for core in need.cores:
                self.take(core, need.arrays, need.groups)
        held: dict[str, list[tuple[Any, list[int]]]] = {}
        for node, what, need in needs:
            held.setdefault(node.name, []).append((what, need.cores))
        self.pointers = [core.pointer(0) for core in self.cores]
        groups, together = (
            self._groups(held),
            {id(node): some for some in self.fused for node in some.nodes},
        )
        for node in self.graph.nodes:
            some = together.get(id(node), FusedGroup([node]))
            nodes = some.nodes
            if node is not nodes[-1] or isinstance(node, IN_PLACE):
                continue
            marks = [core.used for core in self.cores]
            before = [len(core.words) for core in self.cores]
            try:
                if some.stages is not None and some.plan is not None:
                    emit_stages(self, some.stages, some.plan, groups, range(len(self.cores)))
                elif len(nodes) > 1:
                    self._chain(some, held, groups)
                else:
                    emit_layer(self, node, held.get(node.name), groups)
            except KernelError as error:
                # Allocations of a layer bear its name.
                text = str(error).removeprefix(f"{node.name}: ")
                raise LoweringError(text, node.name) from None
            self._meet()
            for core, mark in zip(self.cores, marks, strict=True):
                core.used = mark
            self.stretches.append(
                (tuple(n.name for n in nodes), before, [len(core.words) for core in self.cores])
            )
        self._copy_states()

    def _copy_states(self):
        """Emits the copies of outputs to inputs of the next run, as part of the last layer. One
        core makes them, since all have stored their results by then."""
        core = self.cores[0]
        for name, output in self.kept_states():
            mark = core.used
            begin, end = self._span(output)
            copy_rows(core, self.pointers[0], begin, self.places[name], end - begin, output)
            core.used = mark
        if self.stretches:
            names, before, _ = self.stretches[-1]
            self.stretches[-1] = names, before, [len(core.words) for core in self.cores]

    def _groups(self, held):
        """Group numbers and splits of dense layers by (node, core)."""
        found = {}
        for node in self.graph.nodes:
            for what, cores in held.get(node.name, ()):
                if isinstance(node, Lstm | Gru):
                    cells = cells_of(self, node, cores)
                    found.update({(node.name, c): cell for c, cell in cells.items()})
                    continue
                for c in cores:
                    core = self.cores[c]
                    if isinstance(node, Dense):
                        found.setdefault((node.name, c), []).append(
                            DenseColumns(core, node, self.q.layers[node.name], *what)
                        )
                    else:
                        found.setdefault((node.name, c), []).extend(
                            (m, core.group(*m.group(), m.shift, node.name)) for m in what
                        )
        return found

    def _meet(self):
        """Emits a barrier of all cores."""
        if len(self.cores) == 1:
            return
        for core in self.cores:
            core.meet(range(len(self.cores)), _EVENTS)

    def _chain(self, chain, held, groups):
        rows, weighted = (
            self.map_shape(chain.nodes[-1].output)[0],
            [node.name for node in chain.nodes if node.name in held],
        )
        cores = held[weighted[0]][0][1] if weighted else range(len(self.cores))
        matrices = {name: held[name][0][0] for name in weighted}
        for c, (first, end) in zip(cores, share(rows, len(cores)), strict=True):
            if first < end:
                stages, plan = chain.band(self.graph, self.size, matrices, self.params, first, end)
                if plan is None:
                    raise KernelError(
                        f"{self.params['lmem_bytes']} bytes of local memory do not hold the "
                        f"rows of {len(chain.nodes)} layers"
                    )
                emit_stages(self, stages, plan, groups, [c])

    # Operations on a layer's result

    def relu(self, node: Node) -> bool:
        """Whether a multiplication applies the activation's lower bound, zero, by itself."""
        activation = getattr(node, "activation", None)
        return activation is not None and (activation.function == "relu" or _is_relu(activation))

    def clip(
        self, core: CoreBuilder, activation: Activation | None, tensor: str, at: int, count: int
    ) -> None:
        """Emits the bounds of a clip that a multiplication does not apply by itself."""
        if activation is None or activation.function != "clip":
            return
        low, high = clip_bounds(activation, self.q.scales[tensor])
        clipped(core, at, count, self.size(tensor), None if _is_relu(activation) else low, high)

    def add(
        self, core: CoreBuilder, node: Binary, result: int, operands: Sequence[int], count: int
    ) -> None:
        """Emits an addition or subtraction of ``count`` elements, with its activation."""
        add_rows(core, result, operands, count, self.size(node.output), node.function == "sub")
        self.activate(core, node.activation, node.output, result, count)

    def activate(
        self, core: CoreBuilder, activation: Activation | None, tensor: str, at: int, count: int
    ) -> None:
        """Emits an activation in place."""
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

    # The image

    def cuts(self, table: int) -> list[tuple[tuple[int, str], ...] | None]:
        """Patches that end the program after each stretch (:class:`~..base.LayerSpan`): number and
        bytes of every core's instructions; ``table``: offset of the cores' entries in the image."""
        found, counts, sizes = [], [0] * len(self.cores), [0] * len(self.cores)
        for _, _, after in self.stretches:
            for k, (core, end) in enumerate(zip(self.cores, after, strict=True)):
                sizes[k] += len(
                    code_of(np.array(core.words[counts[k] : end], np.uint64), MODES["packed"])
                )
                counts[k] = end
            found.append(
                tuple(
                    (table + CORE_ENTRY * k + 4, pack("<II", *both).hex())
                    for k, both in enumerate(zip(counts, sizes, strict=True))
                )
            )
        return [*found[:-1], None] if found else []

    def image(self) -> Image:
        """The program image, in the packed code form."""
        cores = []
        for core in self.cores:
            words = np.array(core.words, np.uint64)
            cores.append(
                CoreProgram(
                    code_of(words, MODES["packed"]), len(words), MODES["packed"], groups=core.groups
                )
            )
        return Image(cores, self.params["xb_rows"], self.params["xb_cols"])


def _is_relu(activation):
    """Whether an activation's lower bound is zero, which a multiplication applies by itself."""
    return activation is not None and activation.function == "clip" and activation.low == 0
