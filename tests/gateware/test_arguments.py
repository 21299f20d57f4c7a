# SPDX-License-Identifier: BSD-2-Clause
"""Argument checks: one message for each rule, and no rule takes a bool for an integer."""

import pytest

from quintet.gateware.arguments import check_choice, check_integer

#: Arguments of ``check_integer`` behind the name, values that are taken, and values that are not
#: with the message.
INTEGERS = {
    "any": ((0,), {}, (0, 7), {-1: "a non-negative integer"}),
    "positive": ((1,), {}, (1, 7), {0: "a positive integer", 1.0: "a positive integer"}),
    "least": ((3,), {}, (3, 70), {2: "an integer of at least 3"}),
    "range": ((3, 5), {}, (3, 5), {2: "an integer from 3 to 5", 6: "an integer from 3 to 5"}),
    "power": ((4,), {"power_of_two": True}, (4, 64), {2: "a power of two of at least 4"}),
    "power in a range": (
        (4, 64),
        {"power_of_two": True, "unit": "beats"},
        (4, 16, 64),
        {12: "a power of two from 4 to 64 beats", 128: "a power of two from 4 to 64 beats"},
    ),
    "multiple": (
        (6, 1 << 32),
        {"multiple_of": 6},
        (6, 12),
        {8: "a multiple of 6 from 6 to 2^32", (1 << 32) + 2: "a multiple of 6 from 6 to 2^32"},
    ),
    "word": ((0, (1 << 32) - 1), {}, (0, 9), {-1: "an integer from 0 to 2^32 - 1"}),
    "number of a unit": ((1,), {"unit": "cycles"}, (1,), {0: "a positive number of cycles"}),
    "count of a unit": ((0,), {"unit": "cycles"}, (0,), {-2: "a non-negative number of cycles"}),
    "least of a unit": ((10,), {"unit": "Hz"}, (10,), {9: "an integer of at least 10 Hz"}),
}


@pytest.mark.parametrize("rule", INTEGERS)
def test_integer(rule):
    bounds, options, taken, refused = INTEGERS[rule]
    for value in taken:
        check_integer("Size", value, *bounds, **options)
    some = next(iter(refused.values()))
    for value, expected in {**refused, True: some, None: some, "3": some, 4.0: some}.items():
        with pytest.raises(ValueError) as raised:
            check_integer("Size", value, *bounds, **options)
        assert str(raised.value) == f"Size must be {expected}, not {value!r}"


@pytest.mark.parametrize(
    "choices, unit, expected",
    [
        ((9, 16, 18), "", "9, 16 or 18"),
        ((1, 2), "bytes", "1 or 2 bytes"),
        (("dsp", "lut"), "", "dsp or lut"),
    ],
)
def test_choice(choices, unit, expected):
    for value in choices:
        check_choice("Width", value, choices, unit)
    for value in (True, None, 3, "x"):
        with pytest.raises(ValueError) as raised:
            check_choice("Width", value, choices, unit)
        assert str(raised.value) == f"Width must be {expected}, not {value!r}"
