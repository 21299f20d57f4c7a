# SPDX-License-Identifier: BSD-2-Clause
"""Decoder: extracts instruction and operands, and checks the bits of a word (sections 3.1, 4 and
6).

Everything here is a function of the word, registered once; checks that depend on registers or
widths come later.
"""

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

from .....isa.parameters import Params
from .....shell.layouts import fields_of, word_layout
from ...isa import ISA, offset_bits

__all__ = ["decode", "operation_layout"]

_OP = ISA.opcodes
_ELEMENTWISE = (
    "vvadd",
    "vvsub",
    "vvmul",
    "vvmax",
    "vvsll",
    "vvsra",
    "vrelu",
    "vtanh",
    "vsigm",
    "vrsu",
    "vrsl",
)
#: Letter of an operand -> its role in the table.
_ROLES = {"d": "destination", "s": "source", "t": "second source", "g": "global"}
_SINGLE = ("vvdmul", "vavg")
_STRIDED = ("vavg", "vmv")
_ACTIVATION = ("vtanh", "vsigm")
_VECTOR = (*_ELEMENTWISE, *_SINGLE, "vmv")
_TRANSFER = ("ld", "st", "lldi", "lmv", "send", "recv")

#: Flag -> the instructions that have it.
_SETS = {
    # scalars of one cycle, if they are legal
    "simple": ("nop", "sldi", "sadd", "ssub", "saddi", "setbw"),
    "writes": ("sldi", "sadd", "ssub", "saddi"),
    "constant": ("sldi",),
    "subtracts": ("ssub",),
    "immediate": ("sldi", "saddi", "smuli"),
    "setbw": ("setbw",),
    # other information
    "multiply": ("smul", "smuli"),
    "sld": ("sld",),
    "matrix": ("mvmul",),
    "vector": _VECTOR,
    "transfer": _TRANSFER,
    "ld": ("ld",),
    "st": ("st",),
    "send": ("send",),
    "recv": ("recv",),
    "wait": ("wait",),
    "sync": ("sync",),
    # operands in LMem: destination, first and second source; in GMem
    **{f"has_{letter}": ISA.with_role(role) for letter, role in _ROLES.items()},
    # elements of the destination: of ibiw bits, of obiw bits (neither: bytes); sources are of ibiw
    # bits or bytes
    "d_in": ("vvadd", "vvsub", "vvmax", "vrelu", "vmv"),
    "d_out": (
        "mvmul",
        "vvmul",
        "vvdmul",
        "vvsll",
        "vvsra",
        "vavg",
        "vtanh",
        "vsigm",
        "vrsu",
        "vrsl",
    ),
    "s_in": ("mvmul", *_VECTOR),
    "single": _SINGLE,
    "strided": _STRIDED,
    "in_place": (*_ELEMENTWISE, "lmv"),
    "counts_macs": ("vvmul", "vvdmul"),
}
#: Offset of an operand: always, or where its select bit is set.
_PLAIN = {
    letter: ISA.with_role(f"offset of {role}")
    for letter, role in _ROLES.items()
    if role != "second source"
}
_CHOSEN = {letter: offset_bits(role) for letter, role in _ROLES.items()}


def operation_layout() -> data.StructLayout:
    """Layout of a decoded instruction.

    ``low``, ``high``: its word; the flags above; ``offset_d``, ``offset_s``, ``offset_t``,
    ``offset_g``: the offset applies to that operand; ``offset_3``: three times the offset;
    ``count``, ``count_3``: len or size less one, three times it less one; ``empty``: of length 0;
    the faults that its bits show, and ``bad``, any of them; ``long``: it takes two words.
    """
    return data.StructLayout(
        {
            "low": unsigned(32),
            "high": unsigned(32),
            "offset_3": unsigned(31),
            "count": 11,
            "count_3": 13,
            **dict.fromkeys(_SETS, 1),
            **{f"offset_{operand}": 1 for operand in _ROLES},
            "empty": 1,
            "long": 1,
            "bad": 1,
            "error": 1,
            "beyond": 1,
            "illegal_opcode": 1,
            "illegal_field": 1,
            "unsupported": 1,
            "odd_pair": 1,
            "wide_in": 1,
            "wide_out": 1,
            "core_range": 1,
        }
    )


def _one_of(m, opcode, mnemonics, name):
    """Whether ``opcode`` belongs to one of ``mnemonics``."""
    found = Signal(name=name)
    with m.Switch(opcode):
        with m.Case(*(_OP[mnemonic] for mnemonic in mnemonics)):
            m.d.comb += found.eq(1)
    return found


def _zero_segments():
    """Bits that must be zero, grouped by the instructions for which they must: ``[(lowest bit,
    number of bits, opcodes)]``."""
    owners = [
        tuple(i.opcode for i in ISA.instructions if ISA.zero_mask(i) >> bit & 1)
        for bit in range(ISA.bits)
    ]
    runs, first = [], 0
    for bit in range(1, ISA.bits + 1):
        if bit == ISA.bits or owners[bit] != owners[first]:
            if owners[first]:
                runs.append((first, bit - first, owners[first]))
            first = bit
    return runs


def decode(m: Module, params: Params, word: data.View, cores: Value, number: int) -> data.View:
    """Combinational decoder: the :func:`operation_layout` of a word.

    Parameters
    ----------
    m : Module
    params : dict of ``SPACE.resolve``
    word : view of :func:`~.prefetch.fetched_layout`
    cores : Signal, number of core entries of the run
    number : int, of this core

    Returns
    -------
    Signal of :func:`operation_layout`
    """
    out = Signal(operation_layout(), name="decoded")
    low, high = word.low, word.high
    fields, peers = (
        data.View(word_layout(ISA), Cat(low, high)),
        fields_of(ISA, "send", Cat(low, high)),
    )
    opcode = fields.opcode
    for flag, mnemonics in _SETS.items():
        found = _one_of(m, opcode, mnemonics, f"is_{flag}")
        m.d.comb += out[flag].eq(found & ~out.bad if flag == "simple" else found)
    for operand in _ROLES:
        plain = (
            _one_of(m, opcode, _PLAIN[operand], f"plain_{operand}")
            if operand in _PLAIN
            else Const(0)
        )
        chosen = [
            (
                out[names[0]]
                if len(names) == 1
                else _one_of(m, opcode, sorted(names), f"chosen_{operand}")
            )
            & fields.select[bit]
            for bit, names in _CHOSEN[operand].items()
        ]
        m.d.comb += out[f"offset_{operand}"].eq(plain | reduce(or_, chosen))
    offset, length = fields.value.as_signed(), fields.d
    m.d.comb += [
        out.low.eq(low),
        out.high.eq(high),
        out.long.eq(word.long),
        out.offset_3.eq(offset + (offset << 1)),
        out.count.eq(Mux(out.sld, 3, length - 1)),
        out.count_3.eq(length + (length << 1) - 1),
        out.empty.eq((length == 0) & (out.vector | out.transfer)),
    ]

    # Faults that the bits show
    unsafe = [
        fields.as_value()[lowest : lowest + bits].any() for lowest, bits, _ in _zero_segments()
    ]
    must = []
    for k, (_, _, opcodes) in enumerate(_zero_segments()):
        needed = Signal(name=f"must_be_zero_{k}")
        with m.Switch(opcode):
            with m.Case(*opcodes):
                m.d.comb += needed.eq(1)
        must.append(needed)
    core = peers.core
    peer = Signal()
    m.d.comb += peer.eq(out.send | out.recv)
    m.d.comb += [
        out.error.eq(word.error),
        out.beyond.eq(word.beyond),
        out.illegal_opcode.eq(~_one_of(m, opcode, _OP, "known")),
        out.illegal_field.eq(Cat(a & b for a, b in zip(unsafe, must, strict=True)).any()),
        out.unsupported.eq(
            0 if params["act_unit"] else _one_of(m, opcode, _ACTIVATION, "activation")
        ),
        out.odd_pair.eq((out.ld | out.sld) & fields.b[0] | out.st & fields.a[0]),
        out.wide_in.eq(out.setbw & _too_wide(fields.a, params)),
        out.wide_out.eq(out.setbw & _too_wide(fields.b, params)),
        out.core_range.eq(peer & (core == number) | (peer | out.sync) & (core >= cores)),
        out.bad.eq(
            Cat(
                out[name]
                for name in (
                    "error",
                    "beyond",
                    "illegal_opcode",
                    "illegal_field",
                    "unsupported",
                    "odd_pair",
                    "wide_in",
                    "wide_out",
                    "core_range",
                )
            ).any()
        ),
    ]
    return out


def _too_wide(code, params):
    """Whether a width (32 is coded 0) exceeds ``max_biw``."""
    return Const(0) if params["max_biw"] == 32 else (code == 0) | (code > params["max_biw"])
