# SPDX-License-Identifier: BSD-2-Clause
"""Formal proofs with yosys-smtbmc and z3.

A property is a :class:`Property` with ``Assert``, ``Assume`` and ``Cover`` (``amaranth.hdl``) in
it; what the solver chooses, in every cycle anew, are its :meth:`~Property.free` signals. ``prove``
does induction, ``check`` looks a number of cycles ahead, ``cover`` asks that every ``Cover`` can be
reached. All raise :class:`ProofFailed` with the solver's words.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from amaranth import ClockDomain, Module, Signal
from amaranth.back import rtlil
from amaranth.hdl import Assume, Elaboratable

__all__ = ["ProofFailed", "Property", "check", "check_bits", "cover", "find_tool", "prove"]


class ProofFailed(AssertionError):
    pass


class Property(Elaboratable):
    """Base class of properties, which override :meth:`build`. There is no reset; registers begin
    with their initial values."""

    def __init__(self):
        self.domain = ClockDomain("sync", reset_less=True)
        self.inputs = [self.domain.clk]  # without a port for it, registers would count as constant

    def free(self, *signals):
        """Makes undriven signals free for the solver."""
        self.inputs += signals

    def constant(self, m, signal):
        """A free signal that is constant over time."""
        self.free(signal)
        before, begun = (
            Signal.like(signal, name=f"{signal.name}_before"),
            Signal(name=f"{signal.name}_begun"),
        )
        m.d.sync += [before.eq(signal), begun.eq(1)]
        m.d.comb += Assume(~begun | (signal == before))

    def offers(self, m, stream, enable=1):
        """A free stream (``valid`` and ``payload``) that obeys the stream rule while ``enable``."""
        payload = (
            stream.payload if isinstance(stream.payload, Signal) else stream.payload.as_value()
        )
        self.free(stream.valid, payload)
        waits = Signal(name="waits")
        before = Signal(len(payload), name="before")
        m.d.sync += [waits.eq(stream.valid & ~stream.ready & enable), before.eq(payload)]
        m.d.comb += Assume(~(waits & enable) | (stream.valid & (payload == before)))

    def build(self, m):
        raise RuntimeError("build() of a property: expected a subclass that defines it")

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = self.domain
        self.build(m)
        return m


def find_tool(name):
    """Finds a tool of the YoWASP packages, or the native one."""
    beside = Path(sys.executable).parent
    for candidate in (
        shutil.which(f"yowasp-{name}"),
        str(beside / f"yowasp-{name}"),
        shutil.which(name),
    ):
        if candidate and Path(candidate).exists():
            return candidate
    raise RuntimeError(f"{name} not found")


def _environment():
    environment = dict(os.environ)
    import z3

    package = Path(z3.__file__).parent
    # The wheel puts the solver beside Python; the package's own folder is the fallback.
    folders = [
        str(Path(sys.executable).parent),
        str(package / "bin"),
        str(package.parents[3] / "bin"),
    ]
    environment["PATH"] = os.pathsep.join([*folders, environment.get("PATH", "")])
    return environment


def _run(folder, *command, limit=300):
    done = subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=limit
    )
    return done.returncode, done.stdout + done.stderr


def _translate(design, folder):
    from amaranth.hdl import Fragment

    fragment = Fragment.get(design, None)  # runs build(), which names the inputs
    (folder / "design.il").write_text(rtlil.convert(fragment, name="top", ports=design.inputs))
    (folder / "script.ys").write_text(
        "read_rtlil design.il\nhierarchy -top top\nproc\nflatten\nchformal -lower\n"
        "memory_nordff\nmemory_map\n"
        "opt -full\nasync2sync\ndffunmap\nopt_clean\nwrite_smt2 -wires design.smt2\n"
    )
    code, words = _run(folder, find_tool("yosys"), "-q", "script.ys")
    if code:
        raise RuntimeError(words)


def _solve(folder, *options):
    code, words = _run(folder, find_tool("yosys-smtbmc"), "-s", "z3", *options, "design.smt2")
    if code or "Status: passed" not in words and "Status: PASSED" not in words:
        raise ProofFailed(words)
    return words


def prove(design, folder, *, depth):
    """Proves that a property holds in every reachable state: a bounded check of ``depth`` cycles,
    and induction over as many."""
    _translate(design, folder)
    _solve(folder, "-t", str(depth))
    _solve(folder, "-i", "-t", str(depth))


def check(design, folder, *, depth):
    """Checks that a property holds in the first ``depth`` cycles."""
    _translate(design, folder)
    _solve(folder, "-t", str(depth))


def check_bits(design, folder, *, depth):
    """Checks like :func:`check`, by yosys's own SAT solver, which reaches a greater depth in the
    same time for designs with many choices and few words."""
    _translate(design, folder)
    (folder / "sat.ys").write_text(
        "read_rtlil design.il\nhierarchy -top top\nproc\nflatten\nchformal -lower\nchformal "
        "-cover -remove\nmemory_nordff\nmemory_map\n"
        "opt -full\nasync2sync\ntechmap\nopt -full\ndffunmap\nsimplemap\nopt_expr\nclean\n"
        f"sat -tempinduct-baseonly -maxsteps {depth} -prove-asserts -set-assumes -show-inputs "
        f"-verify\n"
    )
    code, words = _run(folder, find_tool("yosys"), "sat.ys")
    if (
        code
        or "proof finished" not in words.lower()
        and "reached maximum number of time steps" not in words.lower()
    ):
        raise ProofFailed(words[-20_000:])


def cover(design, folder, *, depth):
    """Checks that every ``Cover`` is reached within ``depth`` cycles."""
    _translate(design, folder)
    _solve(folder, "-c", "-t", str(depth))
