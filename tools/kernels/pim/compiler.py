# SPDX-License-Identifier: BSD-2-Clause
"""Networks to programs: images shared out among the cores, or the columns of dense layers."""
import json
from dataclasses import dataclass, replace

import numpy as np

from quintet.gateware.cores.pim.codes import code_of
from quintet.gateware.cores.pim.image import CoreProgram, Image
from quintet.gateware.cores.pim.listing import core_lines
from quintet.gateware.cores.pim.storage import MODE_NAMES, MODES

from .builder import CoreBuilder
from .errors import KernelError
from .layers import Place, dense_groups, emit_dense, lower, prepare_dense
from .network import Conv, Dense, Network

__all__ = ["Compiled", "compile_columns", "compile_network"]


@dataclass
class Part:
    """A core's program: words before, words of the repeated stretch, and how often."""
    core: CoreBuilder
    before: list
    body: list
    count: int


@dataclass
class Compiled:
    """A program for one build.

    Attributes
    ----------
    image : Image, the program image (``image.data()``)
    inputs, outputs : addresses of the arrays in main memory
    in_shape, out_shape, bits : of those arrays, and bits of a result
    parts : list of Part
    """
    image: Image
    inputs: int
    outputs: int
    in_shape: tuple
    out_shape: tuple
    bits: int
    parts: list
    mode: str

    @property
    def data(self):
        """The image's bytes."""
        return self.image.data()

    @property
    def instructions(self):
        return sum(core.count for core in self.image.cores)

    def groups(self):
        """The companion of groups, for ``.groups``: JSON text."""
        return json.dumps({f"core{k}": [
            {"rows": g.rows, "cols": g.cols, "arrays": list(g.arrays), "shift": g.shift, "weights": g.weights.tolist(),
             **({"bias": g.bias.tolist()} if g.bias is not None else {})} for g in core.groups]
            for k, core in enumerate(self.image.cores)})

    def text(self, companion):
        """Source of the program; its groups come from the file ``companion``."""
        image, lines = self.image, []
        if (image.xb_rows, image.xb_cols) != (64, 64):
            lines.append(f".arrays {image.xb_rows}, {image.xb_cols}")
        lines += [f".gmem {image.gmem_base:#x}, {image.gmem_size:#x}", f'.groups "{companion}"']
        for number, part in enumerate(self.parts):
            def of(words, core=image.cores[number], number=number):
                words = np.array(words, np.uint64)
                return core_lines(replace(core, code=code_of(words, core.mode), count=len(words)), number, len(image.cores))
            lines += [f".core {number}", f".mode {MODE_NAMES[image.cores[number].mode]}", *of(part.before)]
            if part.count > 1:
                lines += [f".rept {part.count}", *of(part.body), ".endr"]
            elif part.count:
                lines += of(part.body)
        return "\n".join(lines) + "\n"


def _image(parts, params, mode, base, size):
    cores = []
    for part in parts:
        words = np.array(part.before + part.body * part.count, np.uint64)
        cores.append(CoreProgram(code_of(words, MODES[mode]), len(words), MODES[mode], groups=part.core.groups))
    return Image(cores, params["xb_rows"], params["xb_cols"], base, size)


def _check(network, params, cores, mode):
    if not isinstance(network, Network):
        raise KernelError(f"network must be a Network, not {type(network).__name__}")
    if not 1 <= cores <= params["cores"]:
        raise KernelError(f"{cores} cores, expected 1 to {params['cores']} (cores)")
    if mode not in MODES:
        raise KernelError(f"mode {mode!r}, expected {', '.join(MODES)}")
    if network.bits > params["max_biw"]:
        raise KernelError(f"results of {network.bits} bits, this build has {params['max_biw']} (max_biw)")


def compile_network(network, params, *, images=1, cores=None, chunk=1, inputs=0, outputs=None, mode="packed", gmem=0):
    """A program in which every core takes its share of the images through the whole network; weights lie in each.

    Parameters
    ----------
    network : Network
    params : dict, build parameters
    images : how many; a multiple of ``cores * chunk``
    cores : used, by default all built
    chunk : images loaded and stored at once
    inputs, outputs : GMem addresses of the arrays int8 [images, ...] and int8/16/32 [images, ...]; by default one behind the other
    mode : code form, ``"64"`` or ``"packed"``
    gmem : main-memory address of GMem 0

    Raises
    ------
    KernelError
    """
    cores = params["cores"] if cores is None else cores
    _check(network, params, cores, mode)
    if images < 1 or chunk < 1 or images % (cores * chunk):
        raise KernelError(f"{images} images do not share out among {cores} cores in chunks of {chunk}")
    size_in = int(np.prod(network.shapes[0]))
    size_out = int(np.prod(network.shapes[-1])) * ((network.bits + 7) // 8)
    outputs = (inputs + images * size_in + 63) & -64 if outputs is None else outputs
    share, parts = images // cores, []
    for number in range(cores):
        core = CoreBuilder(params, number)
        given, taken = core.pointer(inputs + number * share * size_in), core.pointer(outputs + number * share * size_out)
        first = network.layers[0]
        staged = core.allocate(chunk * size_in, "the input")
        padded = isinstance(first, Conv) and first.padding
        if padded:
            h, w, c = network.shapes[0]
            p, pitch = first.padding, (w + 2 * first.padding) * c
            around = core.allocate(pitch * (h + 2 * p), first.name)
            source = Place(around + p * pitch + p * c, network.shapes[0], pitch)
        results = core.allocate(chunk * size_out, "the results")
        output = Place(results, network.shapes[-1])
        if len(network.shapes[-1]) == 1:
            output.pitch = size_out
        elif chunk > 1:
            raise KernelError("a network that ends with a map takes chunks of one image")
        if not padded:
            source = Place(staged, network.shapes[0])
            if len(network.shapes[0]) == 1:
                source.pitch = size_in
            elif chunk > 1 and not padded:
                around = core.allocate(size_in, first.name)
                source = Place(around, network.shapes[0])
        steps = lower(core, network, source, output)
        before = core.words
        core.words = []
        core.loop()
        core.load(staged, given, chunk * size_in)
        for image in range(chunk):
            if source.address != staged and len(network.shapes[0]) == 3:
                h, w, c = network.shapes[0]
                for y in range(h):
                    core.move(source.row(y), staged + image * size_in + y * w * c, w * c)
            for step in steps:
                step.emit(image)
        core.store(taken, results, chunk * size_out)
        core.advance(given, chunk * size_in)
        core.advance(taken, chunk * size_out)
        parts.append(Part(core, before, core.words, share // chunk))
    return Compiled(_image(parts, params, mode, gmem, 0), gmem + inputs, gmem + outputs, (images, *network.shapes[0]),
                    (images, *network.shapes[-1]), network.bits, parts, mode)


def compile_columns(network, params, *, images=1, cores=None, inputs=0, outputs=None, mode="packed", gmem=0):
    """A program for dense layers in which every core holds some columns of each layer; core 0 gathers and shares out what
    lies between. Arguments as of :func:`compile_network`.

    Raises
    ------
    KernelError
        A layer that is not dense, or what does not fit.
    """
    cores = params["cores"] if cores is None else cores
    _check(network, params, cores, mode)
    for layer in network.layers:
        if not isinstance(layer, Dense):
            raise KernelError(f"{layer.name}: only dense layers are cut by columns")
    size_in = int(np.prod(network.shapes[0]))
    size_out = network.shapes[-1][0] * ((network.bits + 7) // 8)
    outputs = (inputs + images * size_in + 63) & -64 if outputs is None else outputs
    builders = [CoreBuilder(params, k) for k in range(cores)]
    pointers = [core.pointer(inputs) for core in builders]
    taken = builders[0].pointer(outputs)
    buffers = [[core.allocate(int(np.prod(shape)) * ((network.bits + 7) // 8 if shape is network.shapes[-1] else 1), "a layer")
                for shape in network.shapes] for core in builders]
    shares = []
    for layer in network.layers:
        width = -(-layer.outputs // cores)
        cuts = [(k * width, min(layer.outputs, (k + 1) * width)) for k in range(cores)]
        row = []
        for core, (a, b) in zip(builders, cuts, strict=True):
            if a >= b:
                row.append(None)
                continue
            piece = replace(layer, weights=np.ascontiguousarray(layer.weights[:, a:b]),
                            bias=None if layer.bias is None else layer.bias[a:b])
            groups = dense_groups(core, piece)
            row.append((piece, groups, prepare_dense(core, piece, groups), a, b))
        shares.append(row)
    befores = [core.words for core in builders]
    for core, pointer in zip(builders, pointers, strict=True):
        core.words = []
        core.loop()
        core.load(buffers[core.number][0], pointer, size_in)
    for n, (layer, row) in enumerate(zip(network.layers, shares, strict=True)):
        byw, last = (layer.bits + 7) // 8, n + 1 == len(network.layers)
        for core, share in zip(builders, row, strict=True):
            if share is None:
                continue
            piece, groups, scratch, a, b = share
            own = buffers[core.number]
            emit_dense(core, piece, groups, scratch, own[n + 1] + a * byw, own[n])
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
    parts = [Part(core, before, core.words, images) for core, before in zip(builders, befores, strict=True)]
    return Compiled(_image(parts, params, mode, gmem, 0), gmem + inputs, gmem + outputs, (images, *network.shapes[0]),
                    (images, *network.shapes[-1]), network.bits, parts, mode)
