# SPDX-License-Identifier: BSD-2-Clause
"""A target of the studio, with a thread of its own that runs networks on it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.gateware.cores import open_core
from quintet.tools.build.reached import time_clock

from .pictures import probabilities

if TYPE_CHECKING:
    from .networks import DigitsNetwork, PlanNetwork

__all__ = ["StudioTarget"]

#: Seconds between two looks at the counters of a run.
_LOOK = 0.2
#: Seconds that threads are given to end.
PATIENCE = 1.0


class _Watched:
    """A target whose counters are reported during a run."""

    def __init__(self, target, tell):
        self._target, self._tell = target, tell

    def __getattr__(self, name):
        return getattr(self._target, name)

    def wait(self, **options):
        seen = time.monotonic()

        def tick(_):
            nonlocal seen
            if time.monotonic() - seen >= _LOOK:
                self._tell(
                    {
                        name: self._target.read_register(f"cnt_{name}")
                        for name in self._target.registers.counters
                    }
                )
                seen = time.monotonic()

        return self._target.wait(tick=tick, **options)


class StudioTarget:
    """A target of the studio, opened when it is first used.

    Parameters
    ----------
    name : of the target, as :func:`~quintet.tools.targets.open_target` takes it
    isa : its instruction set
    label : its title on the page
    tell : callable(event), thread-safe; an event is a dict with ``kind`` (``state``,
        ``counters``, ``result``, ``error``) and ``machine``
    """

    def __init__(
        self, name: str, isa: str, label: str, tell: Callable[[dict[str, Any]], object]
    ) -> None:
        self.name, self.isa, self.label = name, isa, label
        self.state, self.text = "off", ""
        #: When the present state began, by the monotonic clock.
        self._since = time.monotonic()
        self._tell = tell
        self._queue: queue.Queue[Any] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._target = self._model = None
        self._sessions: dict[Any, Any] = {}
        #: Number of the request at work; live counters carry it, so that a page knows its question.
        self._request = None

    def described(self) -> dict[str, Any]:
        """Description of the target for the page, with the seconds since its state began."""
        return {
            "machine": self.name,
            "isa": self.isa,
            "title": open_core(self.isa).isa.ISA.title,
            "label": self.label,
            "state": self.state,
            "text": self.text,
            "seconds": round(time.monotonic() - self._since, 1),
        }

    def open(self, network: DigitsNetwork | PlanNetwork) -> None:
        """Opens the target and loads ``network`` into its memory, in the background, so that the
        first answer takes no longer than others."""
        self._put(lambda: self._session(network.plan(self._build()), self._target))

    def run(self, request: int, network: DigitsNetwork | PlanNetwork, values: np.ndarray) -> None:
        """Runs ``network`` on an input in the user's layout, in the background; the answer is an
        event with the number ``request``."""
        self._put(lambda: self._answer(request, network, values), request)

    def close(self) -> None:
        """Ends the thread and closes the target. A long operation, such as compiling a virtual
        board, is not waited for: it ends with the process."""
        self.end()
        self.wait(PATIENCE)

    def end(self) -> None:
        """Requests the thread's end."""
        if self._thread is not None:
            while not self._queue.empty():
                self._queue.get_nowait()
            self._queue.put(None)

    def wait(self, seconds: float) -> None:
        """Waits for the thread's end, at most ``seconds``."""
        if self._thread is not None:
            self._thread.join(max(0.0, seconds))
            self._thread = None

    # The thread

    def _put(self, work, request=None):
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
            self._thread.start()
        self._queue.put((work, request))

    def _work(self):
        while (item := self._queue.get()) is not None:
            work, request = item
            try:
                self._ready()
                work()
                self._become("ready")
            except (
                Exception
            ) as error:  # whatever fails is shown on the page, and the next request begins anew
                self._drop()
                self._become("failed", str(error))
                self._tell(
                    {"kind": "error", "machine": self.name, "request": request, "error": str(error)}
                )
        self._drop()

    def _become(self, state, text=""):
        if (state, text) != (self.state, self.text):
            if state != self.state:
                self._since = time.monotonic()
            self.state, self.text = state, text
            self._tell({"kind": "state", **self.described()})

    def _ready(self):
        if self._target is None:
            from quintet.tools.targets import open_target

            self._become("opening")
            self._target = open_target(
                self.name, lambda what, *_: self._become("opening", str(what))
            )

    def _drop(self):
        self._sessions.clear()
        for target in (self._target, self._model):
            if target is not None:
                try:
                    target.close()
                except Exception:  # what has failed may fail again
                    pass
        self._target = self._model = None

    def _session(self, plan, target):
        """The session of a plan on a target; one at a time, since plans share memory."""
        from quintet.tools.compiler.session import Session

        held = self._sessions.get(target)
        if held is None or held.plan is not plan:
            watched = _Watched(
                target,
                lambda counters: self._tell(
                    {
                        "kind": "counters",
                        "machine": self.name,
                        "request": self._request,
                        "counters": counters,
                    }
                ),
            )
            held = self._sessions[target] = Session(plan, watched)
        return held

    def _answer(self, request, network, values):
        self._become("busy")
        self._request = request
        plan = network.plan(self._build())
        session = self._session(plan, self._target)
        before, began = dict(session.report.counters), time.monotonic()
        outputs = self._outputs(session, values)
        seconds = time.monotonic() - began
        info = self._target.info
        counters = {
            name: value - before.get(name, 0) for name, value in session.report.counters.items()
        }
        cycles = counters.get("cycles", 0)
        known = time_clock(info)
        clock = plan.clock(known.hz)
        event = {
            "kind": "result",
            "machine": self.name,
            "request": request,
            "cycles": cycles or None,
            "seconds": seconds,
            "counters": counters,
            "clock_hz": clock,
            "clock_note": known.note,
            "microseconds": cycles / clock * 1e6 if cycles and clock else None,
            "board": info.board,
        }
        scores = next(iter(outputs.values())).reshape(-1)
        if len(outputs) == 1 and scores.size > 1:
            event.update(
                {
                    "class": int(scores.argmax()),
                    "probabilities": [round(float(p), 5) for p in probabilities(scores)],
                }
            )
        else:
            event["outputs"] = {
                name: [float(x) for x in array.reshape(-1)[:8]] for name, array in outputs.items()
            }
        if info.kind != "model":
            exact = self._outputs(self._session(plan, self._golden(plan)), values)
            event["equal"] = all(np.array_equal(outputs[name], exact[name]) for name in exact)
        self._tell(event)

    @staticmethod
    def _outputs(session, values):
        return session.outputs(**{name: array[None] for name, array in values.items()})

    def _golden(self, plan):
        if self._model is None:
            from quintet.tools.targets import open_target

            self._model = open_target(f"model:{plan.isa}")
        return self._model

    def _build(self):
        """The build to compile for. A board is open already, and says it itself."""
        from quintet.tools.compiler.target_build import TargetBuild, target_build

        info = self._target.info
        if info.kind != "board":
            return target_build(self.name)
        return TargetBuild(
            info.isa,
            info.preset,
            info.params,
            info.memory_size,
            info.board,
            info.clock_hz,
            self.name,
            kind=info.kind,
        )
