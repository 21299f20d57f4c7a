# SPDX-License-Identifier: BSD-2-Clause
"""Predecoder: class and legality of the following words (sections 3 and 8.1)."""

from collections.abc import Iterable
from types import SimpleNamespace

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....parts.datapath import small_product
from .....shell.layouts import fields_of
from ...isa import CONVOLUTIONS, ISA, MAX_POSITIONS
from ..entries import TRANSFERS
from .legality import legality

__all__ = ["any_of", "look_ahead"]

_AREA_DETAIL = 6  # of a shape whose area is illegal: the bit of h


def any_of(conditions: Iterable[Value]) -> Value:
    """Reduction OR of one-bit signals."""
    total = Const(0, 1)
    for condition in conditions:
        total = total | condition
    return total


def look_ahead(
    m: Module, params: Params, words: wiring.PureInterface, take: Value
) -> tuple[Signal, SimpleNamespace]:
    """Two pipeline stages before the decoder: the area of a shape, then class and legality of the
    word.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    words : stream of :func:`~.fetch.word_layout_of_fetch`
    take : Signal, the word at hand is taken

    Returns
    -------
    here : Signal, a word is on its way
    now : the word at hand: ``valid``; ``error``, memory reported one for it; ``word``;
        ``area`` of a shape; ``is_op``, dict of mnemonic -> Signal; ``wrong``, it faults by itself:
        ``illegal`` opcode, ``bad`` field (lowest bit of the lowest one in ``bad_detail``), or else
        larger than this build holds; ``opcode``; ``conv``, ``transfer``: it is one of these;
        ``plain``: it only configures, and nothing is wrong with it
    """
    given = words.payload
    ahead, ahead_error, ahead_valid = Signal(32, reset_less=True), Signal(reset_less=True), Signal()
    area = Signal(14, reset_less=True)
    valid, error = Signal(), Signal(reset_less=True)
    move, load = Signal(), Signal()
    m.d.comb += [load.eq(~valid | take), move.eq(~ahead_valid | load), words.ready.eq(move)]
    shape = fields_of(ISA, "@shape.ifm", given.word)  # @shape.ofm has its sides at the same place
    with m.If(move):
        m.d.sync += [
            ahead_valid.eq(words.valid),
            ahead.eq(given.word),
            ahead_error.eq(given.error),
            area.eq(small_product(shape.h, shape.w)),
        ]

    is_op, known, bad = legality(m, ahead)
    flat, over = Signal(), Signal()  # the area is illegal; the shape is larger than a bank
    m.d.comb += flat.eq((area == 0) | (area > MAX_POSITIONS))
    c = fields_of(ISA, "@shape.ifm", ahead).c
    lines = Signal(20)
    po_log = exact_log2(params["po"])
    with m.If(is_op["@shape.ifm"]):
        m.d.comb += lines.eq(area << Mux(c[:3] > 4, (c[:3] - 4)[:2], 0))
        m.d.comb += over.eq(lines > params["ifm_lines"])
    with m.Elif(is_op["@shape.ofm"]):
        m.d.comb += lines.eq(area << Mux(c[:3] > po_log, (c[:3] - po_log)[:3], 0))
        m.d.comb += over.eq(lines > params["ofm_lines"])
    shapes = is_op["@shape.ifm"] | is_op["@shape.ofm"]
    bad_any = Signal()
    m.d.comb += bad_any.eq(
        shapes & flat
        | any_of(is_op[name] & wrong for name, list_ in bad.items() for wrong, _ in list_)
    )

    now = SimpleNamespace(valid=valid, error=error)
    now.word, now.area = Signal(32, reset_less=True), Signal(12, reset_less=True)
    for name in ("wrong", "illegal", "bad", "flat", "conv", "transfer", "plain"):
        setattr(now, name, Signal(name=f"now_{name}", reset_less=True))
    conv, transfer, wrong = (
        any_of(is_op[name] for name in CONVOLUTIONS),
        any_of(is_op[name] for name in TRANSFERS),
        Signal(),
    )
    m.d.comb += wrong.eq(~known | bad_any | over)
    now.is_op = {
        name: Signal(name="now_" + signal.name, reset_less=True) for name, signal in is_op.items()
    }
    with m.If(load):
        m.d.sync += [
            valid.eq(ahead_valid),
            error.eq(ahead_error),
            now.word.eq(ahead),
            now.area.eq(area),
            now.illegal.eq(~known),
            now.bad.eq(bad_any),
            now.flat.eq(shapes & flat),
            now.wrong.eq(wrong),
            now.conv.eq(conv),
            now.transfer.eq(transfer),
            now.plain.eq(~(wrong | ahead_error | conv | transfer | is_op["end"])),
            *(now.is_op[name].eq(signal) for name, signal in is_op.items()),
        ]
    now.opcode = fields_of(ISA, "end", now.word).opcode
    # Which field it was is asked only of the one word that has a bad one.
    now.bad_detail = Signal(5)
    _, _, bad = legality(m, now.word)
    for name, list_ in bad.items():
        with m.If(now.is_op[name]):
            for wrong, lo in reversed(list_):
                with m.If(wrong):
                    m.d.comb += now.bad_detail.eq(lo)
    with m.If(now.flat):
        m.d.comb += now.bad_detail.eq(_AREA_DETAIL)
    here = Signal()
    m.d.comb += here.eq(ahead_valid | words.valid)
    return here, now
