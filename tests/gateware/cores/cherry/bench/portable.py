# SPDX-License-Identifier: BSD-2-Clause
"""Portable programs of Cherry: which the assembler calls so, and what they leave in MEM with 1, 4
and 16 contexts."""

import random

import numpy as np

from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text

__all__ = ["WIDTHS", "assert_same", "leaves", "programs", "random_text", "reasons"]

WIDTHS = (1, 4, 16)
_AT = 0x1000


def reasons(program):
    """Warnings that an assembled program depends on the number of contexts."""
    return [
        str(w).removeprefix("<text>:")
        for w in program.warnings
        if "number of contexts" in w.message
    ]


def programs(text):
    """The programs of a source, each as a source of its own without steps and DMA."""
    found = [[]]
    for line in text.splitlines():
        if line.strip().startswith(".program"):
            found.append([])
        elif not line.strip().startswith((".step", ".in ", ".fill", ".out")):
            found[-1].append(line)
    shared, *rest = found
    return ["\n".join(shared + lines) for lines in rest] or ["\n".join(shared)]


def leaves(data, contexts, seed=0, log_mem=12, shuffle=None, acc_frac=9):
    """MEM after a run of an image over random numbers of unit scale."""
    model = Model(
        SPACE.resolve("sim", {"contexts": contexts, "log_mem": log_mem, "acc_frac": acc_frac}),
        np.zeros(1 << 16, np.uint8),
        shuffle=shuffle,
    )
    rng = np.random.default_rng(seed)
    model.mem[:] = (
        rng.integers(2, size=model.mem.size) << 17
        | rng.integers(120, 134, size=model.mem.size) << 9
        | rng.integers(512, size=model.mem.size)
    )
    model.memory[_AT : _AT + len(data)] = np.frombuffer(data, np.uint8)
    outcome = model.run({"program_address": _AT, "program_length": len(data)})
    assert outcome.status == "done", outcome
    return model.mem


def assert_same(text, **options):
    """A program leaves the same with every number of contexts that it may run with; gives these,
    none where it is not portable."""
    program = assemble_text(SOFTWARE, text)
    needed = program.data[8]
    widths = [] if reasons(program) else [w for w in WIDTHS if w >= needed]
    wanted = (
        leaves(program.data, next(w for w in (2, 8, 32) if w >= needed), **options)
        if widths
        else None
    )
    for contexts in widths:
        assert (leaves(program.data, contexts, **options) == wanted).all(), (
            f"{contexts} contexts:\n{text}"
        )
        assert (leaves(program.data, contexts, shuffle=1, **options) == wanted).all(), (
            f"{contexts} contexts in random order:\n{text}"
        )
    return widths


# Random programs

_REGISTERS = ("INPUT", "WEIGHTS", "OUTPUT", "ACC")
#: Instructions that name no register: what they read, what they write.
_FIXED = {
    "matmul": ((0, 1, 3), 3),
    "mulacc": ((0, 1, 3), 3),
    "add": ((0, 1), 2),
    "sub": ((0, 1), 2),
    "mul": ((0, 1), 2),
    "relu": ((0,), 2),
    "gtz": ((0,), 2),
}


class _Maker:
    """Loop nests over units that read the lower half of 4096 elements; each independent loop stores
    tiles of its own in the upper half."""

    def __init__(self, rnd):
        self.rnd, self.head, self.lines, self.areas = rnd, [], [], 0
        #: How often an instruction reads what nothing in its body wrote.
        self.careless = rnd.choice((0, 0, 0.05, 0.3))

    def loop(self, counts):
        name = f"l{sum(line.startswith('.loop') for line in self.head)}"
        self.head.append(f".loop {name} {self.rnd.choice(counts)}")
        return name

    def unit(self, base, *coefficients):
        name = f"u{len(self.head)}"
        self.head.append(f".apu {name} {base} 1 4 {' '.join(coefficients)}")
        return name

    def load(self, loop, register, partial):
        rnd = self.rnd
        moving = (
            [f"{loop}:{rnd.choice((4, 16))}"] if loop is not None and rnd.random() < 0.6 else []
        )
        shape = (
            f", {rnd.randint(1, 3)}, {rnd.randint(1, 4)}, "
            f"{rnd.randrange(2) if partial else 1}, {rnd.randrange(2)}"
        )
        return (
            f"load {self.unit(rnd.randrange(1600), *moving)}, "
            f"{register}{shape if partial or rnd.random() < 0.2 else ''}"
        )

    def instruction(self, loop, readable, kept):
        """One more: which reads of ``readable`` and adds what it writes, none of ``kept``; or any,
        carelessly."""
        rnd = self.rnd
        for _ in range(50):
            kind, register, other = rnd.random(), rnd.randrange(4), rnd.randrange(4)
            if kind < 0.35:
                partial = rnd.random() < 0.25
                line, read, written = (
                    self.load(loop, _REGISTERS[register], partial),
                    (register,) * partial,
                    register,
                )
            elif kind < 0.45:
                line, read, written = f"zero {_REGISTERS[register]}", (), register
            elif kind < 0.6:
                line, read, written = (
                    f"copy {_REGISTERS[register]}, {_REGISTERS[other]}",
                    (other,),
                    register,
                )
            elif kind < 0.7:
                line = (
                    f"{rnd.choice(('max', 'sum'))} {rnd.randrange(2)}, {rnd.randrange(3)}, "
                    f"{rnd.randint(1, 4)}, {rnd.randrange(4)}"
                )
                read, written = (2, 3), 3
            else:
                line = rnd.choice(list(_FIXED))
                read, written = _FIXED[line]
            if rnd.random() < self.careless or (set(read) <= readable and written not in kept):
                self.lines.append(line)
                readable.add(written)
                return

    def independent(self):
        """An independent loop, whose iterations each store some registers."""
        rnd = self.rnd
        loop = self.loop((0, 1, 2, 3, 5, 9, 18))
        own = self.unit(2048 + 512 * (self.areas % 4), f"{loop}:16")
        self.areas += 1
        kept = {r for r in range(4) if rnd.random() < 0.2}
        readable = set(kept)
        self.lines.append(f"start_independent_loop {loop}")
        for _ in range(rnd.randint(1, 7)):
            self.instruction(loop, readable, kept)
            if readable and rnd.random() < 0.2:
                self.store(own, readable)
        self.store(own, readable or range(4))
        self.lines.append(f"end_loop {loop}")

    def store(self, unit, registers):
        rnd = self.rnd
        register = (
            rnd.randrange(4) if rnd.random() < self.careless else rnd.choice(sorted(registers))
        )
        self.lines.append(
            f"store {unit}, {_REGISTERS[register]}"
            + (f", {rnd.randint(1, 4)}, {rnd.randint(1, 4)}" if rnd.random() < 0.2 else "")
        )

    def block(self, loops):
        for _ in range(self.rnd.randint(1, 3)):
            kind = self.rnd.random()
            if kind < 0.3:
                self.instruction(None, {0, 1, 2, 3}, ())
            elif kind < 0.5 and loops:
                loop = self.loop((0, 1, 2, 3))
                self.lines.append(f"start_loop {loop}")
                self.block(0)
                self.lines.append(f"end_loop {loop}")
            elif sum(line.startswith(".loop") for line in self.head) < 7:
                self.independent()

    def text(self):
        for register in _REGISTERS:
            self.lines.append(f"load {self.unit(self.rnd.randrange(1600))}, {register}")
        self.independent()
        self.block(2)
        # What ordered code finds in the registers.
        self.lines += [
            f"store {self.unit(4032 + 16 * k)}, {register}" for k, register in enumerate(_REGISTERS)
        ]
        return "\n".join(self.head + self.lines)


def random_text(seed):
    """A random program without faults and races, portable more often than not."""
    while True:
        maker = _Maker(random.Random(f"portable {seed}"))
        text = maker.text()
        if sum(line.startswith(".apu") for line in maker.head) <= 32:
            return text
        seed = f"{seed} again"
