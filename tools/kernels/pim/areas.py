# SPDX-License-Identifier: BSD-2-Clause
"""Memory map of a program, its inputs and its results."""

from quintet.gateware.cores.pim.isa import ISA

from ..inputs import KernelError, check_whole

__all__ = ["Areas"]

_END = 1 << 32


class Areas:
    """Three disjoint areas of main memory: program, inputs, outputs.

    Parameters
    ----------
    program_at : address of the program
    gmem : address of GMem 0; ``None``: the next multiple of 64 behind the program
    inputs, outputs : GMem addresses; ``outputs`` ``None``:
        the next multiple of 64 behind the inputs
    input_bytes, output_bytes : their sizes

    Attributes
    ----------
    program_at, gmem : see above
    offsets : GMem addresses of inputs and outputs

    Raises
    ------
    KernelError
        Areas that overlap, or do not lie in 4 GiB.
    """

    def __init__(
        self,
        program_at: int,
        gmem: int | None,
        inputs: int,
        outputs: int | None,
        input_bytes: int,
        output_bytes: int,
    ):
        self.gmem = None if gmem is None else check_whole("gmem", gmem, 0, _END - 1)
        inputs = check_whole("inputs", inputs, 0, _END - 1)
        outputs = (
            (inputs + input_bytes + 63) & -64
            if outputs is None
            else check_whole("outputs", outputs, 0, _END - 1)
        )
        self.offsets, self.program_at, self._program_bytes = (
            (inputs, outputs),
            self._program(program_at),
            0,
        )
        self._sizes = input_bytes, output_bytes
        self._check(self.gmem or 0, self._arrays(self.gmem or 0))

    @staticmethod
    def _program(at):
        check_whole("program_at", at, 0, _END - 1)
        if at % ISA.program_align:
            raise KernelError(f"program_at is {at:#x}, expected a multiple of {ISA.program_align}")
        return int(at)

    def _arrays(self, gmem):
        return [
            (name, gmem + at, gmem + at + size)
            for name, at, size in zip(
                ("the inputs", "the outputs"), self.offsets, self._sizes, strict=True
            )
        ]

    @staticmethod
    def _check(gmem, areas):
        for name, begin, end in areas:
            if end > _END:
                raise KernelError(f"{name}, {begin:#x} to {end:#x}, lie past the end of 4 GiB")
        for (first, begin, end), (second, low, high) in (
            (a, b) for n, a in enumerate(areas) for b in areas[n + 1 :]
        ):
            if begin < high and low < end:
                raise KernelError(
                    f"{first}, {begin:#x} to {end:#x}, and {second}, {low:#x} to {high:#x}, overlap"
                )

    def put_program(self, size: int) -> None:
        """Sets the size of the program once it is known."""
        self._program_bytes = size
        if self.gmem is None:
            self.gmem = (self.program_at + size + 63) & -64
        self.check_program(self.program_at)

    def check_program(self, at: int) -> int:
        """Checks a place of the program and returns it."""
        at = self._program(at)
        self._check(
            self.gmem, [("the program", at, at + self._program_bytes), *self._arrays(self.gmem)]
        )
        return at

    def _gmem_known(self) -> int:
        if self.gmem is None:
            raise ValueError("GMem has no address before put_program gives the program's size")
        return self.gmem

    @property
    def inputs(self) -> int:
        """Main-memory address of the inputs."""
        return self._gmem_known() + self.offsets[0]

    @property
    def outputs(self) -> int:
        """Main-memory address of the outputs."""
        return self._gmem_known() + self.offsets[1]
