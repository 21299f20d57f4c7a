# SPDX-License-Identifier: BSD-2-Clause
"""``densify`` reads what was copied where it came from, and leaves out copies that no one reads."""

import pytest

from tests.gateware.cores.pim.bench.dense import case_of, dense_text, image_of_text, same_effect

#: What local memory holds at first, from global memory; registers: $2, $3 a pair of zeros, $4 a
#: buffer, $5 to $8 elsewhere.
FILL = (
    "ld $0, $2, 256\nsetbw 16, 16\nsldi $4, 1024\nsldi $5, 2048\nsldi $6, 32\nsldi $7, 1056\n"
    "sldi $8, 2064\n"
)


def dense(text, *more):
    """Lines of the dense program, without settings; its effect is that of the text."""
    image = image_of_text(FILL + text)
    same_effect(case_of(image))
    return [line for line in dense_text(image)[0] if not line.startswith(("sldi", "setbw"))][1:]


def test_a_copy_is_read_where_it_came_from():
    lines = dense("lmv $4, $6, 32\nvrelu $5, $4, 16\nlmv $4, $0, 32\nvrelu $8, $4, 8")
    # The first copy is gone, since the second one takes its place, which stays: local memory is
    # looked at in the end.
    assert lines == ["vrelu $1, $0, 16, @16:1", "lmv $0, $0, 32, @1024:d", "vrelu $1, $0, 8, @8:d"]


def copies(text):
    return sum(line.startswith(("lmv", "lldi")) for line in dense(text))


@pytest.mark.parametrize(
    "between, left",
    [
        ("", 1),  # read at the original, the copy is not needed
        ("lldi $6, 1, 2\n", 3),  # the original is overwritten
        ("lldi $7, 1, 2\n", 2),  # beside both
        ("lldi $4, 1, 2\n", 3),  # a part of the copy is overwritten
    ],
)
def test_as_long_as_neither_is_overwritten(between, left):
    assert copies(f"lmv $4, $6, 32\n{between}vrelu $5, $4, 16\nlmv $4, $0, 32") == left


@pytest.mark.parametrize(
    "reader, left",
    [
        ("vrelu $5, $4, 16", 1),
        ("vvadd $5, $4, $8, 16", 1),
        ("vvadd $5, $8, $4, 16", 1),
        ("lmv $5, $4, 30", 2),
        ("st $2, $4, 32, @512:d", 1),
        ("vvdmul $5, $4, $4, 16", 1),
        ("vrelu $5, $4, 17", 2),  # more than was copied
        ("vrelu $4, $4, 16", 2),  # in place
        ("vrelu $6, $4, 16", 2),  # onto the original
        ("vavg $5, $4, $0, 16", 2),  # with a stride
    ],
)
def test_who_reads_the_original(reader, left):
    assert copies(f"lmv $4, $6, 32\n{reader}\nlmv $4, $0, 34") == left


def test_a_copy_of_a_copy():
    assert (
        copies(
            "lmv $4, $6, 32\nlmv $5, $4, 32\nvrelu $8, $5, 8, @32:d\nlmv $4, $0, 32\nlmv $5, $0, 32"
        )
        == 2
    )


def test_what_is_overwritten_at_once():
    assert copies("lldi $4, 1, 8\nlldi $4, 2, 8") == 1
    assert copies("lldi $4, 1, 8\nlldi $4, 2, 7") == 2
    assert copies("lldi $4, 1, 8\nvrelu $5, $4, 4\nlldi $4, 2, 8") == 2
