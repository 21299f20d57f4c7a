# SPDX-License-Identifier: BSD-2-Clause
"""Base class of all golden models: refusals, the registers of a run, its memory window."""

from types import SimpleNamespace

import numpy as np
import pytest

from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.model import MemoryWindow, Model
from quintet.gateware.isa.outcome import RunFault
from quintet.gateware.isa.registers import Register

SMALL = SimpleNamespace(
    program_align=16,
    fault_codes={"bad": 20, "aborted": 8},
    registers=(
        Register("low", 0x100, "rw", reset=5, mask=0xFF),
        Register("tables", 0x110, "rw", count=3, reset=2, reset_step=16),
        Register("extra", 0x120, "rw", reset=1, only_if="built"),
        Register("flag", 0x124, "rw", clears=True),
        Register("seen", 0x128, "r"),
    ),
)


class Small(Model):
    ISA = SMALL

    def reset(self):
        self.resets = 1

    def run(self, registers, cycle_limit=None, trace=None):
        self.take_registers(registers, trace)
        return self.outcome(None, 0, {}, {})


@pytest.mark.parametrize("name", core_names())
def test_every_model_refuses_alike(name):
    package = open_core(name)
    params, kind = package.params.SPACE.resolve("sim"), package.model.Model
    assert issubclass(kind, Model)
    for memory in (bytearray(64), np.zeros(64, np.int8), np.zeros((8, 8), np.uint8), np.zeros(64)):
        with pytest.raises(
            ValueError, match="^memory must be a one-dimensional numpy array of uint8$"
        ):
            kind(params, memory)
    model = kind(params, np.zeros(256, np.uint8))
    written = next(r for r in package.isa.ISA.registers if r.given)
    own = written.name if written.count == 1 else f"{written.name}[0]"
    for register in ("program_address", "window_limit", own):
        for value in (1 << 32, -1):
            with pytest.raises(
                ValueError,
                match=(
                    rf"^register {register.replace('[', '.').replace(']', '.')} must be 0 to "
                    rf"0xffffffff, not {value}$"
                ),
            ):
                model.run({register: value})
    read = next(r.name for r in package.isa.ISA.registers if "w" not in r.access)
    for register in (read, "control", "nothing"):
        with pytest.raises(
            ValueError,
            match=f"^no writable register '{register}'; there are irq_enable, program_address, ",
        ):
            model.run({register: 0})


def test_registers_of_a_run():
    model = Small({"built": False}, np.zeros(1000, np.uint8))
    assert model.resets == 1 and "flag" not in model._writable and "seen" not in model._writable
    model.take_registers({})
    assert model.reg == {
        "irq_enable": 0,
        "program_address": 0,
        "program_length": 0,
        "window_base": 0,
        "window_limit": 960,
        "low": 5,
        "tables[0]": 2,
        "tables[1]": 18,
        "tables[2]": 34,
        "extra": 1,
    }
    model.take_registers(
        {"low": 0x123, "program_address": 0x37, "tables[2]": 7, "window_base": 100, "extra": 9},
        low=6,
        extra=4,
    )
    assert (
        model.reg["low"],
        model.reg["program_address"],
        model.reg["tables[2]"],
        model.reg["extra"],
    ) == (0x23, 0x30, 7, 4)
    assert (model.window.base, model.window.limit) == (64, 960)
    model.params["built"] = True
    model.take_registers({"extra": 9}, low=6)
    assert (model.reg["low"], model.reg["extra"]) == (6, 9)


def test_outcomes():
    model = Small({}, np.zeros(64, np.uint8))
    done = model.outcome(None, 4, {"instructions": 1}, {"seen": 2})
    assert (done.status, done.fault, done.counters, done.values) == (
        "done",
        None,
        {"instructions": 1},
        {"seen": 2},
    )
    for name, status, code in (("bad", "fault", 20), ("aborted", "aborted", 8)):
        ended = model.outcome(RunFault(name, 1 << 33 | 3), 1 << 32 | 4, {}, {})
        assert (
            ended.status,
            ended.fault.code,
            ended.fault.name,
            ended.fault.pc,
            ended.fault.detail,
        ) == (status, code, name, 4, 3)


def test_window():
    seen = []
    window = MemoryWindow(np.zeros(256, np.uint8), 64, 320, lambda *entry: seen.append(entry))
    assert [
        window.outside(*given)
        for given in ((64, 256), (0, 0), (63, 2), (319, 2), (320, 1), (400, 4))
    ] == [None, None, 63, 320, 320, 400]
    assert [window.beyond(*given) for given in ((64, 192), (250, 7), (300, 4))] == [None, 256, 300]
    window.write(8, 70, np.array([1, 2, 3], np.uint8))
    assert list(window.memory[69:74]) == [0, 1, 2, 3, 0] and seen == [(8, 70, 3)]
    silent = MemoryWindow(window.memory, 0, 256)
    silent.write(8, 70, np.array([9], np.uint8))
    assert window.memory[70] == 9 and len(seen) == 1
