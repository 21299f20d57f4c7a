# SPDX-License-Identifier: BSD-2-Clause
"""Emission of tile jobs: writes configuration only where it changes, and loads only data that the
buffers do not hold."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ......gateware.cores.opu.isa import ISA
from .tiles import Area

if TYPE_CHECKING:
    from ......gateware.cores.opu.types import TypeSet
    from .tiles import Job, Load, Pad, Part

__all__ = ["Emitter", "REGION_CONSTANTS", "REGION_MAPS"]

#: Regions of the region table that programs use.
REGION_CONSTANTS, REGION_MAPS = 1, 2


@lru_cache(1 << 14)
def _encode(mnemonic, operands):
    return ISA.encode(mnemonic, **dict(operands))


class Emitter:
    """Emits the instructions of tile jobs.

    Parameters
    ----------
    types : TypeSet
    slot_units : units of 64 bytes in a slot
    clean : Pads of the borders that are zero before the program runs

    Attributes
    ----------
    words : list of int
    extent : units of the region of maps that loads reach
    clean : dict, units -> Pad of the borders that are zero now
    """

    def __init__(self, types: TypeSet, slot_units: int, clean: Iterable[Pad] = ()):
        self.types = types
        self.slot_units = slot_units
        self.words: list[int] = []
        self.extent = 0
        self._registers = {"@stride": (1, 1), "@shift": (0, 0), "@post": 0, "@pool": (1, 1, 1, 1)}
        # Contents of the buffers.
        self._ifm: Load | None = None
        self._ker: Part | None = None
        self._bias: int | None = None
        self.clean = {pad.at: pad for pad in clean}

    def emit(self, mnemonic: str, **operands: Any) -> None:
        """Appends an instruction."""
        self.words.append(_encode(mnemonic, tuple(operands.items())))

    def _set(self, mnemonic, value, **operands):
        """Emits a configuration instruction if it changes anything; returns whether it did."""
        if self._registers.get(mnemonic) == value:
            return False
        self._registers[mnemonic] = value
        self.emit(mnemonic, **operands)
        return True

    # Configuration with its effect on the buffers (4.2)

    def _shape_ifm(self, shape):
        h, w, c = shape
        if self._set("@shape.ifm", shape, h=h, w=w, c=c):
            self._ifm = self._ker = None

    def _shape_ofm(self, shape):
        h, w, c = shape
        before = self._registers.get("@shape.ofm")
        if self._set("@shape.ofm", shape, h=h, w=w, c=c):
            self._ker = None
            if before is None or before[2] != c:
                self._bias = None

    # Loads

    def load_ifm(self, load: Load) -> None:
        """Emits ``ld.ifm`` with its configuration, if the buffer does not hold the data."""
        self._shape_ifm(load.shape)
        if self._ifm == load:
            return
        region = REGION_CONSTANTS if load.constant else REGION_MAPS
        self._set("@mem.ifm", (region, load.mem_w), addr=region, w=load.mem_w)
        self.emit("ld.ifm", addr=load.at)
        self._ifm = load
        self.extent = max(self.extent, load.area(self.slot_units).end)

    def _load_ker(self, part):
        if self._set("@shape.ker", part.n, n=part.n):
            self._ker = None
        if self._ker == (part.at, part.slots):
            return
        region = REGION_MAPS if part.slots else REGION_CONSTANTS
        self._set("@mem.ker", region, addr=region)
        self.emit("ld.ker", addr=part.at)
        self._ker = part.at, part.slots
        self.extent = max(self.extent, part.area(self.slot_units).end)

    def _load_bias(self, at):
        if at is None or self._bias == at:
            return
        self._set("@mem.bias", REGION_CONSTANTS, addr=REGION_CONSTANTS)
        self.emit("ld.bias", addr=at)
        self._bias = at

    # Jobs

    def start(self, job: Job) -> None:
        """Emits the loads and convolutions of ``job``."""
        self._shape_ofm(job.ofm)
        first = True
        for part in job.parts:
            for chunk in part.chunks:
                self.load_ifm(chunk.load)
                if first:
                    self._load_bias(job.bias)
                self._load_ker(part)
                self._set("@stride", chunk.stride, h=chunk.stride[0], w=chunk.stride[1])
                self._set("@shift", (chunk.f, job.b), f=chunk.f, b=job.b)
                for h, w, n in chunk.taps:
                    kind = "conv.acc" if not first else "conv" if job.bias is None else "conv.bias"
                    self.emit(kind, h=h, w=w, n=n)
                    first = False

    def preload(self, job: Job, before: Job) -> None:
        """Emits the first loads of ``job`` that may precede the ``store`` of ``before`` (9.3), as
        many as possible.

        ``@shape.ofm`` would invalidate the results to be stored; with a residual so would anything
        that
        touches ``ifm``; and a feature map that ``before`` or its pads still write must wait.
        """
        part = job.parts[0]
        chunk = part.chunks[0]
        if before.residual is None:
            if self._writes(before, chunk.load):
                self._shape_ifm(chunk.load.shape)
            else:
                self.load_ifm(chunk.load)
        if job.ofm[2] == before.ofm[2]:
            self._load_bias(job.bias)
        if (
            job.ofm == before.ofm
            and self._registers["@shape.ifm"] == chunk.load.shape
            and not self._writes(before, part)
        ):
            self._load_ker(part)

    def _writes(self, job, read):
        """Whether ``job`` writes bytes that a Load or Part reads."""
        area = read.area(self.slot_units)
        return any(write.area(self.slot_units).overlaps(area) for write in (job, *job.pads))

    def pads(self, job: Job, always: bool) -> None:
        """Emits the ``pad`` instructions of the job; a map whose border is still zero is skipped
        unless ``always``."""
        self._pads(job.pads, always)

    def clean_inputs(self, pads: Iterable[Pad]) -> None:
        """Emits the ``pad`` instructions at the end of a program, for the next run's inputs."""
        self._pads(pads, False)

    def _pads(self, pads, always):
        for pad in pads:
            if not always and self.clean.get(pad.at) == pad:
                continue
            self._mem_ofm(pad.mem)
            self.emit("pad", addr=pad.at, p=pad.width)
            # Zeros leave borders zero, also the other pads' of the same map.
            self._forget_loaded(pad.area(self.slot_units))
            self.clean[pad.at] = pad

    def load_residual(self, job: Job) -> None:
        """Loads the residual that ``store`` adds, if there is one."""
        if job.residual is not None:
            self.load_ifm(job.residual)

    def finish(self, job: Job) -> None:
        """Emits the ``store``."""
        layer = job.layer
        self._mem_ofm(job.mem)
        adds = job.residual is not None
        self._set(
            "@post", (layer.act, layer.order, adds), post=layer.act | layer.order << 2 | adds << 4
        )
        h, w, i, j = layer.pool
        self._set("@pool", layer.pool, h=h, w=w, i=i, j=j)
        self.emit("store", addr=job.at)
        self._forget(job.area(self.slot_units), job.borders)

    def _mem_ofm(self, mem):
        self._set("@mem.ofm", mem, addr=REGION_MAPS, h=mem[0], w=mem[1])

    def _forget(self, written, borders):
        """Invalidates knowledge of the memory that was ``written`` inside of ``borders``: copies of
        it in the buffers, and zero borders of other maps."""
        self._forget_loaded(written)
        for at, pad in list(self.clean.items()):
            if pad not in borders and written.overlaps(pad.area(self.slot_units)):
                del self.clean[at]

    def _forget_loaded(self, written):
        """Invalidates copies of the memory that was ``written`` in the buffers."""
        if self._ifm is not None and written.overlaps(self._ifm.area(self.slot_units)):
            self._ifm = None
        if self._ker is not None:
            at, slots = self._ker
            if slots and written.overlaps(Area(at, 1, slots * self.slot_units, 1)):
                self._ker = None
