# SPDX-License-Identifier: BSD-2-Clause
"""The link's USB device on LUNA's own simulated host, at the level of bytes (UTMI)."""

import warnings

import pytest
from usb_protocol.types import DescriptorTypes

from quintet.gateware.link.usb.control import LINE_CODING, answers
from quintet.gateware.link.usb.crossing import ByteCrossing
from quintet.gateware.link.usb.descriptors import DATA_ENDPOINT, descriptors
from quintet.gateware.link.usb.device import USBSerial
from quintet.gateware.link.usb.identity import USBIdentity, identity_of
from quintet.gateware.link.usb.pipes import Pipes

with warnings.catch_warnings():
    # Written for an earlier Amaranth.
    warnings.simplefilter("ignore")
    from luna.gateware.test import usb_domain_test_case
    from luna.gateware.test.usb2 import USBDeviceTest
    from luna.gateware.usb.usb2 import USBPacketID

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
IDENTITY = identity_of("ulx3s-85f")
DESCRIPTORS = {(int(kind), index): bytes(raw) for kind, index, raw in descriptors(IDENTITY)}


def _device(bus):
    return USBSerial(identity=IDENTITY, utmi=bus)


class TestEnumeration(USBDeviceTest):
    FRAGMENT_UNDER_TEST = staticmethod(_device)

    def initialize_signals(self):
        # J: the bus is at rest.
        yield self.utmi.line_state.eq(0b01)

    @usb_domain_test_case
    def test_enumeration(self):
        """The requests of a Linux host, in its order."""
        _, data = yield from self.get_descriptor(DescriptorTypes.DEVICE)
        self.assertEqual(bytes(data), DESCRIPTORS[1, 0])
        yield from self.set_address(0x31)
        self.assertEqual(self.address, 0x31)
        _, data = yield from self.get_descriptor(DescriptorTypes.CONFIGURATION, length=9)
        self.assertEqual(bytes(data), DESCRIPTORS[2, 0][:9])
        for index in range(4):
            _, data = yield from self.get_descriptor(
                DescriptorTypes.STRING, index=index, length=255
            )
            self.assertEqual(bytes(data), DESCRIPTORS[3, index])
        pid = yield from self.set_configuration(1)
        self.assertEqual(pid, USBPacketID.DATA1)
        _, data = yield from self.get_configuration()
        self.assertEqual(data, [1])
        # What a program that opens the port asks for.
        pid = yield from self.control_request_out(0x21, 0x20, data=list(LINE_CODING))
        self.assertEqual(pid, USBPacketID.DATA1)
        pid = yield from self.control_request_out(0x21, 0x22, value=3)
        self.assertEqual(pid, USBPacketID.DATA1)
        _, data = yield from self.control_request_in(0xA1, 0x21, length=7)
        self.assertEqual(bytes(data), LINE_CODING)

    @usb_domain_test_case
    def test_bytes_both_ways(self):
        yield from self.set_address(5)
        yield from self.set_configuration(1)
        # Without anything to say the device says so.
        pid, data = yield from self.in_transaction(endpoint=DATA_ENDPOINT)
        self.assertEqual((pid, data), (USBPacketID.NAK, None))
        yield from self.out_transaction(
            1, 2, 3, endpoint=DATA_ENDPOINT, expect_handshake=USBPacketID.ACK
        )
        heard = []
        for _ in range(40):
            if (yield self.dut.rx.valid):
                heard.append((yield self.dut.rx.payload))
                yield from self.pulse(self.dut.rx.ready)
            yield
        self.assertEqual(heard, [1, 2, 3])
        for value in (7, 8, 9):
            yield self.dut.tx.payload.eq(value)
            yield self.dut.tx.valid.eq(1)
            yield
            while not (yield self.dut.tx.ready):
                yield
        yield self.dut.tx.valid.eq(0)
        yield from self.advance_cycles(100)
        pid, data = yield from self.in_transaction(endpoint=DATA_ENDPOINT)
        self.assertEqual((pid, data), (USBPacketID.DATA0, [7, 8, 9]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"serial": ""}, "serial must be a string of 1 to 31 characters, not ''"),
        ({"product": "x" * 32}, "product must be a string of 1 to 31 characters"),
        ({"manufacturer": None}, "manufacturer must be a string of 1 to 31 characters, not None"),
    ],
)
def test_bad_identities_are_refused(changes, message):
    good = {"vendor": 1, "product_number": 2, "manufacturer": "m", "product": "p", "serial": "s"}
    with pytest.raises(ValueError, match=message):
        USBIdentity(**good | changes)


def test_crossings_join_domains():
    with pytest.raises(TypeError, match="sink must be the name of a clock domain, not 3"):
        ByteCrossing(source="usb", sink=3)


def test_answers_must_fit():
    with pytest.raises(
        ValueError,
        match=(
            "The descriptors take 297 bytes, more than 256: the strings of the identity are "
            "too long"
        ),
    ):
        answers(USBIdentity(1, 2, "m" * 30, "p" * 31, "s" * 31))
    with pytest.raises(ValueError, match="rom must have 256 bytes, not 3"):
        Pipes(rom=b"abc")
