# SPDX-License-Identifier: BSD-2-Clause
"""List the cores, their parameters and their presets."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import Exit

if TYPE_CHECKING:
    from ...gateware.cores import CorePackage
    from ..console import Console


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("core", nargs="?", help="one core, with all its parameters")


def run(args: argparse.Namespace, console: Console) -> int:
    from ...gateware.cores import core_names, open_core

    names = [open_core(args.core).name] if args.core else core_names()
    cores = [describe(open_core(name)) for name in names]
    console.result({"cores": cores})
    if args.core:
        _show_one(cores[0], console)
    else:
        console.table(
            ("core", "title", "what", "presets"),
            [
                (
                    c["name"],
                    c["title"],
                    c["doc"] + ("" if c["gateware"] else " (golden model only)"),
                    ", ".join(p["name"] + ("*" if p["default"] else "") for p in c["presets"]),
                )
                for c in cores
            ],
        )
        console.out("* default. quintet cores CORE lists its parameters.")
    return Exit.OK


def describe(package: CorePackage) -> dict[str, Any]:
    """One core as an object: identity, parameters with legal values, presets with every size."""
    isa, space = package.isa.ISA, package.params.SPACE
    return {
        "name": isa.name,
        "title": isa.title,
        "doc": isa.doc,
        "tag": isa.tag,
        "version": ".".join(map(str, isa.version)),
        "program_align": isa.program_align,
        "forms": list(package.software.SOFTWARE.forms),
        "gateware": package.has_core,
        "parameters": [
            {
                "name": p.name,
                "kind": p.kind.__name__,
                "legal": p.expected,
                "default": p.default,
                "job": p.job,
                "doc": p.doc,
            }
            for p in space.parameters.values()
        ],
        "presets": [
            {
                "name": p.name,
                "default": p.default,
                "doc": p.doc,
                "macs": _macs(space, space.resolve(p.name)),
                "params": space.resolve(p.name),
            }
            for p in space.presets.values()
        ],
        "registers": [
            {
                "name": r.name,
                "offset": r.offset,
                "access": r.access,
                "count": r.count,
                "width": r.width,
                "doc": r.doc,
            }
            for r in isa.registers
        ],
        "faults": [
            {"code": f.code, "name": f.name, "condition": f.condition, "detail": f.detail}
            for f in isa.faults
        ],
    }


def _macs(space, params):
    """Peak MACs per cycle of a build, ``None`` if the core does not declare them."""
    peaks = space.peaks(params)
    return None if peaks is None else round(peaks.macs, 4)


def _show_one(core, console):
    console.out(f"{core['name']}: {core['title']} (tag {core['tag']}, version {core['version']})")
    console.table(
        ("parameter", "default", "legal", "a job needs it", "meaning"),
        [
            (p["name"], _text(p["default"]), p["legal"], p["job"].replace("_", " "), p["doc"])
            for p in core["parameters"]
        ],
    )
    default = next(p["params"] for p in core["presets"] if p["default"])
    console.table(
        ("preset", ">MACs a cycle", "what", "sizes, beside those of the default preset"),
        [
            (
                p["name"] + ("*" if p["default"] else ""),
                "" if p["macs"] is None else f"{p['macs']:.3g}",
                p["doc"],
                " ".join(
                    f"{name}={_text(value)}"
                    for name, value in p["params"].items()
                    if p["default"] or value != default[name]
                ),
            )
            for p in core["presets"]
        ],
    )


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
