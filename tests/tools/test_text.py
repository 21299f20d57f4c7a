# SPDX-License-Identifier: BSD-2-Clause
"""Text of files made safe: names stay different, and are names."""

import re

from hypothesis import given
from hypothesis import strategies as st

from quintet.tools.report.page import chart, escape
from quintet.tools.text import LONGEST_NAME, plain_name, plain_names


def test_names_that_are_plain_stay():
    assert [plain_name(name) for name in ("a", "Gemm_1", "x" * LONGEST_NAME)] == [
        "a",
        "Gemm_1",
        "x" * LONGEST_NAME,
    ]


@given(st.lists(st.text(alphabet="aB0 _/;<>[]é\x1b", max_size=60), unique=True, max_size=20))
def test_different_names_stay_different(names):
    plain = [plain_name(name) for name in names]
    assert len(set(plain)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_]\w{0,47}", name, re.ASCII) for name in plain)


def test_a_name_that_another_one_becomes_is_changed_too():
    made = plain_name("a b")
    assert made != "a_b" and plain_name(made) != made


def test_names_that_differ_in_case_alone_are_different_files():
    plain = plain_names(["y", "Y", "z", "a b"])
    assert len({name.lower() for name in plain.values()}) == 4
    assert plain["z"] == "z" and plain["a b"] == plain_name("a b")
    assert plain == plain_names(["Y", "a b", "z", "y"])


def test_long_names_and_those_that_differ_at_their_end():
    names = ["n" * 300 + str(k) for k in range(10)] + ["a b", "a_b", "a/b", "", "1"]
    plain = [plain_name(name) for name in names]
    assert len(set(plain)) == len(names) and max(map(len, plain)) <= LONGEST_NAME


def test_pages_hold_no_signs_that_turn_the_writing():
    assert escape("a\u202e<b>\n2") == "a\\u202e&lt;b&gt;\n2"
    page = chart({"data": {"values": [{"layer": "conv\u202e1"}]}})
    assert "\\u202e1" in page and "\\\\u202e1" in page
