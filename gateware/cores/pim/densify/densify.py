# SPDX-License-Identifier: BSD-2-Clause
"""Code size optimiser: streams with fewer instructions and the same effect. Registers keep their
values, offsets reach other addresses, ReLU and bias go into the multiplication, copies are not made
where the original can be read, and units wait less for each other.

The effect of a program that runs to its end is what it leaves in global memory, local memories and
event registers; scalar registers and widths at the end are not part of it. Compiled streams are
fully unrolled and two thirds of them set registers: that is what goes.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ....isa.asm.program import Program
from ....isa.parameters import Params
from ....isa.software import Software
from ..image.codes import code_of, words_of
from ..image.image import Image
from ..storage import narrow
from .forward import drop_dead, forward
from .merge import Contents, merge
from .reorder import Draft, completes, meetings, reorder
from .resolve import Unresolved, resolve

__all__ = ["densify", "densify_program"]

_LOW32, _LOW64 = (1 << 32) - 1, (1 << 64) - 1
#: Pairs of registers kept for global addresses, from the top.
_PAIRS = (30, 28, 26)
_SINGLES = 26
_NEVER = 1 << 60
#: Opcodes -> which widths their meaning depends on: bit 0 ibiw, bit 1 obiw.
_WIDTHS = {
    9: 3,
    10: 1,
    11: 1,
    12: 3,
    13: 3,
    14: 1,
    15: 3,
    16: 3,
    17: 3,
    18: 1,
    19: 3,
    20: 3,
    22: 1,
    23: 3,
    24: 3,
}


class _Writer:
    """Register allocator: gives steps their registers again. ``mode``: code form, which decides
    about offsets and immediates."""

    def __init__(self, mode, widths, steps):
        self.mode, self.widths, self.words = mode, widths, []
        self.values, self.places = (
            [0] * 32,
            {},
        )  # what registers hold: at the start 0, and where a value is
        self.fresh = [0] * 32  # when each was used last
        self.pairs = dict.fromkeys(_PAIRS, 0)
        self.uses = {}
        for index, step in enumerate(steps):
            for operand in step.operands:
                if not operand.pair:
                    self.uses.setdefault(operand.value, []).append(index)
        for values in self.uses.values():
            values.reverse()
        self.places[0] = 0

    def _held(self, value):
        return self.places.get(value)

    def _next_use(self, register, index):
        uses = self.uses.get(self.values[register], ())
        while uses and uses[-1] < index:
            uses.pop()
        return uses[-1] if uses else _NEVER

    def _wanted(self, index):
        """Key of an operand: how often instructions from ``index`` on name its value; a pair only
        if nothing else is missing."""

        def key(operand):
            if operand.pair:
                return -1
            uses = self.uses[operand.value]
            while uses and uses[-1] < index:
                uses.pop()
            return len(uses)

        return key

    def _load(self, value, index, keep):
        """Sets a register that is needed latest, and least recently used among those."""
        held = self.places
        free = [r for r in range(_SINGLES) if r not in keep]
        register = max(
            free,
            key=lambda r: (held.get(self.values[r]) != r, self._next_use(r, index), -self.fresh[r]),
        )
        if held.get(self.values[register]) == register:
            del held[self.values[register]]
        self._set(register, value)
        held[value] = register
        return register

    def _set(self, register, value):
        word = 1 | register << 6 | value << 32
        if self.mode == 1 and narrow(word) is None:
            # Of two halves: an immediate has 21 bits.
            self.words.append(1 | register << 6 | (value >> 16) << 32)
            self.words += [7 | register << 6 | register << 11 | 256 << 32] * 2
            for part in (value >> 1 & 0x7FFF, (value & 0xFFFF) - (value >> 1 & 0x7FFF)):
                while part:
                    some = min(part, 0x7FFF)
                    self.words.append(6 | register << 6 | register << 11 | some << 32)
                    part -= some
        else:
            self.words.append(word)
        self.values[register] = value

    def _load_pair(self, value, keep):
        halves = value >> 32, value & _LOW32
        # The one that shares a half, else the one that was not used for longest.
        even = max(
            (p for p in _PAIRS if p not in keep),
            key=lambda p: (
                (self.values[p] == halves[0]) + (self.values[p + 1] == halves[1]),
                -self.pairs[p],
            ),
        )
        for register, half in ((even, halves[0]), (even + 1, halves[1])):
            if self.values[register] != half:
                self._set(register, half)
        return even

    def _base(self, operand, offset):
        """The register for an operand with an offset: the one that is reached, or holds the value
        itself; and its select bit."""
        if operand.pair:
            for even in _PAIRS:
                if self._pair_value(even) == operand.value:
                    return even, 0
                if offset and self._pair_value(even) + offset & _LOW64 == operand.value:
                    return even, operand.bit
            return None
        register = self._held(operand.value)
        if register is not None and (not offset or not operand.scale or operand.bit):
            return register, 0
        if offset and operand.scale:
            register = self._held(operand.value - offset * operand.scale & _LOW32)
            if register is not None:
                return register, operand.bit
        return None

    def _pair_value(self, even):
        return self.values[even] << 32 | self.values[even + 1]

    def _find(self, operands):
        """Registers and offset for ``operands`` out of what registers hold; or the operands that
        are missing."""
        missing = [o for o in operands if self._base(o, 0) is None]
        if not missing:
            return [self._base(o, 0) for o in operands], 0, ()
        reachable = [o for o in missing if o.scale]
        if self.mode != 1 and reachable:
            first = reachable[0]
            for offset in self._offsets(first):
                found = [self._base(o, offset) for o in operands]
                if None not in found:
                    return found, offset, ()
        return None, 0, missing

    def _offsets(self, operand):
        """Offsets that reach an operand from a register, the nearest first."""
        if operand.pair:
            bases = [operand.value - self._pair_value(even) for even in _PAIRS]
            deltas = [
                d if abs(d) < 1 << 40 else d - (1 << 64 if d > 0 else -1 << 64) for d in bases
            ]
        else:
            deltas = [(operand.value - v + (1 << 31) & _LOW32) - (1 << 31) for v in self.places]
        found = {d // operand.scale for d in deltas if d % operand.scale == 0}
        return sorted((o for o in found if o and -1 << 28 <= o < 1 << 28), key=abs)

    def put(self, step, index):
        """Appends a step."""
        needs = _WIDTHS.get(step.op, 0)
        if (
            needs & 1
            and step.widths[0] != self.widths[0]
            or needs & 2
            and step.widths[1] != self.widths[1]
        ):
            self.widths = step.widths
            self.words.append(8 | (step.widths[0] & 31) << 6 | (step.widths[1] & 31) << 11)
        while True:
            found, offset, missing = self._find(step.operands)
            if not missing:
                break
            # What no offset can reach comes first; then what is needed most often from here on.
            operand = next((o for o in missing if not o.scale), None) or max(
                missing, key=self._wanted(index)
            )
            keep = [self._base(o, 0)[0] for o in step.operands if o not in missing]
            if operand.pair:
                self._load_pair(operand.value, keep)
            else:
                self._load(operand.value, index, keep)
        word, select = step.word, 0
        for operand, (register, bit) in zip(step.operands, found, strict=True):
            word |= register << operand.low
            select |= bit
            self.fresh[register] = index
            if operand.pair:
                self.pairs[register] = index
        if offset:
            word |= (offset & (1 << 29) - 1) << 35 | select << 32
        self.words.append(word)


def _draft(core, params, size, constants):
    """The core's steps and groups, ReLU and biases merged, without needless copies. Raises
    :class:`Unresolved`."""
    words, offsets = words_of(core.code, core.mode, core.count)
    if len(words) < core.count or offsets[len(words)] < len(core.code):
        raise Unresolved("its code does not end with its last instruction")
    steps = resolve(words, core.ibiw, core.obiw)
    groups = list(core.groups)
    steps = merge(steps, groups, Contents(size, constants), params)
    forward(steps, groups)
    return Draft(drop_dead(steps, groups, size), groups)


def _written(core, draft, steps):
    """The core with the program of ``steps``; itself if that is no shorter."""
    writer = _Writer(core.mode, (core.ibiw, core.obiw), steps)
    for index, step in enumerate(steps):
        writer.put(step, index)
    if len(writer.words) >= core.count:
        return core
    return replace(
        core,
        code=code_of(np.array(writer.words, np.uint64), core.mode),
        count=len(writer.words),
        groups=draft.groups,
    )


def densify(
    image: Image, params: Params | None = None, constants: Iterable[tuple[int, bytes]] = ()
) -> tuple[Image, list[str]]:
    """Image whose programs are shorter and have the same effect.

    Parameters
    ----------
    image : Image
    params : dict, optional
        Build parameters: how many groups and biases there may be.
    constants : pairs (GMem address, bytes)
        Data that no one changes: biases among them can be merged into groups.

    Returns
    -------
    (Image, list of str)
        Notes say which cores were left as they are, and why: programs that load registers from
        memory, or are not legal.
    """
    size, lanes = (1 << 20, 32) if params is None else (params["lmem_bytes"], params["lanes"])
    drafts, notes = [], []
    for number, core in enumerate(image.cores):
        try:
            drafts.append(_draft(core, params, size, constants))
        except Unresolved as reason:
            drafts.append(None)
            notes.append(f"core {number} is left as it is: {reason}")
    kept = False
    while True:
        orders = reorder(drafts, lanes, size, kept)
        cores = [
            core if draft is None else _written(core, draft, order)
            for core, draft, order in zip(image.cores, drafts, orders, strict=True)
        ]
        # A core whose program became no shorter has kept it, and with it the order in which it
        # meets others.
        found = [
            None if draft is None else meetings(draft.steps if core is before else order or [])
            for core, before, draft, order in zip(cores, image.cores, drafts, orders, strict=True)
        ]
        if kept or completes(found):
            return replace(image, cores=cores), notes
        kept = True


def densify_program(software: Software, program: Program, params: Params | None = None) -> Program:
    """Pass ``densify`` of ``quintet asm``: a ``Program`` of the denser image."""
    from ....isa.asm.errors import AsmWarning
    from ....isa.asm.program import Program
    from ..asm.listing import image_of
    from ..exchange.importing import whole_file

    image, _ = image_of(program.data, params)
    dense, notes = densify(image, params)
    before, after = (sum(c.count for c in one.cores) for one in (image, dense))
    notes.append(f"{before:,} instructions, now {after:,}")
    return Program(
        dense.data(),
        [*program.warnings, *(AsmWarning(whole_file("densify"), note) for note in notes)],
    )
