# SPDX-License-Identifier: BSD-2-Clause
"""Compiled networks: words, memory contents, registers and tensor placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ......gateware.cores.opu.software import SOFTWARE
from ......gateware.isa.asm import disassemble
from ....common.inputs import KernelError, check_names
from .memory import Buffer, dtype

if TYPE_CHECKING:
    from .tiling import Tiling

__all__ = ["Compiled", "LayerSpan", "Placed"]


@dataclass(frozen=True)
class Placed:
    """Placement of a tensor in main memory: byte ``address`` and ``size``; :class:`~.memory.Buffer`
    defines its layout."""

    buffer: Buffer
    address: int
    bits: int

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.buffer.units * 64

    @property
    def array_shape(self) -> tuple[int, int, int, int, int]:
        """Shape of the buffer as an array of elements: images, maps, rows, columns, 64."""
        return self.buffer.array_shape

    def pack(self, values: Any) -> np.ndarray:
        """Packs ``values`` [images, height, width, channels] into the memory layout, borders
        zero."""
        return self.buffer.pack(values, self.bits)

    def unpack(self, memory: Any) -> np.ndarray:
        """Unpacks values [images, height, width, channels] from ``memory``: all of main memory
        (uint8), or just this tensor, as bytes or as the array that a job saved."""
        data = (
            np.ascontiguousarray(memory).view(np.uint8).ravel()
            if isinstance(memory, np.ndarray)
            else np.frombuffer(memory, np.uint8)
        )
        if data.size != self.size:
            data = data[self.address : self.address + self.size]
        return self.buffer.unpack(data.tobytes(), self.bits)


@dataclass(frozen=True)
class LayerSpan:
    """Range of words of a layer: ``begin`` to ``end`` (exclusive, after its last store), for
    images ``first`` to ``first + images - 1``, with its multiply-accumulates (without padding
    channels)."""

    name: str
    begin: int
    end: int
    first: int
    images: int
    macs: int


@dataclass
class Compiled:
    """A compiled program with its memory contents and registers.

    Attributes
    ----------
    words : list of int; ``program_at``, ``constants_at``, ``maps_at`` : byte addresses
    constants : uint8, kernels and biases as they lie at ``constants_at``
    inputs, outputs, tensors : dict, name -> Placed (``tensors``: every one,
        though its memory may be used again)
    registers : dict, ISA registers to set: the region table
    memory_size : bytes of main memory from address 0 that it takes
    params : dict, build parameters that it was made for
    layers : list of LayerSpan
    tilings : dict, layer name -> Tiling
    far_constants, far_constants_at : those of the layers whose constants are not in on-chip memory
    sizes : dict, layer name -> bytes of its kernels and biases; of a build with on-chip memory
    overwritten : names of inputs whose memory holds another tensor after a run
    """

    words: list[int]
    program_at: int
    constants: np.ndarray
    constants_at: int
    maps_at: int
    inputs: dict[str, Placed]
    outputs: dict[str, Placed]
    tensors: dict[str, Placed]
    registers: dict[str, int]
    memory_size: int
    params: Mapping[str, Any]
    layers: list[LayerSpan]
    tilings: dict[str, Tiling] = field(default_factory=dict)
    far_constants: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    far_constants_at: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    overwritten: frozenset[str] = frozenset()

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
        comments = {
            span.begin: f"# {span.name}"
            + (
                f", images {span.first} to {span.first + span.images - 1}"
                if span.images > 1 or span.first
                else ""
            )
            for span in self.layers
        }
        found = []
        for index, line in enumerate(lines):
            if index in comments:
                found.append(comments[index])
            found.append(line)
        return "\n".join(found) + "\n"

    def image(self, values: Mapping[str, Any] | None = None, size: int | None = None) -> np.ndarray:
        """Contents of main memory before the run, uint8.

        Parameters
        ----------
        values : dict, name of every input -> integers [images, height, width, channels];
            without it they are zero
        size : bytes, at least ``memory_size``
        """
        memory = np.zeros(size or self.memory_size, np.uint8)
        if memory.size < self.memory_size:
            raise KernelError(
                f"the program takes {self.memory_size} bytes of memory, not {memory.size}"
            )
        if values is None:
            values = {
                name: np.zeros((placed.buffer.images, *placed.buffer.tensor.shape), int)
                for name, placed in self.inputs.items()
            }
        for address, data, _ in self.loads(values):
            memory[address : address + data.size] = data
        memory[self.program_at : self.program_at + len(self.data)] = np.frombuffer(
            self.data, np.uint8
        )
        return memory

    def loads(self, values: Mapping[str, Any]) -> list[tuple[int, np.ndarray, str]]:
        """Memory contents before the run except the program: (byte address, uint8 array, name);
        ``values`` as for :meth:`image`. Raises :class:`KernelError`."""
        check_names(
            values,
            {
                name: f"integers {[placed.buffer.images, *placed.buffer.tensor.shape]}"
                for name, placed in self.inputs.items()
            },
        )
        found = [(at, data, "constants") for at, data in self.all_constants]
        return found + [
            (placed.address, placed.pack(values[name]).view(np.uint8).ravel(), name)
            for name, placed in self.inputs.items()
        ]

    @property
    def all_registers(self) -> dict[str, int]:
        """Registers of a run, program address and length included."""
        return {
            **self.registers,
            "program_address": self.program_at,
            "program_length": len(self.data),
        }

    def results(self, memory: Any) -> dict[str, np.ndarray]:
        """Extracts the outputs by name, [images, height, width, channels], from main memory after
        the run."""
        return {name: placed.unpack(memory) for name, placed in self.outputs.items()}

    @property
    def element(self) -> np.dtype:
        """numpy type of a tensor's elements."""
        return dtype(next(iter(self.outputs.values())).bits)
