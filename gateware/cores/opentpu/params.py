# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of the OpenTPU core (specification, section 8). Pure Python."""

from ...isa.parameters import Parameter, ParameterError, ParameterSpace, Params, Preset
from ...isa.peaks import Peaks

__all__ = ["LARGEST_ARRAY", "NO_DSP_LIMIT", "SPACE", "crowded", "norm_legal"]

#: Side of the largest array that gateware is made for; the golden model takes larger ones.
LARGEST_ARRAY = 64

#: Value of ``dsp_limit`` that never limits: one DSP for each multiplier of the largest array.
NO_DSP_LIMIT = LARGEST_ARRAY**2

_ROWS = tuple(1 << k for k in range(6, 17))


def norm_legal(value: int) -> bool:
    """Whether ``value`` is a legal value of the ``norm`` register (section 4.9): shift in bits 4:0,
    round in bit 8, mode 0..2 in bits 17:16, all other bits zero."""
    return value & ~0x3_011F == 0 and (value >> 16) & 3 != 3


def crowded(params: Params) -> bool:
    """Whether the pairs of an array share the FPGA with so much other logic that it is laid out for
    short wires: an array of pairs takes most DSPs of the FPGA and, with convolutions, there is
    on-chip memory beside it."""
    return params["multiplier"] == "dsp_pair" and params["ext_conv"]


def _norm(value):
    return isinstance(value, int) and value >= 0 and norm_legal(value)


def _check(values):
    if values["multiplier"] in ("lut", "rows") and values["dsp_limit"] != NO_DSP_LIMIT:
        raise ParameterError(
            f"parameter dsp_limit has no meaning with multiplier = {values['multiplier']}; "
            f"leave it out"
        )


def _peaks(params):
    """Peak performance of a build: every cell of the array multiplies in every cycle, in the small
    engine too."""
    return Peaks(params["n"] ** 2)


#: Sizes for the chips of iCE40: the small engine.
_SMALL = {
    "n": 4,
    "ub_rows": 1024,
    "acc_rows": 256,
    "banks": 1,
    "fetch_words": 2,
    "chain": False,
    "ext_norm": False,
}

#: Extensions for networks of convolutions.
_NETWORKS = {"ext_conv": True, "ext_pool": True, "ext_diag": True, "ext_bias": True}

SPACE = ParameterSpace(
    "opentpu",
    (
        Parameter(
            "n",
            int,
            range(2, 257, 2),
            8,
            job="equal",
            legal_text="an even number from 2 to 256",
            doc=(
                "side of the square array, elements of a vector; also a multiple of the memory "
                "port's beat in bytes"
            ),
        ),
        Parameter(
            "ub_rows",
            int,
            _ROWS,
            4096,
            job="at_least",
            legal_text="a power of two from 64 to 65536",
            doc="vectors of the unified buffer",
        ),
        Parameter(
            "acc_rows",
            int,
            _ROWS,
            1024,
            job="at_least",
            legal_text="a power of two from 64 to 65536",
            doc="rows of the accumulators",
        ),
        Parameter(
            "banks",
            int,
            (1, 2),
            2,
            doc="banks of unified buffer and accumulators, split by the lowest row bit",
        ),
        Parameter(
            "wfifo_tiles",
            int,
            range(1, 17),
            4,
            job="at_least",
            doc="tiles of the weight FIFO; one more fits the array's second weight buffers",
        ),
        Parameter(
            "fetch_words",
            int,
            range(2, 65),
            16,
            doc="decoded instruction words that are buffered ahead of issue",
        ),
        Parameter(
            "multiplier",
            str,
            ("dsp", "dsp_pair", "lut", "rows"),
            "dsp",
            doc="one DSP for each product (two products in an SB_MAC16), one for each pair, or "
            "logic alone; rows: logic of the small "
            "engine in fewer cells of an iCE40",
        ),
        Parameter(
            "dsp_limit",
            int,
            range(0, NO_DSP_LIMIT + 1),
            NO_DSP_LIMIT,
            doc=(
                f"DSPs the array may use, the remaining multipliers are built of logic; "
                f"{NO_DSP_LIMIT}: no limit"
            ),
        ),
        Parameter(
            "chain",
            bool,
            (False, True),
            True,
            doc="a dependent instruction follows vector by vector; false: it waits for completion",
        ),
        Parameter(
            "ext_sync",
            bool,
            (False, True),
            True,
            job="at_least",
            doc="SYNC; without it opcode 5 is a NOP",
        ),
        Parameter(
            "ext_norm",
            bool,
            (False, True),
            True,
            job="at_least",
            doc="CFG norm: shift, round and saturate in ACT",
        ),
        Parameter(
            "ext_conv",
            bool,
            (False, True),
            False,
            job="at_least",
            doc="CFG conv and MMC.C: shifted windows",
        ),
        Parameter(
            "ext_pool",
            bool,
            (False, True),
            False,
            job="at_least",
            doc="CFG pool, poolrow and ACT.P: max-pooling",
        ),
        Parameter(
            "ext_diag",
            bool,
            (False, True),
            False,
            job="at_least",
            doc="RW.D: diagonal tiles, of which memory holds only the diagonal",
        ),
        Parameter(
            "ext_bias",
            bool,
            (False, True),
            False,
            job="at_least",
            doc="MMC.B: sums that begin with the bias in their last row",
        ),
        Parameter(
            "norm_reset",
            int,
            _norm,
            0,
            job="equal",
            legal_text="a legal norm value: bits 4:0 shift, bit 8 round, bits 17:16 mode 0 to 2",
            doc="reset value of cfg_norm; without ext_norm the normalisation that is wired in",
        ),
    ),
    (
        Preset("85f-8x8", {"n": 8, "ub_rows": 8192, "acc_rows": 1024}, default=True),
        Preset(
            "85f-8x8-conv",
            {"n": 8, "ub_rows": 8192, "acc_rows": 1024} | _NETWORKS,
            doc="strided and depthwise convolutions and max pooling, for networks of them",
        ),
        Preset(
            "85f-8x8-fast",
            {"n": 8, "ub_rows": 8192, "acc_rows": 1024} | _NETWORKS,
            on_chip=1 << 18,
            doc="strided and depthwise convolutions, max pooling, and the lowest 256 KiB of main "
            "memory on chip",
        ),
        Preset("85f-12x12", {"n": 12, "ub_rows": 4096, "acc_rows": 1024}),
        Preset(
            "85f-16x16",
            {"n": 16, "ub_rows": 4096, "acc_rows": 1024, "multiplier": "dsp_pair"},
            doc="two products from each of 128 DSPs",
        ),
        Preset(
            "85f-16x16-fast",
            {
                "n": 16,
                "ub_rows": 4096,
                "acc_rows": 1024,
                "multiplier": "dsp_pair",
                "ext_conv": True,
            },
            clock_mhz=60,
            on_chip=1 << 18,
            placer="static",
            router="router2",
            doc="strided convolutions, and the lowest 256 KiB of main memory on chip",
        ),
        Preset(
            "85f-16x16-conv",
            {
                "n": 16,
                "ub_rows": 4096,
                "acc_rows": 1024,
                "multiplier": "dsp_pair",
                "ext_conv": True,
                "ext_diag": True,
                "ext_bias": True,
            },
            clock_mhz=60,
            on_chip=208 << 10,
            placer="static",
            router="router2",
            doc="strided and depthwise convolutions, their biases, and the lowest 208 KiB of main "
            "memory on chip",
        ),
        Preset("45f-8x8", {"n": 8, "ub_rows": 4096, "acc_rows": 1024}),
        Preset(
            "45f-8x8-fast",
            {"n": 8, "ub_rows": 4096, "acc_rows": 1024} | _NETWORKS,
            on_chip=1 << 17,
            doc="strided and depthwise convolutions, max pooling, and the lowest 128 KiB of main "
            "memory on chip",
        ),
        Preset("25f-4x4", {"n": 4, "ub_rows": 4096, "acc_rows": 1024}),
        Preset(
            "25f-8x8-fast",
            {"n": 8, "ub_rows": 2048, "acc_rows": 1024, "multiplier": "dsp_pair", "dsp_limit": 28}
            | _NETWORKS,
            on_chip=48 << 10,
            doc="two products from each of 28 DSPs, strided and depthwise convolutions, max "
            "pooling, and the lowest 48 KiB of main memory on chip",
        ),
        Preset("up5k-4x4", _SMALL, needs=("SB_MAC16",), doc="two products from each of 8 SB_MAC16"),
        Preset("hx8k-4x4", _SMALL | {"multiplier": "lut"}),
        Preset(
            "hx8k-4x4-rows",
            _SMALL | {"multiplier": "rows"},
            doc="the same in fewer cells, beside SDRAM",
        ),
        Preset(
            "hx8k-4x4-mini",
            _SMALL | {"multiplier": "lut", "ub_rows": 256, "acc_rows": 128},
            doc="the same beside main memory in block RAM",
        ),
        Preset("sim", {"n": 4, "ub_rows": 512, "acc_rows": 256}, doc="small, for tests"),
        Preset(
            "sim-ext",
            {"n": 4, "ub_rows": 512, "acc_rows": 256} | _NETWORKS,
            doc="every extension, for tests",
        ),
        Preset(
            "sim-plain",
            {
                "n": 4,
                "ub_rows": 256,
                "acc_rows": 64,
                "banks": 1,
                "fetch_words": 2,
                "chain": False,
                "wfifo_tiles": 1,
                "ext_sync": False,
                "ext_norm": False,
            },
            doc="no extension, no chaining and the shortest queues, for tests",
        ),
    ),
    _check,
    _peaks,
)
