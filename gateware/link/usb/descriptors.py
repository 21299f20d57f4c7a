# SPDX-License-Identifier: BSD-2-Clause
"""USB descriptors of the link's device: one configuration, a communication and a data interface
(CDC 1.2, PSTN 1.2)."""

from usb_protocol.emitters import DeviceDescriptorCollection
from usb_protocol.emitters.descriptors import cdc

from .identity import USBIdentity

__all__ = [
    "CONTROL_BYTES",
    "DATA_ENDPOINT",
    "PACKET_BYTES",
    "STATUS_BYTES",
    "STATUS_ENDPOINT",
    "descriptors",
]

#: Number of the endpoints that carry bytes, in and out.
DATA_ENDPOINT = 1
#: Number of the interrupt endpoint that CDC-ACM demands; it never has anything to say.
STATUS_ENDPOINT = 2
#: Largest packet of endpoint 0.
CONTROL_BYTES = 64
#: Largest packet of a bulk endpoint at full speed.
PACKET_BYTES = 64
STATUS_BYTES = 8
_CDC, _ACM, _AT_COMMANDS, _CDC_DATA = 0x02, 0x02, 0x01, 0x0A
#: Line coding and control lines (bit 1 of the ACM functional descriptor).
_LINE_REQUESTS = 0b10


def descriptors(identity: USBIdentity) -> DeviceDescriptorCollection:
    """Builds LUNA's descriptor collection for a :class:`~.identity.USBIdentity`."""
    collection = DeviceDescriptorCollection()
    with collection.DeviceDescriptor() as d:
        d.bcdUSB = 2.00
        # A device of several interfaces that belong together (interface association).
        d.bDeviceClass, d.bDeviceSubclass, d.bDeviceProtocol = 0xEF, 0x02, 0x01
        d.idVendor, d.idProduct, d.bcdDevice = identity.vendor, identity.product_number, 1.00
        d.iManufacturer, d.iProduct, d.iSerialNumber = (
            identity.manufacturer,
            identity.product,
            identity.serial,
        )
        d.bNumConfigurations = 1
    with collection.ConfigurationDescriptor() as c:
        with c.InterfaceAssociationDescriptor() as a:
            a.bFirstInterface, a.bInterfaceCount = 0, 2
            a.bFunctionClass, a.bFunctionSubClass, a.bFunctionProtocol = _CDC, _ACM, _AT_COMMANDS
        with c.InterfaceDescriptor() as i:
            i.bInterfaceNumber = 0
            i.bInterfaceClass, i.bInterfaceSubclass, i.bInterfaceProtocol = _CDC, _ACM, _AT_COMMANDS
            i.add_subordinate_descriptor(cdc.HeaderDescriptorEmitter())
            management = cdc.CallManagementFunctionalDescriptorEmitter()
            management.bmCapabilities, management.bDataInterface = 0, 1
            i.add_subordinate_descriptor(management)
            acm = cdc.ACMFunctionalDescriptorEmitter()
            acm.bmCapabilities = _LINE_REQUESTS
            i.add_subordinate_descriptor(acm)
            union = cdc.UnionFunctionalDescriptorEmitter()
            union.bControlInterface, union.bSubordinateInterface0 = 0, 1
            i.add_subordinate_descriptor(union)
            with i.EndpointDescriptor() as e:
                e.bEndpointAddress, e.bmAttributes = 0x80 | STATUS_ENDPOINT, 0x03
                e.wMaxPacketSize, e.bInterval = STATUS_BYTES, 255
        with c.InterfaceDescriptor() as i:
            i.bInterfaceNumber = 1
            i.bInterfaceClass, i.bInterfaceSubclass, i.bInterfaceProtocol = _CDC_DATA, 0, 0
            for address in (DATA_ENDPOINT, 0x80 | DATA_ENDPOINT):
                with i.EndpointDescriptor() as e:
                    e.bEndpointAddress, e.bmAttributes, e.wMaxPacketSize = (
                        address,
                        0x02,
                        PACKET_BYTES,
                    )
                    e.bInterval = 0
    return collection
