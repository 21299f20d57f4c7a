# SPDX-License-Identifier: BSD-2-Clause
"""Golden model as a target: no hardware description is involved."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...gateware.cores import open_core
from ...gateware.info import CONTROL_BASE, CONTROL_SIZE
from ...gateware.isa.outcome import Outcome
from ...gateware.standalone.runlist import walk
from ..errors import TargetError
from ..link.access import Access
from .base import ListOutcome, MemoryTrace, Progress, Target, TargetInfo, runs_view

if TYPE_CHECKING:
    from ..jobs.job import Job

__all__ = ["MEMORY_SIZE", "ModelTarget"]

MEMORY_SIZE = 32 << 20


class GoldenModel(Protocol):
    """Interface of a core's golden model, which its ``model.Model`` implements."""

    def reset(self) -> None: ...

    def clear(self, name: str, value: int) -> None:
        """Clears the bits ``value`` of a write-one-to-clear register."""

    def run(
        self,
        values: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: MemoryTrace | None = None,
    ) -> Outcome:
        """Runs the core with these register values."""


class ModelTarget(Target):
    """Target that runs the golden model of one ISA.

    Parameters
    ----------
    name : str
    isa : str or None; without it the first job chooses
    preset : str or None
    overrides : dict, parameters as in the target's name
    memory_size : int, bytes of main memory
    run_list : bool, it is said to walk lists of runs

    Sizes that neither ``preset`` nor ``overrides`` give are the job's, then the default preset's;
    with ``like`` (in ``quintet verify``) those of the other target, and its memory size.
    """

    def __init__(
        self,
        *,
        name: str = "model",
        isa: str | None = None,
        preset: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        memory_size: int = MEMORY_SIZE,
        run_list: bool = False,
    ) -> None:
        self.name = name
        self.package = None
        self._isa = isa
        self._preset = preset
        self._overrides = dict(overrides or {})
        self._memory_size = memory_size
        self._run_list = run_list
        self._list: tuple[int, int] | None = None
        self._model: GoldenModel | None = None
        self._values: dict[str, int] = {}
        self._outcome: Outcome | None = None
        self.info = TargetInfo(
            kind="model", isa=isa, params={}, memory_size=memory_size, run_list=run_list
        )
        if isa is not None:
            self.configure()
        elif preset is not None or overrides:
            raise TargetError(f"{name}: sizes need an ISA, as in model:opentpu?n=8")

    def configure(self, job: Job | None = None, like: TargetInfo | None = None) -> None:
        isa = self._isa or (job.core if job is not None else None)
        if isa is None:
            raise TargetError(f"{self.name}: expected an ISA, as in model:opentpu")
        if self.package is None or self.package.name != isa:
            self.package = open_core(isa)
            self.__dict__.pop("_registers", None)
        if like is not None and like.isa == isa and self._preset is None:
            base: Mapping[str, Any] = like.params
            memory_size, preset = like.memory_size, like.preset
        else:
            memory_size, preset = self._memory_size, self._preset
            base = {}
            if job is not None and job.core == isa and self._preset is None:
                base = job.params
        space = self.package.params.SPACE
        values = {**base, **self._overrides}
        params = space.resolve(self._preset, values)
        if preset is None and not values:
            preset = space.default_preset
        if (
            self._model is None
            or params != self.info.params
            or memory_size != self.info.memory_size
        ):
            # Mapped, so that only pages that are used are ever cleared: memory from the heap is
            # cleared whole once the heap has grown, and most programs use a few kilobytes.
            self.memory = np.frombuffer(mmap.mmap(-1, memory_size), dtype=np.uint8)
            self._model = self.package.model.Model(params, self.memory)
            self._values = {}
        self.info = TargetInfo(
            kind="model",
            isa=isa,
            preset=None if self._overrides else preset,
            params=params,
            memory_size=memory_size,
            memory={"size": memory_size, "kind": "array"},
            run_list=self._run_list,
        )
        super().configure(job)

    def _range(self, address, size):
        self._need_model()
        if address < 0 or size < 0 or address + size > self.memory.size:
            raise TargetError(
                f"{self.name}: {address:#x}..{address + size - 1:#x} lies outside main memory, "
                f"which has "
                f"{self.memory.size:#x} bytes"
            )
        return slice(address, address + size)

    def _need_model(self) -> GoldenModel:
        if self._model is None:
            raise TargetError(
                f"{self.name}: no ISA chosen yet; open model:<isa>, or run a job first"
            )
        return self._model

    def transfer(self, accesses: Sequence[Access], progress: Progress | None = None) -> list[bytes]:
        found = []
        for access in accesses:
            place = self._range(access.address, self._span(access))
            view = runs_view(self.memory[place], access)
            if access.data is None:
                found.append(view.tobytes())
            else:
                view[:] = np.frombuffer(access.data, np.uint8).reshape(view.shape)
                found.append(b"")
        return found

    def fill(
        self, address: int, size: int, value: int = 0, progress: Progress | None = None
    ) -> None:
        self._check_fill(size, value)
        self.memory[self._range(address, size)] = value

    def read_register(self, name: str) -> int:
        self._need_model()
        if name.startswith("cnt_") and name[4:] in self.registers.counters:
            counters: Mapping[str, int] = self._outcome.counters if self._outcome else {}
            if name[4:] not in counters:
                raise TargetError(f"{self.name}: the model does not know counter {name[4:]}")
            return counters[name[4:]]
        register = self._find(name)
        if self._outcome is not None and name in self._outcome.values:
            return self._outcome.values[name]
        if name == "window_limit":
            return self._values.get(name, self.info.memory_size)
        if name in self.registers.common and "w" not in register.access:
            return self._common(name)
        index = int(name[:-1].split("[")[1]) if "[" in name else 0
        return self._values.get(name, register.reset_of(index))

    def _common(self, name):
        from ...gateware.isa.parameters import params_hash

        fault = self._outcome.fault if self._outcome else None
        status = self._outcome.status if self._outcome else None
        version = self.package.isa.ISA.version
        return {
            "ident": int.from_bytes(self.package.isa.ISA.tag.encode("ascii"), "little"),
            "version": version[0] << 16 | version[1],
            "params_hash": params_hash(self.info.params),
            "features": 1,
            "status": 0
            if status is None
            else 2 | (status == "fault") << 2 | (status == "aborted") << 3,
            "fault_code": fault.code if fault else 0,
            "fault_pc": fault.pc if fault else 0,
            "fault_detail": fault.detail if fault else 0,
        }[name]

    def _find(self, name):
        try:
            return self.registers.find(name)[0]
        except ValueError as error:
            raise TargetError(f"{self.name}: register {name}: {error}") from None

    def write_register(self, name: str, value: int) -> None:
        model = self._need_model()
        register = self._find(name)
        if "w" not in register.access or name == "control":
            raise TargetError(
                f"{self.name}: register {name} cannot be written; use run and reset_core"
            )
        if register.clears:
            model.clear(name, value)
            if self._outcome is not None:
                self._outcome.values[name] &= ~value
            return
        self._check_write(name, value)
        self._values[name] = value & register.mask if register.width == 32 else value
        if self._outcome is not None and hasattr(model, "view"):
            counters, values = model.view(self._values)
            self._outcome = replace(self._outcome, counters=counters, values=values)

    def reset_core(self) -> None:
        model = self._need_model()
        self._values = {}
        self._outcome = None
        model.reset()

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: MemoryTrace | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Outcome:
        model = self._need_model()
        for name, value in registers.items():
            self.write_register(name, value)
        values = {"window_base": 0, "window_limit": self.info.memory_size, **self._values}
        values.pop("irq_enable", None)
        self._outcome = model.run(values, cycle_limit, trace)
        return self._outcome

    # Lists of runs

    def start_list(self, address: int, size: int) -> None:
        self._list = (address, size)

    def wait_list(self, tick: Callable[[float], object] | None = None) -> ListOutcome:
        begun, self._list = self._list, None
        if begun is None:
            return super().wait_list(tick)
        data = self.read(*begun)
        last: Outcome | None = None

        def start():
            nonlocal last
            last = self.run({})
            return last.status == "done"

        status, runs, taken = walk(data, read=self._bus_read, write=self._bus_write, start=start)
        return ListOutcome(status, runs, last, begun[0] + taken)

    def _words(self):
        """The control block in its bus layout: byte offset -> (name, number of its lowest bit)."""
        found = {}
        for register in self.registers.registers.values():
            for index in range(register.count):
                name = register.name if register.count == 1 else f"{register.name}[{index}]"
                for word in range(register.width // 32):
                    offset = register.offset + index * register.width // 8 + 4 * word
                    found[offset] = (name, 32 * word)
        for name, counter in self.registers.counters.items():
            found[counter.offset] = (f"cnt_{name}", 0)
            found[counter.offset + 4] = (f"cnt_{name}", 32)
        return found

    def _bus_read(self, address, size):
        if not self._in_control(address, size):
            return self._bus(self.read, address, size)
        words = self._words()
        found = b""
        for at in range(address - CONTROL_BASE, address - CONTROL_BASE + size, 4):
            name, low = words.get(at, (None, 0))
            value = 0 if name is None else self.read_register(name) >> low
            found += (value & 0xFFFF_FFFF).to_bytes(4, "little")
        return found[:size]

    def _bus_write(self, address, data):
        if not self._in_control(address, len(data)):
            self._bus(self.write, address, data)
            return
        words = self._words()
        for at in range(0, len(data) // 4 * 4, 4):
            name, low = words.get(address - CONTROL_BASE + at, (None, 0))
            if name is None or "w" not in self._find(name).access:
                continue
            value = int.from_bytes(data[at : at + 4], "little") << low
            if self._find(name).width == 64:
                value |= self.read_register(name) & ~(0xFFFF_FFFF << low)
            self.write_register(name, value)

    @staticmethod
    def _in_control(address, size):
        return CONTROL_BASE <= address and address + size <= CONTROL_BASE + CONTROL_SIZE

    @staticmethod
    def _bus(access, *arguments):
        """Accesses main memory; raises ``ValueError`` where the bus would report an error."""
        try:
            return access(*arguments)
        except TargetError as error:
            raise ValueError(str(error)) from None
