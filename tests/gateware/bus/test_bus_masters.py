# SPDX-License-Identifier: BSD-2-Clause
"""Bus masters behind a memory port: random requests under back-pressure and errors against a byte
memory, with a checker of each protocol; throughput."""

import random

import pytest

from quintet.gateware.bus.masters.axi4 import AXI4Master
from quintet.gateware.bus.masters.native import NativeMaster
from quintet.gateware.bus.masters.wishbone import WishboneMaster
from tests.support.buses.asking import Asking, Traffic
from tests.support.buses.axi4 import AXI4Slave
from tests.support.buses.native import NativeController
from tests.support.buses.stepping import Violation, run_compiled, run_pysim
from tests.support.buses.wishbone import WishboneSlave, ZeroWait
from tests.support.shares import fewer

#: Requests of a campaign in `make test-long`, for each bus.
CAMPAIGN = 100_000
#: Bus address of the memory in most tests.
BASE = 0x4000_0000
HOLD = 64


def wishbone(size, beat_bytes, rnd, *, kind="feedback", **options):
    master = WishboneMaster(beat_bytes=beat_bytes, base=BASE, hold=HOLD)
    return master, WishboneSlave(size, beat_bytes, rnd, kind=kind, base=BASE, **options)


def classic(size, beat_bytes, rnd, **options):
    master = WishboneMaster(beat_bytes=beat_bytes, base=BASE, bursts=False, hold=1)
    return master, WishboneSlave(size, beat_bytes, rnd, kind="classic", base=BASE, **options)


def axi4(size, beat_bytes, rnd, *, burst=16, **options):
    master = AXI4Master(beat_bytes=beat_bytes, base=BASE, burst=burst, buffer=4 * burst)
    return master, AXI4Slave(size, beat_bytes, rnd, base=BASE, burst=burst, **options)


def axi4_long(size, beat_bytes, rnd, **options):
    return axi4(size, beat_bytes, rnd, burst=min(256, 4096 // beat_bytes), **options)


def native(size, beat_bytes, rnd, **options):
    options.pop("errors", None)
    master = NativeMaster(beat_bytes=beat_bytes, base=BASE)
    return master, NativeController(size, beat_bytes, rnd, base=BASE, **options)


def exchange(setting, traffic, beat_bytes, seed, run=run_pysim, **options):
    """Runs the traffic on a master and its slave; returns the beats, the cycles and the slave."""
    rnd = random.Random(seed)
    asking = Asking(traffic, beat_bytes, rnd)
    master, slave = setting(traffic.size, beat_bytes, rnd, **options)

    def step(seen):
        changes = slave.step(seen)
        changes.update(asking.step(seen))
        return None if asking.done else changes

    cycles = run(master, step, 1000 + 200 * traffic.requests)
    assert bytes(slave.memory) == bytes(asking.memory)
    return asking.beats_done, cycles, slave


SETTINGS = {
    "wishbone": (wishbone, (1, 2, 4, 8, 16)),
    "wishbone classic": (classic, (4,)),
    "axi4": (axi4, (1, 4, 16)),
    "axi4 long bursts": (axi4_long, (4,)),
    "native": (native, (2, 4, 16)),
}
CASES = [(name, width) for name, (_, widths) in SETTINGS.items() for width in widths]


@pytest.mark.parametrize("name, beat_bytes", CASES)
def test_random_traffic(name, beat_bytes):
    setting = SETTINGS[name][0]
    traffic = Traffic(fewer(300), size=4096 * beat_bytes, errors=setting is not native)
    exchange(setting, traffic, beat_bytes, seed=beat_bytes)


@pytest.mark.long
@pytest.mark.parametrize("name", SETTINGS)
def test_campaign(name):
    setting, widths = SETTINGS[name]
    traffic = Traffic(
        CAMPAIGN // len(widths), size=1 << 14, longest=24, errors=setting is not native
    )
    for beat_bytes in widths:
        exchange(setting, traffic, beat_bytes, seed=100 + beat_bytes, run=run_compiled)


@pytest.mark.parametrize(
    "name, latency", [("wishbone", 0), ("axi4", 4), ("axi4", 16), ("native", 4), ("native", 16)]
)
@pytest.mark.parametrize("writes", [0, 1], ids=["reads", "writes"])
def test_throughput_with_eight_requests(name, latency, writes):
    """At least 95 % of the port's one beat a cycle, with bursts of eight beats and a slave that
    answers after some cycles."""
    setting = SETTINGS[name][0]
    traffic = Traffic(200, longest=8, writes=writes, stall=0, errors=False, flying=8, exact=True)
    options = {} if name == "wishbone" else {"latency": (latency, latency)}
    if name == "wishbone":
        beats, cycles = _zero_wait(traffic, seed=1)
    else:
        beats, cycles, _ = exchange(setting, traffic, 4, seed=1, stall=0, errors=False, **options)
    assert beats == 1600 and beats / cycles >= 0.95, f"{beats / cycles:.3f}"


def _zero_wait(traffic, seed, stall=0.0, run=run_pysim):
    rnd = random.Random(seed)
    asking = Asking(traffic, 4, rnd)
    master = WishboneMaster(beat_bytes=4, base=BASE, hold=HOLD)
    dut = ZeroWait(master, size=traffic.size, beat_bytes=4, errors=traffic.errors)
    watch = WishboneSlave(traffic.size, 4, rnd, kind="watch", base=BASE)

    def step(seen):
        watch.step(seen)
        changes = asking.step(seen)
        changes["go"] = int(rnd.random() >= stall)
        return None if asking.done else changes

    cycles = run(dut, step, 1000 + 200 * traffic.requests)
    assert watch.longest <= HOLD + traffic.longest
    return asking.beats_done, cycles


def test_wishbone_slave_without_wait_states():
    _zero_wait(Traffic(300), seed=3, stall=0.3)


def test_wishbone_registered_feedback_is_faster_than_classic_cycles():
    """A slave with a registered answer gives a beat in every cycle of a burst, and in every second
    one without."""
    traffic = Traffic(60, longest=32, stall=0, errors=False, exact=True)
    rates = {}
    for kind in ("feedback", "classic"):
        beats, cycles, _ = exchange(wishbone, traffic, 4, seed=2, stall=0, errors=False, kind=kind)
        rates[kind] = beats / cycles
    assert rates["feedback"] >= 0.92 and rates["classic"] <= 0.5, rates


def test_axi4_reads_and_writes_of_different_pages_overlap():
    """A read behind a write to another page does not wait for the write's answer."""
    rates = {}
    for size in (4096, 1 << 18):
        traffic = Traffic(200, size=size, longest=8, stall=0, errors=False, flying=8, exact=True)
        beats, cycles, _ = exchange(
            axi4, traffic, 4, seed=4, stall=0, errors=False, latency=(16, 16)
        )
        rates[size] = beats / cycles
    assert rates[1 << 18] >= 2 * rates[4096] and rates[1 << 18] >= 0.9, rates


def test_axi4_cuts_at_4_kib():
    """Requests of 256 beats from any address; the checker looks at each burst."""
    traffic = Traffic(40, size=1 << 14, longest=256, stall=0.1)
    *_, slave = exchange(axi4_long, traffic, 16, seed=5, stall=0.1)
    assert slave.bursts > 40


def test_the_models_find_a_wrong_byte():
    traffic, rnd = Traffic(100, errors=False), random.Random(1)
    asking = Asking(traffic, 4, rnd)
    slave = WishboneSlave(traffic.size, 4, rnd, errors=False, base=BASE)

    def step(seen):
        changes = slave.step(seen)
        changes.update(asking.step(seen))
        slave.memory[rnd.randrange(traffic.size)] ^= 1
        return None if asking.done else changes

    with pytest.raises(Violation, match="expected"):
        run_pysim(WishboneMaster(beat_bytes=4, base=BASE), step, 100_000)


def test_a_read_buffer_holds_a_burst():
    with pytest.raises(ValueError, match="from 64 to 4096, not 32"):
        AXI4Master(beat_bytes=4, burst=64, buffer=32)
