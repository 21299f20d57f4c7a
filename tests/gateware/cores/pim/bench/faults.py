# SPDX-License-Identifier: BSD-2-Clause
"""Puts one fault behind a random program: every other core is at its end before (section 11,
single-fault programs)."""

import struct

from quintet.gateware.cores.pim.image.fields import GROUP_ENTRY
from quintet.gateware.cores.pim.image.image import Writer, code_of
from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.isa.words import random_word
from tests.gateware.cores.pim.bench.scratch import Rejected

__all__ = ["with_fault"]

_LAST = 31  # the event register that random programs leave alone
_OWN = {
    "odd_pair": ("sld", "load_store"),
    "width": ("setbw", "matrix"),
    "group": ("matrix",),
    "core_range": ("core_range",),
    "lmem_range": ("vector", "strided", "move", "load_store", "matrix"),
    "gmem_range": ("load_store", "sld"),
    "overlap": ("vector", "strided", "move", "matrix"),
    "unsupported": ("vector",),
}


def _raw(machine, number, word):
    """Appends a word that is not to be carried out."""
    machine.scratch.check_form(number, word)
    machine.scratch.words.append((number, word))


def _gather(machine, last, but=None):
    """Every other core's last instruction (``but`` one) tells ``last`` that it is over."""
    others = [w.number for w in machine.writers if w.number not in (last, but)]
    for number in others:
        machine.scratch.append(number, "sync", event=_LAST, core=last)
    if others:
        machine.scratch.append(last, "wait", event=_LAST, value=len(others))
        for _ in range(6):
            machine.writers[last].put("saddi", rd=1, rs1=1, imm=1)


def _tail(machine, number):
    """Instructions behind the fault, which no one is to see; they would change local memory and
    registers."""
    rng = machine.rng
    for _ in range(rng.randrange(6)):
        word = random_word(ISA, rng, mnemonics=("sldi", "saddi", "lldi", "st", "vrelu", "sync"))
        try:
            _raw(machine, number, word)
        except Rejected:
            pass


def _illegal(machine, writer, fault):
    rng, mode = machine.rng, machine.image.cores[writer.number].mode
    for _ in range(3000):
        word = random_word(ISA, rng, legal=False)
        if fault == "illegal_opcode":
            word = word & ~63 | (21 if mode == 2 else rng.choice((21, 33, 40, 63)))
        if mode == 1:
            word &= 0xFFFF_FFFF
        if ISA.decode(word, machine.params).fault == fault:
            try:
                code_of([word], mode)
                _raw(machine, writer.number, word)
                return True
            except ValueError:
                continue
            except Rejected:
                continue
    return False


def _wild(machine, writer, fault):
    """Draws instructions until the model refuses one for that fault, and takes it."""
    scratch = machine.scratch
    if fault == "unsupported" and machine.params["act_unit"]:
        return False
    for _ in range(300):
        writer.wild = "overlap" if fault == "overlap" else machine.rng.random() < 0.8
        kept = scratch.append

        def append(core_number, mnemonic, _kept=kept, **values):
            try:
                _kept(core_number, mnemonic, **values)
            except Rejected as refused:
                if refused.args[0] == fault:
                    _raw(machine, core_number, ISA.encode(mnemonic, **values))
                    raise _Found from None
                raise

        scratch.append = append
        try:
            getattr(writer, machine.rng.choice(_OWN[fault]))()
        except _Found:
            return True
        except Rejected:
            pass
        finally:
            del scratch.append
            writer.wild = False
        # What was legal after all stays in the program.
    return False


class _Found(Exception):
    pass


def _mismatch(machine, number):
    rng = machine.rng
    if len(machine.writers) < 2:
        return False
    other = rng.choice([w.number for w in machine.writers if w.number != number])
    _gather(machine, number, other)
    sizes = rng.sample((1, 2, 7, 8, 9, 64, 300), 2)
    for core, mnemonic, name, peer, size in (
        (number, "send", "rs1", other, sizes[0]),
        (other, "recv", "rd", number, sizes[1]),
    ):
        register = machine.writers[core].register(0)
        _raw(machine, core, ISA.encode(mnemonic, **{name: register}, core=peer, size=size))
    return True


def _deadlock(machine, number):
    """Some cores wait for what never comes; those that do not are at their end."""
    rng, cores = machine.rng, [w.number for w in machine.writers]
    stuck = [number, *(k for k in cores if k != number and rng.random() < 0.6)]
    for k, core in enumerate(stuck):
        kind = rng.choice(("wait", "send", "recv") if len(cores) > 1 else ("wait",))
        if kind == "wait":
            _raw(machine, core, ISA.encode("wait", event=rng.randrange(20, 31), value=1023))
            continue
        # Each gives to, or takes from, the next one of a ring, which never meets it: all do the
        # same.
        peer = (
            rng.choice([c for c in cores if c not in stuck])
            if len(stuck) < len(cores) and rng.random() < 0.5
            else None
        )
        if peer is None:
            peer, kind = (stuck[(k + 1) % len(stuck)] if len(stuck) > 1 else None), "recv"
        if peer is None or peer == core:
            _raw(machine, core, ISA.encode("wait", event=20, value=1023))
            continue
        register = machine.writers[core].register(0)
        _raw(
            machine,
            core,
            ISA.encode(kind, **{"rd" if kind == "recv" else "rs1": register}, core=peer, size=8),
        )
    return True


def _table(machine, name):
    """One field of one table made wrong."""
    rng, writer = machine.rng, None
    case = machine.case(name)
    writer = Writer(case.image)
    data = writer.data
    entry = 64 + 32 * rng.randrange(len(case.image.cores))
    choices = [
        (0, b"PIMJ"),
        (4, b"\2\0"),
        (6, b"\x41\0"),
        (8, struct.pack("<I", len(data) + 64)),
        (0x0C, b"\0\0"),
        (0x0C, struct.pack("<H", machine.params["cores"] + 1)),
        (0x0E, b"\1"),
        (0x10, struct.pack("<I", 32)),
        (0x10, struct.pack("<I", len(data))),
        (0x14, struct.pack("<H", machine.params["xb_rows"] * 2)),
        (0x16, struct.pack("<H", machine.params["xb_cols"] // 2)),
        (0x20, b"\1"),
        (0x3F, b"\x80"),
        (entry, struct.pack("<I", 4)),
        (entry, struct.pack("<I", len(data) + 8)),
        (entry + 0xC, b"\3"),
        (entry + 0xD, b"\2"),
        (entry + 0xE, b"\0"),
        (entry + 0xE, b"\x21"),
        (entry + 0xF, b"\0"),
        (entry + 0x10, struct.pack("<I", 8)),
        (entry + 0x14, struct.pack("<H", machine.params["groups"] + 1)),
        (entry + 0x16, b"\x20"),
        (entry + 0x17, b"\xfe"),
        (entry + 0x18, b"\1"),
        (entry + 0x1F, b"\1"),
    ]
    for core in case.image.cores:
        if core.code and core.mode < 2:
            at = 64 + 32 * case.image.cores.index(core)
            choices += [
                (at + 4, struct.pack("<I", core.count + 1)),
                (at + 8, struct.pack("<I", len(core.code) + 4)),
            ]
    k = next((n for n, core in enumerate(case.image.cores) if core.groups), None)
    if k is not None:
        table = struct.unpack_from("<I", data, 64 + 32 * k + 0x10)[0]
        at = table + GROUP_ENTRY * rng.randrange(len(case.image.cores[k].groups))
        number = data[at + 7]
        choices += 2 * [
            (at, b"\0\0"),
            (at, struct.pack("<H", 1025)),
            (at + 2, b"\0\0"),
            (at + 4, b"\0"),
            (at + 4, b"\x09"),
            (at + 5, b"\x30"),
            (at + 6, b"\4"),
            (at + 7, bytes([number + 1])),
            (at + 8, b"\4\0\0\0"),
            (at + 8, struct.pack("<I", (len(data) + 8) & -8)),
            (at + 0x10, struct.pack("<H", machine.params["arrays"])),
            (at + 0x30, b"\1"),
            (at + 0x3F, b"\1"),
        ]
        if number < 16:
            choices.append((at + 0x10 + 2 * number, b"\1"))
        if number > 1:
            choices.append((at + 0x12, data[at + 0x10 : at + 0x12]))
    return machine.case(name, patch=(rng.choice(choices),), fault="table")


def _code_end(machine, number, name):
    """Packed code whose last instruction is cut, or with words left over."""
    core = machine.image.cores[number]
    core.mode = 2
    case = machine.case(name)
    words = code_of([w for n, w in case.words if n == number], 2)
    entry = 64 + 32 * number
    code, count, size = struct.unpack_from("<3I", Writer(case.image).data, entry)
    assert size == len(words)
    kind = machine.rng.randrange(
        4 if len(machine.writers) == 1 else 3
    )  # without instructions no one else waits for it
    patch = [(entry + 4, struct.pack("<I", count - machine.rng.randint(1, 3)))]  # words left over
    if kind == 1:
        patch = [(entry + 4, struct.pack("<I", count + 1))]  # the words end too early
    elif kind == 2:
        patch = [(code + size - 4, struct.pack("<I", 0x21))]  # a first half at the end
    elif kind == 3:
        patch = [(entry + 4, struct.pack("<I", 0))]  # no instruction
    return machine.case(name, patch=patch, fault="code_end")


def with_fault(machine, fault, name):
    """The case of ``machine``'s programs with ``fault`` in one of them."""
    number = machine.rng.randrange(len(machine.writers))
    writer = machine.writers[number]
    if fault == "table":
        return _table(machine, name)
    if fault == "code_end":
        _gather(machine, number)
        for _ in range(4):
            writer.put("sldi", rd=machine.rng.randrange(32), imm=machine.rng.randint(-1000, 1000))
        return _code_end(machine, number, name)
    if fault == "deadlock":
        _deadlock(machine, number)
        return machine.case(name, fault=fault)
    if fault == "size_mismatch":
        found = _mismatch(machine, number)
    else:
        _gather(machine, number)
        found = (
            _illegal(machine, writer, fault)
            if fault.startswith("illegal")
            else _wild(machine, writer, fault)
        )
    if found:
        _tail(machine, number)
    return machine.case(name, fault=fault if found else None)
