# SPDX-License-Identifier: BSD-2-Clause
"""Frames that sound hosts never send, against boards in Python: a sound one, and some that are
not."""

from types import SimpleNamespace

import pytest

from quintet.gateware.info import INFO_BASE
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.link.errors import LinkError
from quintet.tools.netlist.exchange import exchange

INFO = b"QNTT" + bytes(range(1, 121))


class _Pipe:
    """A board that answers at once; ``spoil`` changes what it sends."""

    name, bytes_per_second, served = "a board", 300_000.0, False

    def __init__(self, model, spoil=lambda sent: sent):
        self.model, self.spoil, self.sent, self.taken = model, spoil, bytearray(), 0

    def write(self, data):
        self.taken += len(data)
        self.sent += self.spoil(self.model.feed(data))

    def read(self, limit, timeout):
        data, self.sent = bytes(self.sent[:limit]), self.sent[limit:]
        return data


def _made(size=1 << 17, clock_hz=24_000_000):
    info = WordMemory(len(INFO), INFO_BASE)
    info.data[:] = INFO
    return DeviceModel([WordMemory(size), info]), SimpleNamespace(
        backing=SimpleNamespace(size=size), clock_hz=clock_hz, info=INFO
    )


@pytest.mark.parametrize(
    "size, clock_hz", [(4096, 24_000_000), (1 << 17, 24_000_000), (1 << 25, 80_000_000)]
)
def test_a_sound_board(size, clock_hz):
    model, soc = _made(size, clock_hz)
    pipe = _Pipe(model)
    findings = list(exchange(pipe, soc))
    assert all(finding.ok for finding in findings), [
        finding for finding in findings if not finding.ok
    ]
    assert len(findings) == 9
    # On a slow line, of many cycles a bit, less is said.
    assert (pipe.taken < 4000) == (clock_hz > 40_000_000)


def test_every_address_line_is_used():
    model, soc = _made()
    assert all(finding.ok for finding in exchange(_Pipe(model), soc))
    used = {at for at, byte in enumerate(model.regions[0].data) if byte}
    assert all(
        any(at >> n & 1 for at in used) and any(not at >> n & 1 for at in used) for n in range(17)
    )


class _Deaf(DeviceModel):
    """Executes what another session asks for."""

    def _request(self, contents):
        return super()._request(
            contents[:1] + (self.session if contents[0] & 7 else contents[1:3]) + contents[3:]
        )


class _Repeats(DeviceModel):
    """Executes a write again."""

    def _request(self, contents):
        if contents[0] == 2 and contents[3] == self.expected - 1 & 255:
            self._write(int.from_bytes(contents[4:8], "little"), b"again")
        return super()._request(contents)


class _Short(DeviceModel):
    """Memory whose upper half is its lower half."""

    def _region(self, address):
        region = super()._region(address)
        if region is self.regions[0]:
            return SimpleNamespace(
                read=lambda at: region.read(at % (1 << 16)),
                write=lambda at, *rest: region.write(at % (1 << 16), *rest),
            )
        return region


@pytest.mark.parametrize(
    "kind, name",
    [(_Deaf, "numbers and sessions"), (_Repeats, "numbers and sessions"), (_Short, "addresses")],
)
def test_boards_that_are_wrong(kind, name):
    model, soc = _made()
    wrong = kind(model.regions)
    found = {finding.name: finding for finding in exchange(_Pipe(wrong), soc)}
    assert not found[name].ok and "expected Answer(" in found[name].found


def test_bytes_too_many():
    model, soc = _made()
    findings = list(
        exchange(_Pipe(model, lambda sent: sent + b"\0" if len(sent) < 60 else sent), soc)
    )
    assert any(not finding.ok and "bytes of" in finding.found for finding in findings)


def test_another_header():
    model, soc = _made()
    soc.info = b"QNTT" + bytes(120)
    first = next(exchange(_Pipe(model), soc))
    assert not first.ok and first.name == "header" and first.found.startswith("514e5454")


@pytest.mark.parametrize(
    "sent, message",
    [
        (b"", "no answer to identify at a board$"),
        (b"\1\2\3", "no answer to identify at a board, but 3 bytes"),
    ],
)
def test_no_identify(sent, message):
    model, soc = _made()
    with pytest.raises(LinkError, match=message):
        list(exchange(_Pipe(model, lambda _: sent), soc))
