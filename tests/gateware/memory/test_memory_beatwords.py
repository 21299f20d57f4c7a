# SPDX-License-Identifier: BSD-2-Clause
"""Words out of beats: every place of the first and the last word, errors, stalls; and a proof that
none is lost, doubled or reordered."""

import random

import pytest
from amaranth.hdl import Assert, Cat, Cover, Mux, Signal

from quintet.gateware.memory.beatwords import BeatsToWords
from tests.support.formal import ProofFailed, Property, cover, prove
from tests.support.simulating import simulate

SIZES = (1, 2, 4, 8, 16, 32, 64)


def run(size, bursts, rnd, stall=0.0):
    """Words of ``bursts`` (place of the first, words as (word, error)), and the cycles that they
    took."""
    dut, parts, got, cycles = BeatsToWords(beat_bytes=size), size // 4, [], 0
    beats = []  # (first, count - 1, data, error)
    for first, words in bursts:
        if size < 4:
            for word, error in words:
                wrong = rnd.randrange(4 // size)
                beats += [
                    (
                        first,
                        len(words) - 1,
                        word >> 8 * size * k & (1 << 8 * size) - 1,
                        error and k == wrong,
                    )
                    for k in range(4 // size)
                ]
            continue
        # What nobody asked for is noise.
        row = [rnd.getrandbits(32) for _ in range(first)] + [word for word, _ in words]
        row += [rnd.getrandbits(32) for _ in range(-len(row) % parts)]
        for k in range(0, len(row), parts):
            mine = words[max(0, k - first) : k - first + parts]
            beats.append(
                (
                    first,
                    len(words) - 1,
                    sum(word << 32 * n for n, word in enumerate(row[k : k + parts])),
                    mine[0][1],
                )
            )

    async def memory(ctx):
        for first, count, data, error in beats:
            while rnd.random() < stall:
                await ctx.tick()
            ctx.set(dut.burst, {"first": first, "words": count})
            ctx.set(dut.beats.payload, {"data": data, "error": error})
            ctx.set(dut.beats.valid, 1)
            await ctx.tick().until(dut.beats.ready)
            ctx.set(dut.beats.valid, 0)

    async def taker(ctx):
        nonlocal cycles
        while len(got) < sum(len(words) for _, words in bursts):
            ctx.set(dut.words.ready, rnd.random() >= stall)
            _, _, valid, ready, p = await ctx.tick().sample(
                dut.words.valid, dut.words.ready, dut.words.payload
            )
            cycles += 1
            if valid and ready:
                got.append((p.word, p.error, p.last))

    simulate(dut, memory, taker)
    return got, cycles


def burst_of(rnd, size, first, count):
    """Errors are a beat's: all its words have them."""
    parts = max(1, size // 4)
    bad = [rnd.random() < 0.2 for _ in range((first + count + parts - 1) // parts)]
    return first, [(rnd.getrandbits(32), bad[(first + n) // parts]) for n in range(count)]


def shown(bursts):
    return [
        (word, error, n == len(words) - 1)
        for _, words in bursts
        for n, (word, error) in enumerate(words)
    ]


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("size", SIZES)
def test_words_in_order(size, stall):
    rnd = random.Random(size)
    parts = max(1, size // 4)
    bursts = [
        burst_of(rnd, size, first, count)
        for first in range(parts)
        for count in {1, 2, parts, parts + 1, rnd.randrange(1, 65)}
    ]
    assert run(size, bursts, rnd, stall)[0] == shown(bursts)


@pytest.mark.parametrize("size", SIZES)
def test_a_word_or_a_beat_a_cycle(size):
    rnd = random.Random(size)
    bursts = [burst_of(rnd, size, max(1, size // 4) - 1, 40) for _ in range(2)]
    got, cycles = run(size, bursts, rnd)
    assert got == shown(bursts) and cycles == max(1, 4 // size) * 80


def test_start_forgets_a_burst_that_was_broken_off():
    for size in SIZES:
        dut = BeatsToWords(beat_bytes=size)

        async def bench(ctx, dut=dut, size=size):
            ctx.set(dut.words.ready, 1)
            ctx.set(dut.burst.words, 9)
            ctx.set(dut.beats.valid, 1)
            ctx.set(dut.beats.payload.error, 1)
            await ctx.tick().repeat(3)
            ctx.set(dut.beats.valid, 0)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            ctx.set(dut.beats.payload.error, 0)
            ctx.set(dut.beats.valid, 1)
            ctx.set(dut.burst.words, 0)
            waited = 0
            while not ctx.get(dut.words.valid):
                await ctx.tick()
                waited += 1
            assert waited == max(1, 4 // size) - 1
            assert not ctx.get(dut.words.payload.error) and ctx.get(dut.words.payload.last)

        simulate(dut, bench)


class OrderProperty(Property):
    """Memory holds at every word its own number. Bursts of any place and length come one after the
    other, with any stalls; each word that is taken is the next one of its burst, ``last`` with its
    last, and a beat is given back with the last word wanted of it.
    """

    SIZE, COUNT, NUMBER = 16, 3, 6

    def expected(self, base, gone):
        return base + gone

    def build(self, m):
        dut = m.submodules.dut = BeatsToWords(beat_bytes=self.SIZE, count_bits=self.COUNT)
        parts = self.SIZE // 4
        base, count, gone = (
            Signal(self.NUMBER),
            Signal(self.COUNT),
            Signal(self.COUNT),
        )  # of the burst; words of it that were taken
        new, more = Signal(self.NUMBER), Signal(self.COUNT)
        wrong = Signal()
        self.free(dut.beats.valid, dut.words.ready, wrong, new, more)
        at = Signal(self.NUMBER)  # of the beat offered: its first word
        next_word = Signal(self.NUMBER)
        m.d.comb += [
            next_word.eq(base + gone),
            at.eq(next_word & ~(parts - 1)),
            dut.burst.first.eq(base & (parts - 1)),
            dut.burst.words.eq(count),
            dut.beats.payload.error.eq(wrong),
            dut.beats.payload.data.eq(Cat(self.word(m, at + k) for k in range(parts))),
        ]
        taken, over = dut.words.valid & dut.words.ready, gone == count
        m.d.comb += [
            Assert(dut.words.valid == dut.beats.valid),
            Assert(dut.words.payload.word == self.expected(base, gone)[: self.NUMBER]),
            Assert(dut.words.payload.last == over),
            Assert(dut.words.payload.error == wrong),
            # The beat goes exactly when the next word lies in another one, or in another burst.
            Assert(
                (dut.beats.valid & dut.beats.ready) == (taken & (over | ((next_word + 1)[:2] == 0)))
            ),
            # For induction: its register tells the same place.
            Assert(dut._gone == gone),
            Cover(taken & over & (gone == 5)),
            Cover(taken & ~over & dut.beats.ready),
        ]
        with m.If(taken):
            m.d.sync += gone.eq(Mux(over, 0, gone + 1))
            with m.If(over):
                m.d.sync += [base.eq(new), count.eq(more)]

    def word(self, m, value):
        word = Signal(32)
        m.d.comb += word.eq(value[: self.NUMBER])
        return word


def test_order_is_proven(tmp_path):
    prove(OrderProperty(), tmp_path, depth=3)


def test_the_proof_is_not_empty(tmp_path):
    cover(OrderProperty(), tmp_path, depth=12)

    class Wrong(OrderProperty):
        def expected(self, base, gone):
            return base + gone + (gone == 4)

    with pytest.raises(ProofFailed):
        prove(Wrong(), tmp_path, depth=8)
