# SPDX-License-Identifier: BSD-2-Clause
"""Compute part of the OPU: buffers, convolution unit and post unit (specification, sections 4.4,
4.5 and 9)."""

from amaranth import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .....isa.parameters import Params
from ...types import type_set
from ..commands import (
    bias_load_layout,
    conv_layout,
    ifm_load_layout,
    ker_load_layout,
    out_layout,
    post_layout,
)
from .biasterms import BiasTerms
from .buffers import BiasMemory, IfmBuffer, KernelRing, OfmBuffer
from .lanes import ConvLanes
from .postunit import PostUnit
from .sequencer import ConvSequencer

__all__ = ["Compute"]


class Compute(wiring.Component):
    """Compute part: all buffers and both units that use them. Buffer contents are undefined after
    configuration.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int
        1, 2, 4, 8 or 16, at most pi elements of ITYPE.
    family : as the primitives'

    Members
    -------
    clear : In
        Drops everything under way; commands and beats are lost meanwhile. To be held until
        ``idle``.
    idle : Out
        Nothing is under way; loads apart.
    ifm_load, ker_load, bias_load : In
        Loads, see :mod:`~..commands`: ``start``, then beats, as they come; the next ``start`` may
        follow the last beat at once. Loaded data can be read from the next cycle on.
    conv : In(stream)
        Convolutions, in order. A step each cycle: ``ofm_h * ofm_w * ifm_c/pi * ceil(ofm_c/po)`` of
        them, no cycle lost between two commands of at least two steps, but for ``conv.acc`` behind
        less than ``turnaround`` steps and for ``conv.bias`` with groups of less than about 30
        steps.
    conv_step, conv_active : Out
        A step is made; a command is under way.
    conv_done : Out
        One cycle for each command, in order: its last line can be read by everyone.
    post : In(stream), out : Out(stream), post_done : Out
        Stores, one at a time: ``out`` gives the groups of ``out_lanes`` channels in row-major
        order, each after as many cycles as its window has places. ``post_done`` comes after the
        last was taken.

    The caller sees to it that nothing is loaded or stored while it is in use, and that no two users
    need one bank.
    """

    def __init__(self, *, params: Params, beat_bytes: int, family: str | None = None) -> None:
        types = type_set(params)
        most = params["pi"] * types.ifm_bytes
        if beat_bytes not in (1, 2, 4, 8, 16) or beat_bytes > most:
            raise ValueError(
                f"beat_bytes must be 1, 2, 4, 8 or 16, and at most pi elements of ITYPE ({most} "
                f"bytes), not {beat_bytes!r}"
            )
        self.params, self.beat_bytes, self.family = params, beat_bytes, family
        super().__init__(
            {
                "clear": In(1),
                "idle": Out(1),
                "ifm_load": In(ifm_load_layout(params, beat_bytes)),
                "ker_load": In(ker_load_layout(params, beat_bytes)),
                "bias_load": In(bias_load_layout(params, beat_bytes)),
                "conv": In(stream.Signature(conv_layout(params))),
                "conv_done": Out(1),
                "conv_step": Out(1),
                "conv_active": Out(1),
                "post": In(stream.Signature(post_layout(params))),
                "out": Out(stream.Signature(out_layout(params))),
                "post_done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        params, family, beat = self.params, self.family, self.beat_bytes
        m.submodules.ifm = ifm = IfmBuffer(params=params, beat_bytes=beat, family=family)
        m.submodules.ker = ker = KernelRing(params=params, beat_bytes=beat, family=family)
        m.submodules.bias = bias = BiasMemory(params=params, beat_bytes=beat, family=family)
        m.submodules.ofm = ofm = OfmBuffer(params=params, family=family)
        m.submodules.lanes = lanes = ConvLanes(params=params, family=family)
        m.submodules.terms = terms = BiasTerms(params=params, swap_stage=lanes.stages.swap)
        m.submodules.sequencer = steps = ConvSequencer(
            params=params, terms=terms, turnaround=lanes.stages.turnaround
        )
        m.submodules.post = post = PostUnit(params=params)
        for part in (ifm, ker, bias, lanes, terms, steps, post):
            m.d.comb += part.clear.eq(self.clear)

        m.d.comb += [
            ifm.load.eq(self.ifm_load),
            ker.load.eq(self.ker_load),
            bias.load.eq(self.bias_load),
        ]
        connect(m, flipped(self.conv), steps.command)
        connect(m, steps.terms_command, terms.command)
        m.d.comb += [
            steps.terms_ready.eq(terms.ready),
            terms.take.eq(steps.terms_take),
            terms.swapped.eq(lanes.swapped),
            bias.address.eq(terms.address),
            terms.data.eq(bias.data),
            ifm.conv_bank.eq(steps.ifm_bank),
            ifm.conv_line.eq(steps.ifm_line),
            ker.row.eq(steps.row),
            lanes.step.eq(steps.step),
            lanes.info.eq(steps.info),
            lanes.activations.eq(ifm.conv_data),
            ofm.conv_bank.eq(lanes.read_bank),
            ofm.conv_line.eq(lanes.read_line),
            lanes.read_data.eq(ofm.conv_data),
            ofm.write_en.eq(lanes.write_en),
            ofm.write_bank.eq(lanes.write_bank),
            ofm.write_line.eq(lanes.write_line),
            ofm.write_data.eq(lanes.write_data),
            self.conv_step.eq(steps.step),
            self.conv_active.eq(steps.active | lanes.busy),
            self.conv_done.eq(lanes.done),
        ]
        for k in range(params["po"]):
            m.d.comb += [
                lanes.weights[k].eq(ker.data[k]),
                lanes.base[k].eq(terms.base[k]),
                lanes.addend[k].eq(terms.addend[k]),
            ]

        connect(m, flipped(self.post), post.command)
        connect(m, post.out, flipped(self.out))
        m.d.comb += [
            ofm.post_active.eq(post.active),
            ofm.post_bank.eq(post.ofm_bank),
            ofm.post_line.eq(post.ofm_line),
            post.ofm_data.eq(ofm.post_data),
            ifm.post_active.eq(post.residual),
            ifm.post_bank.eq(post.ifm_bank),
            ifm.post_row.eq(post.ifm_row),
            post.ifm_data.eq(ifm.post_data),
            self.post_done.eq(post.done),
            self.idle.eq(~Cat(steps.active, lanes.busy, post.active, post.done).any()),
        ]
        return m
