# SPDX-License-Identifier: BSD-2-Clause
"""Interface of the vector ALU: members, operands and destinations that both widths share."""

from amaranth import Cat, Module, Mux, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....primitives.multiplexer import Multiplexer
from ..memory.tilefile import ACC, INPUT, OUTPUT
from ..ops import AluKind, ProgressLayout, TileRead, TileWrite, alu_op, element_bits
from .accumulator import from_accumulator, to_accumulator

__all__ = ["bits", "blocked", "elements_of", "members", "source", "target"]


def members(params: Params) -> dict[str, wiring.Member]:
    """Members of a vector ALU's interface."""
    return {
        "op": In(stream.Signature(alu_op())),
        "progress": In(ProgressLayout()),
        "fetched": Out(1),
        "finished": Out(1),
        "working": Out(1),
        "clear": In(1),
        "soon": In(2),
        "writes": Out(4),
        "tiles_read": Out(TileRead(params)),
        "tiles_write": Out(TileWrite(params)),
    }


def source(held: data.View) -> Value:
    """Source register of an operation (arbitrary for zero)."""
    return Mux(
        held.kind == AluKind.MAX,
        OUTPUT,
        Mux((held.kind == AluKind.RELU) | (held.kind == AluKind.GTZ), INPUT, held.src),
    )


def target(held: data.View) -> Value:
    """Destination register of an operation."""
    return Mux(
        held.kind == AluKind.MAX,
        ACC,
        Mux((held.kind == AluKind.RELU) | (held.kind == AluKind.GTZ), OUTPUT, held.dst),
    )


def blocked(soon: Value, reg: Value) -> Value:
    """Whether the dot unit writes ``reg`` in the cycle in which a word read now would be
    written."""
    return reg[1] & Mux(reg[0], soon[1], soon[0])


def elements_of(
    m: Module, read: data.View, reg: Value, params: Params, family: str | None, name: str
) -> list[Value]:
    """Elements of a word of register ``reg``, 18 bits each; elements of a wide ACC are rounded."""
    wide = element_bits(params)
    result = []
    for k in range(len(read[0]) // wide):
        words = [read[r][wide * k : wide * (k + 1)] for r in range(4)]
        elements = [
            from_accumulator(word, params["acc_frac"]) if r == ACC else word[:18]
            for r, word in enumerate(words)
        ]
        mux = m.submodules[f"{name}_{k}"] = Multiplexer(width=18, inputs=4, family=family)
        m.d.comb += [mux.i.as_value().eq(Cat(elements)), mux.select.eq(reg)]
        result.append(mux.o)
    return result


def bits(value: Value, to_acc: Value, params: Params) -> Value:
    """Converts an element to the format of the tile file: :func:`~.accumulator.to_accumulator` for
    ACC."""
    return (
        value
        if params["acc_frac"] == 9
        else Mux(to_acc, to_accumulator(value, params["acc_frac"]), value)
    )
