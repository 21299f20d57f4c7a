# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of Cherry: program lists, programs, DMA and all faults, in integers (specification,
sections 4, 6 and 7)."""

from collections.abc import Callable, Mapping

import numpy as np

from ....isa.model import Model as GoldenModel
from ....isa.outcome import Outcome, RunFault
from ....isa.parameters import Params
from ..image import LIST_MAGIC, ImageError, Step, read_image, read_list_header, read_step
from ..isa import ISA, LOOPS
from ..params import cap_feature, cap_size
from .program import ProgramRun, Work
from .races import Overlap, Promises, Race, Races
from .transfers import MainMemory, run_list

__all__ = ["Model"]

_ENTRY, _HEADER = 32, 32
_LOW32 = 0xFFFF_FFFF


class Model(GoldenModel):
    """Golden model of Cherry, which executes instructions one by one in canonical order.

    Parameters
    ----------
    params, memory
        As of the base.
    races : bool
        Finds iterations of independent loops that share an element (raises :class:`~.races.Race`).
    shuffle : int or None
        Seed: contexts run one after another in random order; the same result, without races.

    Attributes
    ----------
    mem : int64 array, MEM; kept across programs and runs

    Counters of a run (section 7.6): *instructions* (in an independent body by the group's size),
    *operations* (element operations), *bytes_read*, *bytes_written*. An instruction that faults
    counts nothing. Cycles are unknown here: ``cycle_limit`` counts instructions instead.
    """

    ISA = ISA

    def __init__(
        self, params: Params, memory: np.ndarray, *, races: bool = True, shuffle: int | None = None
    ) -> None:
        super().__init__(params, memory)
        self._races, self._shuffle = races, shuffle

    def reset(self) -> None:
        """Core reset. It leaves MEM undefined in hardware; here MEM becomes +0."""
        self.mem = np.zeros(1 << self.params["log_mem"], np.int64)

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        """Executes one run from start to end (docs/how/contracts.md, section 6).

        Raises
        ------
        Race, Overlap
            The program's result is not defined; ``pc`` is that of the access, or of the step's
            entry in its list.
        """
        self.take_registers(registers)
        run = _Run(self, Work(limit=cycle_limit), trace)
        fault, pc = None, 0
        try:
            run.everything()
        except RunFault as stop:
            fault, pc = stop, run.pc_of(stop.index) if stop.pc is None else stop.pc
        except Race as race:
            race.pc = run.pc_of(race.index)
            raise
        work = run.work
        return self.outcome(
            fault,
            pc,
            {
                "instructions": work.instructions,
                "operations": work.operations,
                "bytes_read": work.bytes_read,
                "bytes_written": work.bytes_written,
            },
            run.read_only(fault is None),
        )


class _Run:
    """State of a run in progress on a :class:`Model`."""

    def __init__(self, model, work, trace):
        self.model, self.params, self.values, self.work = model, model.params, model.reg, work
        self.main = MainMemory(model.memory, model.window.base, model.window.limit, trace)
        self.step, self.program, self._code = 0, None, 0
        self._shuffle = None if model._shuffle is None else np.random.default_rng(model._shuffle)

    def pc_of(self, index):
        """Byte address of an instruction of the running program."""
        return self._code + 4 * index & _LOW32

    def read_only(self, done):
        """Values of the read-only registers after the run."""
        program = None if done else self.program
        loops = [_LOW32] * LOOPS if program is None else program.loop_variables()
        context = _LOW32
        if program is not None and program.context is not None:
            context = program.context | (program.iteration & 0x3FFFF) << 14
        return {
            "step": self.step,
            "fault_context": context,
            "cap_size": cap_size(self.params),
            "cap_feature": cap_feature(self.params, self.params["slots"] == 2),
            **{f"loop_var[{k}]": value for k, value in enumerate(loops)},
        }

    def everything(self):
        """Executes the run from start to end."""
        values, mem = self.values, self.model.mem
        if values["dma_in_list"]:
            run_list(values["dma_in_list"], self.main, mem, self.work)
        address, limit = values["program_address"], values["program_length"]
        if self.main.word(address, address) == LIST_MAGIC:
            self._list(address, limit)
        else:
            self._program(self._image(address, address, limit), (0, 0))
        self.program = None
        if values["dma_out_list"]:
            run_list(values["dma_out_list"], self.main, mem, self.work)

    def _words(self, base, pc):
        return lambda offset: self.main.word(base + offset & _LOW32, pc)

    def _image(self, address, pc, limit):
        """Reads the image at ``address``; ``pc``: address that a window fault reports."""
        try:
            image = read_image(self._words(address, pc), self.params, limit)
        except ImageError as error:
            raise RunFault(error.fault, error.word, pc=address + error.offset & _LOW32) from None
        self.work.bytes_read += 4 * image.size
        self._code = address + 4 * image.code_word & _LOW32
        return image

    def _list(self, address, limit):
        try:
            steps, size = read_list_header(self._words(address, address), limit)
        except ImageError as error:
            raise RunFault(error.fault, error.word, pc=address + error.offset & _LOW32) from None
        self.work.bytes_read += _HEADER
        promises = Promises(len(self.model.mem))
        image, before = None, None
        for self.step in range(steps):
            entry_address = address + _HEADER + _ENTRY * self.step & _LOW32
            try:
                entry = read_step(self._words(address, entry_address), self.step, size)
            except ImageError as error:
                raise RunFault(
                    error.fault, error.word, pc=address + error.offset & _LOW32
                ) from None
            self.work.bytes_read += _ENTRY
            if entry.image != before:
                image = self._image(
                    address + entry.image & _LOW32, entry_address, size - entry.image
                )
                before = entry.image
            try:
                self._step(entry, address, image, promises)
            except Overlap as overlap:
                overlap.pc = entry_address
                raise

    def _step(self, entry: Step, base, image, promises):
        sequential = self.values["options"] & 1
        if entry.in_list:
            touched = promises.new()
            self.program = None
            run_list(base + entry.in_list & _LOW32, self.main, self.model.mem, self.work, touched)
            promises.in_list(self.step, entry.prefetch and not sequential, touched)
        program = self._program(image, (entry.rebase, entry.mask))
        touched = promises.new()
        touched.mem_read, touched.mem_written = program.touched_read, program.touched_written
        promises.program(self.step, touched)
        touched = promises.new()
        self.program = None
        if entry.out_list:
            run_list(base + entry.out_list & _LOW32, self.main, self.model.mem, self.work, touched)
        promises.out_list(entry.defer and not sequential, touched)

    def _program(self, image, rebase):
        self.program = ProgramRun(
            ISA,
            self.params,
            image,
            self.model.mem,
            self.work,
            rebase=rebase,
            shuffle=self._shuffle,
            races=Races(len(self.model.mem)) if self.model._races else None,
        )
        self.program.run()
        return self.program
