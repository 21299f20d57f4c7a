# SPDX-License-Identifier: BSD-2-Clause
"""The comparison of gateware and model sees what it is there to see: tried on the model in place of
gateware."""

from types import SimpleNamespace

import numpy as np
import pytest

from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.params import SPACE
from tests.gateware.cores.opu.bench import checks as opu_checks
from tests.gateware.cores.opu.bench import compare as opu_compare
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs

PARAMS = SPACE.resolve("sim")
CLASSES = ("cycles", "work", "stall_fetch", "stall_operand", "stall_write", "stall_other")


class ModelBench:
    """A bench whose gateware is the model, with a fault of its own: ``spoil(outcome, memory)``
    after every run."""

    params, beat_bytes = PARAMS, 2

    def __init__(self, spoil=lambda outcome, memory: None):
        self.spoil = spoil

    def load(self, image):
        self.memory = image.copy()

    def run(self, registers, limit):
        outcome = Model(PARAMS, self.memory).run(registers)
        outcome.counters.update(dict.fromkeys(CLASSES, 0))
        self.spoil(outcome, self.memory)
        return outcome


def flip(outcome, memory):
    memory[-1] ^= 1


def work(outcome, memory):
    outcome.counters["work"] += 1


def macs(outcome, memory):
    outcome.counters["operations"] += 1


def value(outcome, memory):
    outcome.values["fault_insn"] ^= 1


def ended(outcome, memory):
    outcome.status = "aborted"


@pytest.mark.parametrize(
    "spoil, text",
    [
        (flip, "1 bytes of memory differ, the first at 0xffff"),
        (work, "work and stalls are 1 of 0 cycles"),
        (macs, "counter operations"),
        (value, "values {"),
        (ended, "status aborted, expected done"),
    ],
)
def test_differences_are_seen(spoil, text):
    case = opu_programs.random_case(1, PARAMS)
    assert opu_compare.check_case(ModelBench(), case)[0] == []
    problems, _ = opu_compare.check_case(ModelBench(spoil), case)
    assert len(problems) == 1 and problems[0].startswith(text)


def test_a_wrong_fault_is_seen():
    case = opu_programs.random_case(1, PARAMS, fault="range")

    def other(outcome, memory):
        outcome.fault = outcome.fault.__class__(
            17, "range", outcome.fault.pc + 4, outcome.fault.detail
        )

    assert opu_compare.check_case(ModelBench(), case)[0] == []
    assert opu_compare.check_case(ModelBench(other), case)[0][0].startswith(
        "fault FaultReport(code=17, name='range'"
    )


def two_pads():
    words = [
        ISA.encode("@mem.ofm", addr=0, h=1, w=2),
        ISA.encode("pad", addr=2, p=1),
        ISA.encode("pad", addr=3, p=1),
        ISA.encode("end"),
    ]
    memory = np.full(512, 7, np.uint8)
    memory[:16] = np.frombuffer(ISA.store(words), np.uint8)
    return opu_programs.Case(
        "pads", PARAMS, words, {"program_address": 0, "program_length": 16}, memory
    )


def test_parts_of_one_instruction_and_no_more():
    case = two_pads()
    writes, memory = opu_compare._Writes(case), case.memory.copy()
    assert writes.fits(memory, 0) and writes.fits(memory, 1) and not writes.fits(memory, 2)
    memory[130:140] = 0  # a part of the first
    assert writes.fits(memory, 1) and not writes.fits(memory, 0) and not writes.fits(memory, 2)
    memory[128:256] = 0  # all of it
    assert writes.fits(memory, 1) and writes.fits(memory, 2)
    memory[300] = 0  # and a part of the second
    assert writes.fits(memory, 2) and not writes.fits(memory, 1)
    memory[301] = 9  # what nothing writes
    assert not writes.fits(memory, 2)
    assert (
        (writes.upto(1) == case.memory).all()
        and not writes.upto(4)[128:320].any()
        and writes.upto(4)[320] == 7
    )


def test_rows_that_overlap_may_be_there_in_part():
    """A row's slots, of which the next row writes all but the first again, are parts of the store
    until it has."""
    case = opu_checks.rows_that_overlap(PARAMS)
    writes, index = opu_compare._Writes(case), len(case.words) - 2
    assert [number for number, _ in writes.groups] == [index]
    whole, memory = writes.upto(index + 1), case.memory.copy()
    for address, data in writes.groups[0][1][:4]:
        memory[address : address + data.size] = data
    assert (memory[opu_directed.RESULTS + 64 :][:8] != whole[opu_directed.RESULTS + 64 :][:8]).any()
    assert writes.fits(memory, index) and not writes.fits(memory, index + 1)
    memory[opu_directed.RESULTS + 64] ^= 0x55
    assert not writes.fits(memory, index)


def test_who_touches_a_byte_first():
    case = two_pads()
    assert (
        opu_compare.touched(case, 0, 2, None) == 0 and opu_compare.touched(case, 8, 10, False) == 2
    )
    assert opu_compare.touched(case, 8, 10, True) is None
    assert (
        opu_compare.touched(case, 200, 202, True) == 1
        and opu_compare.touched(case, 300, 302, None) == 2
    )
    assert (
        opu_compare.touched(case, 300, 302, False) is None
        and opu_compare.touched(case, 320, 322, None) is None
    )
    load = opu_compare.with_words(
        case,
        [
            ISA.encode("@shape.ifm", h=1, w=2, c=16),
            ISA.encode("@mem.ifm", addr=0, w=2),
            ISA.encode("ld.ifm", addr=4),
            ISA.encode("end"),
        ],
    )
    assert (
        load.registers["program_length"] == 16 and opu_compare.touched(load, 256, 258, False) == 2
    )
    assert (
        opu_compare.touched(load, 272, 320, False) is None
        and opu_compare.touched(load, 320, 322, False) == 2
    )


def test_aborts_are_judged_by_memory():
    case = two_pads()

    def aborted(index, memory):
        bench = SimpleNamespace(
            memory=memory,
            busy=True,
            params=PARAMS,
            behave=lambda *a, **k: None,
            load=lambda image: None,
            start=lambda registers: None,
            step=lambda cycles: None,
            abort=lambda: None,
        )
        fault = SimpleNamespace(code=8, detail=0, pc=4 * index)
        bench.outcome = lambda: SimpleNamespace(
            status="aborted", fault=fault, counters=dict.fromkeys(CLASSES, 0)
        )
        return opu_compare.check_aborted(bench, case, 10, None, 0)[0]

    memory = case.memory.copy()
    assert aborted(0, memory) == aborted(1, memory) == []
    assert "none that the program passes through" in aborted(2, memory)[0]
    memory[300] = 0
    assert "none that the program passes through" in aborted(1, memory)[0]
    memory[128:256] = 0
    assert aborted(2, memory) == []
