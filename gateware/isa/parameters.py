# SPDX-License-Identifier: BSD-2-Clause
"""Build parameters and presets of a core. Pure Python, since host tools use it on machines without
FPGA tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..suggestions import suggestion
from .peaks import Peaks

__all__ = [
    "CAPACITIES",
    "Capacity",
    "FPGAS",
    "LACKS",
    "Parameter",
    "ParameterError",
    "ParameterSpace",
    "Params",
    "Preset",
    "elaborating",
    "params_hash",
]

#: Every build parameter of a core by name: integers, booleans or strings.
Params: TypeAlias = Mapping[str, Any]

#: FPGA codes of preset names; a board falls back along the chain of its family to the next smaller
#: one.
FPGAS: dict[str, str | None] = {
    "85f": "45f",
    "45f": "25f",
    "25f": None,
    "hx8k": "up5k",
    "up5k": None,
    "sim": None,
}
#: Primitives of smaller FPGAs of its family that an FPGA has not got.
LACKS: dict[str, set[str]] = {"hx8k": {"SB_MAC16", "SB_SPRAM256KA"}}


@dataclass(frozen=True)
class Capacity:
    """Resources of an FPGA: logic cells, and the number of 8 x 8 products that its DSPs make per
    cycle."""

    cells: int
    products: int
    products_packed: int  # with two products from each DSP, by whatever means


#: Capacity by FPGA code.
CAPACITIES = {
    "85f": Capacity(cells=83_640, products=156, products_packed=312),
    "45f": Capacity(cells=43_848, products=72, products_packed=144),
    "25f": Capacity(cells=24_288, products=28, products_packed=56),
    "hx8k": Capacity(cells=7_680, products=0, products_packed=0),
    "up5k": Capacity(cells=5_280, products=16, products_packed=16),
}


class ParameterError(ValueError):
    """Error: a parameter or preset does not exist, or a value is out of range; the message names
    it."""


@contextmanager
def elaborating(what: str) -> Iterator[None]:
    """Context manager for elaborating ``what``: turns a component's ``ValueError``, for example
    about an unsupported multiplier width, into a :class:`ParameterError`."""
    try:
        yield
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"{what} cannot be built: {error}") from None


@dataclass(frozen=True)
class Parameter:
    """One build parameter: name, kind, legal values, default and meaning.

    ``legal`` is a tuple of values, a ``range``, or a predicate with ``legal_text`` as its
    description. ``job`` is the relation that a job's ``[params]`` requires of a target:
    ``"equal"``,
    ``"at_least"``, or ``"free"`` (never changes a result).
    """

    name: str
    kind: type[int | bool | str]  # int, bool or str
    legal: Any
    default: Any
    doc: str
    job: str = "free"
    legal_text: str = ""

    def parse(self, value: Any) -> int | bool | str:
        """Checks and converts ``value``, which is of this kind or its text as in ``-P
        name=value``."""
        if isinstance(value, str) and self.kind is not str:
            text = value.strip().lower()
            if self.kind is bool and text in ("true", "false"):
                value = text == "true"
            elif self.kind is int:
                try:
                    value = int(text.replace("_", ""), 0)
                except ValueError:
                    pass
        if type(value) is not self.kind or not self._accepts(value):
            raise ParameterError(f"parameter {self.name} must be {self.expected}, not {value!r}")
        return value

    def _accepts(self, value):
        return self.legal(value) if callable(self.legal) else value in self.legal

    @property
    def expected(self) -> str:
        """Description of the legal values, for messages."""
        if self.legal_text:
            return self.legal_text
        if isinstance(self.legal, range):
            step = f" in steps of {self.legal.step}" if self.legal.step != 1 else ""
            return f"{self.legal.start} to {self.legal[-1]}{step}"
        return "one of " + ", ".join(
            str(v).lower() if isinstance(v, bool) else str(v) for v in self.legal
        )


@dataclass(frozen=True)
class Preset:
    """A named set of parameter values, ``<fpga>[-variant]``; other parameters have their defaults.

    Attributes
    ----------
    clock_mhz : main clock of a SoC with this preset; ``None``: the board's own.
    beats : beat sizes of main memory, in bytes, that the engine supports; ``None``: any.
    needs : primitives of its FPGA that not every larger one of the family has (:data:`LACKS`).
    on_chip : bytes of main memory that a SoC with it has in block RAM, from address 0.
    on_chip_beat : most bytes of a beat of that memory; ``None``: as many as the engine takes.
    placer, router : algorithms of nextpnr that a bitstream is made by; ``None``: the usual ones.
    """

    name: str
    values: Params = field(default_factory=dict)
    default: bool = False
    doc: str = ""
    clock_mhz: float | None = None
    beats: tuple[int, ...] | None = None
    needs: tuple[str, ...] = ()
    on_chip: int = 0
    on_chip_beat: int | None = None
    placer: str | None = None
    router: str | None = None

    @property
    def fpga(self) -> str:
        """Name of the FPGA, the first part of the preset's name."""
        return self.name.split("-")[0]


class ParameterSpace:
    """Design space of one core: its build parameters and presets.

    Parameters
    ----------
    isa : str
    parameters : iterable of Parameter
    presets : iterable of Preset; exactly one is the default and one is ``sim``
    check : callable(dict), optional
        Raises :class:`ParameterError` for combinations that no single parameter's range excludes.
    peaks : callable(dict), optional
        The :class:`~.peaks.Peaks` of a build with these parameters.
    """

    def __init__(
        self,
        isa: str,
        parameters: Iterable[Parameter],
        presets: Iterable[Preset],
        check: Callable[[Params], None] | None = None,
        peaks: Callable[[Params], Peaks] | None = None,
    ) -> None:
        self.isa = isa
        self._peaks = peaks
        self.parameters = {p.name: p for p in parameters}
        self.presets = {p.name: p for p in presets}
        self._check = check
        for preset in self.presets.values():
            if preset.fpga not in FPGAS:
                raise ParameterError(f"preset {preset.name} of {isa}: unknown FPGA {preset.fpga}")
            self.resolve(preset.name)
        if sum(p.default for p in self.presets.values()) != 1:
            raise ParameterError(f"{isa}: exactly one preset must be the default")

    @property
    def default_preset(self) -> str:
        """Name of the default preset."""
        return next(p.name for p in self.presets.values() if p.default)

    def preset_for(self, fpga: str, beats: Collection[int] | None = None) -> str | None:
        """Name of the first preset for ``fpga``, else for the next smaller FPGA of its family, else
        ``None``."""
        return next(iter(self.presets_for(fpga, beats)), None)

    def presets_for(self, fpga: str, beats: Collection[int] | None = None) -> list[str]:
        """Names of all presets for ``fpga``: its own first, then those of smaller FPGAs of its
        family whose primitives it has. ``beats``: possible beat sizes of a memory; only presets
        whose engine supports one of them are listed."""
        names, lacks = [], LACKS.get(fpga, set())
        while fpga is not None:
            names += [
                p.name
                for p in self.presets.values()
                if p.fpga == fpga
                and not lacks & set(p.needs)
                and (beats is None or p.beats is None or set(beats) & set(p.beats))
            ]
            fpga = FPGAS.get(fpga)
        return names

    def peaks(self, params: Params) -> Peaks | None:
        """The :class:`~.peaks.Peaks` of a build with ``params``, values of all parameters; ``None``
        if the core declares none."""
        return None if self._peaks is None else self._peaks(params)

    def resolve(self, preset: str | None = None, overrides: Params | None = None) -> dict[str, Any]:
        """Resolves a preset and overrides to the values of all parameters, a dict in declaration
        order.

        Raises
        ------
        ParameterError
            Unknown preset or parameter, illegal value or combination.
        """
        preset = preset or self.default_preset
        if preset not in self.presets:
            raise ParameterError(
                f"{self.isa} has no preset {preset!r}{suggestion(preset, self.presets)}"
            )
        given = {**self.presets[preset].values, **(overrides or {})}
        for name in given:
            if name not in self.parameters:
                raise ParameterError(
                    f"{self.isa} has no parameter {name!r}{suggestion(name, self.parameters)}"
                )
        values = {p.name: p.parse(given.get(p.name, p.default)) for p in self.parameters.values()}
        if self._check is not None:
            self._check(values)
        return values


def params_hash(values: Params) -> int:
    """First 32 bits of the SHA-256 of the parameters in canonical JSON (sorted keys, no blanks)."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
