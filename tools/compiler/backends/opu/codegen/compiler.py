# SPDX-License-Identifier: BSD-2-Clause
"""Compiler from a network of layers to a program: allocates memory, lets tilings be chosen and
orders instructions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ......gateware.cores.opu.software import SOFTWARE
from ......gateware.isa.asm import disassemble
from ....common.inputs import KernelError
from ..cost import Timing
from ..schedule.memory import Buffer, Constants, Maps, OnChip, OnChipFullError
from ..schedule.search import best_tilings
from ..schedule.tiling import Target, Tiling, candidates, check_tiling, widest
from .emitter import REGION_CONSTANTS, REGION_MAPS, Emitter
from .jobs import JobMaker
from .tiles import border_pads

if TYPE_CHECKING:
    from ....layout import Layout
    from ..layers import Layer, Network, Tensor

__all__ = ["Compiled", "Span", "Writer", "compile_network"]


@dataclass(frozen=True)
class Span:
    """Range of words of ``layers``, usually one, from ``begin`` to ``end`` (exclusive, after the
    last store)."""

    layers: tuple[Layer, ...]
    begin: int
    end: int

    @property
    def name(self) -> str:
        """Names of the layers."""
        return " and ".join(layer.name for layer in self.layers)


@dataclass
class Compiled:
    """A compiled program with its memory contents and registers.

    Attributes
    ----------
    words : list of int; ``program_at``, ``constants_at``, ``maps_at`` : byte addresses
    constants : uint8, kernels and biases as they lie at ``constants_at``
    network : Network that it computes; buffers : dict, Tensor -> Buffer, of every one, though its
        memory may be used again
    registers : dict, ISA registers to set: the region table
    memory_size : bytes of main memory from address 0 that it takes
    params : dict, build parameters that it was made for
    spans : list of Span
    tilings : dict, layer name -> Tiling
    far_constants, far_constants_at : those of the layers whose constants are not in on-chip memory
    sizes : dict, layer name -> bytes of its kernels and biases; of a build with on-chip memory
    overwritten : inputs whose memory holds another tensor after a run
    """

    words: list[int]
    program_at: int
    constants: np.ndarray
    constants_at: int
    maps_at: int
    network: Network
    buffers: Mapping[Tensor, Buffer]
    registers: dict[str, int]
    memory_size: int
    params: Mapping[str, Any]
    spans: list[Span]
    tilings: Mapping[str, Tiling]
    far_constants: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    far_constants_at: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    overwritten: Collection[Tensor] = ()

    @property
    def all_constants(self) -> list[tuple[int, np.ndarray]]:
        """Kernels and biases: (byte address, uint8 array) of each memory that holds some."""
        found = (
            (self.constants_at, self.constants),
            (self.far_constants_at, self.far_constants),
        )
        return [(at, data) for at, data in found if data.size]

    @property
    def data(self) -> bytes:
        """The program in its binary form."""
        return np.array(self.words, "<u4").tobytes()

    @property
    def text(self) -> str:
        """The program as assembly text, a comment before every layer."""
        lines = disassemble(SOFTWARE, self.data).splitlines()
        if len(lines) != len(self.words):
            raise KernelError("the program does not come back from the disassembler line by line")
        batch = self.network.batch
        images = f", images 0 to {batch - 1}" if batch > 1 else ""
        comments = {span.begin: f"# {span.name}{images}" for span in self.spans}
        found = []
        for index, line in enumerate(lines):
            if index in comments:
                found.append(comments[index])
            found.append(line)
        return "\n".join(found) + "\n"

    def layout(self, tensor: Tensor) -> Layout:
        """Memory layout of a tensor as a map, [images, height, width, channels]."""
        bits = self.network.set.ifm
        found = self.buffers[tensor].layout(self.maps_at, bits, tensor.map_shape)
        assert found is not None  # that of a map always exists
        return found

    def image(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Contents of main memory before the run, uint8, with ``values`` (input name -> integers
        [images, height, width, channels])."""
        memory = np.zeros(self.memory_size, np.uint8)
        program = np.frombuffer(self.data, np.uint8)
        for at, data in ((self.program_at, program), *self.all_constants):
            memory[at : at + data.size] = data
        for tensor in self.network.inputs:
            self.layout(tensor).write(memory, values[tensor.name])
        return memory

    @property
    def all_registers(self) -> dict[str, int]:
        """Registers of a run, program address and length included."""
        return {
            **self.registers,
            "program_address": self.program_at,
            "program_length": len(self.data),
        }

    def results(self, memory: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs by name, [images, height, width, channels], in main memory after the run."""
        return {t.name: self.layout(t).read(memory) for t in self.network.results()}


def _align(value, step=64):
    return -(-value // step) * step


def compile_network(
    network: Network,
    params: Mapping[str, Any],
    *,
    schedule: bool = True,
    memory: int | None = None,
    tilings: Mapping[str, Tiling] | None = None,
    timing: Timing | None = None,
    separate: bool = False,
    zeroed: bool = False,
    local: bool = False,
    quick: bool = False,
    on_chip: OnChip | None = None,
) -> Compiled:
    """Compiles a network into a program for one build.

    Parameters
    ----------
    network : Network
    params : dict
        Build parameters, as ``SPACE.resolve`` gives them: the program fits these buffers.
    schedule : bool
        ``True``: tiles are chosen by the model of cycles, loads stand before the store of the tile
        before, borders are zeroed only where they are not zero. ``False``: layer after layer, the
        fewest tiles, ``pad`` after every layer.
    memory : int, optional
        Bytes of main memory that are there.
    tilings : dict, layer name -> Tiling, optional
        Fixes how these layers are cut.
    timing : Timing, optional
        Speeds that tilings are chosen by.
    separate : bool
        Every tensor has memory of its own, so that all can be read after the run.
    zeroed : bool
        Memory of the maps is zero before the first run, and nobody else writes to it between runs:
        a scheduled program makes no border zero that it leaves zero itself.
    local : bool
        Tilings of a layer are compared by the program of the layers around it, too, and of a long
        program by that alone: quicker, and almost as good.
    quick : bool
        Of a long program each kind of layer is looked at once, by itself: for an estimate.
    on_chip : OnChip, optional
        What lies in on-chip memory, from address 0: constants, then the program if there is space
        for it, then tensors. All else lies behind.

    Returns
    -------
    Compiled

    Raises
    ------
    KernelError
        A layer that this build cannot hold, types other than the build's, or too little memory.
    OnChipFullError
        ``on_chip`` does not hold what it is to hold.
    """
    target = Target(params)
    if network.set != target.types:
        raise KernelError(
            f"the network is for types {network.types}, the build has {params['types']}"
        )
    if not network.layers:
        raise KernelError("the network has no layer")
    for name in tilings or {}:
        if name not in {layer.name for layer in network.layers}:
            raise KernelError(f"tilings: no layer {name!r}")
    maps = Maps(network, target.slot_units, separate, on_chip)
    writer = Writer(network, target, maps, schedule, zeroed, on_chip)
    chosen: Mapping[str, Tiling] = {
        layer.name: writer.start_tiling(layer, (tilings or {}).get(layer.name))
        for layer in network.layers
    }
    if schedule and target.overlaps:
        free = [layer for layer in network.layers if layer.name not in (tilings or {})]
        chosen = best_tilings(writer, free, chosen, timing or Timing(), local, quick)
    try:
        return _written(writer, chosen, memory)
    except KernelError as error:
        # Of kernels for one group of channels each, equal ones lie in memory once.
        apart = {name: replace(tiling, joint=False) for name, tiling in chosen.items()}
        if error.bytes_needed is None or apart == chosen:
            raise
        return _written(writer, apart, memory)


def _written(writer, chosen, memory):
    """The program with the tilings ``chosen``."""
    emitter, spans, maker = writer.write(chosen)
    while not writer.clean_at_end(emitter):
        emitter, spans, maker = writer.write(chosen)
    if writer.on_chip is not None:
        return _finish_on_chip(writer, emitter, spans, maker, chosen, memory)
    return _finish(writer, emitter, spans, maker.constants.data, chosen, memory)


def _finish_on_chip(writer, emitter, spans, maker, chosen, memory):
    """The program of a build with on-chip memory: regions begin at address 0, so that tensors and
    constants of both memories lie in one."""
    maps, on_chip = writer.maps, writer.on_chip
    near, far = maker.constants.data, maker.far.data
    far_at = 64 * writer.far_start
    length = 4 * len(emitter.words)
    extent, end = _align(max(maps.units, emitter.extent) * 64), _align(far_at + far.size)
    program_at = _align(near.size)
    if program_at > on_chip.first:
        raise OnChipFullError(
            f"constants take {program_at} bytes of on-chip memory, there are {on_chip.first}"
        )
    if program_at + length > on_chip.first:
        program_at = end
        end = _align(program_at + length)
    end = max(end, extent)
    if memory is not None and end > memory:
        raise KernelError(
            f"the program takes {end:,} bytes of main memory, there are {memory:,}",
            bytes_needed=end,
        )
    return Compiled(
        words=emitter.words,
        program_at=program_at,
        constants=near,
        constants_at=0,
        maps_at=0,
        network=writer.network,
        buffers=maps.buffers,
        registers={
            f"region_base[{REGION_CONSTANTS}]": 0,
            f"region_limit[{REGION_CONSTANTS}]": _align(far_at + far.size),
            f"region_base[{REGION_MAPS}]": 0,
            f"region_limit[{REGION_MAPS}]": extent,
        },
        memory_size=end,
        params=dict(writer.target.params),
        spans=spans,
        tilings=chosen,
        far_constants=far,
        far_constants_at=far_at,
        sizes=dict(maker.sizes),
        overwritten=maps.overwritten,
    )


def _finish(writer, emitter, spans, data, chosen, memory):
    constants_at = _align(4 * len(emitter.words))
    maps_at = constants_at + data.size
    # A residual may be loaded with the shape of a larger tile: what lies after the maps must be
    # there to be read.
    extent = _align(max(writer.maps.units, emitter.extent) * 64)
    end = maps_at + extent
    if memory is not None and end > memory:
        raise KernelError(
            f"the program takes {end:,} bytes of main memory ({4 * len(emitter.words):,} of words, "
            f"{data.size:,} of kernels and biases, {extent:,} of maps), there are {memory:,}",
            bytes_needed=end,
        )
    return Compiled(
        words=emitter.words,
        program_at=0,
        constants=data,
        constants_at=constants_at,
        maps_at=maps_at,
        network=writer.network,
        buffers=writer.maps.buffers,
        registers={
            f"region_base[{REGION_CONSTANTS}]": constants_at,
            f"region_limit[{REGION_CONSTANTS}]": data.size,
            f"region_base[{REGION_MAPS}]": maps_at,
            f"region_limit[{REGION_MAPS}]": extent,
        },
        memory_size=end,
        params=dict(writer.target.params),
        spans=spans,
        tilings=chosen,
    )


class Writer:
    """Writes the program of a network for given tilings, whole or only some layers of it.

    Parameters as of :func:`compile_network`.
    """

    def __init__(
        self,
        network: Network,
        target: Target,
        maps: Maps,
        schedule: bool,
        zeroed: bool,
        on_chip: OnChip | None = None,
    ):
        self.network, self.target, self.maps = network, target, maps
        self.schedule, self.on_chip = schedule, on_chip
        #: Unit of the first constant that is not in on-chip memory.
        self.far_start = 0 if on_chip is None else max(maps.units, on_chip.units)
        self._clean = (
            [
                pad
                for buffer in maps.buffers.values()
                for image in range(buffer.images)
                for part in range(0, buffer.tensor.channel_blocks, buffer.tensor.shares)
                for pad in border_pads(buffer, image, part)
            ]
            if zeroed
            else []
        )
        self._tries = self._maker(packed=on_chip is None)
        self._jobs: dict[Hashable, Any] = {}

    def _maker(self, packed=True):
        types, on_chip = self.target.types, self.on_chip
        if on_chip is None:
            return JobMaker(self.target, self.maps, Constants(types))
        # Of attempts all constants lie in their memory, however many are tried.
        return JobMaker(
            self.target,
            self.maps,
            Constants(types, 0, packed),
            Constants(types, self.far_start, packed),
            on_chip.layers,
        )

    def start_tiling(self, layer: Layer, given: Tiling | None) -> Tiling:
        """The tiling of a layer that a search begins with: the ``given`` one, if there is one."""
        batch, flat = self.network.batch, self.flat(layer)
        steps = max(
            self.maps.buffers[tensor].steps
            for tensor in (layer.source, layer.residual, layer.result)
            if tensor is not None
        )
        found = widest(self.target, layer, batch, flat, steps)
        if given is not None:
            check_tiling(self.target, layer, batch, flat, given, steps)
        return self.whole(layer, given or found)

    def whole(self, layer: Layer, tiling: Tiling) -> Tiling:
        """The tiling with tiles that do not overlap, if the layer works in place: what a tile adds
        to must not have been overwritten by another."""
        if layer.name not in self.maps.in_place:
            return tiling
        rows, columns = (
            max(n for n in range(1, min(most, size) + 1) if size % n == 0)
            for most, size in zip(
                (tiling.rows, tiling.columns), layer.result.shape[:2], strict=True
            )
        )
        return replace(tiling, rows=rows, columns=columns)

    def candidates(self, layer: Layer, start: Tiling, alone: bool = False) -> list[Tiling]:
        """Tilings to try for a layer, see :func:`~..schedule.tiling.candidates`; ``alone``: without
        the next layer."""
        sibling = not alone and self.sibling(layer) is not None
        batch = self.network.batch
        found = candidates(self.target, layer, batch, self.flat(layer), start, sibling)
        return list(dict.fromkeys(self.whole(layer, tiling) for tiling in found))

    def flat(self, layer: Layer) -> bool:
        """Whether a layer processes all images at once."""
        return self._tries.flat(layer)

    def write(self, tilings: Mapping[str, Tiling]) -> tuple[Emitter, list[Span], JobMaker]:
        """Writes the program: (Emitter, list of Span, JobMaker)."""
        maker = self._maker()
        return *self._write(maker, {}, tilings), maker

    def clean_at_end(self, emitter: Emitter) -> bool:
        """Checks that borders assumed to be zero at the start are zero at the end, so that the
        program can run again; borders that are not are no longer assumed to be."""
        count = len(self._clean)
        self._clean = [pad for pad in self._clean if emitter.clean.get(pad.at) == pad]
        return len(self._clean) == count

    def attempt(
        self, tilings: Mapping[str, Tiling], layers: Sequence[Layer] | None = None
    ) -> list[int]:
        """Words of a program for comparing tilings; the constants' addresses are arbitrary.
        ``layers``: only these."""
        return self._write(self._tries, self._jobs, tilings, layers)[0].words

    def sibling(self, layer: Layer) -> Layer | None:
        """The next layer if it can share the tiles of ``layer``, else ``None``."""
        index = self.network.layers.index(layer) + 1
        if self.schedule and index < len(self.network.layers):
            other = self.network.layers[index]
            return other if self._tries.sibling(layer, other) is not None else None
        return None

    def _steps(self, tilings, layers):
        """Pairs of a layer and the next one if both share tiles (else ``None``), in order."""
        left = list(self.network.layers if layers is None else layers)
        while left:
            layer = left.pop(0)
            other = self.sibling(layer) if left and tilings[layer.name].with_next else None
            if other is not None:
                left.pop(0)
            yield layer, other

    @staticmethod
    def _made(maker, layer, other, tiling):
        if other is None:
            return maker.jobs(layer, tiling)
        return maker.sibling_jobs(layer, other, maker.sibling(layer, other), tiling)

    def _write(self, maker, known, tilings, layers=None):
        emitter = Emitter(self.target.types, self.target.slot_units, self._clean)
        spans, pending, padded = [], None, set()
        for layer, other in self._steps(tilings, layers):
            key = layer.name, tilings[layer.name], other is None
            jobs = known.get(key) or self._made(maker, layer, other, tilings[layer.name])
            known[key] = jobs
            both = (layer,) if other is None else (other, layer)
            begins = jobs[:2] if self._pads_first(layer) else jobs[-1:]
            for one, begin in zip(both, begins, strict=False):
                # Layers that complete a map of phases leave the border of the first one alone.
                begin.pads = [] if one.result in padded else maker.pads(one)
                padded.add(one.result)
            jobs[-1].closes = both
            for job in jobs:
                if pending is not None:
                    self._end(emitter, pending, job, spans)
                emitter.start(job)
                pending = job
        self._end(emitter, pending, None, spans)
        if layers is None:
            emitter.clean_inputs(maker.input_pads())
        emitter.emit("end")
        return emitter, spans

    def _pads_first(self, layer):
        """Whether the border of a layer's result is made zero before the first of its stores."""
        return self.schedule or self.maps.buffers[layer.result].pads_overlap_data

    def _end(self, emitter, job, following, spans):
        """Emits the end of ``job``: padding, residual and store; a scheduled program loads for the
        next job before the store."""
        first = self._pads_first(job.layer)
        if first:
            emitter.pads(job, always=not self.schedule)
        emitter.load_residual(job)
        if self.schedule and following is not None:
            emitter.preload(following, job)
        emitter.finish(job)
        if not first:
            emitter.pads(job, always=True)
        if job.closes:
            begin = spans[-1].end if spans else 0
            spans.append(Span(job.closes, begin, len(emitter.words)))
