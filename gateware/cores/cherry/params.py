# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of the Cherry core (specification, section 8). Pure Python."""

from ...isa.parameters import Parameter, ParameterError, ParameterSpace, Params, Preset
from ...isa.peaks import Peaks

__all__ = ["SPACE", "cap_feature", "cap_size", "microcoded"]

#: Bytes of a word of main memory.
_WORD = 4


def _check(values):
    """Checks combinations of parameters that their single ranges allow but the core does not."""
    if values["banks"] > 1 << values["log_mem"]:
        raise ParameterError(
            f"parameter banks must be at most {1 << values['log_mem']} elements of MEM, not "
            f"{values['banks']}"
        )
    if microcoded(values):
        return
    others = [
        f"{name} {least}, not {values[name]}"
        for name, least in _SERIAL.items()
        if values[name] != least
    ]
    others += [f"sfu_lanes 0 or 1, not {values['sfu_lanes']}"] if values["sfu_lanes"] > 1 else []
    for names in (("macs",), ("banks",), ("contexts", "slots")):
        if all(values[name] == 1 for name in names):
            what = (
                f"parameter {names[0]} is"
                if len(names) == 1
                else f"parameters {' and '.join(names)} are both"
            )
            raise ParameterError(
                f"{what} 1 in the small engine alone (presets up5k, hx8k), which asks for "
                f"{', '.join(others)}"
            )


def cap_size(params: Params) -> int:
    """Value of register ``cap_size`` of a build."""
    return (
        params["log_mem"] | params["contexts"] << 8 | params["macs"] << 16 | params["banks"] << 24
    )


def cap_feature(params: Params, overlap: bool) -> int:
    """Value of register ``cap_feature`` of a build; ``overlap``: DMA can overlap programs."""
    return (
        params["sfu_lanes"]
        | params["reduce_axes"] << 4
        | (params["acc_frac"] == 17) << 5
        | bool(overlap) << 6
        | params["imem"] << 16
    )


#: The smallest parallel build, and the ACC of the published ISA.
_SERIAL = {"macs": 1, "banks": 1, "contexts": 1, "alu_lanes": 1, "acc_frac": 9, "slots": 1}
#: Sizes for the chips of iCE40.
_SMALL = _SERIAL | {"log_mem": 11, "sfu_lanes": 1, "reduce_axes": 1, "imem": 256}


def microcoded(params: Params) -> bool:
    """Whether a build has the microcoded engine (:mod:`.small`), with serial units only."""
    return params["sfu_lanes"] <= 1 and all(
        params[name] == least for name, least in _SERIAL.items()
    )


def _peaks(params):
    """Peak performance of a build. The small engine sums four products at a time: eight reads, and
    fourteen cycles of latency. DMA converts one word per cycle."""
    return Peaks(4 / 22 if microcoded(params) else params["macs"], _WORD)


SPACE = ParameterSpace(
    "cherry",
    (
        Parameter(
            "macs",
            int,
            (1, 4, 8, 16, 32, 64),
            32,
            doc="multipliers: macs/4 dot units; 1: the small engine",
        ),
        Parameter(
            "banks",
            int,
            (1, 2, 4, 8, 16),
            16,
            doc="banks of MEM: at most so many elements a cycle; 1: the small engine",
        ),
        Parameter(
            "log_mem", int, range(10, 18), 16, job="at_least", doc="log2 of the elements of MEM"
        ),
        Parameter(
            "contexts",
            int,
            (1, 2, 4, 8, 16, 32),
            16,
            job="at_least",
            doc="iterations of an independent loop at a time",
        ),
        Parameter(
            "sfu_lanes",
            int,
            (0, 1, 2, 4),
            2,
            job="at_least",
            doc="special-function lanes; 0: exp, log, div and pow raise fault feature",
        ),
        Parameter("alu_lanes", int, (1, 4, 8, 16), 16, doc="lanes of relu, gtz, max, copy, zero"),
        Parameter(
            "reduce_axes",
            int,
            (0, 1),
            1,
            job="at_least",
            doc="1: axes 1 and 2 of max and sum are built",
        ),
        Parameter(
            "acc_frac", int, (9, 17), 9, job="equal", doc="fraction bits of an element of ACC"
        ),
        Parameter(
            "imem",
            int,
            (256, 512, 1024, 2048),
            1024,
            job="at_least",
            doc="instructions of a program",
        ),
        Parameter("multiplier", str, ("dsp", "lut"), "dsp", doc="multipliers of DSPs, or of logic"),
        Parameter(
            "slots",
            int,
            (1, 2),
            2,
            doc="programs resident at a time; 1 with one context: the small engine",
        ),
    ),
    (
        Preset(
            "85f",
            {},
            default=True,
            clock_mhz=70,
            doc="32 MACs a cycle, 65,536 elements in 16 banks",
        ),
        Preset("85f-max", {"macs": 64}, clock_mhz=60, doc="64 MACs a cycle"),
        Preset(
            "45f",
            {"macs": 16, "banks": 4, "log_mem": 14, "sfu_lanes": 1, "alu_lanes": 4, "imem": 512},
            doc="16 MACs a cycle, 16,384 elements in 4 banks",
        ),
        Preset(
            "45f-fast",
            {"macs": 16, "banks": 4, "log_mem": 16, "sfu_lanes": 1, "alu_lanes": 4, "imem": 512},
            clock_mhz=70,
            on_chip=32 << 10,
            on_chip_beat=4,
            doc="16 MACs a cycle, 65,536 elements in 4 banks, and the lowest 32 KiB of main memory "
            "on chip",
        ),
        Preset(
            "25f",
            {"macs": 4, "banks": 2, "log_mem": 14, "sfu_lanes": 1, "alu_lanes": 4, "imem": 512},
            clock_mhz=60,
            doc="4 MACs a cycle, 16,384 elements in 2 banks",
        ),
        Preset(
            "up5k",
            _SMALL,
            clock_mhz=18,
            needs=("SB_MAC16",),
            doc="one multiplier, 2,048 elements: the small engine, main memory in SPRAM",
        ),
        Preset(
            "hx8k",
            _SMALL | {"multiplier": "lut"},
            doc="one multiplier, 2,048 elements: the small engine",
        ),
        Preset(
            "hx8k-mini",
            _SMALL | {"multiplier": "lut", "log_mem": 10},
            doc="1,024 elements: the same beside main memory in block RAM",
        ),
        Preset(
            "sim",
            {
                "macs": 8,
                "banks": 4,
                "log_mem": 12,
                "contexts": 4,
                "sfu_lanes": 1,
                "alu_lanes": 4,
                "imem": 512,
            },
            doc="small, for tests",
        ),
    ),
    _check,
    _peaks,
)
