# SPDX-License-Identifier: BSD-2-Clause
"""Control model of an OPU: configuration state, valid buffer contents, and every fault except
``bus``, all of which follow from the program without its data (specification, sections 2.1, 4.2,
4.8 and 6). Pure Python.

Golden model, assembler, host and tests walk through a program with the one :class:`Sequence` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import NamedTuple

from ....isa.outcome import RunFault
from ....isa.parameters import Params
from .. import geometry
from ..isa import BIAS, IFM, ISA, KER, OFM, REGION_BITS, REGIONS, post_fields
from ..types import type_set

__all__ = ["Array", "FULL_REGION", "Regions", "Sequence", "Step"]

#: Bytes of the largest region.
FULL_REGION = 1 << REGION_BITS
_LOW32 = 0xFFFF_FFFF

_SHAPE_IFM, _SHAPE_OFM, _SHAPE_KER, _MEM_IFM, _MEM_OFM = 1, 2, 4, 8, 16


class Array(NamedTuple):
    """Memory range: ``address`` in main memory (an ISA address if no region table is known) and
    ``span``, the bytes from the first to the last element."""

    address: int
    span: int


class Step(NamedTuple):
    """Executed instruction without a fault of its own."""

    mnemonic: str
    values: dict[str, int]
    array: Array | None = None
    macs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


class Regions:
    """Region table and memory window (section 7.1).

    Parameters
    ----------
    registers : dict
        Register values by name (``"region_base[3]"``, ``"window_limit"``); unnamed ones are at
        reset.
    memory_size : int
        Reset value of ``window_limit``.
    """

    def __init__(
        self, registers: Mapping[str, int] | tuple[()] = (), memory_size: int = 1 << 32
    ) -> None:
        given = dict(registers)
        self.base = [given.get(f"region_base[{r}]", r * FULL_REGION) & -64 for r in range(REGIONS)]
        self.limit = [
            min(given.get(f"region_limit[{r}]", FULL_REGION) & -64, FULL_REGION)
            for r in range(REGIONS)
        ]
        self.window_base = given.get("window_base", 0) & -64
        self.window_limit = given.get("window_limit", memory_size) & -64

    def translate(self, region: int, unit: int, span: int) -> Array:
        """Translates ``span`` bytes at unit ``unit`` of ``region`` to an :class:`Array` in main
        memory; raises :class:`~quintet.gateware.isa.outcome.RunFault`."""
        offset = unit * 64
        if offset + span > self.limit[region]:
            raise RunFault("region", geometry.isa_address(region, unit))
        address = self.base[region] + offset
        if not self.holds(address, span):
            raise RunFault("window", address & _LOW32)
        return Array(address, span)

    def holds(self, address: int, span: int) -> bool:
        """Whether the bytes lie inside the memory window (and so below 2^32)."""
        return self.window_base <= address and address + span <= self.window_limit


class _Untranslated:
    """Identity translation of ISA addresses, for programs with an unknown region table."""

    def translate(self, region, unit, span):
        return Array(geometry.isa_address(region, unit), span)


_METHODS = {
    i.mnemonic: "_" + i.mnemonic.replace("@", "set_").replace(".", "_") for i in ISA.instructions
}


@lru_cache(1 << 14)
def _decode(word):
    decoded = ISA.decode(word)
    return (
        decoded.instruction.mnemonic if decoded.instruction else None,
        decoded.values,
        decoded.fault,
        decoded.detail,
    )


class Sequence:
    """Control model of the OPU: its whole state except data.

    Parameters
    ----------
    types : str or dict
        Type set by name, or build parameters.
    params : dict, optional
        Build parameters that ``capacity`` is judged with; without them everything fits.
    regions : Regions, optional
        Without it addresses are not translated, and ``region`` and ``window`` never arise.

    Attributes
    ----------
    ifm, ofm : tuple (rows, columns, channels) or None, ker_n : int or None
    stride, pool, mem_ofm : tuples; shift : (f, b); act, order, res : int
    ifm_region, ker_region, bias_region, ofm_region : int
    ifm_mem_w : int or None, ofm_mem : (rows, columns) or None
    valid : int
        Mask of valid buffers: 1 ifm, 2 ker, 4 bias, 8 ofm.
    """

    def __init__(
        self,
        types: str | Params,
        params: Params | None = None,
        regions: Regions | None = None,
    ) -> None:
        self.types = type_set(types)
        self.params = params
        self.regions: Regions | _Untranslated = regions or _Untranslated()
        self.reset()

    def copy(self) -> Sequence:
        """An independent copy."""
        return copy(self)

    def reset(self) -> None:
        """Resets the state to that at a start (section 2.1)."""
        self.ifm = self.ofm = self.ker_n = self.ifm_mem_w = self.ofm_mem = None
        self.ifm_region = self.ker_region = self.bias_region = self.ofm_region = 0
        self.stride, self.shift, self.pool = (1, 1), (0, 0), (1, 1, 1, 1)
        self.act = self.order = self.res = 0
        self.valid = 0

    def step(self, word: int) -> Step:
        """Executes ``word`` and returns its :class:`Step`; raises its fault.

        Returns
        -------
        Step

        Raises
        ------
        RunFault
            The instruction has had no effect.
        """
        mnemonic, values, fault, detail = _decode(word)
        if fault is not None:
            raise RunFault(fault, detail)
        return getattr(self, _METHODS[mnemonic])(mnemonic, values)

    def tap(self, word: int) -> tuple[str, int] | None:
        """Executes a ``conv*`` of a fault-free program without the checks of :meth:`step`:
        (mnemonic, number of the tap in its kernel). Returns ``None`` for any other word, without an
        effect."""
        mnemonic, values, fault, _ = _decode(word)
        if fault is not None or not mnemonic.startswith("conv"):
            return None
        self.valid |= OFM
        return mnemonic, values["n"]

    # Checks, in the order of the fault table

    def _need_registers(self, mask):
        unset = 0
        for bit, value in (
            (_SHAPE_IFM, self.ifm),
            (_SHAPE_OFM, self.ofm),
            (_SHAPE_KER, self.ker_n),
            (_MEM_IFM, self.ifm_mem_w),
            (_MEM_OFM, self.ofm_mem),
        ):
            unset |= bit if value is None else 0
        if unset & mask:
            raise RunFault("undef_reg", unset & mask)

    def _need_buffers(self, mask):
        if mask & ~self.valid:
            raise RunFault("undef_buf", mask & ~self.valid)

    def _need_space(self, mask, needs, parameter):
        if self.params is not None and needs > self.params[parameter]:
            raise RunFault("capacity", mask)

    # Configuration

    def _set_shape_ifm(self, mnemonic, values):
        shape = values["h"], values["w"], values["c"]
        self._need_space(IFM, geometry.ifm_lines(shape), "ifm_lines")
        self.ifm = shape
        self.valid &= ~(IFM | KER)
        return Step(mnemonic, values)

    def _set_shape_ofm(self, mnemonic, values):
        shape = values["h"], values["w"], values["c"]
        if self.params is not None:
            self._need_space(OFM, geometry.ofm_lines(shape, self.params["po"]), "ofm_lines")
        self.valid &= ~(OFM | KER)
        if self.ofm is None or self.ofm[2] != shape[2]:
            self.valid &= ~BIAS
        self.ofm = shape
        return Step(mnemonic, values)

    def _set_shape_ker(self, mnemonic, values):
        self.ker_n = values["n"]
        self.valid &= ~KER
        return Step(mnemonic, values)

    def _set_mem_ifm(self, mnemonic, values):
        self.ifm_region, self.ifm_mem_w = values["addr"], values["w"]
        return Step(mnemonic, values)

    def _set_mem_ker(self, mnemonic, values):
        self.ker_region = values["addr"]
        return Step(mnemonic, values)

    def _set_mem_bias(self, mnemonic, values):
        self.bias_region = values["addr"]
        return Step(mnemonic, values)

    def _set_mem_ofm(self, mnemonic, values):
        self.ofm_region, self.ofm_mem = values["addr"], (values["h"], values["w"])
        return Step(mnemonic, values)

    def _set_stride(self, mnemonic, values):
        self.stride = values["h"], values["w"]
        return Step(mnemonic, values)

    def _set_shift(self, mnemonic, values):
        self.shift = values["f"], values["b"]
        return Step(mnemonic, values)

    def _set_post(self, mnemonic, values):
        self.act, self.order, self.res = post_fields(values["post"])
        return Step(mnemonic, values)

    def _set_pool(self, mnemonic, values):
        self.pool = values["h"], values["w"], values["i"], values["j"]
        return Step(mnemonic, values)

    # Loads

    def _ld_ifm(self, mnemonic, values):
        self._need_registers(_SHAPE_IFM | _MEM_IFM)
        size = self.types.ifm_bytes
        array = self.regions.translate(
            self.ifm_region, values["addr"], geometry.ifm_span(self.ifm, self.ifm_mem_w, size)
        )
        self.valid |= IFM
        return Step(
            mnemonic, values, array, bytes_read=self.ifm[0] * self.ifm[1] * self.ifm[2] * size
        )

    def _ld_ker(self, mnemonic, values):
        self._need_registers(_SHAPE_IFM | _SHAPE_OFM | _SHAPE_KER)
        volume = self.ker_n, self.ofm[2], self.ifm[2]
        if not geometry.kernel_legal(*volume):
            raise RunFault("range", 4)
        if self.params is not None:
            self._need_space(
                KER, geometry.ker_rows(*volume, self.params["pi"], self.params["po"]), "ker_rows"
            )
        span = geometry.ker_span(*volume, self.types.ker_bytes)
        array = self.regions.translate(self.ker_region, values["addr"], span)
        self.valid |= KER
        return Step(mnemonic, values, array, bytes_read=span)

    def _ld_bias(self, mnemonic, values):
        self._need_registers(_SHAPE_OFM)
        span = geometry.bias_span(self.ofm[2], self.types.bias_bytes)
        array = self.regions.translate(self.bias_region, values["addr"], span)
        self.valid |= BIAS
        return Step(mnemonic, values, array, bytes_read=span)

    # Convolutions

    def _conv(self, mnemonic, values, needs=0):
        self._need_buffers(IFM | KER | needs)
        for detail, (first, count, step, size) in enumerate(
            (
                (values["h"], self.ofm[0], self.stride[0], self.ifm[0]),
                (values["w"], self.ofm[1], self.stride[1], self.ifm[1]),
            ),
            1,
        ):
            if first + (count - 1) * step >= size:
                raise RunFault("range", detail)
        if values["n"] >= self.ker_n:
            raise RunFault("range", 3)
        self.valid |= OFM
        return Step(mnemonic, values, macs=self.ofm[0] * self.ofm[1] * self.ofm[2] * self.ifm[2])

    def _conv_bias(self, mnemonic, values):
        return self._conv(mnemonic, values, BIAS)

    def _conv_acc(self, mnemonic, values):
        return self._conv(mnemonic, values, OFM)

    # Results

    def result_shape(self) -> tuple[int, int]:
        """Rows and columns of the result of ``store``; the pool window must fit."""
        assert self.ofm is not None and self.pool is not None, "store has checked its registers"
        return geometry.pooled(self.ofm[0], self.ofm[1], self.pool)

    def _store(self, mnemonic, values):
        self._need_registers(_MEM_OFM)
        self._need_buffers(OFM | (IFM if self.res else 0))
        for detail in (0, 1):
            if self.pool[detail] > self.ofm[detail]:
                raise RunFault("range", 5 + detail)
        rows, columns = self.result_shape()
        channels = self.ofm[2]
        if self.res:
            given = (rows, columns, channels) if self.order == 2 else self.ofm
            for detail in range(3):
                if given[detail] > self.ifm[detail]:
                    raise RunFault("range", 7 + detail)
        size = self.types.ifm_bytes
        array = self.regions.translate(
            self.ofm_region,
            values["addr"],
            geometry.store_span(rows, columns, channels, self.ofm_mem[1], size),
        )
        return Step(mnemonic, values, array, bytes_written=rows * columns * channels * size)

    def _pad(self, mnemonic, values):
        self._need_registers(_MEM_OFM)
        size, width = self.types.ifm_bytes, values["p"]
        if not width:
            return Step(mnemonic, values)
        array = self.regions.translate(
            self.ofm_region, values["addr"], geometry.pad_span(*self.ofm_mem, width, size)
        )
        return Step(
            mnemonic, values, array, bytes_written=geometry.pad_bytes(*self.ofm_mem, width, size)
        )

    def _end(self, mnemonic, values):
        return Step(mnemonic, values)
