# SPDX-License-Identifier: BSD-2-Clause
"""GEMV array: R x C blocks, the control broadcast tree, the network between blocks, and the column
registers.

The tree has one register a column, one for every group of banks where a column is long, and one a
bank (or for two): copies that synthesis must not merge, so no net reaches far and many. Everything
passes the same number of registers, so nothing changes its place in time. A handful of blocks needs
no tree: the controller's own registers tell them.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....primitives.kept import KeptRegister
from .block import Bank, ControlLayout
from .columns import ColumnRegisters
from .controller import RootLayout
from .mapping import Mapping

__all__ = ["Array"]

#: Banks that one register drives, and those of one column above which there is one more level.
_GROUP, _LONG = 8, 16


class Array(wiring.Component):
    """GEMV array: blocks, network and column registers.

    Parameters
    ----------
    mapping : Mapping
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    root : In(RootLayout)
    word : Out(N), the column register of row 0,
        ``latency`` cycles after ``root.out`` what moves out

    Attributes
    ----------
    latency : int
    """

    def __init__(self, *, mapping: Mapping, family: str | None = None) -> None:
        self.mapping, self.family = mapping, family
        self.groups = -(-mapping.banks // _GROUP) if mapping.banks > _LONG else 1
        self.latency = 0 if mapping.tiny else 1 if mapping.small else 2 + (self.groups > 1)
        # An iCE40's flip-flop takes a logic cell: banks share theirs.
        self.share = 8 if family == "ice40" else 1
        super().__init__({"root": In(RootLayout(mapping)), "word": Out(mapping.width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mapping, root = self.mapping, self.root
        rows, cols, halves = mapping.rows, mapping.cols, mapping.halves
        self.banks = banks = [
            [Bank(mapping=mapping, family=self.family) for _ in range(mapping.banks)]
            for _ in range(cols)
        ]
        columns = m.submodules.columns = ColumnRegisters(
            rows=rows, width=mapping.width, family=self.family, direct=mapping.tiny
        )
        row_bits, col_bits = (max(1, (n - 1).bit_length()) for n in (rows, cols))
        branch = data.StructLayout(
            {
                "control": ControlLayout(mapping),
                "write": 1,
                "store": 1,
                "passes": 1,
                "select": 1,
                "row": row_bits,
                "any_row": 1,
            }
        )
        for c in range(cols):
            told = Signal(branch, name=f"told_{c}")
            m.d.comb += [
                told.control.eq(root.control),
                told.write.eq(root.write[c]),
                told.store.eq(root.store),
                told.passes.eq(root.passes[c]),
                told.row.eq(root.row),
                told.any_row.eq(root.any_row),
                told.select.eq(root.select),
            ]
            # Whether the selection, if it changes, is of this column at all.
            hit = Signal(name=f"hit_{c}")
            m.d.comb += hit.eq(root.any_col | (root.col[:col_bits] == c))
            if any(c % (2 << k) == 1 << k for k in range(mapping.top_level + 1)):
                m.d.comb += told.control.read.eq(
                    Mux(root.transmits[c], root.transmit_read, root.control.read)
                )
            above = [(told, hit)]
            if not mapping.small:
                above = [
                    (self._kept(m, f"column_{c}", branch, told), self._kept(m, f"hit_{c}", 1, hit))
                ]
            if self.groups > 1:
                above = [
                    (
                        self._kept(m, f"group_{c}_{g}", branch, above[0][0]),
                        self._kept(m, f"hit_{c}_{g}", 1, above[0][1]),
                    )
                    for g in range(self.groups)
                ]
            size = _GROUP if self.groups > 1 else mapping.banks
            for b, bank in enumerate(banks[c]):
                m.submodules[f"bank_{c}_{b}"] = bank
                said, hits = above[b // size]
                if mapping.tiny:
                    leaf = said
                elif b % size % self.share == 0:
                    leaf = self._kept(
                        m,
                        f"leaf_{c}_{b}",
                        data.StructLayout(
                            {"control": ControlLayout(mapping), "write": 1, "passes": 1}
                        ),
                        Cat(said.control, said.write, said.passes),
                    )
                m.d.comb += [
                    bank.control.eq(leaf.control),
                    bank.write.eq(leaf.write),
                    bank.transmit.eq(leaf.passes),
                ]
                for h in range(min(halves, rows - b * halves)):
                    selected = Signal(name=f"selected_{c}_{b}_{h}", reset_less=True)
                    stores = Signal(name=f"stores_{c}_{b}_{h}", reset_less=not mapping.tiny)
                    with m.If(said.select):
                        m.d.sync += selected.eq(
                            hits & (said.any_row | (said.row == b * halves + h))
                        )
                    m.d["comb" if mapping.tiny else "sync"] += stores.eq(said.store & selected)
                    m.d.comb += bank.store[h].eq(stores)
                if c + 1 < cols:
                    m.d.comb += bank.east.eq(banks[c + 1][b].west)
        # The column registers' control passes as many registers; the last one is theirs.
        said = Cat(root.shift, root.out)
        for k in range(self.latency - 1):
            later = Signal(2, name=f"columns_{k}", reset_less=True)
            m.d.sync += later.eq(said)
            said = later
        m.d.comb += [columns.shift.eq(said[0]), columns.out.eq(said[1]), self.word.eq(columns.word)]
        m.d.comb += [columns.tap[r].eq(banks[0][r // halves].tap[r % halves]) for r in range(rows)]
        return m

    def _kept(self, m, name, shape, value):
        """Register that delays ``value`` by one cycle and is not merged with others."""
        copy = Signal(shape, name=name)
        bits = Cat(copy)
        register = m.submodules[f"kept_{name}"] = KeptRegister(width=len(bits), family=self.family)
        m.d.comb += [register.d.eq(value), bits.eq(register.q)]
        return copy
