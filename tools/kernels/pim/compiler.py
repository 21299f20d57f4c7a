# SPDX-License-Identifier: BSD-2-Clause
"""Compiler from networks to programs: data-parallel over images, or column-parallel for dense
layers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quintet.gateware.cores.pim.asm.listing import core_lines
from quintet.gateware.cores.pim.image.codes import CodeError, code_of
from quintet.gateware.cores.pim.image.image import CoreProgram, Image
from quintet.gateware.cores.pim.storage import MODE_NAMES, MODES, STORAGES

from ..inputs import KernelError, check_whole
from .areas import Areas
from .builder import CoreBuilder
from .checks import check_params
from .layers import Allocation, DenseParts, lower, place
from .network import Conv, Dense, Network

__all__ = ["Compiled", "compile_columns", "compile_network"]


@dataclass
class Part:
    """A core's program: words before the loop, words of the loop body, and its count."""

    core: CoreBuilder
    before: list[Any]
    body: list[Any]
    count: int


@dataclass
class Compiled:
    """A program for one build.

    Attributes
    ----------
    image : Image, the program image (``image.data()``)
    areas : Areas, where program, inputs and outputs lie
    inputs, outputs : addresses of the arrays in main memory
    in_shape, out_shape, bits : of those arrays, and bits of a result
    parts : list of Part
    """

    image: Image
    areas: Areas
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    bits: int
    parts: list[Part]
    mode: str

    @property
    def inputs(self) -> int:
        """Main-memory address of the inputs."""
        return self.areas.inputs

    @property
    def outputs(self) -> int:
        """Main-memory address of the outputs."""
        return self.areas.outputs

    @property
    def data(self) -> bytes:
        """The image's bytes."""
        return self.image.data()

    @property
    def instructions(self) -> int:
        """Number of instructions that a run executes."""
        return sum(core.count for core in self.image.cores)

    def groups(self) -> str:
        """The companion file of groups, for ``.groups``: JSON text."""
        return json.dumps(
            {
                f"core{k}": [
                    {
                        "rows": g.rows,
                        "cols": g.cols,
                        "arrays": list(g.arrays),
                        "shift": g.shift,
                        "weights": np.asarray(g.weights).tolist(),
                        **({"bias": g.bias.tolist()} if g.bias is not None else {}),
                    }
                    for g in core.groups
                ]
                for k, core in enumerate(self.image.cores)
            }
        )

    def text(self, companion: str) -> str:
        """Source of the program; its groups are read from the file ``companion``."""
        image, lines = self.image, []
        if (image.xb_rows, image.xb_cols) != (64, 64):
            lines.append(f".arrays {image.xb_rows}, {image.xb_cols}")
        lines += [f".gmem {image.gmem_base:#x}, {image.gmem_size:#x}", f'.groups "{companion}"']
        for number, part in enumerate(self.parts):

            def of(words, core=image.cores[number], number=number):
                words = np.array(words, np.uint64)
                return core_lines(
                    replace(core, code=code_of(words, core.mode), count=len(words)),
                    number,
                    len(image.cores),
                )

            lines += [
                f".core {number}",
                f".mode {MODE_NAMES[image.cores[number].mode]}",
                *of(part.before),
            ]
            if part.count > 1:
                lines += [f".rept {part.count}", *of(part.body), ".endr"]
            elif part.count:
                lines += of(part.body)
        return "\n".join(lines) + "\n"


def _cores(parts, mode):
    """Entries of the program image."""
    cores = []
    for number, part in enumerate(parts):
        count = len(part.before) + len(part.body) * part.count
        if count * STORAGES[MODES[mode]].size >= 1 << 32:
            raise KernelError(f"core {number}: {count} instructions do not fit 4 GiB")
        words = np.concatenate(
            [np.array(part.before, np.uint64), np.tile(np.array(part.body, np.uint64), part.count)]
        )
        try:
            code = code_of(words, MODES[mode])
        except CodeError as error:
            raise KernelError(
                f"mode {mode}: core {number}, instruction {error.index}: {error}"
            ) from None
        cores.append(CoreProgram(code, len(words), MODES[mode], groups=part.core.groups))
    return cores


def _link(network, params, parts, images, mode, areas):
    image = Image(_cores(parts, mode), params["xb_rows"], params["xb_cols"])
    areas.put_program(len(image.data()))
    image.gmem_base = areas.gmem
    return Compiled(
        image,
        areas,
        (images, *network.shapes[0]),
        (images, *network.shapes[-1]),
        network.bits,
        parts,
        mode,
    )


def _check(network, params, cores, mode):
    if not isinstance(network, Network):
        raise KernelError(f"network must be a Network, not {type(network).__name__}")
    check_params(params)
    if cores is not None and check_whole("cores", cores, 1) > params["cores"]:
        raise KernelError(f"{cores} cores, expected 1 to {params['cores']} (cores)")
    if not isinstance(mode, str) or mode not in MODES:
        raise KernelError(f"mode {mode!r}, expected {', '.join(MODES)}")
    if network.bits > params["max_biw"]:
        raise KernelError(
            f"results of {network.bits} bits, this build has {params['max_biw']} (max_biw)"
        )


def _part(params, number, network, offsets, chunk, count):
    """The whole network on one core, ``count`` times ``chunk`` images from ``offsets``, GMem
    addresses of inputs and results."""
    try:
        return _whole_network(
            CoreBuilder(params, number), network, offsets, chunk, count, thrifty=False
        )
    except KernelError:
        try:
            return _whole_network(
                CoreBuilder(params, number), network, offsets, chunk, count, thrifty=True
            )
        except KernelError:
            pass
        raise


def _whole_network(core, network, offsets, chunk, count, thrifty):
    (size_in, size_out), (shape_in, *_, shape_out), first = (
        network.sizes,
        network.shapes,
        network.layers[0],
    )
    given, taken = (core.pointer(at) for at in offsets)
    staged = core.allocate(chunk * size_in, "the input")
    padded = isinstance(first, Conv) and any(first.pads)
    if padded or len(shape_in) == 3 and chunk > 1:
        source = place(core, shape_in, first, first.name)
    else:
        source = Allocation(staged, shape_in, size_in if len(shape_in) == 1 else None)
    results = core.allocate(chunk * size_out, "the results")
    output = Allocation(
        results, shape_out, size_out if len(shape_out) == 1 else None, size=network.bits // 8
    )
    steps = lower(core, network, source, output, thrifty)
    before = core.words
    core.words = []
    core.loop()
    core.load(staged, given, chunk * size_in)
    for image in range(chunk):
        if source.address != staged:
            h, w, c = shape_in
            for y in range(h):
                core.move(source.row(y), staged + image * size_in + y * w * c, w * c)
        for step in steps:
            step.emit(image)
    core.store(taken, results, chunk * size_out)
    core.advance(given, chunk * size_in)
    core.advance(taken, chunk * size_out)
    return Part(core, before, core.words, count)


def compile_network(
    network: Network,
    params: Mapping[str, Any],
    *,
    images: int = 1,
    cores: int | None = None,
    chunk: int = 1,
    inputs: int = 0,
    outputs: int | None = None,
    mode: str = "packed",
    gmem: int | None = None,
    program_at: int = 0,
) -> Compiled:
    """Compiles a data-parallel program: every core runs its share of the images through the whole
    network, and all weights are held in each core.

    Parameters
    ----------
    network : Network
    params : dict, build parameters
    images : how many; a multiple of ``cores * chunk``
    cores : used, by default as many of those built as share out the images
    chunk : images loaded and stored at once
    inputs, outputs : GMem addresses of the arrays int8 [images, ...] and int8/16/32 [images,
        ...]; by default one behind the other
    mode : code form, ``"64"`` or ``"packed"``; ``"32"`` only where no instruction needs an offset
    gmem : main-memory address of GMem 0, by default behind the program
    program_at : main-memory address of the program

    Raises
    ------
    KernelError
    """
    _check(network, params, cores, mode)
    images, chunk = check_whole("images", images, 1), check_whole("chunk", chunk, 1)
    cores = (
        next((n for n in range(params["cores"], 1, -1) if images % (n * chunk) == 0), 1)
        if cores is None
        else int(cores)
    )
    if images % (cores * chunk):
        raise KernelError(
            f"{images} images do not share out among {cores} cores in chunks of {chunk}"
        )
    size_in, size_out = network.sizes
    areas = Areas(program_at, gmem, inputs, outputs, images * size_in, images * size_out)
    if len(network.shapes[-1]) == 3 and chunk > 1:
        raise KernelError("a network that ends with a map takes chunks of one image")
    share = images // cores
    parts = [
        _part(
            params,
            number,
            network,
            [
                at + number * share * size
                for at, size in zip(areas.offsets, network.sizes, strict=True)
            ],
            chunk,
            share // chunk,
        )
        for number in range(cores)
    ]
    return _link(network, params, parts, images, mode, areas)


def compile_columns(
    network: Network,
    params: Mapping[str, Any],
    *,
    images: int = 1,
    cores: int | None = None,
    inputs: int = 0,
    outputs: int | None = None,
    mode: str = "packed",
    gmem: int | None = None,
    program_at: int = 0,
) -> Compiled:
    """Compiles a column-parallel program of dense layers: every core holds some columns of each
    layer; core 0 gathers and distributes the intermediate values. Arguments as in
    :func:`compile_network`; ``cores``: by default all built.

    Raises
    ------
    KernelError
        A layer that is not dense, or what does not fit.
    """
    _check(network, params, cores, mode)
    images, cores = (
        check_whole("images", images, 1),
        params["cores"] if cores is None else int(cores),
    )
    for layer in network.layers:
        if not isinstance(layer, Dense):
            raise KernelError(f"{layer.name}: only dense layers are cut by columns")
    size_in, size_out = network.sizes
    areas = Areas(program_at, gmem, inputs, outputs, images * size_in, images * size_out)
    builders = [CoreBuilder(params, k) for k in range(cores)]
    pointers = [core.pointer(areas.offsets[0]) for core in builders]
    taken = builders[0].pointer(areas.offsets[1])
    sizes = [size_in, *(shape[0] for shape in network.shapes[1:-1]), size_out]
    buffers = [[core.allocate(size, "a layer") for size in sizes] for core in builders]
    shares = []
    for layer in network.layers:
        width = -(-layer.outputs // cores)
        cuts = [(k * width, min(layer.outputs, (k + 1) * width)) for k in range(cores)]
        row: list[tuple[DenseParts, int, int] | None] = []
        for core, (a, b) in zip(builders, cuts, strict=True):
            if a >= b:
                row.append(None)
                continue
            piece = replace(
                layer,
                weights=np.ascontiguousarray(layer.weights[:, a:b]),
                bias=None if layer.bias is None else layer.bias[a:b],
            )
            row.append((DenseParts(core, piece), a, b))
        shares.append(row)
    befores = [core.words for core in builders]
    for core, pointer in zip(builders, pointers, strict=True):
        core.words = []
        core.loop()
        core.load(buffers[core.number][0], pointer, size_in)
    for n, (layer, row) in enumerate(zip(network.layers, shares, strict=True)):
        byw, last = layer.bits // 8, n + 1 == len(network.layers)
        for core, share in zip(builders, row, strict=True):
            if share is None:
                continue
            parts, a, b = share
            own = buffers[core.number]
            parts.emit(own[n + 1] + a * byw, own[n])
            if core.number:
                core.send(own[n + 1] + a * byw, 0, (b - a) * byw)
                builders[0].recv(buffers[0][n + 1] + a * byw, core.number, (b - a) * byw)
        for core in builders[1:] if not last else ():
            builders[0].send(buffers[0][n + 1], core.number, layer.outputs * byw)
            core.recv(buffers[core.number][n + 1], 0, layer.outputs * byw)
    builders[0].store(taken, buffers[0][-1], size_out)
    builders[0].advance(taken, size_out)
    for core, pointer in zip(builders, pointers, strict=True):
        core.advance(pointer, size_in)
    parts = [
        Part(core, before, core.words, images)
        for core, before in zip(builders, befores, strict=True)
    ]
    return _link(network, params, parts, images, mode, areas)
