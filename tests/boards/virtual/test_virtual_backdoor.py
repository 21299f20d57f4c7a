# SPDX-License-Identifier: BSD-2-Clause
"""Main memory by the back door: the same bytes, sums, results and counters as over the link, for
every kind of memory."""

import random
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from quintet.boards.virtual.backdoor import Backdoor
from quintet.boards.virtual.board import open_virtual
from quintet.tools.link.access import Access
from quintet.tools.link.client import LinkClient
from quintet.tools.targets import link
from quintet.tools.targets.sim import SimTarget
from tests.support.tiny_core import PACKAGE as TINY
from tests.support.tiny_core import TinyEngine


class OneBlockEngine(TinyEngine):
    """Takes a block of an UP5K's RAM for itself, which leaves main memory beats of one block's
    width."""

    @staticmethod
    def spram_blocks(params):
        return 1


ONE_BLOCK = SimpleNamespace(
    **{**vars(TINY), "core": SimpleNamespace(variant=lambda params, beat_bytes: OneBlockEngine)}
)

#: Board, core, kind of memory, its size, bytes of a beat, and bytes of it on chip. The last place
#: of a bank of SPRAM is 64 KiB, or 32 KiB with beats of two bytes.
MEMORIES = [
    ("ulx3s-25f", TINY, "SDRAM", 32 << 20, 2, 0),
    ("colorlight-i5", TINY, "SDRAM", 8 << 20, 4, 0),
    ("blackice-mx", TINY, "SDRAM", 2 << 20, 2, 0),
    ("blackice-ii", TINY, "SRAM", 512 << 10, 4, 0),
    ("icebreaker", TINY, "SPRAM", 128 << 10, 4, 0),
    ("icebreaker", ONE_BLOCK, "SPRAM", 96 << 10, 2, 0),
    ("hx8k-breakout", TINY, "block RAM", 4 << 10, 4, 0),
    # Beats of 16 bytes on two memories; the border is one of the places at which runs are begun.
    ("ulx3s-25f", TINY, "SDRAM", 32 << 20, 16, 32 << 10),
    ("blackice-ii", TINY, "SRAM", 512 << 10, 16, 4 << 10),
]


@pytest.fixture(autouse=True)
def tiny_is_known(monkeypatch):
    monkeypatch.setattr(link, "core_names", lambda: ["tiny"])
    monkeypatch.setattr(link, "open_core", lambda name: TINY)


def opened(board, package=TINY, direct=True, on_chip=0):
    virtual = open_virtual(board, package, preset="sim", on_chip=on_chip)
    virtual.pipe.sleep(0.00025)
    return SimTarget(
        client=LinkClient(virtual.pipe, seed=1), name="test", board=virtual, direct=direct
    )


def session(target, size, starts):
    """View of a host that writes, reads and sums up parts of memory at random, and has the core
    copy between them.

    ``starts`` of another session: runs are begun in the same cycles by the same frames, so that
    refreshes fall alike.
    """
    chance, seen, begun = random.Random(5), [], []
    begins = [at for at in range(0, size + 1, 32 << 10)]

    def place(length):
        near = chance.choice(begins) + chance.randrange(-40, 40)
        return min(max(near, 0), size - length)

    for turn in range(24):
        length = chance.choice((1, 2, 3, 5, 64, 131))
        target.write(at := place(length), data := chance.randbytes(length))
        assert target.read(at, length) == data
        at, length = place(200), chance.randrange(1, 200)
        seen += [target.read(at, length), target.checksum(at, length)]
        if turn % 8 == 7:
            source, goal = place(256) & ~3, place(256) & ~3
            target.write(source, bytes(chance.randrange(1, 256) for _ in range(256)))
            if starts is None:
                # A refresh closes all rows: which are open depends on what came over the link
                # before.
                target.board.advance(4000)
            else:
                cycle, number = starts[len(begun)]
                while target.client._next != number:
                    target.read_register("status")
                target.board.advance(cycle - target.board.cycle)
            begun.append((target.board.cycle, target.client._next))
            seen.append(
                target.run(
                    {"program_address": source, "program_length": 256, "target": goal, "key": turn}
                )
            )
            seen.append(target.read(goal, 256))
    return seen, begun


@pytest.mark.parametrize("board, package, kind, size, beat_bytes, on_chip", MEMORIES)
def test_it_is_as_over_the_link(board, package, kind, size, beat_bytes, on_chip):
    with opened(board, package, direct=False, on_chip=on_chip) as target:
        backing = target.board.soc.backing
        assert (backing.kind, backing.size, backing.beat_bytes) == (kind, size, beat_bytes)
        over_link, starts = session(target, size, None)
    with opened(board, package, on_chip=on_chip) as target:
        directly, _ = session(target, size, starts if kind == "SDRAM" else None)
        assert directly == over_link
        # And what lies there is what the link finds.
        for at in (0, size // 2 - 40, size - 80):
            assert target.client.read(at, 80) == target.read(at, 80)
            assert (
                target.client.checksum(at, 80)
                == target.checksum(at, 80)
                == zlib.crc32(target.read(at, 80))
            )


def test_unused_words_of_on_chip_blocks_hold_no_memory():
    """24 KiB are on chip, in blocks that hold 32 KiB."""
    on_chip, blocks_end = 24 << 10, 32 << 10
    data = random.Random(3).randbytes(blocks_end + 64)
    with opened("ulx3s-25f", on_chip=on_chip) as target:
        target.write(0, data)
        for at in (on_chip - 32, blocks_end - 32):
            assert target.client.read(at, 64) == data[at : at + 64], at
        assert target.read(0, len(data)) == data


def test_no_cycle_passes_for_a_byte():
    with opened("ulx3s-25f") as target:
        data = random.Random(1).randbytes(1 << 20)
        before, told = target.board.cycle, []
        target.write(12_345, data, lambda *done: told.append(done))
        assert target.read(12_345, len(data), lambda *done: told.append(done)) == data
        assert target.checksum(12_345, len(data)) == zlib.crc32(data)
        assert target.board.cycle - before < 1000
        assert told == [(len(data), len(data))] * 2


@pytest.mark.parametrize("board", ["ulx3s-25f", "icebreaker"])
@pytest.mark.parametrize("direct", [False, True])
def test_runs_and_fills(board, direct):
    chance = np.random.default_rng(2)
    image = chance.integers(0, 256, 0x9000, np.uint8)
    with opened(board, direct=direct) as target:
        target.write(0, image.tobytes())
        before, told = target.board.cycle, []
        for address, run, stride, count in (
            (1, 3, 64, 100),
            (0x7FE7, 5, 9, 20),
            (6, 300, 700, 3),
            (0, 1, 1, 0),
        ):
            rows = chance.integers(0, 256, (count, run), np.uint8)
            target.transfer(
                [Access(address, run=run, stride=stride, data=rows.tobytes())],
                lambda *done: told.append(done),
            )
            for number, row in enumerate(rows):
                image[address + number * stride :][:run] = row
            assert target.transfer(
                [Access(address, rows.size, run, stride)], lambda *done: told.append(done)
            ) == [rows.tobytes()]
        target.fill(0x7FFF, 70, 0xA5, lambda *done: told.append(done))
        image[0x7FFF : 0x7FFF + 70] = 0xA5
        assert (target.board.cycle - before < 1000) == direct and told[-1] == (70, 70)
        assert target.client.read(0, image.size) == target.read(0, image.size) == image.tobytes()


def test_what_is_no_main_memory_goes_over_the_link():
    """The info text, the end of memory and addresses that there are not, as ever."""
    from quintet.tools.errors import TargetError
    from quintet.tools.link.errors import BoardError

    with opened("hx8k-breakout") as target:
        header = target.client.identify()
        assert target.read(0x8002_0000, 64) == header and target.checksum(
            0x8002_0000, 64
        ) == zlib.crc32(header)
        for call in (
            lambda: target.read(4090, 10),
            lambda: target.write(4090, bytes(10)),
            lambda: target.checksum(4090, 10),
        ):
            with pytest.raises(BoardError, match="bus error at 0x00001000"):
                call()
        with pytest.raises(TargetError, match="-1 bytes at 0x0 lie outside"):
            target.read(0, -1)


def test_over_the_link_while_the_core_is_busy(monkeypatch):
    """The core's own order of accesses is kept: what it has not read yet, it reads as the host has
    written it meanwhile."""
    used = []
    for name in ("read", "write"):
        method = getattr(Backdoor, name)
        monkeypatch.setattr(
            Backdoor,
            name,
            lambda self, *a, name=name, method=method: (used.append(name), method(self, *a))[1],
        )
    with opened("icebreaker") as target:
        target.write(0, b"\1" * 0x8000)
        for register, value in (
            ("program_address", 0),
            ("program_length", 0x8000),
            ("target", 0x1_0000),
            ("key", 0),
            ("control", 1),
        ):
            target.write_register(register, value)
        assert used == ["write"]
        target.write(0x7FF0, b"\2" * 16)
        assert target.read(0x7FF0, 16) == b"\2" * 16 and target.checksum(0, 16) == zlib.crc32(
            b"\1" * 16
        )
        assert target.read_register("status") & 1 and used == ["write"]
        while target.read_register("status") & 1:
            pass
        assert target.read(0x1_7FE0, 32) == b"\1" * 16 + b"\2" * 16 and used == ["write", "read"]


def test_after_a_call_that_ended_early(monkeypatch):
    """What an interrupted write has left on its way lands before what is written after it."""
    with opened("ulx3s-25f") as target:
        pipe = target.board.pipe

        def interrupt(limit, timeout):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(pipe, "read", interrupt)
            with pytest.raises(KeyboardInterrupt):
                target.client.write(0x1000, b"\1" * 4096)
        assert target.board.waiting and not target.client.quiet
        target.write(0x1000, b"\2" * 4096)
        target.board.pipe.sleep(0.001)
        assert (
            target.board.chip[0x1000:0x2000].tobytes() == target.read(0x1000, 4096) == b"\2" * 4096
        )


def test_it_waits_for_no_one_elses_bytes():
    with opened("ulx3s-25f") as target:
        target.board.pipe.write(bytes(2000))
        door = Backdoor(target.board)
        assert not door.quiet()
        target.board.pipe.sleep(0.001)
        assert door.quiet()


def test_memories_of_a_design():
    with opened("hx8k-breakout") as target:
        cells = target.board.simulation.memory_at("soc.memory.memory")
        assert cells.shape == (1024, 1)
        target.client.write(8, b"\1\2\3\4")
        assert cells[2, 0] == 0x04030201
        with pytest.raises(KeyError, match="no memory 'soc.memory.nothing'; there are p_"):
            target.board.simulation.memory_at("soc.memory.nothing")
