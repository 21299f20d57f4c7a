# SPDX-License-Identifier: BSD-2-Clause
"""What is taken of LUNA, in one place. LUNA is written for an earlier Amaranth, which says so at every import."""
import warnings

__all__ = ["StreamInEndpoint", "StreamOutEndpoint", "USBDevice", "USBRequestHandler"]

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from luna.gateware.usb.usb2.device import USBDevice
    from luna.gateware.usb.usb2.endpoints.stream import USBStreamInEndpoint as StreamInEndpoint
    from luna.gateware.usb.usb2.endpoints.stream import USBStreamOutEndpoint as StreamOutEndpoint
    from luna.gateware.usb.usb2.request import USBRequestHandler
