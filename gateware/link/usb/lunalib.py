# SPDX-License-Identifier: BSD-2-Clause
"""Imports from LUNA, collected in one module, since LUNA targets an earlier Amaranth and warns at
every import."""

import warnings

__all__ = [
    "BitstuffRemover",
    "ClockDataRecovery",
    "NRZIDecoder",
    "PacketDetect",
    "Shifter",
    "TxPipeline",
]

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from luna.gateware.interface.gateware_phy.receiver import RxBitstuffRemover as BitstuffRemover
    from luna.gateware.interface.gateware_phy.receiver import (
        RxClockDataRecovery as ClockDataRecovery,
    )
    from luna.gateware.interface.gateware_phy.receiver import RxNRZIDecoder as NRZIDecoder
    from luna.gateware.interface.gateware_phy.receiver import RxPacketDetect as PacketDetect
    from luna.gateware.interface.gateware_phy.receiver import RxShifter as Shifter
    from luna.gateware.interface.gateware_phy.transmitter import TxPipeline
