# SPDX-License-Identifier: BSD-2-Clause
"""Operator fusion: merges ReLU and bias into the multiplication in front of them (for
``densify``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ....isa.parameters import Params
from ..image.image import Group
from ..model import elements
from ..model.elements import bytes_of
from .accesses import Access, access_of
from .resolve import Step, Unresolved

__all__ = ["Contents", "merge"]


class Contents:
    """Known contents of local memory: bytes, and which of them. ``constants``: pairs (GMem
    address, bytes) that never change."""

    def __init__(self, size: int, constants: Iterable[tuple[int, bytes]] = ()) -> None:
        self.bytes, self.known = np.zeros(size, np.uint8), np.zeros(size, bool)
        self.constants = [(at, np.frombuffer(bytes(data), np.uint8)) for at, data in constants]

    def _write(self, address, size, data=None):
        if address + size > self.known.size:
            raise Unresolved(f"it writes at {address:#x}, outside local memory")
        self.known[address : address + size] = data is not None
        if data is not None:
            self.bytes[address : address + size] = data

    def after(self, step: Step, access: Access) -> None:
        """Updates the contents after a step with its :class:`~.accesses.Access`."""
        op, written = step.op, access.write
        if written is None:
            return
        size = written.high - written.low
        if op == 27:
            self._write(written.low, size, step.word >> 11 & 255)
        elif op == 28:
            source = slice(access.reads[0].low, access.reads[0].high)
            known, data = self.known[source].copy(), self.bytes[source].copy()
            if known.size < size:
                raise Unresolved(f"it reads at {source.start:#x}, outside local memory")
            self._write(written.low, size, data)
            self.known[written.low : written.high] = known
        elif op == 25:
            assert access.far is not None, "ld reads global memory"
            self._write(written.low, size, self._constant(access.far.low, size))
        else:
            self._write(written.low, size)

    def _constant(self, address, size):
        for at, data in self.constants:
            if at <= address and address + size <= at + data.size:
                return data[address - at : address - at + size]
        return None

    def elements(self, address: int, count: int, biw: int) -> np.ndarray | None:
        """Known elements, or ``None``."""
        if not self.known[address : address + count * bytes_of(biw)].all():
            return None
        return elements.load(self.bytes, address, count, biw)


def _group_of(step):
    return step.word >> 21 & 1023


def _disjoint(a, size_a, b, size_b):
    return a + size_a <= b or b + size_b <= a


def _with_bias(groups, number, bias, most, widths):
    """A group like ``number`` that adds ``bias`` behind its shift, or ``None``; it shares the
    arrays."""
    group = groups[number]
    if group.weights is None or group.bias is not None:
        return None
    reach = np.abs(group.weights.astype(np.int64)).sum(axis=0) << widths[0] - 1
    if group.shift:
        reach = reach + (1 << group.shift >> 1) >> group.shift
    shifted = bias << group.shift
    # Saturation between product and bias must not happen: it would be lost.
    if (reach >= 1 << widths[1] - 1).any() or (np.abs(shifted) >= 1 << 31).any():
        return None
    for k, other in enumerate(groups):
        if (
            other.arrays == group.arrays
            and other.bias is not None
            and other.weights is None
            and (other.rows, other.cols, other.shift, other.round, other.mbiw)
            == (group.rows, group.cols, group.shift, group.round, group.mbiw)
            and (other.bias == shifted).all()
        ):
            return k
    if (
        len(groups) >= most[0]
        or sum(g.cols for g in groups if g.bias is not None) + group.cols > most[1]
    ):
        return None
    groups.append(replace(group, weights=None, bias=shifted.astype(np.int32)))
    return len(groups) - 1


def merge(
    steps: list[Step], groups: list[Group], contents: Contents, params: Params | None
) -> list[Step]:
    """Steps with ReLU and bias merged; new groups that this needs are appended to ``groups``.

    A ReLU is merged where it works in place on the whole result. A bias is merged where it is
    known, is added in place to the whole result, and nothing can saturate before.
    """
    most = (1024, 4096) if params is None else (params["groups"], params["bias_words"])
    # A group that shares arrays with one of other contents does not have the weights that its entry
    # names.
    owners: dict[int, set[int]] = {}
    for number, group in enumerate(groups):
        for array in group.arrays:
            owners.setdefault(array, set()).add(number)
    sole = {n for n, g in enumerate(groups) if all(owners[array] == {n} for array in g.arrays)}
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if last is not None and last.op == 9 and _group_of(last) < len(groups):
            group, target, width = groups[_group_of(last)], last.operands[0].value, last.widths[1]
            fits = step.count == group.cols and step.widths[0] == width
            if (
                step.op == 18
                and fits
                and step.operands[0].value == step.operands[1].value == target
            ):
                last.word |= 1 << 31
                continue
            if (
                step.op == 10
                and fits
                and step.operands[0].value == target
                and not last.word >> 31
                and _group_of(last) in sole
            ):
                others = [o.value for o in step.operands[1:] if o.value != target]
                size = step.count * bytes_of(width)
                bias = (
                    contents.elements(others[0], step.count, width)
                    if len(others) == 1 and _disjoint(others[0], size, target, size)
                    else None
                )
                number = (
                    None
                    if bias is None
                    else _with_bias(groups, _group_of(last), bias, most, last.widths)
                )
                if number is not None:
                    last.word = last.word & ~(1023 << 21) | number << 21
                    continue
        access = access_of(step, groups)
        if access is not None:
            contents.after(step, access)
        found.append(step)
    return found
