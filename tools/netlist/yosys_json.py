# SPDX-License-Identifier: BSD-2-Clause
"""Reader of netlists in yosys' JSON format, which nextpnr also writes."""

import json
from pathlib import Path
from typing import Any

from .netlist import HIGH, LOW, Netlist, NetlistError, Pad

__all__ = ["Reader", "has_behavioural_model", "number", "parameter"]


def _top(path):
    """The module named top of the JSON at ``path``."""
    try:
        return json.loads(Path(path).read_text())["modules"]["top"]
    except OSError as error:
        raise NetlistError(f"cannot read the netlist {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise NetlistError(
            f"{path} is not a netlist in yosys' JSON with a module named top"
        ) from None


def _signals(nets):
    """Named signals of the JSON: (name, number of the lowest bit, bits)."""
    return (
        (name, net.get("offset", 0), net["bits"])
        for name, net in nets.items()
        if not net.get("hide_name")
    )


class Reader:
    """Reader of the top module: its cells, and a net for each of its bits.

    Parameters
    ----------
    path : of the JSON

    Attributes
    ----------
    netlist : Netlist
    module : the top module

    Raises
    ------
    NetlistError
        It cannot be read, or is no netlist.
    """

    def __init__(self, path: str | Path) -> None:
        self.module = _top(path)
        self.netlist = Netlist()
        self._nets: dict[int | str, int] = {"0": LOW, "1": HIGH}

    def bit(self, bit: int | str) -> int:
        """The net of a bit of the JSON."""
        if bit in ("x", "z"):
            return self.netlist.floating()
        if bit not in self._nets:
            self._nets[bit] = self.netlist.net()
        return self._nets[bit]

    def cells(self) -> list[tuple[str, dict[str, Any]]]:
        """All cells of the top module: (name, cell)."""
        return [
            (name, cell)
            for name, cell in self.module["cells"].items()
            if cell["type"] != "$scopeinfo"
        ]

    def pin(
        self, cell: dict[str, Any], name: str, default: int | None = None, index: int = 0
    ) -> int:
        """The net at a pin; if the pin is not connected, ``default``, or a floating net."""
        bits = cell["connections"].get(name) or ()
        if index < len(bits):
            return self.bit(bits[index])
        return self.netlist.floating() if default is None else default

    def output(self, cell: dict[str, Any], name: str, index: int = 0) -> int | None:
        """The net that a pin drives, or ``None`` if it is not connected."""
        bits = cell["connections"].get(name) or ()
        return self.bit(bits[index]) if index < len(bits) and isinstance(bits[index], int) else None

    def port_bits(self) -> dict[int | str, tuple[str, int]]:
        """Ports by bit: bit of the JSON -> (port without Amaranth's suffix, bit of the port); adds
        the ports to the netlist's pads."""
        found: dict[int | str, tuple[str, int]] = {}
        for name, port in self.module["ports"].items():
            name = name.removesuffix("__io")
            self.netlist.pads[name] = [None] * len(port["bits"])
            found |= {bit: (name, index) for index, bit in enumerate(port["bits"])}
        return found

    def name_nets(self, source: str | Path | None = None) -> None:
        """Names the netlist's nets after all cells are read: (signal, bit) -> net, including names
        invented by autoname.

        ``source``: path of the netlist that nextpnr has read. It keeps one name of each net, for
        each bit; there all of them are.
        """
        netlist, nets = self.netlist, self.module.get("netnames", {})
        if source is None:
            for name, low, bits in _signals(nets):
                netlist.widths[name] = len(bits)
                netlist.names.update(
                    ((name, low + k), self._nets[bit])
                    for k, bit in enumerate(bits)
                    if bit in self._nets
                )
            return
        kept = {
            name: self._nets[net["bits"][0]]
            for name, net in nets.items()
            if net["bits"] and net["bits"][0] in self._nets
        }
        signals = list(_signals(_top(source).get("netnames", {})))
        found: dict[int | str, int] = {"0": LOW, "1": HIGH}
        for name, low, bits in signals:
            netlist.widths[name] = len(bits)
            for k, bit in enumerate(bits):
                if (
                    bit not in found
                    and (net := kept.get(f"{name}[{low + k}]" if len(bits) > 1 else name))
                    is not None
                ):
                    found[bit] = net
        for name, low, bits in signals:
            netlist.names.update(
                ((name, low + k), found[bit]) for k, bit in enumerate(bits) if bit in found
            )

    def plain_pads(self) -> None:
        """Adds pads for ports without I/O cells."""
        for name, port in self.module["ports"].items():
            pads = self.netlist.pads[name.removesuffix("__io")]
            for index, bit in enumerate(port["bits"]):
                if pads[index] is None:
                    net = self.bit(bit)
                    pads[index] = Pad(sees=net) if port["direction"] == "input" else Pad(net, HIGH)


def has_behavioural_model(cell: dict[str, Any]) -> int:
    """Whether a block RAM is an instance of the gateware (1) or inferred from a plain memory (0),
    since their simulations of a read during a write differ."""
    attributes = cell.get("attributes", ())
    # Cells that yosys infers come from its own Verilog, and are marked as such. They have a name of
    # the gateware, too, if their module was synthesised apart and flattened afterwards.
    return int("hdlname" in attributes and "module_not_derived" not in attributes)


def parameter(cell: dict[str, Any], name: str, default: object = "") -> str:
    """A parameter as text, without the trailing blank by which the JSON distinguishes texts from
    numbers."""
    return str(cell["parameters"].get(name, default)).strip()


def number(cell: dict[str, Any], name: str, default: object = 0) -> int:
    """A parameter as a number, from binary digits or a decimal number."""
    text = parameter(cell, name, default)
    try:
        return int(text, 2) if set(text) <= set("01") and len(text) > 1 else int(text)
    except ValueError:
        raise NetlistError(f"parameter {name} is {text!r}; expected a number") from None
