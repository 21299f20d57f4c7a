# SPDX-License-Identifier: BSD-2-Clause
"""Random IMAGine programs, legal and illegal, for comparing gateware, model and the machine of
single bits (section 11).

Everything gives a :class:`Case`. A legal one stays below about ``budget`` array cycles by the
formulas of section 10, and ends with an epilogue that shows all registers through shift-outs: a
copy of each (PE 0 of column 0), and where there is space sums of all PEs under random odd weights.
"""

import random

import numpy as np

from quintet.firmware.imagine.measure.case import Case, case_of
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.model import cycles
from quintet.gateware.cores.imagine.params import levels, registers_of
from quintet.gateware.isa.words import random_word

__all__ = ["FAULTS", "WORD_FAULTS", "Case", "case_of", "random_case", "random_words", "state_words"]

#: Faults that a word has by its own bits.
WORD_FAULTS = (
    "illegal_submodule",
    "illegal_opcode",
    "reserved_bits",
    "register_range",
    "address_range",
    "field_range",
    "select_range",
    "operand_overlap",
)
#: What :func:`random_case` can be asked to run into.
FAULTS = (
    "program_align",
    "program_window",
    *WORD_FAULTS,
    "output_full",
    "output_window",
    "bus_read",
    "bus_write",
)

_WORD = 4


class _Writer:
    """Makes the words of one program, fragment by fragment."""

    def __init__(self, rng, params):
        self.rng, self.params = rng, params
        self.width, self.count = params["reg_width"], registers_of(params)
        # Few registers, so that instructions meet; neighbours among them, for pairs.
        first = rng.randrange(max(1, self.count - 5))
        self.pool = list(range(first, min(self.count, first + 6)))
        self.words = []
        self.fragments = (
            self.load,
            self.load,
            self.any,
            self.any,
            self.any,
            self.products,
            self.step,
            self.vector,
            self.sums,
            self.sums,
            self.raw_writes,
            self.nops,
        )

    def put(self, mnemonic, **values):
        self.words.append(ISA.encode(mnemonic, **values))

    def register(self):
        return (
            self.rng.choice(self.pool)
            if self.rng.random() < 0.9
            else self.rng.randrange(self.count)
        )

    # Fragments

    def select(self):
        row, col = self.rng.randrange(self.params["rows"]), self.rng.randrange(self.params["cols"])
        kind = self.rng.randrange(4)
        if kind == 0:
            self.put("mv_selectAll")
        elif kind == 1:
            self.put("mv_selectRow", rowID=row)
        elif kind == 2:
            self.put("mv_selectCol", colID=col)
        else:
            self.put("mv_selectBlk", rowID=row, colID=col)

    def load(self):
        """All bits of a register, in some blocks."""
        if self.rng.random() < 0.8:
            self.select()
        number = self.register()
        for bit in range(self.width):
            data = self.rng.choice(
                (self.rng.randrange(1 << 16), self.rng.randrange(1 << 16), 0, 0xFFFF)
            )
            self.put("mv_write", addr=number * self.width + bit, data=data)

    def raw_writes(self):
        """Single bits, rows that no register has among them."""
        for _ in range(self.rng.randint(1, 4)):
            if self.rng.random() < 0.3:
                self.select()
            self.put(
                "mv_write",
                addr=self.rng.randrange(self.params["depth"]),
                data=self.rng.randrange(1 << 16),
            )

    def any(self):
        """One instruction of any kind, its registers often among a few."""
        limits = {
            name: tuple(self.pool)
            for name in ("rd", "rs", "rs1", "rs2", "reg", "ppreg", "multiplicand", "multiplier")
        }
        limits["level"] = range(max(3, levels(self.params["cols"]) - 1) + 1)
        if self.rng.random() < 0.2:
            limits = {"level": limits["level"]}
        chosen = (
            "mv_add",
            "mv_sub",
            "mv_mov",
            "mv_movOffset",
            "mv_blockFold",
            "mv_accumRow",
            "mv_updatepp",
            "mv_clrmbit",
        )
        self.words.append(
            random_word(ISA, self.rng, params=self.params, limits=limits, mnemonics=chosen)
        )

    def products(self):
        """A whole multiplication, sometimes the fixed-point move behind it."""
        low = self.rng.randrange(self.count - 1) if self.rng.random() < 0.3 else self.pool[0]
        low = min(low, self.count - 2)
        others = [r for r in self.pool if r not in (low, low + 1)]
        if not others:
            return
        a, b = self.rng.choice(others), self.rng.choice(others)
        self.put("mv_clrmbit")
        for bit in range(self.width):
            self.put("mv_updatepp", ppreg=low, multiplicand=a, multiplier=b, bitNo=bit)
        if self.rng.random() < 0.5:
            self.put(
                "mv_movOffset",
                offset=self.rng.randrange(self.width),
                rd=self.rng.choice([r for r in self.pool if r != low + 1]),
                rs=low,
            )

    def step(self):
        """Steps of a multiplication in any order."""
        others = [r for r in self.pool[2:]]
        if not others or self.pool[0] + 1 >= self.count:
            return
        for _ in range(self.rng.randint(1, 4)):
            self.put(
                "mv_updatepp",
                ppreg=self.pool[0],
                multiplicand=self.rng.choice(others),
                multiplier=self.rng.choice(others),
                bitNo=self.rng.randrange(self.width),
            )

    def sums(self):
        """Folds and levels, in order as the macros have them, or not."""
        rd, rs = self.register(), self.register()
        folds = list(range(1, 5))
        if self.rng.random() < 0.3:
            self.rng.shuffle(folds)
        for fold in folds[: self.rng.randint(1, 4)]:
            self.put("mv_blockFold", fold=fold, rd=rd, rs=rs)
            rs = rd
        for level in range(self.rng.randint(0, max(3, levels(self.params["cols"]) - 1) + 1)):
            self.put("mv_accumRow", level=level, reg=rd)

    def nops(self):
        self.words += [ISA.encode(self.rng.choice(("mv_nop", "vv_nop")))] * self.rng.randint(1, 3)

    def vector(self):
        """Anything that the column registers can be asked for, in any order."""
        for _ in range(self.rng.randint(1, 4)):
            self.put(
                self.rng.choice(
                    ("vv_serialEn", "vv_serialEn", "vv_parallelEn", "vv_shiftOff", "vv_nop")
                )
            )
            if self.rng.random() < 0.6:
                self.any()
            for _ in range(self.rng.choice((0, 0, 1, 2))):
                self.put("mv_nop")

    # The end

    def show(self, number):
        """Register ``number`` of PE 0 of block column 0 of every row, as a vector."""
        self.put("vv_serialEn")
        self.put("mv_mov", rd=number, rs=number)
        for _ in range(self.rng.randint(0, 2)):
            self.put("mv_nop")
        self.put("vv_parallelEn")

    def epilogue(self, weighted):
        for number in self.pool:
            self.show(number)
        weight, low = self.pool[-1], self.pool[-3]
        if len(self.pool) < 6:
            return
        for col in range(self.params["cols"]):
            self.put("mv_selectCol", colID=col)
            for bit in range(self.width):
                self.put(
                    "mv_write",
                    addr=weight * self.width + bit,
                    data=self.rng.randrange(1 << 16) if bit else 0xFFFF,
                )
        for number in self.pool[:weighted]:
            self.put("mv_clrmbit")
            for bit in range(self.width):
                self.put(
                    "mv_updatepp", ppreg=low, multiplicand=number, multiplier=weight, bitNo=bit
                )
            for fold in range(1, 5):
                self.put("mv_blockFold", fold=fold, rd=low, rs=low)
            self.put("vv_serialEn")
            for level in range(max(1, levels(self.params["cols"]))):
                self.put("mv_accumRow", level=level, reg=low)
            self.put("vv_parallelEn")


def random_words(seed, params, budget=3000):
    """Words of a legal program whose part before the epilogue takes about ``budget`` array cycles
    at most."""
    rng = random.Random(f"imagine {seed}")
    writer, spent = _Writer(rng, params), 0
    writer.load()
    while spent < budget:
        before, length = spent, len(writer.words)
        rng.choice(writer.fragments)()
        spent += cycles.estimate(writer.words[length:], params) + 1
        if spent > budget and length:
            del writer.words[length:]
            if budget - before < 200 or rng.random() < 0.3:
                break
            spent = before + 50
    writer.epilogue(rng.choice((0, 1, 1, 2, 3)))
    return writer.words


def state_words(rng, params):
    """Words that show the state a run has left: columns first, then selection, previous multiplier
    bits, registers."""
    writer = _Writer(rng, params)
    writer.put("vv_parallelEn")
    writer.put("mv_write", addr=writer.pool[0] * writer.width, data=rng.randrange(1 << 16))
    others = [r for r in range(writer.count) if r not in (0, 1)]
    if others:
        writer.put("vv_serialEn")
        writer.put(
            "mv_updatepp",
            ppreg=0,
            multiplicand=others[-1],
            multiplier=rng.choice(others),
            bitNo=rng.randrange(writer.width),
        )
        writer.put("vv_parallelEn")
    writer.epilogue(2)
    return writer.words


def _bad_word(rng, params, fault):
    for _ in range(20000):
        kind = rng.randrange(3)
        if kind == 0:
            word = random_word(ISA, rng, legal=False, params=params)
        elif kind == 1:
            word = random_word(ISA, rng, legal=True) ^ (1 << rng.randrange(32))
        else:
            word = rng.randrange(1 << 32)
        if ISA.decode(word, params).fault == fault:
            return word
    return None


def random_case(seed, params, *, legal=True, fault=None, budget=3000):
    """A case; with ``fault`` (or not ``legal``: any) one that raises it.

    Raises
    ------
    ValueError
        No word raises that fault with these parameters.
    """
    rng = random.Random(f"imagine case {seed}")
    if fault is None and not legal:
        fault = rng.choice([f for f in FAULTS if f != "address_range" or params["depth"] < 1024])
    words = random_words(seed, params, budget)
    name = f"random {seed}" + (f" {fault}" if fault else "")
    program = rng.choice((0, 64, 0x400, 0x40C, 0x3FC, 4 * rng.randrange(400)))
    if fault in WORD_FAULTS:
        bad = _bad_word(rng, params, fault)
        if bad is None:
            raise ValueError(f"no word raises {fault} with {params}")
        words.insert(rng.randrange(len(words) + 1), bad)
    case = case_of(
        name, params, words, program=program, gap=rng.choice((0, 4, 64, 300)), fault=fault
    )
    if rng.random() < 0.3:
        shift = 4 * rng.randrange(16)
        case.registers["output_at"] += shift
        case.registers["output_limit"] += shift
    if fault not in (None, *WORD_FAULTS):
        _break(case, fault, rng)
    return case


def _break(case, fault, rng):
    """Registers, or the end of memory, such that the run meets ``fault``."""
    registers, size = case.registers, len(case.words) * _WORD
    at, vectors = registers["output_at"], sum(word == 0x48000000 for word in case.words)
    vector = _WORD * case.params["rows"]
    if fault == "program_align":
        name = rng.choice(("program_length", "output_at"))
        registers[name] += rng.randint(1, 3)
    elif fault == "program_window":
        if rng.random() < 0.5:
            registers["window_base"] = (
                registers["program_address"] // 64 + rng.choice((1, 2, 1000))
            ) * 64
        else:
            registers["window_limit"] = (
                (registers["program_address"] + rng.randrange(size)) // 64 * 64
            )
    elif fault == "output_full":
        registers["output_limit"] = rng.choice(
            (0, at + rng.randrange(vector * vectors), at + vector * vectors - 1)
        )
    elif fault == "output_window":
        begin = at + rng.randrange(vector * vectors)
        limit = begin // 64 * 64
        if limit < registers["program_address"] + size:
            registers["output_at"] = begin = 0x1000_0000 + 4 * rng.randrange(64)
            registers["output_limit"] = begin + vector * vectors
        else:
            registers["window_limit"] = limit
    elif fault == "bus_read":
        # The program lies across the end of memory; what it is given to write lies before it.
        keep = rng.randrange(len(case.words)) * _WORD
        registers["output_at"] = 0
        registers["output_limit"] = vector * vectors
        start = (vector * vectors + 63) // 64 * 64 + 64 - keep % 64
        memory = np.zeros(start + keep, np.uint8)
        memory[start:] = np.frombuffer(ISA.store(case.words), np.uint8)[:keep]
        case.memory = memory
        registers["program_address"] = start
        registers["window_limit"] = 0x2000_0000
    elif fault == "bus_write":
        cut = at + rng.randrange(vector * vectors)
        end = max(cut // 64 * 64, (registers["program_address"] + size + 63) // 64 * 64)
        if end >= at + vector * vectors:
            registers["output_at"] += end - at
            registers["output_limit"] += end - at
        if end > case.memory.size:
            case.memory = np.concatenate([case.memory, np.zeros(end - case.memory.size, np.uint8)])
        case.memory = case.memory[:end].copy()
        registers["window_limit"] = 0x2000_0000
