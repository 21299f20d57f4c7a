# SPDX-License-Identifier: BSD-2-Clause
"""Signatures of the buses to which a core can be connected: Wishbone B4, AXI4, AXI4-Lite,
LiteDRAM's native port.

Members have the names of the buses' specifications in lower case, without prefix, so that the ports
of generated Verilog are `memory__awaddr` or `memory__cyc`.
"""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..arguments import check_beat_bytes, check_integer
from .soclib import wishbone

__all__ = [
    "BUS_BYTES",
    "AXI4",
    "AXI4Lite",
    "NativePort",
    "check_base",
    "wishbone_master",
]

#: Bytes of a bus's data that a master can be built for.
BUS_BYTES = (1, 2, 4, 8, 16)


def check_base(base: int, beat_bytes: int) -> None:
    """Raises ``ValueError`` for a base address of memory on the bus that is not a multiple of its
    beats, or exceeds 2^32."""
    what = "Base of the memory on the bus"
    check_integer(what, base, 0, (1 << 32) - 1, multiple_of=beat_bytes, unit="bytes")


class _WideWishbone(wiring.Signature):
    """Wishbone with 128 data bits, with the members of amaranth-soc's signature, which does not
    support that width."""

    def __init__(self, addr_width: int, data_width: int) -> None:
        self.addr_width, self.data_width, self.granularity = addr_width, data_width, 8
        super().__init__(
            {
                "adr": Out(addr_width),
                "dat_w": Out(data_width),
                "dat_r": In(data_width),
                "sel": Out(data_width // 8),
                "cyc": Out(1),
                "stb": Out(1),
                "we": Out(1),
                "ack": In(1),
                "err": In(1),
                "cti": Out(wishbone.CycleType),
                "bte": Out(wishbone.BurstTypeExt),
            }
        )


def wishbone_master(beat_bytes: int) -> wiring.Signature:
    """Wishbone of 8 to 128 data bits, seen from its master, with byte granularity, ``err``, ``cti``
    and ``bte``; the address space has 2^32 bytes, counted in words of the bus."""
    check_beat_bytes(beat_bytes, BUS_BYTES)
    addr_width, data_width = 32 - exact_log2(beat_bytes), 8 * beat_bytes
    if data_width > 64:
        return _WideWishbone(addr_width, data_width)
    return wishbone.Signature(
        addr_width=addr_width,
        data_width=data_width,
        granularity=8,
        features={"err", "cti", "bte"},
    )


class AXI4(wiring.Signature):
    """AXI4 bus, seen from its master: addresses of 32 bits, identifiers of one bit.

    Parameters
    ----------
    beat_bytes : int
        Bytes of the data, 1 to 16. (The specification begins with 4; narrower ones suit the bridges
        of an FPGA's fabric.)
    """

    def __init__(self, beat_bytes: int) -> None:
        check_beat_bytes(beat_bytes, BUS_BYTES)
        address = {
            "id": Out(1),
            "addr": Out(32),
            "len": Out(8),
            "size": Out(3),
            "burst": Out(2),
            "lock": Out(1),
            "cache": Out(4),
            "prot": Out(3),
            "qos": Out(4),
            "valid": Out(1),
            "ready": In(1),
        }
        super().__init__(
            {
                **{f"aw{name}": member for name, member in address.items()},
                "wdata": Out(8 * beat_bytes),
                "wstrb": Out(beat_bytes),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                **{f"ar{name}": member for name, member in address.items()},
                "rid": In(1),
                "rdata": In(8 * beat_bytes),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class AXI4Lite(wiring.Signature):
    """AXI4-Lite bus with 32 data bits, seen from its master.

    Parameters
    ----------
    addr_width : int
        Bits of a byte address.
    """

    def __init__(self, addr_width: int) -> None:
        super().__init__(
            {
                "awaddr": Out(addr_width),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(addr_width),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class NativePort(wiring.Signature):
    """LiteDRAM's native port (`LiteDRAMNativePort`), seen from its user: one command per beat, in
    order.

    Parameters
    ----------
    beat_bytes : int
        Bytes of the data.

    Members
    -------
    cmd_valid, cmd_ready, cmd_last, cmd_we, cmd_addr
        Commands; the address counts beats. ``cmd_last`` is high with the last one of a request.
    wdata_valid, wdata_ready, wdata_data, wdata_we
        Data and byte enables of the write commands. The controller takes them when it needs them,
        whether they are valid or not: they must be there when their command is.
    rdata_valid, rdata_ready, rdata_data
        Data of the read commands. The controller does not wait for ``rdata_ready``.
    """

    def __init__(self, beat_bytes: int) -> None:
        check_beat_bytes(beat_bytes, BUS_BYTES)
        super().__init__(
            {
                "cmd_valid": Out(1),
                "cmd_ready": In(1),
                "cmd_last": Out(1),
                "cmd_we": Out(1),
                "cmd_addr": Out(32 - exact_log2(beat_bytes)),
                "wdata_valid": Out(1),
                "wdata_ready": In(1),
                "wdata_data": Out(8 * beat_bytes),
                "wdata_we": Out(beat_bytes),
                "rdata_valid": In(1),
                "rdata_ready": Out(1),
                "rdata_data": In(8 * beat_bytes),
            }
        )
