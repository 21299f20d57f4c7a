# SPDX-License-Identifier: BSD-2-Clause
"""A machine that programs are written on: every instruction is carried out by the model as it is
appended.

The order in which instructions are appended, whatever their cores, is one legal schedule; where it
is made race-free, every schedule gives the same results and none deadlocks.
"""

import numpy as np

from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.cores.pim.model.core import _RUN
from quintet.gateware.cores.pim.model.model import Model
from quintet.gateware.cores.pim.storage import narrow
from quintet.gateware.isa.outcome import RunFault

__all__ = ["Rejected", "Scratch"]


class Rejected(Exception):
    """An instruction that would fault, block, or has no form in its core's mode: it is not
    appended."""


class Scratch:
    """The machine. ``image``: groups, widths, modes and GMem of every core; its code is empty."""

    def __init__(self, params, image, memory, at):
        self.params, self.image, self.at = params, image, at
        data = image.data()
        memory = memory.copy()
        memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
        self.model = model = Model(params, memory)
        model.take_registers({"program_address": at, "program_length": len(data)})
        model._ready = []
        model._load()
        self.words = []

    def append(self, number, mnemonic, **values):
        """Appends an instruction to core ``number``. Raises :class:`Rejected`."""
        self.append_word(number, ISA.encode(mnemonic, **values))

    def append_word(self, number, word):
        self.check_form(number, word)
        fields = (
            word & 63,
            word >> 6 & 31,
            word >> 11 & 31,
            word >> 16 & 31,
            word >> 21 & 2047,
            (word >> 32 ^ 1 << 31) - (1 << 31),
        )
        core = self.model.cores[number]
        self.model._running = core
        try:
            blocked = _RUN[fields[0]](core, *fields)
        except RunFault as fault:
            raise Rejected(fault.name, fault.detail) from None
        if blocked is not None:
            raise Rejected("blocked")
        self.words.append((number, word))

    def append_pair(self, sender, send, receiver, recv):
        """Appends a send and the recv that meets it; both are words."""
        cores = self.model.cores
        blocked = []
        for number, word in ((sender, send), (receiver, recv)):
            self.check_form(number, word)
            try:
                blocked.append(
                    _RUN[word & 63](
                        cores[number],
                        word & 63,
                        word >> 6 & 31,
                        word >> 11 & 31,
                        word >> 16 & 31,
                        word >> 21 & 2047,
                        (word >> 32 ^ 1 << 31) - (1 << 31),
                    )
                )
            except RunFault as fault:
                raise Rejected(fault.name, fault.detail) from None
        given, taken = blocked
        if given is not None:
            data = cores[sender].lmem[given.address : given.address + given.amount]
            cores[receiver].lmem[taken.address : taken.address + taken.amount] = data
        self.words += [(sender, send), (receiver, recv)]

    def check_form(self, number, word):
        mode = self.image.cores[number].mode
        if mode == 1 and narrow(word) is None:
            raise Rejected("no 32-bit form")
