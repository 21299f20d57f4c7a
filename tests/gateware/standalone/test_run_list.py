# SPDX-License-Identifier: BSD-2-Clause
"""Lists of runs in a whole compiled SoC: what they do, how they end, and what the host sees."""

import pytest

from quintet.gateware.info import CONTROL_BASE, RUN_LIST_BASE, SOC_BASE
from quintet.gateware.standalone.runlist import (
    RUN_LIST_REGISTERS,
    ListError,
    ListStatus,
    RunList,
    decode,
    walk,
)
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import LinkError
from tests.gateware.test_soc import SIZE, make
from tests.support.compiled_pipe import CompiledPipe

LIST, SOURCE, PLACE = 0x800, 0x100, 0x400
TARGET, KEY = 0x100, 0x104
DONE = ListStatus.ENDED


class _Walked:
    """A SoC that walks lists, and its host."""

    def __init__(self):
        self.soc = make(run_list=True)
        self.client = LinkClient(CompiledPipe(self.soc, 1_000_000), timeout=0.5, retry=0.05, seed=1)
        self.client.identify()

    def register(self, name):
        return self.client.read_word(RUN_LIST_BASE + RUN_LIST_REGISTERS[name][0])

    def write(self, name, value):
        self.client.write_word(RUN_LIST_BASE + RUN_LIST_REGISTERS[name][0], value)

    def walk(self, data, bits=0):
        self.client.write(LIST, data)
        self.write("list_start", LIST | bits)
        while (status := self.register("list_status")) & ListStatus.BUSY:
            pass
        return ListStatus(status), self.register("list_runs"), self.register("list_position")


@pytest.fixture(scope="module")
def only():
    return _Walked()


@pytest.fixture
def walked(only):
    only.client.reset_core()
    only.client.fill(0, SIZE)
    return only


def _registers(source, target, key, length=16):
    return {0x20: source, 0x24: length, TARGET: target, KEY: key}


def _three_runs():
    """Copies an input, runs three times with other registers, copies results beside the runs."""
    work = RunList(CONTROL_BASE)
    work.copy(SOURCE, 0x200, 32)
    work.run(_registers(0x200, PLACE, 0x11))
    work.run(_registers(0x200, PLACE + 0x40, 0x11))
    work.copy(PLACE, PLACE + 0x100, 15)
    work.run(_registers(0x210, PLACE + 0x80, 0x22))
    work.wait()
    work.copy(PLACE + 0x80, PLACE + 0x140, 16)
    work.scatter(SOURCE, 0x600, 3, 12, 4)
    work.gather(0x600, 0x680, 5, 12, 4)
    work.end()
    return work


def test_runs_and_copies(walked):
    data = bytes(range(1, 33))
    walked.client.write(SOURCE, data)
    walked.client.write(PLACE + 0x100, b"\xee" * 16)
    work = _three_runs()
    status, runs, position = walked.walk(work.bytes)
    assert (status, runs, position) == (DONE, 3, LIST + len(work))
    first = bytes(b ^ 0x11 for b in data[:16])
    third = bytes(b ^ 0x22 for b in data[16:])
    assert walked.client.read(PLACE, 16) == first
    assert walked.client.read(PLACE + 0x40, 16) == first
    assert walked.client.read(PLACE + 0x80, 16) == third
    # The last byte of a copy of 15 is left alone.
    assert walked.client.read(PLACE + 0x100, 16) == first[:15] + b"\xee"
    assert walked.client.read(PLACE + 0x140, 16) == third
    # Runs of three bytes, 12 apart; of five bytes from there, in two words each.
    apart = bytearray(48)
    for run in range(4):
        apart[12 * run : 12 * run + 3] = data[4 * run : 4 * run + 3]
    assert walked.client.read(0x600, 48) == apart
    together = bytearray(32)
    for run in range(4):
        together[8 * run : 8 * run + 5] = apart[12 * run : 12 * run + 5]
    assert walked.client.read(0x680, 32) == together


def test_golden_model_walks_the_same():
    memory = bytearray(SIZE)
    memory[SOURCE : SOURCE + 32] = bytes(range(1, 33))
    registers = {}

    def write(address, data):
        if address < SIZE:
            memory[address : address + len(data)] = data
            return
        for at in range(0, len(data), 4):
            registers[address + at - CONTROL_BASE] = int.from_bytes(data[at : at + 4], "little")

    def start():
        source, target = registers[0x20], registers[TARGET]
        moved = memory[source : source + registers[0x24]]
        memory[target : target + len(moved)] = bytes(b ^ registers[KEY] for b in moved)
        return True

    work = _three_runs()
    found = walk(
        work.bytes,
        read=lambda address, size: bytes(memory[address : address + size]),
        write=write,
        start=start,
    )
    assert found == (DONE, 3, len(work))
    assert memory[PLACE + 0x140 : PLACE + 0x150] == bytes(b ^ 0x22 for b in range(17, 33))
    assert memory[0x600:0x610] == bytes([1, 2, 3, *[0] * 9, 5, 6, 7, 0])
    assert memory[0x680:0x690] == bytes([1, 2, 3, 0, 0, 0, 0, 0, 5, 6, 7, 0, 0, 0, 0, 0])


def test_fault_ends_the_list_and_names_the_run(walked):
    walked.client.write(SOURCE, bytes(16))  # four zero bytes are an illegal instruction
    walked.client.write(0x200, b"a" * 16)
    work = RunList(CONTROL_BASE)
    work.run(_registers(0x200, PLACE, 1))
    work.run(_registers(SOURCE, PLACE + 0x40, 1))
    work.run(_registers(0x200, PLACE + 0x80, 1))
    work.end()
    status, runs, position = walked.walk(work.bytes)
    assert (status, runs) == (DONE | ListStatus.FAULT, 2)
    failed = next(c for c in decode(work.bytes) if 4 * c.end > position - LIST)
    assert failed.position == work.starts[1]
    assert walked.client.read(PLACE + 0x80, 4) == bytes(4), "the third run was not started"
    assert walked.client.read_word(CONTROL_BASE + 0x40) == 1
    # The next list begins as if nothing had happened.
    status, runs, _ = walked.walk(_three_runs().bytes)
    assert status == DONE | ListStatus.FAULT, "its input is the illegal one"
    walked.client.write(SOURCE, bytes(range(1, 33)))
    assert walked.walk(_three_runs().bytes)[:2] == (DONE, 3)


@pytest.mark.parametrize(
    "source, destination, size",
    [(SIZE, PLACE, 8), (PLACE, 0x7000_0000, 8), (SIZE - 4, PLACE, 8)],
    ids=["read outside", "write outside", "second word outside"],
)
def test_failed_bus_cycle_ends_the_list(walked, source, destination, size):
    work = RunList(CONTROL_BASE)
    work.copy(source, destination, size)
    work.run(_registers(SOURCE, PLACE, 1))
    work.end()
    status, runs, position = walked.walk(work.bytes)
    assert (status, runs, position) == (DONE | ListStatus.ERROR, 0, LIST + 12)
    assert walked.client.read(SOC_BASE, 4) == b"QSOC"


def test_memory_without_a_list_is_refused(walked):
    status, runs, position = walked.walk(bytes(64))
    assert (status, runs, position) == (DONE | ListStatus.ERROR, 0, LIST + 4)


def test_interrupt_is_raised_where_it_is_asked_for(walked):
    walked.client.write(SOURCE, bytes(range(1, 33)))
    data = _three_runs().bytes
    walked.walk(data, bits=1)
    assert walked.client.read_word(SOC_BASE + 4) == 2
    walked.walk(data)
    assert walked.client.read_word(SOC_BASE + 4) == 0


def test_stop_and_core_reset_end_a_list(walked):
    walked.client.write(SOURCE, b"x" * 1024)
    work = RunList(CONTROL_BASE)
    work.run(_registers(SOURCE, PLACE, 0, length=1024))
    work.run(_registers(SOURCE, PLACE, 0, length=1024))
    work.end()
    walked.client.write(LIST, work.bytes)
    walked.write("list_start", LIST)
    walked.write("list_status", 0)
    assert walked.register("list_status") == DONE | ListStatus.STOPPED
    assert walked.register("list_runs") == 1
    while walked.client.read_word(CONTROL_BASE + 0x14) & 1:
        pass
    walked.write("list_start", LIST)
    walked.client.reset_core()
    while (status := walked.register("list_status")) & ListStatus.BUSY:
        pass
    assert status == DONE | ListStatus.FAULT


def test_host_talks_while_a_list_is_walked(walked):
    """A list that copies without end leaves the host every other word."""
    work = RunList(CONTROL_BASE)
    for _ in range(50):
        work.copy(SOURCE, PLACE, 1000)
    work.end()
    walked.client.write(LIST, work.bytes)
    walked.write("list_start", LIST)
    data = bytes(range(256))
    walked.client.write(0xC00, data)
    assert walked.client.read(0xC00, 256) == data
    assert walked.register("list_status") == ListStatus.BUSY
    # Another start is ignored.
    walked.write("list_start", 0)
    assert walked.register("list_status") == ListStatus.BUSY


def test_builds_without_have_no_registers():
    client = LinkClient(CompiledPipe(make(), 1_000_000), timeout=0.5, retry=0.05, seed=1)
    client.identify()
    with pytest.raises(LinkError):
        client.read_word(RUN_LIST_BASE)


def test_builder_writes_only_registers_that_change():
    work = RunList(CONTROL_BASE)
    work.run({0x20: 8, 0x24: 4, 0x30: 1})
    work.run({0x20: 8, 0x24: 4, 0x30: 1})
    work.run({0x20: 8, 0x24: 5, 0x30: 1})
    work.end()
    found = [(int(c.flags), c.destination, c.data) for c in decode(work.bytes)]
    assert found == [
        (2 | 4, CONTROL_BASE + 0x20, b"\x08\0\0\0\x04\0\0\0"),
        (2 | 4 | 8, CONTROL_BASE + 0x30, b"\x01\0\0\0"),
        (1 | 8, 0, b""),
        (1 | 2 | 4 | 8, CONTROL_BASE + 0x24, b"\x05\0\0\0"),
        (1 | 16, 0, b""),
    ]


@pytest.mark.parametrize(
    "data, message",
    [
        (bytes(4), "word 0 of a list of runs = 0x00000000: expected a command"),
        (b"\x80\0\0\0", "a list of runs without an end"),
        (b"\x80\0\0\x01", "word 0 of a list of runs = 0x01000080: expected a command"),
        (b"\x82\x04\0\0\0\0\0\0", "a list of runs without an end"),
    ],
)
def test_damaged_lists_are_refused(data, message):
    with pytest.raises(ListError, match=message):
        list(decode(data))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda work: work.copy(2, 0, 4), "address 0x2 in a list of runs: expected a multiple"),
        (lambda work: work.scatter(0, 0, 4, 6, 2), "2 runs of 4 bytes at distances of 6: expected"),
        (lambda work: work.gather(0, 0, 8, 4, 2), "a multiple of 4 from 8 to 131072"),
        (lambda work: work.gather(0, 0, 1 << 16, 1 << 17, 2), "a run of 65536 bytes: expected at"),
        (lambda work: work.run({2: 1}), "register at 0x80000002: expected a multiple of 4"),
    ],
)
def test_builder_refuses(call, message):
    with pytest.raises(ListError, match=message):
        call(RunList(CONTROL_BASE))
