# SPDX-License-Identifier: BSD-2-Clause
"""Planning stage of the vector unit: sizes of the lanes, and decoding of a command for them.

A *step* is ``elements`` results; a *fetch* one word of each source, with the elements of one step,
or of two where a step does not use its words up.
"""

from enum import IntEnum

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from ...isa import TWO_SOURCES
from ..commands import VectorOp, address_bits, lmem_word_bytes
from ..saturation import above, thermometer

__all__ = [
    "Result",
    "VectorClass",
    "accumulator_bits",
    "count_bits",
    "lane_bits",
    "multipliers",
    "operand_bits",
    "plan_command",
    "plan_layout",
]

_MULTIPLIED = (VectorOp.VVMUL, VectorOp.VVSLL, VectorOp.VVSRA)
_TWO_SOURCES = tuple(VectorOp(opcode) for opcode in sorted(TWO_SOURCES))
_SUMS = (VectorOp.VVDMUL, VectorOp.VAVG)
_TABLES = (VectorOp.VTANH, VectorOp.VSIGM)
_EXTREMES = (VectorOp.VVMAX, VectorOp.VRELU, VectorOp.VRSU, VectorOp.VRSL)
_KEEP_WIDTH = (VectorOp.VVADD, VectorOp.VVSUB, VectorOp.VVMAX, VectorOp.VRELU, VectorOp.VMV)


class VectorClass(enum.Enum, shape=3):
    """Datapaths of the unit: adders, 16-bit products, 32-bit products, inner product, activation
    table."""

    ALU = 0
    SHORT = 1
    LONG = 2
    SUM = 3
    TABLE = 4


class Result(IntEnum):
    """Sources of a command's result, bits of a plan's ``chosen``. PRODUCT, SHIFT: of 32 bits."""

    ADDERS = 0
    SHORT = 1
    PRODUCT = 2
    SHIFT = 3
    SUM = 4
    AVERAGE = 5
    TABLE = 6


def lane_bits(params: Params) -> list[int]:
    """Width of an element in each lane: lane ``k`` processes elements of ``b`` bytes if a word has
    more than ``k`` of them."""
    word = lmem_word_bytes(params)
    return [
        8 * max(b for b in (1, 2, 4) if k < word // b and 8 * b <= params["max_biw"])
        for k in range(word)
    ]


def multipliers(params: Params) -> int:
    """Number of multipliers: four if elements have 32 bits, else one for each of the widest
    elements of a word, at most four."""
    return (
        4
        if params["max_biw"] == 32
        else min(4, lmem_word_bytes(params) // (params["max_biw"] // 8))
    )


def operand_bits(params: Params) -> int:
    """Width of a multiplier's operand: 18 if unsigned halves of 32 bits must fit."""
    return 18 if params["max_biw"] == 32 else 16


def accumulator_bits(params: Params) -> int:
    """Width of a sum of products, and of the widest result before saturation."""
    return 64 if params["max_biw"] == 32 else max(2 * params["max_biw"] + 11, 35)


def count_bits(params: Params) -> int:
    """Width of the number of elements in a word."""
    return exact_log2(lmem_word_bytes(params)) + 1


def plan_layout(params: Params) -> data.StructLayout:
    """Layout of a prepared command.

    ``way``: its class; ``chosen``: the same, a bit for each :class:`Result`. ``two``: two sources.
    ``long``: factors of more than 16 bits. ``minus``, ``least``, ``most``: what the adders do
    (none: add); ``subtract``: one of these; ``extreme``: one of the last two. ``multiply``,
    ``left``: an operation of the multipliers is a product, or a shift to the left. ``average``,
    ``sigmoid``. ``ib``, ``ob``: bytes of an input and an output element, less one. ``keep``,
    ``sign``: bits of an input element, its sign's place. ``upper``: bits of a result from its sign
    on; ``top``: the sign's. ``constant``: the first operand where there is one source.
    ``elements``: of a step; ``again``: a fetch has two steps. ``advance``: bytes from step to step
    of the result.
    """
    count, address, bits = count_bits(params), address_bits(params), params["max_biw"]
    return data.StructLayout(
        {
            "way": VectorClass,
            "chosen": len(Result),
            "two": 1,
            "long": 1,
            "minus": 1,
            "least": 1,
            "most": 1,
            "subtract": 1,
            "extreme": 1,
            "multiply": 1,
            "left": 1,
            "average": 1,
            "sigmoid": 1,
            "ib": 2,
            "ob": 2,
            "keep": bits,
            "sign": bits,
            "upper": bits,
            "top": bits,
            "constant": signed(bits),
            "elements": count,
            "fetched": count,
            "again": 1,
            "stride": address,
            "advance": count + 1,
            "fi": 5,
            "fo": 5,
            "len": 11,
        }
    )


def _bytes_less_one(bits):
    """Number ``(bits - 1) >> 3`` for 1 to 32 bits, without a subtraction."""
    low = bits[:3].any()
    return Cat(bits[5] | Mux(low, bits[3], bits[4] & ~bits[3]), bits[5] | bits[4] & (bits[3] | low))


def plan_command(m: Module, params: Params, command: data.View, plan: data.View) -> None:
    """Drives ``plan`` from ``command``; a fetch may have two steps, one cycle after the other."""
    bits, word = params["max_biw"], exact_log2(lmem_word_bytes(params))
    op = command.op

    def among(ops, name):
        found = Signal(name=name)
        m.d.comb += found.eq(Cat(op == one for one in ops).any())
        return found

    two, multiplied, sums = (
        among(_TWO_SOURCES, "two_sources"),
        among(_MULTIPLIED, "multiplied"),
        among(_SUMS, "sums"),
    )
    tables, keep_width = among(_TABLES, "tables"), among(_KEEP_WIDTH, "keep_width")
    average, move = op == VectorOp.VAVG, op == VectorOp.VMV
    strided = average | move & (command.operand != 1)

    ib, ob, obiw = Signal(2), Signal(2), Signal(6)
    m.d.comb += [
        obiw.eq(Mux(keep_width, command.ibiw, command.obiw)),
        ib.eq(_bytes_less_one(command.ibiw)),
        ob.eq(Mux(keep_width, ib, _bytes_less_one(command.obiw))),
    ]
    # Logarithms: elements a word, a step, a fetch
    widest = Signal(2)
    m.d.comb += widest.eq(Mux(sums | (ib > ob), ib, ob))

    def fit(less_one):
        return word - Mux(less_one[1], 2, less_one)

    long = (ib[1] if bits == 32 else 0) & (multiplied | sums)
    step, fetch, fits = Signal(3), Signal(3), Signal(3)
    m.d.comb += [fits.eq(fit(widest)), step.eq(fits)]
    limit = exact_log2(multipliers(params))
    # Elements of three bytes go one by one: lanes have places for those of one, two and four.
    with m.If(tables | strided | long | (ib == 2) | ~sums & (ob == 2)):
        m.d.comb += step.eq(0)
    with m.Elif((multiplied | sums) & (fits > limit)):
        m.d.comb += step.eq(limit)
    again = two & (fit(ib) == step + 1)
    m.d.comb += fetch.eq(step + again)

    size = ib + 1
    stride = Signal(address_bits(params))
    with m.If(strided):
        m.d.comb += stride.eq(sum(Mux(size[b], command.operand << b, 0) for b in range(3)))
    with m.Else():
        m.d.comb += stride.eq(size << fetch)

    # The bound of vrsu and vrsl, within the lanes' width
    bound = Signal(signed(bits))
    m.d.comb += bound.eq(command.operand)
    for width in (16, 8):
        if width <= bits:
            top = command.operand[width - 1 :]
            narrow = (widest == width // 8 - 1) if width < bits else 1
            with m.If(narrow & (top.any() & ~top.all())):
                m.d.comb += bound.eq(
                    Mux(command.operand[-1], -(1 << width - 1), (1 << width - 1) - 1)
                )
    with m.If(average):
        m.d.comb += plan.constant.eq(1)
    with m.Elif((op == VectorOp.VRSU) | (op == VectorOp.VRSL)):
        m.d.comb += plan.constant.eq(bound)

    with m.If(tables):
        m.d.comb += plan.way.eq(VectorClass.TABLE)
    with m.Elif(sums):
        m.d.comb += plan.way.eq(VectorClass.SUM)
    with m.Elif(multiplied):
        m.d.comb += plan.way.eq(Mux(long, VectorClass.LONG, VectorClass.SHORT))
    shift = multiplied & (op != VectorOp.VVMUL)
    m.d.comb += [
        plan.chosen.eq(
            Cat(
                ~(tables | sums | multiplied),
                multiplied & ~long,
                multiplied & long & ~shift,
                shift & long,
                sums & ~average,
                average,
                tables,
            )
        ),
        plan.two.eq(two),
        plan.long.eq(long),
        plan.minus.eq(op == VectorOp.VVSUB),
        plan.least.eq(op == VectorOp.VRSU),
        plan.most.eq((op == VectorOp.VVMAX) | (op == VectorOp.VRELU) | (op == VectorOp.VRSL)),
        plan.subtract.eq(Cat(op == one for one in (VectorOp.VVSUB, *_EXTREMES)).any()),
        plan.extreme.eq(Cat(op == one for one in _EXTREMES).any()),
        plan.multiply.eq((op == VectorOp.VVMUL) | sums),
        plan.left.eq(op == VectorOp.VVSLL),
        plan.average.eq(average),
        plan.sigmoid.eq(op == VectorOp.VSIGM),
        plan.ib.eq(ib),
        plan.ob.eq(ob),
        plan.keep.eq(thermometer(m, command.ibiw, bits, "ibiw")),
        plan.sign.eq(Cat(command.ibiw == b + 1 for b in range(bits))),
        plan.upper.eq(above(m, obiw, bits, "obiw")),
        plan.top.eq(Cat(obiw == b + 1 for b in range(bits))),
        plan.elements.eq(1 << step),
        plan.fetched.eq(1 << fetch),
        plan.again.eq(again),
        plan.stride.eq(stride),
        plan.advance.eq((ob + 1) << step),
        plan.fi.eq(command.fi),
        plan.fo.eq(command.fo),
        plan.len.eq(command.len),
    ]
