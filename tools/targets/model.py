# SPDX-License-Identifier: BSD-2-Clause
"""The golden model as a target. No hardware description involved."""

from dataclasses import replace

import numpy as np

from ...gateware.cores import open_room
from ..errors import TargetError
from .base import Target, TargetInfo, runs_view

__all__ = ["MEMORY_SIZE", "ModelTarget"]

MEMORY_SIZE = 32 << 20


class ModelTarget(Target):
    """Golden model of one ISA.

    Parameters
    ----------
    name : str
    isa : str or None; without it the first job chooses
    preset : str or None
    overrides : dict, parameters as in the target's name
    memory_size : int, bytes of main memory

    Sizes that neither ``preset`` nor ``overrides`` give are the job's, then the default preset's;
    with ``like`` (in ``quintet verify``) those of the other target, and its memory size.
    """

    def __init__(
        self, *, name="model", isa=None, preset=None, overrides=None, memory_size=MEMORY_SIZE
    ):
        self.name = name
        self.room = None
        self._isa = isa
        self._preset = preset
        self._overrides = dict(overrides or {})
        self._memory_size = memory_size
        self._model = None
        self._values = {}
        self._outcome = None
        self.info = TargetInfo(kind="model", isa=isa, params={}, memory_size=memory_size)
        if isa is not None:
            self.configure()
        elif preset is not None or overrides:
            raise TargetError(f"{name}: sizes need an ISA, as in model:opentpu?n=8")

    def configure(self, job=None, like=None):
        isa = self._isa or (job.core if job is not None else None)
        if isa is None:
            raise TargetError("the model of which ISA? name it, as in model:opentpu")
        if self.room is None or self.room.name != isa:
            self.room = open_room(isa)
            self.__dict__.pop("_registers", None)
        if like is not None and like.isa == isa and self._preset is None:
            base, memory_size, preset = like.params, like.memory_size, like.preset
        else:
            base, memory_size, preset = {}, self._memory_size, self._preset
            if job is not None and job.core == isa and self._preset is None:
                base = job.params
        space = self.room.params.SPACE
        values = {**base, **self._overrides}
        params = space.resolve(self._preset, values)
        if preset is None and not values:
            preset = space.default_preset
        if (
            self._model is None
            or params != self.info.params
            or memory_size != self.info.memory_size
        ):
            self.memory = np.zeros(memory_size, dtype=np.uint8)
            self._model = self.room.model.Model(params, self.memory)
            self._values = {}
        self.info = TargetInfo(
            kind="model",
            isa=isa,
            preset=None if self._overrides else preset,
            params=params,
            memory_size=memory_size,
            memory={"size": memory_size, "kind": "array"},
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

    def _need_model(self):
        if self._model is None:
            raise TargetError(
                f"{self.name}: no ISA chosen yet; open model:<isa>, or run a job first"
            )

    def write(self, address, data, progress=None):
        data = np.frombuffer(bytes(data), dtype=np.uint8)
        place = self._range(address, data.size)
        self.memory[place] = data

    def read(self, address, size, progress=None):
        place = self._range(address, size)
        return self.memory[place].tobytes()

    def write_runs(self, address, rows, stride, progress=None):
        rows, size = self._rows(rows, stride)
        runs_view(self.memory[self._range(address, size)], *rows.shape, stride)[:] = rows

    def read_runs(self, address, run, stride, count, progress=None):
        size = self._check_runs(run, stride, count)
        return runs_view(self.memory[self._range(address, size)], count, run, stride).copy()

    def fill(self, address, size, value=0, progress=None):
        self._check_fill(size, value)
        self.memory[self._range(address, size)] = value

    def read_register(self, name):
        self._need_model()
        if name.startswith("cnt_") and name[4:] in self.registers.counters:
            counters = self._outcome.counters if self._outcome else {}
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
        version = self.room.isa.ISA.version
        return {
            "ident": int.from_bytes(self.room.isa.ISA.tag.encode("ascii"), "little"),
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

    def write_register(self, name, value):
        self._need_model()
        register = self._find(name)
        if "w" not in register.access or name == "control":
            raise TargetError(
                f"{self.name}: register {name} cannot be written; use run and reset_core"
            )
        if register.clears:
            self._model.clear(name, value)
            if self._outcome is not None:
                self._outcome.values[name] &= ~value
            return
        self._check_write(name, value)
        self._values[name] = value & register.mask if register.width == 32 else value
        if self._outcome is not None and hasattr(self._model, "view"):
            counters, values = self._model.view(self._values)
            self._outcome = replace(self._outcome, counters=counters, values=values)

    def reset_core(self):
        self._need_model()
        self._values = {}
        self._outcome = None
        self._model.reset()

    def run(self, registers, cycle_limit=None, trace=None, tick=None):
        self._need_model()
        for name, value in registers.items():
            self.write_register(name, value)
        values = {"window_base": 0, "window_limit": self.info.memory_size, **self._values}
        values.pop("irq_enable", None)
        self._outcome = self._model.run(values, cycle_limit, trace)
        return self._outcome
