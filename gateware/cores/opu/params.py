# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of the OPU core (specification, section 8). Pure Python."""

from ...isa.parameters import Parameter, ParameterError, ParameterSpace, Params, Preset
from ...isa.peaks import Peaks
from .types import TYPE_SETS, type_set

__all__ = ["KERNEL_VOLUME", "LINE", "SPACE", "buffer_bytes", "cap_lanes"]

#: Elements of a line of ``ifm``.
LINE = 16
#: Weights of the largest legal kernel: 36 * 1024.
KERNEL_VOLUME = 36864
#: Elements of the largest legal ``ofm``.
_OFM_VOLUME = 131072


def _check(values):
    """Checks combinations of parameters that their single ranges allow but the core does not;
    ``out_lanes`` 0 becomes ``po``."""
    pi, po = values["pi"], values["po"]
    if values["ofm_lines"] > _OFM_VOLUME // po:
        raise ParameterError(
            f"parameter ofm_lines must be 16 to {_OFM_VOLUME // po} with po = {po} (all of the "
            f"largest "
            f"ofm), not {values['ofm_lines']}"
        )
    most = 2 * KERNEL_VOLUME // (pi * po)
    if values["ker_rows"] > most:
        raise ParameterError(
            f"parameter ker_rows must be 16 to {most} with pi = {pi} and po = {po} (two of the "
            f"largest "
            f"kernels), not {values['ker_rows']}"
        )
    if values["out_lanes"] > po:
        raise ParameterError(
            f"parameter out_lanes must be at most po = {po}, or 0 for po, not {values['out_lanes']}"
        )
    values["out_lanes"] = values["out_lanes"] or po
    if values["multiplier"] == "dsp_pair":
        if po % 2:
            raise ParameterError(f"parameter multiplier = dsp_pair needs an even po, not {po}")
        types = type_set(values)
        if types.ifm != 8 or types.ker != 8:
            raise ParameterError(
                f"parameter multiplier = dsp_pair needs products of 8 bits, not types = {types}"
            )
    if values["engine"] == "small":
        if values["types"] != "8-8-16-16":
            raise ParameterError(
                f"parameter engine = small needs types = 8-8-16-16, not {values['types']}"
            )
        for name in ("ifm_banks", "ofm_banks"):
            if values[name] != 1:
                raise ParameterError(
                    f"parameter engine = small needs {name} = 1, not {values[name]}"
                )
        # With one output channel there is no pair of products in a DSP.
        for name, value in (("pi", 16), ("po", 1)):
            if values[name] != value:
                raise ParameterError(
                    f"parameter engine = small needs {name} = {value}, not {values[name]}"
                )
        for name, most in (("ifm_lines", 1024), ("ofm_lines", 16384), ("ker_rows", 1024)):
            if values[name] > most:
                raise ParameterError(
                    f"parameter engine = small needs {name} of at most {most}, not {values[name]}"
                )


def buffer_bytes(params: Params) -> dict[str, int]:
    """Sizes in bytes of the buffers ``ifm``, ``ker`` and ``ofm``, all banks, by name."""
    types = type_set(params)
    return {
        "ifm": params["ifm_banks"] * params["ifm_lines"] * LINE * types.ifm // 8,
        "ker": params["ker_rows"] * params["pi"] * params["po"] * types.ker // 8,
        "ofm": params["ofm_banks"] * params["ofm_lines"] * params["po"] * types.ofm // 8,
    }


def cap_lanes(params: Params) -> int:
    """Value of register ``cap_lanes``: pi, po, banks of ``ifm``, banks of ``ofm``, one byte
    each."""
    return params["pi"] | params["po"] << 8 | params["ifm_banks"] << 16 | params["ofm_banks"] << 24


def _peaks(params):
    """Peak performance of a build: one tap of ``po`` output channels over ``pi`` input channels per
    cycle, in the small engine too."""
    return Peaks(params["pi"] * params["po"])


#: One output channel, one bank of each buffer; in the small engine; its sizes where buffers are
#: SPRAM, its products where they are block RAM.
_NARROW = {"po": 1, "ifm_banks": 1, "ofm_banks": 1}
_SMALL = _NARROW | {"engine": "small"}
_SPRAM = _SMALL | {"ifm_lines": 1024, "ofm_lines": 16384, "ker_rows": 1024}
_LOGIC = _SMALL | {"multiplier": "lut"}

SPACE = ParameterSpace(
    "opu",
    (
        Parameter(
            "types",
            str,
            tuple(TYPE_SETS),
            "8-8-16-16",
            job="equal",
            doc="widths of feature map, weights, bias and partial sums",
        ),
        Parameter("pi", int, (4, 8, 16), 16, doc="input channels a cycle"),
        Parameter(
            "po", int, (1, 2, 4, 8, 16), 8, doc="output channels a cycle; pi*po MACs a cycle"
        ),
        Parameter(
            "ifm_lines",
            int,
            range(16, 8193),
            4096,
            doc="one bank of ifm, in lines of 16 elements; a shape needs h*w*(channels/16) of them",
        ),
        Parameter(
            "ofm_lines",
            int,
            range(16, _OFM_VOLUME + 1),
            4096,
            doc=(
                "one bank of ofm, in lines of po elements, at most 131072/po; a shape needs "
                "h*w*ceil(channels/po)"
            ),
        ),
        Parameter(
            "ker_rows",
            int,
            range(16, 2 * KERNEL_VOLUME // 4 + 1),
            512,
            doc="kernel memory in rows of pi*po weights, at most 73728/(pi*po), used as a "
            "ring; a kernel needs "
            "taps*(input channels/pi)*ceil(output channels/po)",
        ),
        Parameter(
            "ifm_banks",
            int,
            (1, 2),
            2,
            doc="2: the next tile is loaded while this one is convolved",
        ),
        Parameter(
            "ofm_banks",
            int,
            (1, 2),
            2,
            doc="2: the last tile is stored while the next one is convolved",
        ),
        Parameter(
            "out_lanes",
            int,
            (0, 1, 2, 4, 8, 16),
            0,
            doc="elements a cycle in store, at most po; 0: po",
        ),
        Parameter(
            "multiplier",
            str,
            ("dsp", "dsp_pair", "lut"),
            "dsp",
            doc=(
                "one product in a DSP (two in an SB_MAC16), two in one (po even, 8-bit "
                "products), or logic alone"
            ),
        ),
        Parameter(
            "engine",
            str,
            ("pipelined", "small"),
            "pipelined",
            doc=(
                "small: one instruction after another in little logic, for an iCE40 (types "
                "8-8-16-16, one bank of each)"
            ),
        ),
    ),
    (
        Preset("85f", {}, default=True, doc="128 MACs a cycle"),
        Preset(
            "85f-p64",
            {"po": 4, "ofm_lines": 8192, "ker_rows": 1024},
            doc="64 MACs a cycle, in balance with 16-bit SDRAM",
        ),
        Preset(
            "85f-p256",
            {"po": 16, "ofm_lines": 2048, "ker_rows": 256, "multiplier": "dsp_pair"},
            doc="256 MACs a cycle, two products from each of 128 DSPs",
        ),
        Preset(
            "85f-p256-fast",
            {
                "po": 16,
                "ifm_lines": 1024,
                "ofm_lines": 512,
                "ker_rows": 256,
                "multiplier": "dsp_pair",
            },
            clock_mhz=93,
            on_chip=192 << 10,
            on_chip_beat=8,
            doc="the same with small buffers, and the lowest 192 KiB of main memory on chip",
        ),
        Preset(
            "85f-large",
            {"ifm_lines": 8192, "ofm_lines": 8192, "ker_rows": 288, "ifm_banks": 1, "ofm_banks": 1},
            doc="the largest ifm and kernel of the ISA; nothing overlaps",
        ),
        Preset(
            "45f",
            {"po": 4, "ifm_lines": 1536, "ofm_lines": 8192, "ker_rows": 576, "ofm_banks": 1},
            doc="64 MACs a cycle; holds every kernel",
        ),
        Preset(
            "45f-fast",
            {"ifm_lines": 1024, "ofm_lines": 1024, "multiplier": "dsp_pair"},
            on_chip=64 << 10,
            on_chip_beat=8,
            doc="128 MACs a cycle from 64 DSPs, small buffers, and the lowest 64 KiB of main "
            "memory on chip",
        ),
        Preset(
            "25f",
            _NARROW | {"ifm_lines": 1536, "ofm_lines": 16384, "ker_rows": 2304},
            doc="16 MACs a cycle; holds every kernel",
        ),
        Preset(
            "25f-mini",
            _NARROW | {"ifm_lines": 1024, "ofm_lines": 4096, "ker_rows": 2304},
            doc="the same beside main memory in block RAM",
        ),
        Preset(
            "up5k",
            _SPRAM,
            beats=(4,),
            needs=("SB_MAC16", "SB_SPRAM256KA"),
            doc=(
                "16 MACs a cycle from 8 SB_MAC16; ifm and ker in one SPRAM, ofm in one, main "
                "memory is the other two"
            ),
        ),
        Preset(
            "hx8k",
            _LOGIC | {"ifm_lines": 64, "ofm_lines": 768, "ker_rows": 256},
            beats=(2, 4),
            doc="16 MACs a cycle in logic; ifm, ker and ofm in block RAM",
        ),
        Preset(
            "hx8k-mini",
            _LOGIC | {"ifm_lines": 64, "ofm_lines": 256, "ker_rows": 256},
            beats=(2, 4),
            doc="the same beside main memory in block RAM",
        ),
        Preset(
            "sim",
            {
                "pi": 4,
                "po": 2,
                "ifm_lines": 256,
                "ofm_lines": 1024,
                "ker_rows": 576,
                "ifm_banks": 1,
                "ofm_banks": 1,
            },
            doc="small, for tests",
        ),
        Preset("sim-small", _SPRAM, beats=(4,), doc="the UP5K's engine, for tests"),
    ),
    _check,
    _peaks,
)
