# SPDX-License-Identifier: BSD-2-Clause
"""AXI4-Lite slave in front of Wishbone registers."""

import random

import pytest

from quintet.gateware.bus.axilite import AXI4LiteFront
from tests.support.buses.registers import AXI4LiteHost
from tests.support.buses.stepping import expect, run_compiled, run_pysim

#: Bytes of address space; the upper half answers with an error.
SIZE = 256


class Registers:
    """Wishbone registers that answer after a random time."""

    def __init__(self, rnd):
        self.rnd, self.values, self.accesses = rnd, {}, 0
        self.answered = False

    def step(self, seen):
        stb = seen["registers__stb"]
        expect(seen["registers__cyc"] == stb, "stb without cyc")
        if self.answered:
            expect(stb, "the access ended before its answer")
            self.answered = False
            return {"registers__ack": 0, "registers__err": 0}
        if not stb or self.rnd.random() < 0.5:
            return {}
        self.answered = True
        self.accesses += 1
        address = seen["registers__adr"]
        if address >= SIZE // 8:
            return {"registers__err": 1}
        old = self.values.get(address, 0)
        if seen["registers__we"]:
            mask = sum(0xFF << 8 * lane for lane in range(4) if seen["registers__sel"] >> lane & 1)
            self.values[address] = old & ~mask | seen["registers__dat_w"] & mask
        return {"registers__ack": 1, "registers__dat_r": old}


def accesses(count, seed, run=run_pysim):
    rnd = random.Random(seed)
    host, registers = AXI4LiteHost(rnd, prefix="bus", stall=0.3), Registers(rnd)
    expected, state = {}, {"left": count, "asked": None}

    def step(seen):
        if state["asked"] is not None and host.result is not None:
            address, value, sel = state["asked"]
            data, error = host.result
            word = address >> 2
            expect(error == (address >= SIZE // 2), f"error of {address:#x} is {error}")
            if value is None and not error:
                expect(data == expected.get(word, 0), f"{address:#x} reads {data:#x}")
            elif not error:
                mask = sum(0xFF << 8 * lane for lane in range(4) if sel >> lane & 1)
                expected[word] = expected.get(word, 0) & ~mask | value & mask
            state["asked"] = None
        if state["asked"] is None:
            if not state["left"]:
                return None
            state["left"] -= 1
            value = rnd.getrandbits(32) if rnd.random() < 0.5 else None
            state["asked"] = (4 * rnd.randrange(SIZE // 4), value, rnd.getrandbits(4))
            host.start(*state["asked"])
        return {**registers.step(seen), **host.step(seen)}

    run(AXI4LiteFront(addr_width=8), step, 100 * count)
    assert registers.accesses == count


def test_random_accesses():
    accesses(300, seed=1)


@pytest.mark.long
def test_campaign():
    accesses(100_000, seed=2, run=run_compiled)


def test_reads_and_writes_are_served_by_turns():
    """A read and a write that are offered together are both answered, whichever comes first."""
    rnd = random.Random(3)
    host, registers = AXI4LiteHost(rnd, prefix="bus", stall=0), Registers(rnd)
    rounds = []

    def step(seen):
        if len(host.results) == 2 or not rounds:
            if len(rounds) == 20:
                return None
            rounds.append(dict(host.results))
            host.start_both(reads=4, writes=8, value=len(rounds))
        return {**registers.step(seen), **host.step(seen)}

    run_pysim(AXI4LiteFront(addr_width=8), step, 2000)
    assert registers.accesses == 2 * 19 + len(host.results)
    assert registers.values[2] in (19, 20)


@pytest.mark.parametrize("addr_width", [2, 33, True])
def test_arguments(addr_width):
    with pytest.raises(
        ValueError, match=f"Address bits must be an integer from 3 to 32, not {addr_width}"
    ):
        AXI4LiteFront(addr_width=addr_width)
