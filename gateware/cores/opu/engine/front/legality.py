# SPDX-License-Identifier: BSD-2-Clause
"""Stateless legality checks of instruction words, generated from the ISA's table (sections 3.1 and
3.2)."""

from amaranth import Const, Module, Signal, Value
from amaranth.lib import data

from .....isa.instruction import Coding, Field, Signed
from .....shell.layouts import fields_of, word_layout
from ...isa import INSTRUCTIONS, ISA

__all__ = ["illegal", "legality"]


def illegal(field: Field, bits: Value) -> Value | None:
    """Whether ``bits`` of ``field`` hold a value that no core accepts; ``None`` if all values are
    legal."""
    if field.legal is None and type(field.coding) in (Coding, Signed):
        return None
    legal = [raw for raw in range(1 << field.width) if field.extract(raw << field.lo) is not None]
    if len(legal) == 1 << field.width:
        return None
    low, high = legal[0], legal[-1]
    if len(legal) != high - low + 1:
        return ~Const(sum(1 << raw for raw in legal), 1 << field.width).bit_select(bits, 1)
    below = bits == 0 if low == 1 else bits < low
    if high == (1 << field.width) - 1:
        return below
    return (bits > high) if low == 0 else below | (bits > high)


def legality(m: Module, word: Value) -> tuple[dict[str, Signal], Signal, dict[str, list[Value]]]:
    """Class of a word, and whether it is legal without regard to state.

    Returns
    -------
    is_op : dict, mnemonic -> Signal; known : Signal, one of them is high
    bad : dict, mnemonic -> list of (condition, detail), the lowest field first
    """
    opcode = data.View(word_layout(ISA), word).opcode
    is_op, known, bad = {}, Signal(), {}
    for instruction in INSTRUCTIONS:
        name = instruction.mnemonic
        is_op[name] = Signal(name="is_" + name.replace("@", "set_").replace(".", "_"))
        m.d.comb += is_op[name].eq(opcode == instruction.opcode)
        view = fields_of(ISA, name, word)
        wrong = [
            (illegal(field, view[field.name].as_unsigned()), field.lo)
            for field in sorted(instruction.fields, key=lambda f: f.lo)
        ]
        bad[name] = [(condition, lo) for condition, lo in wrong if condition is not None]
    total = Const(0, 1)
    for signal in is_op.values():
        total = total | signal
    m.d.comb += known.eq(total)
    return is_op, known, bad
