# SPDX-License-Identifier: BSD-2-Clause
"""PIM's parameters and presets (section 8)."""

import pytest

from quintet.gateware.cores.pim.params import SPACE, weight_bytes
from quintet.gateware.isa.parameters import ParameterError

NAMES = (
    "cores",
    "lanes",
    "arrays",
    "xb_rows",
    "xb_cols",
    "lmem_bytes",
    "groups",
    "bias_words",
    "max_biw",
    "x_bits",
    "vec_bytes",
    "act_unit",
    "prefetch_words",
    "engine",
)
#: The table of section 8.
TABLE = {
    "85f": (4, 32, 16, 64, 64, 16384, 64, 512, 32, 16, 8, 1, 512, "pipelined"),
    "25f": (1, 16, 8, 64, 64, 16384, 64, 512, 32, 16, 8, 1, 512, "pipelined"),
    "up5k": (1, 1, 16, 64, 64, 32768, 16, 64, 32, 16, 8, 1, 32, "small"),
    "hx8k": (1, 1, 4, 32, 32, 2048, 8, 60, 32, 16, 8, 1, 32, "small"),
    "hx8k-mini": (1, 1, 1, 32, 32, 1024, 8, 60, 32, 16, 8, 1, 32, "small"),
    "sim": (2, 4, 2, 64, 64, 4096, 16, 64, 32, 16, 4, 1, 64, "pipelined"),
}


@pytest.mark.parametrize("name", TABLE)
def test_presets(name):
    values = SPACE.resolve(name)
    assert tuple(values[n] for n in NAMES) == TABLE[name] and set(NAMES) <= set(values)


def test_default_and_sizes():
    assert SPACE.default_preset == "85f" and SPACE.preset_for("45f") == "25f"
    assert weight_bytes(SPACE.resolve()) == 65536 and weight_bytes(SPACE.resolve("hx8k")) == 4096
    assert {p.name for p in SPACE.parameters.values() if p.job == "equal"} == {"xb_rows", "xb_cols"}
    assert {p.name for p in SPACE.parameters.values() if p.job == "free"} >= {
        "lanes",
        "vec_bytes",
        "prefetch_words",
    }


@pytest.mark.parametrize(
    "values, message",
    [
        ({"lanes": 3}, "parameter lanes must be one of 1, 2, 4, 8, 16, 32, 64, 128, 256, not 3"),
        ({"lanes": 128}, "parameter lanes must divide xb_cols = 64, not 128"),
        ({"cores": 1025}, "parameter cores must be 1 to 1024, not 1025"),
        ({"xb_rows": 48}, "parameter xb_rows must be one of 16, 32, 64, 128, 256, not 48"),
        ({"xb_cols": 8}, "parameter xb_cols must be one of 16, 32, 64, 128, 256, not 8"),
        ({"arrays": 65}, "parameter arrays must be 1 to 64, not 65"),
        ({"groups": 0}, "parameter groups must be 1 to 1024, not 0"),
        ({"bias_words": 4097}, "parameter bias_words must be 0 to 4096, not 4097"),
        (
            {"lmem_bytes": 3000},
            "parameter lmem_bytes must be one of 1024, 2048, 4096, 8192, 16384, 32768, 65536, "
            "131072, 262144, 524288, 1048576, not "
            "3000",
        ),
        ({"max_biw": 24}, "parameter max_biw must be one of 8, 16, 32, not 24"),
        ({"x_bits": 32}, "parameter x_bits must be one of 8, 16, not 32"),
        ({"x_bits": 16, "max_biw": 8}, "parameter x_bits must be at most max_biw = 8, not 16"),
        ({"vec_bytes": 2}, "parameter vec_bytes must be at least max_biw/8 = 4, not 2"),
        ({"vec_bytes": 16}, "parameter vec_bytes must be one of 1, 2, 4, 8, not 16"),
        ({"act_unit": 2}, "parameter act_unit must be one of 0, 1, not 2"),
        ({"engine": "small"}, "parameter cores must be at most 1 where engine = small, not 4"),
        (
            {"engine": "small", "cores": 1},
            "parameter groups must be at most 16 where engine = small, not 64",
        ),
        (
            {"engine": "small", "cores": 1, "groups": 16, "lmem_bytes": 1 << 17},
            "parameter lmem_bytes must be at most 65536 where engine = small, not 131072",
        ),
        (
            {"engine": "small", "cores": 1, "groups": 16, "arrays": 17},
            "parameters arrays*xb_rows*xb_cols must be at most 65536 where engine = small, not "
            "69632",
        ),
        (
            {"prefetch_words": 16},
            "parameter prefetch_words must be one of 32, 64, 128, 256, 512, 1024, not 16",
        ),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(ParameterError) as info:
        SPACE.resolve("85f", values)
    assert str(info.value) == message
