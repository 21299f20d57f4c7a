# SPDX-License-Identifier: BSD-2-Clause
"""Predecoder: extracts fields, class and stateless faults of an instruction word (sections 3 and
6).

Everything about bits comes from the ISA's table: where fields lie, opcodes, which bits must be zero
in which instruction, and the number that a fault about them carries.
"""

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....isa.parameters import Params
from ....isa.table import built
from ....shell.layouts import word_layout
from ..isa import CFG_MASKS, CFG_NAMES, ISA, cfg_built

__all__ = ["OPS", "Classify", "cfg_illegal", "class_layout", "size_shifts"]

#: Kind of the instruction for the issue stage, one of: the mnemonics of the table, and ``fault``.
OPS = (*(i.mnemonic.lower() for i in ISA.instructions), "fault")


def _any(values):
    return reduce(or_, values, Const(0, 1))


def size_shifts(n: int) -> tuple[list[int], list[int]]:
    """Shifts whose sum multiplies by the size of a row, and those for a tile."""
    row, tile = ([k for k in range(size.bit_length()) if size >> k & 1] for size in (n, n * n))
    return row, tile


def cfg_illegal(number: int, value: Value) -> Value:
    """Whether ``value`` is illegal for CFG register ``number``: reserved bits, mode 3, PW or PH 0
    (section 4.9)."""
    illegal = (value & ~CFG_MASKS[number] & 0xFFFF_FFFF).any()
    if CFG_NAMES[number] == "norm":
        return illegal | (value[16:18] == 3)
    if CFG_NAMES[number] == "pool":
        return illegal | (value[0:4] == 0) | (value[4:8] == 0)
    return illegal


def class_layout(params: Params) -> data.StructLayout:
    """Layout of a predecoded word: the word and its class.

    Members: ``ub``, ``addr`` (the low 32 bits), ``flags``, ``opcode``, ``number`` (rows less one);
    a bit for every instruction, of which one is set in a legal word (what is not built and counts
    as a NOP is ``nop``); ``memory``: RHM, WHM or RW; ``tile``: an RW of a whole tile (with
    ``ext_diag``; without it every RW is one); ``ub_last``, ``acc_last``; ``high_addr``: the
    address has more than 32 bits; ``far``: multiplied by the size of a row or tile it has. Wrong:
    ``illegal`` (opcode), ``bad_cfg``, ``stray`` (bits that must be zero, by the field's number less
    one), ``ub_bad``, ``acc_bad`` (rows outside).
    """
    ub, acc = exact_log2(params["ub_rows"]), exact_log2(params["acc_rows"])
    return data.StructLayout(
        {
            "ub": unsigned(24),
            "addr": unsigned(32),
            "flags": word_layout(ISA)["flags"].shape,
            "opcode": unsigned(8),
            "number": unsigned(8),
            **{i.mnemonic.lower(): unsigned(1) for i in ISA.instructions},
            "memory": 1,
            **({"tile": unsigned(1)} if params["ext_diag"] else {}),
            "ub_last": ub,
            "acc_last": acc,
            "high_addr": 1,
            "far": 1,
            "illegal": 1,
            "bad_cfg": 1,
            "stray": 4,
            "ub_bad": 1,
            "acc_bad": 1,
        }
    )


class Classify(wiring.Component):
    """Combinational predecoder of instruction words.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    word : In, as :func:`~quintet.gateware.shell.layouts.word_layout` lays it out
    about : Out, :func:`class_layout`
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__({"word": In(word_layout(ISA)), "about": Out(class_layout(params))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, word, about = self.params, self.word, self.about
        ub_bits, acc_bits = len(about.ub_last), len(about.acc_last)
        here = [i for i in ISA.instructions if built(p, i.only_if)]
        is_a = {i.mnemonic: word.opcode == i.opcode for i in ISA.instructions}
        # An instruction that is not built may count as another one, all its fields ignored.
        kinds = {i.mnemonic: is_a[i.mnemonic] for i in here}
        for instruction in ISA.instructions:
            if instruction not in here and instruction.unbuilt:
                kinds[instruction.unbuilt] = kinds[instruction.unbuilt] | is_a[instruction.mnemonic]
        for mnemonic, kind in kinds.items():
            m.d.comb += about[mnemonic.lower()].eq(kind)
        far_row, far_tile = (word.addr[32 - shifts[-1] :].any() for shifts in size_shifts(p["n"]))
        tile = is_a["RW"]
        if p["ext_diag"]:
            tile = tile & ~word.flags.diagonal
            m.d.comb += about.tile.eq(tile)
        m.d.comb += [
            about.ub.eq(word.ub),
            about.addr.eq(word.addr),
            about.flags.eq(word.flags),
            about.opcode.eq(word.opcode),
            about.number.eq(word.length - 1),
            about.memory.eq(is_a["RHM"] | is_a["WHM"] | is_a["RW"]),
            about.high_addr.eq(word.addr[32:].any()),
            about.far.eq(Mux(tile, far_tile, far_row)),
            about.illegal.eq(~_any(kinds.values())),
            about.stray.eq(Cat(self._stray(here, is_a, number) for number in range(1, 5))),
        ]

        # Rows. Those that are checked while the instruction runs are not checked here.
        ub_sum, acc_sum = Signal(max(ub_bits, 8) + 1), Signal(max(acc_bits, 8) + 1)
        m.d.comb += [
            ub_sum.eq(word.ub[:ub_bits] + about.number),
            acc_sum.eq(word.addr[:acc_bits] + about.number),
            about.ub_last.eq(ub_sum),
            about.acc_last.eq(acc_sum),
        ]
        uses_ub = _any(
            is_a[i.mnemonic] for i in here if any(rule.fault == "ub_range" for rule in i.rules)
        )
        uses_acc = _any(
            is_a[i.mnemonic] for i in here if any(rule.fault == "acc_range" for rule in i.rules)
        )
        if p["ext_conv"]:
            uses_ub = uses_ub & ~(is_a["MMC"] & word.flags.convolve)
        if p["ext_pool"]:
            uses_acc = uses_acc & ~(is_a["ACT"] & word.flags.pool)
        m.d.comb += [
            about.ub_bad.eq(uses_ub & (word.ub[ub_bits:].any() | ub_sum[ub_bits:].any())),
            about.acc_bad.eq(uses_acc & (word.addr[acc_bits:].any() | acc_sum[acc_bits:].any())),
        ]
        if "CFG" in kinds:
            illegal = Signal(init=1)
            m.d.comb += illegal.eq(1)
            with m.Switch(word.ub):
                for number in range(len(CFG_NAMES)):
                    if cfg_built(number, p):
                        with m.Case(number):
                            m.d.comb += illegal.eq(cfg_illegal(number, word.addr[:32]))
            m.d.comb += about.bad_cfg.eq(kinds["CFG"] & illegal)
        return m

    def _stray(self, here, is_a, number):
        """Whether a bit is set that must be zero, among the fields whose faults carry
        ``number``."""
        part = next(part for part in ISA.parts if part.detail == number)
        masks = {i.mnemonic: ISA.part_masks(i, self.params).get(part.name, 0) for i in here}
        bits = {}  # instructions -> the bits that must be zero in just these
        for k in range(part.width):
            users = tuple(mnemonic for mnemonic, mask in masks.items() if mask >> k & 1)
            bits.setdefault(users, []).append(self.word.as_value()[part.lo + k])
        return _any(
            Cat(each).any() & _any(is_a[u] for u in users) for users, each in bits.items() if users
        )
