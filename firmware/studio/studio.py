# SPDX-License-Identifier: BSD-2-Clause
"""The studio without its web interface: networks, targets, requests, and events for all
listeners."""

from __future__ import annotations

import base64
import binascii
import itertools
import queue
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.tools.errors import InputError

from .networks import described
from .pictures import digit, image_shape, image_values, npy_values
from .target import PATIENCE, StudioTarget

if TYPE_CHECKING:
    from .networks import DigitsNetwork, PlanNetwork

__all__ = ["Studio"]

#: Rows and columns of a drawing, at most.
_MOST = 512


class Studio:
    """Networks and targets of one studio page.

    Parameters
    ----------
    networks : list of :class:`~.networks.DigitsNetwork` and :class:`~.networks.PlanNetwork`
    places : list of (target's name, ISA, label), the targets that the page may open
    chosen : names of the places that the page begins with, opened at once
    """

    def __init__(
        self,
        networks: Sequence[DigitsNetwork | PlanNetwork],
        places: Iterable[tuple[str, str, str]],
        chosen: Iterable[str] = (),
    ) -> None:
        self.networks = {network.key: network for network in networks}
        self.targets = {
            name: StudioTarget(name, isa, label, self._tell) for name, isa, label in places
        }
        self.chosen = list(chosen)
        self._listeners: set[queue.SimpleQueue[dict[str, Any]]] = set()
        self._lock, self._numbers = threading.Lock(), itertools.count(1)
        #: Set when streams of events shall end.
        self.ended = threading.Event()
        for name in self.chosen:
            self.targets[name].open(networks[0])

    def described(self) -> dict[str, Any]:
        """Description of networks and targets for the page."""
        return {
            "networks": [described(network) for network in self.networks.values()],
            "machines": [target.described() for target in self.targets.values()],
            "chosen": self.chosen,
        }

    def recognise(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Runs one input through one network on some targets; the answers arrive as events.

        Parameters
        ----------
        request : dict: ``network``, ``machines`` (names), ``input``:
            a dict with ``kind`` ``ink``, ``image``, ``npy`` or ``example``

        Returns
        -------
        dict
            ``request``, its number, for digits the ``pixels`` that the network sees, and for a
            digit of the data set its true ``label``.

        Raises
        ------
        InputError
            A field is missing or wrong; the message says which.
        """
        network = self._known("network", request.get("network"), self.networks)
        names = request.get("machines")
        if not isinstance(names, list) or not names:
            raise InputError("machines: expected a list of at least one")
        targets = [self._known("machine", name, self.targets) for name in names]
        for target in targets:
            if network.isa not in (None, target.isa):
                raise InputError(
                    f"{network.title} is compiled for {network.isa}, not for {target.isa}"
                )
        if len(network.inputs) != 1:
            raise InputError(
                f"{network.title} has {len(network.inputs)} inputs; the page gives one"
            )
        port = network.inputs[0]
        values = self._values(request.get("input"), network, port.shape)
        number = next(self._numbers)
        for target in targets:
            target.run(number, network, {port.name: values})
        answer = {"request": number}
        if network.digits:
            answer["pixels"] = values.tolist()
        if request["input"]["kind"] == "example":
            from .. import digits

            answer["label"] = int(digits.labels()[request["input"]["number"]])
        return answer

    @staticmethod
    def _known(what, name, there):
        if not isinstance(name, str) or name not in there:
            raise InputError(f"{what} {str(name)[:60]!r}: expected one of {', '.join(there)}")
        return there[name]

    def _values(self, given, network, shape):
        if not isinstance(given, dict):
            raise InputError("input: expected an object")
        kind = given.get("kind")
        if kind in ("ink", "example") and not network.digits:
            raise InputError(
                f"{network.title} is not a digits network; expected an image or an .npy"
            )
        if kind == "ink":
            return digit(_bytes(given, _side(given, "height"), _side(given, "width")))
        if kind == "example":
            from .. import digits

            number = given.get("number")
            if not isinstance(number, int) or not 0 <= number < digits.IMAGES:
                raise InputError(f"number {number!r}: expected 0 to {digits.IMAGES - 1}")
            return digits.images()[number].astype(np.float64)
        if kind == "image":
            found = image_shape(shape)
            if found is None:
                raise InputError(
                    f"an input of the shape {list(shape)} cannot be an image; give it as .npy"
                )
            return image_values(
                _bytes(given, found[0], found[1], 3),
                shape,
                _number(given, "low"),
                _number(given, "high"),
            )
        if kind == "npy":
            return npy_values(_data(given), shape)
        raise InputError(f"kind {str(kind)[:60]!r}: expected ink, image, npy or example")

    # Events

    @property
    def listeners(self) -> int:
        """Number of queues that receive events."""
        with self._lock:
            return len(self._listeners)

    def listen(self, most: int | None = None) -> queue.SimpleQueue[dict[str, Any]] | None:
        """Registers a queue that receives every event from now on; returns ``None`` if there are
        already ``most`` queues."""
        listener: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._lock:
            if most is not None and len(self._listeners) >= most:
                return None
            self._listeners.add(listener)
        return listener

    def leave(self, listener: queue.SimpleQueue[dict[str, Any]]) -> None:
        """Removes a queue that :meth:`listen` registered."""
        with self._lock:
            self._listeners.discard(listener)

    def _tell(self, event):
        with self._lock:
            for listener in self._listeners:
                listener.put(event)

    def close(self) -> None:
        """Closes all targets."""
        self.ended.set()
        for target in self.targets.values():
            target.end()
        until = time.monotonic() + PATIENCE
        for target in self.targets.values():
            target.wait(until - time.monotonic())


def _data(given):
    try:
        return base64.b64decode(given.get("data", None), validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise InputError("data: expected bytes in base64") from None


def _bytes(given, *shape):
    data = _data(given)
    if len(data) != np.prod(shape):
        raise InputError(f"data: {len(data)} bytes, expected {' x '.join(map(str, shape))}")
    return np.frombuffer(data, np.uint8).reshape(shape)


def _side(given, name):
    side = given.get(name)
    if not isinstance(side, int) or not 8 <= side <= _MOST:
        raise InputError(f"{name} {str(side)[:60]}: expected 8 to {_MOST}")
    return side


def _number(given, name):
    number = given.get(name)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise InputError(f"{name}: expected a number")
    return float(number)
