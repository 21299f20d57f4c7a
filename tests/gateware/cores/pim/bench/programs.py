# SPDX-License-Identifier: BSD-2-Clause
"""Random PIM programs, of one core or many: legal ones, and such with one fault (specification,
section 11).

Every byte that a program changes in local memory is stored out at its end. Programs of many cores
are race-free and free of deadlock by construction: the order in which they are written is a
schedule, a rendezvous or an event stands between any two accesses of different cores to a region of
GMem, and an event register serves one wait.
"""

import random

import numpy as np

from quintet.firmware.pim.measure.case import make_case
from quintet.gateware.cores.pim.image.fields import AUTO
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.isa import ISA
from tests.gateware.cores.pim.bench.scratch import Rejected, Scratch
from tests.gateware.cores.pim.bench.writer import MEMORY, REGION, CoreWriter, small

__all__ = ["FAULTS", "MEMORY", "random_case", "random_image", "random_memory"]

#: Most bytes of weights of all cores: LOAD takes time.
_WEIGHTS = 16384

#: Faults that ``random_case(fault=...)`` can be asked for.
FAULTS = (
    "illegal_opcode",
    "illegal_field",
    "unsupported",
    "odd_pair",
    "width",
    "group",
    "core_range",
    "lmem_range",
    "gmem_range",
    "overlap",
    "size_mismatch",
    "deadlock",
    "table",
    "code_end",
)


def random_memory(rng, size=MEMORY):
    return np.frombuffer(rng.randbytes(size), np.uint8).copy()


def _group(rng, params, budget):
    xr, xc, most = params["xb_rows"], params["xb_cols"], min(params["arrays"], 16)
    if rng.random() < 0.7 or most == 1:
        rows, cols = small(rng, xr), small(rng, xc)
    else:
        down = rng.randint(1, most)
        rows, cols = small(rng, min(1024, xr * down)), small(rng, min(1024, xc * (most // down)))
    tiles = -(-cols // xc)
    if rows * tiles * xc > budget:
        rows, cols, tiles = min(rows, 8), min(cols, xc), 1
    number = -(-rows // xr) * tiles
    arrays = tuple(rng.sample(range(params["arrays"]), number))
    mbiw = rng.randint(1, 8)
    span = rng.choice((1 << mbiw - 1, 1))
    weights = np.array(
        [rng.randint(-span, max(span - 1, 0)) for _ in range(rows * cols)], np.int8
    ).reshape(rows, cols)
    if rng.random() < 0.1:
        weights = None
    return Group(
        rows,
        cols,
        arrays,
        mbiw,
        rng.choice((0, 0, 1, rng.randint(2, 12), rng.randint(0, 47))),
        rng.randint(0, 1),
        weights,
        None,
    )


def random_image(rng, params, cores):
    """Groups, widths and modes of ``cores`` cores; no code."""
    found, weights = [], _WEIGHTS
    for _ in range(cores):
        core, biases = (
            CoreProgram(mode=rng.randrange(3), wait_mode=rng.randrange(2)),
            params["bias_words"],
        )
        if rng.random() < 0.5:
            core.ibiw, core.obiw = (rng.randint(1, params["max_biw"]) for _ in range(2))
        if rng.random() < 0.3:
            core.fi, core.fo = (rng.choice((AUTO, rng.randint(0, 31))) for _ in range(2))
        programmed = np.zeros(params["arrays"], bool)
        for _ in range(rng.choice((0, 1, 2, rng.randint(1, min(params["groups"], 20))))):
            group = _group(rng, params, weights)
            if group.weights is None and not programmed[list(group.arrays)].all():
                continue
            # An array that no entry programs holds anything: only whole ones are reused.
            if group.weights is not None:
                programmed[list(group.arrays)] = group.rows % params["xb_rows"] == 0
                weights -= group.rows * -(-group.cols // params["xb_cols"]) * params["xb_cols"]
            if rng.random() < 0.4 and biases >= group.cols:
                span = rng.choice((100, 1 << 15, (1 << 31) - 1))
                group.bias = np.array(
                    [rng.randint(-span, span) for _ in range(group.cols)], np.int32
                )
                biases -= group.cols
            core.groups.append(group)
            if weights < 2048:
                break
        found.append(core)
    base = MEMORY // 2 + rng.choice((0, 64, rng.randrange(64)))
    return Image(
        found,
        params["xb_rows"],
        params["xb_cols"],
        base,
        rng.choice((0, MEMORY - base - rng.randrange(64))),
    )


#: Event registers kept for the end of a program with a fault.
_LAST_EVENT = 31


class _Machine:
    """Writes the programs of all cores, in one order."""

    def __init__(self, rng, params, cores, *, budget):
        self.rng, self.params, self.budget = rng, params, budget
        self.memory = random_memory(rng)
        self.image = random_image(rng, params, cores)
        if rng.random() < 0.1 and cores > 1:
            self.image.cores[rng.randrange(cores)] = CoreProgram()
        self.at = 64 * rng.randrange(8)
        self.scratch = Scratch(params, self.image, self.memory, self.at)
        count = cores + 4
        self.dump_at, self.dump_limit = count * REGION, MEMORY - self.image.gmem_base - 128
        # Region -> (owner, number); the last one is only read.
        self.regions = [(rng.randrange(cores), k) for k in range(count)]
        for k in range(min(cores, count - 1)):
            self.regions[k] = (k, k)
        self.regions[-1] = (None, count - 1)
        self.writers = [CoreWriter(rng, self.scratch, k, self.regions) for k in range(cores)]
        for writer in self.writers:
            writer.free_events.remove(_LAST_EVENT)

    def write(self):
        while sum(w.cycles for w in self.writers) < self.budget * len(self.writers) ** 0.5:
            writer = self.rng.choice(self.writers)
            kind = self.rng.random()
            if len(self.writers) > 1 and kind < 0.07:
                self.rendezvous(writer)
            elif len(self.writers) > 1 and kind < 0.11:
                self.event(writer)
            else:
                writer.step()

    def _other(self, writer):
        return self.rng.choice([w for w in self.writers if w is not writer])

    def _hand_over(self, *pair):
        """Regions change hands between two cores that met."""
        for k, (owner, number) in enumerate(self.regions):
            if owner in pair and self.rng.random() < 0.5:
                self.regions[k] = (self.rng.choice(pair), number)

    def rendezvous(self, sender):
        receiver, size = self._other(sender), small(self.rng, 100)
        offsets = [w.offset() for w in (sender, receiver)]
        places = [w.place(size) for w in (sender, receiver)]
        words = []
        try:
            for w, mnemonic, name, other, at, o in zip(
                (sender, receiver),
                ("send", "recv"),
                ("rs1", "rd"),
                (receiver, sender),
                places,
                offsets,
                strict=True,
            ):
                words.append(
                    ISA.encode(
                        mnemonic,
                        **{name: w.register(at - o)},
                        core=other.number,
                        size=size,
                        offset_value=o,
                    )
                )
            self.scratch.append_pair(sender.number, words[0], receiver.number, words[1])
        except Rejected:
            return
        sender.cycles, receiver.cycles = sender.cycles + 30 + size, receiver.cycles + 30 + size
        sender.used(places[0], size)
        receiver.wrote(places[1], size)
        self._hand_over(sender.number, receiver.number)

    def event(self, giver):
        taker = self._other(giver)
        if not taker.free_events:
            return
        event, count = taker.free_events.pop(), self.rng.randint(1, 2)
        for _ in range(count):
            giver.put("sync", 30, event=event, core=taker.number)
        for k, (owner, number) in enumerate(self.regions):
            if owner == giver.number and self.rng.random() < 0.5:
                self.regions[k] = (taker.number, number)
        for _ in range(self.rng.randrange(3)):
            giver.step()
        taker.put("wait", 10, event=event, value=count)

    def dump(self):
        at = self.dump_at
        for w in self.writers:
            at = w.dump(at, self.dump_limit)

    def case(self, name, patch=(), **notes):
        return make_case(
            name,
            self.params,
            self.image,
            self.scratch.words,
            self.memory,
            self.at,
            cycles=sum(w.cycles for w in self.writers),
            patch=patch,
            **notes,
        )


def random_case(seed, params, *, legal=True, fault=None, cores=None, budget=1500):
    """A random program.

    Parameters
    ----------
    seed : anything that names it
    params : dict
    legal : bool
        ``False``: with a fault drawn by the seed.
    fault : str, optional
        One of ``FAULTS``. A fault that the build cannot have gives a program that ends well.
    cores : int, optional
        Cores that have a program; by default drawn, at most those built.
    budget : int
        Rough number of cycles of the machine, LOAD not counted.
    """
    rng = random.Random(f"pim {seed} {fault} {legal}")
    if not legal and fault is None:
        fault = rng.choice(FAULTS)
    if cores is None:
        cores = rng.choice((1, min(2, params["cores"]), rng.randint(1, params["cores"])))
    if fault in ("size_mismatch", "deadlock"):
        cores = max(cores, min(2, params["cores"]))
    machine = _Machine(rng, params, cores, budget=budget if fault is None else budget // 2)
    machine.write()
    name = f"seed {seed}, {cores} cores" + (f", {fault}" if fault else "")
    machine.dump()
    if fault is None:
        return machine.case(name)
    from tests.gateware.cores.pim.bench.faults import with_fault

    return with_fault(machine, fault, name)
