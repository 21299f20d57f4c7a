# SPDX-License-Identifier: BSD-2-Clause
"""Bus hosts that read and write registers, one access at a time: on Wishbone and on AXI4-Lite, with
a protocol checker."""

from tests.support.buses.stepping import expect

__all__ = ["AXI4LiteHost", "WishboneHost"]

READ_CHANNELS, WRITE_CHANNELS = ("ar",), ("aw", "w")


class WishboneHost:
    """Wishbone host: classic cycles of 32 bits.

    ``start(address, value=None)`` begins an access, a write of ``value`` if it is given; ``result``
    is
    ``None`` until it has ended, then (data, error).
    """

    def __init__(self, rnd, prefix="registers", stall=0.2):
        self.prefix, self.rnd, self.stall = prefix, rnd, stall
        self.active, self.result, self.request = False, None, None

    def start(self, address, value=None, sel=0xF):
        self.request, self.result = (address, value, sel), None

    def step(self, seen):
        p = self.prefix
        if self.active:
            ack, err = seen[f"{p}__ack"], seen.get(f"{p}__err", 0)
            if not (ack or err):
                return {}
            self.active, self.result = False, (seen[f"{p}__dat_r"], bool(err))
            return {f"{p}__cyc": 0, f"{p}__stb": 0}
        if self.request is None or self.rnd.random() < self.stall:
            return {}
        address, value, sel = self.request
        self.request, self.active = None, True
        return {
            f"{p}__adr": address >> 2,
            f"{p}__we": int(value is not None),
            f"{p}__dat_w": value or 0,
            f"{p}__sel": sel,
            f"{p}__cyc": 1,
            f"{p}__stb": 1,
        }


class AXI4LiteHost:
    """AXI4-Lite host with the interface of :class:`WishboneHost`: address and data of a write
    arrive in any order, and answers wait. With ``start_both``, a read and a write are in progress
    together; ``results`` has those of both."""

    def __init__(self, rnd, prefix="registers", stall=0.2):
        self.prefix, self.rnd, self.stall = prefix, rnd, stall
        self.offers, self.shown = {}, {}
        self.results = {}
        self.write = None
        self.ready = {"b": 0, "r": 0}
        self.before = {}

    @property
    def result(self):
        return self.results.get(self.write)

    def start(self, address, value=None, sel=0xF):
        self.results, self.write = {}, value is not None
        self._offer(address, value, sel)

    def start_both(self, reads, writes, value):
        self.results = {}
        self._offer(reads, None, 0)
        self._offer(writes, value, 0xF)

    def _offer(self, address, value, sel):
        if value is None:
            self.offers["ar"] = {"addr": address}
        else:
            self.offers |= {"aw": {"addr": address}, "w": {"data": value, "strb": sel}}

    def step(self, seen):
        p, changes = self.prefix, {}
        for channel in list(self.shown):
            if seen[f"{p}__{channel}ready"]:
                del self.shown[channel]
                changes[f"{p}__{channel}valid"] = 0
        for channel in list(self.offers):
            if self.rnd.random() >= self.stall:
                self.shown[channel] = self.offers.pop(channel)
                changes[f"{p}__{channel}valid"] = 1
                for name, value in self.shown[channel].items():
                    changes[f"{p}__{channel}{name}"] = value
        for channel, data in (("b", None), ("r", f"{p}__rdata")):
            valid = seen[f"{p}__{channel}valid"]
            payload = (seen[data] if data else 0, seen[f"{p}__{channel}resp"])
            if channel in self.before:
                expect(valid and payload == self.before[channel], f"{channel} did not wait")
                del self.before[channel]
            if valid and self.ready[channel]:
                write = channel == "b"
                expect(write not in self.results, "two answers")
                self.results[write] = (payload[0], payload[1] >= 2)
            elif valid:
                self.before[channel] = payload
            self.ready[channel] = int(self.rnd.random() >= self.stall)
            changes[f"{p}__{channel}ready"] = self.ready[channel]
        return changes
