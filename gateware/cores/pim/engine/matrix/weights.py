# SPDX-License-Identifier: BSD-2-Clause
"""Weight arrays of a processor: a memory of ``lanes`` weights per cycle, with lane groups read in
consecutive cycles.

A group's address register takes the address of the group before it: no net goes to all memories at
once, and the groups' results come one after another, as the matrix unit writes them.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from ..commands import CHUNK_BYTES, lmem_word_bytes, weights_layout

__all__ = ["WeightMemory", "lane_groups"]


def lane_groups(params: Params) -> tuple[int, int]:
    """Grouping of the lanes: ``(groups, lanes of a group)``; a group has as many lanes as two-byte
    elements fit a word of LMem."""
    lanes = max(1, min(params["lanes"], lmem_word_bytes(params) // 2))
    return params["lanes"] // lanes, lanes


def weight_rows(params: Params) -> int:
    """Number of rows of ``lanes`` weights."""
    return params["arrays"] * params["xb_rows"] * params["xb_cols"] // params["lanes"]


class WeightMemory(wiring.Component):
    """Weight memory of all arrays, written in chunks of eight bytes and read in rows of ``lanes``
    bytes.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    write : In(stream of :func:`~..commands.weights_layout`); while nothing is read
    row : In: (array * xb_rows + row) * xb_cols/lanes + tile within the array
    data : Out, array of groups: the lanes of group ``g``, lowest first,
        :attr:`LATENCY` + ``g`` cycles after ``row``
    """

    LATENCY = 3

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        self.groups, self.group_lanes = lane_groups(params)
        self.depth = weight_rows(params)
        super().__init__(
            {
                "write": In(stream.Signature(weights_layout(params))),
                "row": In(ceil_log2(self.depth)),
                "data": Out(8 * self.group_lanes).array(self.groups),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, per_group = self.params["lanes"], self.group_lanes
        bits = len(self.row)

        # A chunk is part of a row, or several rows, which are written one after another.
        chunk = self.write.payload
        data, row = (
            Signal(8 * CHUNK_BYTES, reset_less=True),
            Signal(bits, name="write_row", reset_less=True),
        )
        enable = Signal(self.groups)
        if lanes >= CHUNK_BYTES:
            split = exact_log2(lanes // CHUNK_BYTES)
            covered = CHUNK_BYTES // per_group  # groups of a chunk
            m.d.comb += self.write.ready.eq(1)
            m.d.sync += [
                data.eq(chunk.data),
                row.eq(chunk.address[split:]),
                enable.eq(
                    Cat(
                        (self.write.valid & (chunk.address[:split] == g // covered))
                        for g in range(self.groups)
                    )
                ),
            ]
            parts = [data.word_select(g % covered, 8 * per_group) for g in range(self.groups)]
        else:
            steps = exact_log2(CHUNK_BYTES // lanes)
            step = Signal(steps)
            m.d.comb += self.write.ready.eq(step.all())
            m.d.sync += [
                data[: 8 * lanes].eq(chunk.data.word_select(step, 8 * lanes)),
                row.eq(Cat(step, chunk.address)),
                enable.eq(self.write.valid.replicate(self.groups)),
            ]
            with m.If(self.write.valid):
                m.d.sync += step.eq(step + 1)
            parts = [data.word_select(g, 8 * per_group) for g in range(self.groups)]

        rows = []
        address = self.row
        for g in range(self.groups):
            held = Signal(bits, name=f"row_{g}", reset_less=True)
            m.d.sync += held.eq(address)
            rows.append(held)
            address = held
        for g in range(self.groups):
            m.submodules[f"group_{g}"] = ram = BlockRAM(
                width=8 * per_group, depth=self.depth, family=self.family
            )
            m.d.comb += [
                ram.read_addr.eq(rows[g]),
                self.data[g].eq(ram.read_data),
                ram.write_en.eq(enable[g]),
                ram.write_addr.eq(row),
                ram.write_data.eq(parts[g]),
            ]
        return m
