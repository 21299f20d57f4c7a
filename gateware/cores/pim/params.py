# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of the PIM core (specification, section 8). Pure Python."""

from ...isa.parameters import Parameter, ParameterError, ParameterSpace, Params, Preset
from ...isa.peaks import Peaks

__all__ = ["BUILT", "SPACE", "weight_bytes"]

#: Most that the gateware is built with; the golden model takes more.
BUILT = {"cores": 32, "lmem_bytes": 1 << 16}


def _powers(low, high):
    return tuple(1 << k for k in range(low, high + 1))


def _check(values):
    """Checks combinations of parameters that their single ranges allow but the core does not."""
    if values["xb_cols"] % values["lanes"]:
        raise ParameterError(
            f"parameter lanes must divide xb_cols = {values['xb_cols']}, not {values['lanes']}"
        )
    if values["x_bits"] > values["max_biw"]:
        raise ParameterError(
            f"parameter x_bits must be at most max_biw = {values['max_biw']}, not "
            f"{values['x_bits']}"
        )
    if values["engine"] == "small":
        _check_small(values)
    elif values["vec_bytes"] * 8 < values["max_biw"]:
        raise ParameterError(
            f"parameter vec_bytes must be at least max_biw/8 = {values['max_biw'] // 8}, not "
            f"{values['vec_bytes']}"
        )


def _check_small(values):
    most = {"cores": 1, "groups": 16, "lmem_bytes": 1 << 16}
    for name, value in most.items():
        if values[name] > value:
            raise ParameterError(
                f"parameter {name} must be at most {value} where engine = small, not {values[name]}"
            )
    if weight_bytes(values) > 1 << 16:
        raise ParameterError(
            f"parameters arrays*xb_rows*xb_cols must be at most 65536 where engine = small, "
            f"not {weight_bytes(values)}"
        )


def weight_bytes(params: Params) -> int:
    """Size in bytes of the weight arrays of one core: arrays * xb_rows * xb_cols."""
    return params["arrays"] * params["xb_rows"] * params["xb_cols"]


#: The small engine, with all there is of elements.
_SMALL = {"engine": "small", "cores": 1, "lanes": 1, "prefetch_words": 32}


def _peaks(params):
    """Peak performance of a build. The small engine has one multiplier, regardless of its lanes.
    Code is counted separately from data that programs read."""
    return Peaks(
        1 if params["engine"] == "small" else params["cores"] * params["lanes"],
        byte_counters=("bytes_read", "bytes_written", "code_bytes"),
        uncounted="weights that LOAD reads",
    )


SPACE = ParameterSpace(
    "pim",
    (
        Parameter(
            "cores",
            int,
            range(1, 1025),
            4,
            job="at_least",
            doc="cores built; in gateware at most 32",
        ),
        Parameter("lanes", int, _powers(0, 8), 32, doc="MACs per cycle and core; divides xb_cols"),
        Parameter("xb_rows", int, _powers(4, 8), 64, job="equal", doc="rows of an array"),
        Parameter("xb_cols", int, _powers(4, 8), 64, job="equal", doc="columns of an array"),
        Parameter(
            "arrays",
            int,
            range(1, 65),
            16,
            job="at_least",
            doc="arrays per core; they take arrays*xb_rows*xb_cols bytes",
        ),
        Parameter(
            "groups", int, range(1, 1025), 64, job="at_least", doc="group-table entries per core"
        ),
        Parameter(
            "bias_words",
            int,
            range(0, 4097),
            512,
            job="at_least",
            doc="int32 biases per core; 0: a group with bias is fault table",
        ),
        Parameter(
            "lmem_bytes",
            int,
            _powers(10, 20),
            16384,
            job="at_least",
            doc="local memory per core, in bytes; in gateware at most 65536",
        ),
        Parameter(
            "max_biw", int, (8, 16, 32), 32, job="at_least", doc="bits of the widest element"
        ),
        Parameter(
            "x_bits",
            int,
            (8, 16),
            16,
            job="at_least",
            doc="bits of the widest input of mvmul, at most max_biw",
        ),
        Parameter(
            "vec_bytes",
            int,
            (1, 2, 4, 8),
            8,
            doc="bytes of an LMem port and of the vector unit, at least max_biw/8",
        ),
        Parameter("act_unit", int, (0, 1), 1, job="at_least", doc="1: vtanh and vsigm are built"),
        Parameter(
            "prefetch_words",
            int,
            _powers(5, 10),
            512,
            doc="code buffer per core, in words of 64 bits",
        ),
        Parameter(
            "engine",
            str,
            ("pipelined", "small"),
            "pipelined",
            doc=(
                "small: one core's microprogram and one multiplier, for an iCE40; lanes, "
                "vec_bytes and prefetch_words then mean nothing"
            ),
        ),
    ),
    (
        Preset("85f", {}, default=True, doc="4 cores, 128 MACs a cycle"),
        Preset("25f", {"cores": 1, "lanes": 16, "arrays": 8}, doc="1 core, 16 MACs a cycle"),
        Preset(
            "up5k",
            _SMALL | {"lmem_bytes": 32768, "groups": 16, "bias_words": 64},
            clock_mhz=18,
            needs=("SB_MAC16", "SB_SPRAM256KA"),
            doc="1 core, one multiplier: the small engine; weights in two SPRAM, LMem in one",
        ),
        Preset(
            "hx8k",
            _SMALL
            | {
                "xb_rows": 32,
                "xb_cols": 32,
                "arrays": 4,
                "lmem_bytes": 2048,
                "groups": 8,
                "bias_words": 60,
            },
            doc="1 core, one multiplier in logic: the small engine; weights and LMem in block RAM",
        ),
        Preset(
            "hx8k-mini",
            _SMALL
            | {
                "xb_rows": 32,
                "xb_cols": 32,
                "arrays": 1,
                "lmem_bytes": 1024,
                "groups": 8,
                "bias_words": 60,
            },
            doc="1 array: the same beside main memory in block RAM",
        ),
        Preset(
            "sim",
            {
                "cores": 2,
                "lanes": 4,
                "arrays": 2,
                "lmem_bytes": 4096,
                "groups": 16,
                "bias_words": 64,
                "vec_bytes": 4,
                "prefetch_words": 64,
            },
            doc="small, for tests",
        ),
    ),
    _check,
    _peaks,
)
