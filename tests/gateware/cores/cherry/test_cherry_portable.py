# SPDX-License-Identifier: BSD-2-Clause
"""Portable programs: what the assembler calls so leaves the same in MEM with every number of
contexts (specification, section 4.6)."""

import random

import pytest

from quintet.firmware.cherry import small
from quintet.firmware.cherry.measure import workloads
from quintet.gateware.cores.cherry.image import image_bytes
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text, disassemble
from tests.gateware.cores.cherry.bench.portable import (
    WIDTHS,
    assert_same,
    leaves,
    programs,
    random_text,
    reasons,
)
from tests.gateware.cores.cherry.bench.programs import random_case
from tests.support.campaigns import Campaign

#: A loop ``n`` around a body; ``C`` reads, ``B`` stores tiles of its own, ``U`` is the same in
#: every iteration.
HEAD = (
    ".loop n {n}\n.loop k {k}\n.loop m 5\n.apu B 2048 1 4 n:16\n.apu C 0 1 4 n:16\n.apu U 512 "
    "1 4\n.apu V 544 1 4\n.apu D 1024 1 4 m:16\n"
    ".apu E 3072 1 4 m:16\nload U, INPUT\nload U, WEIGHTS\nload U, OUTPUT\nload U, ACC\n"
)


def around(body, n=5, k=2, before="", after=""):
    lines = "\n".join(part.strip() for part in body.split(";"))
    return (
        f"{HEAD.format(n=n, k=k)}{before}\nstart_independent_loop n\n{lines}\nend_loop n\n{after}\n"
    )


#: Bodies that read what another iteration left: the register, and the instruction that reads it.
CARRIED = [
    ("add; load C, INPUT; store B, OUTPUT", "INPUT", 1),
    ("store B, ACC; load C, ACC", "ACC", 1),
    # Executed once for a group.
    ("store B, INPUT; load V, INPUT", "INPUT", 1),
    ("mulacc; store B, ACC", "ACC", 1),
    ("copy WEIGHTS, OUTPUT; add; store B, OUTPUT", "OUTPUT", 1),
    # Through other registers.
    ("copy INPUT, WEIGHTS; relu; store B, OUTPUT; load C, WEIGHTS", "WEIGHTS", 1),
    ("load C, WEIGHTS; copy INPUT, ACC; add; copy ACC, OUTPUT; store B, OUTPUT", "ACC", 2),
    # Tiles of which a part is written.
    ("store B, INPUT; load C, INPUT, 2, 3", "INPUT", 1),
    ("load C, OUTPUT; sum 1, 0, 4, 1; store B, ACC", "ACC", 2),
    ("load C, OUTPUT; sum 0, 0, 4, 2; store B, ACC; load C, ACC", "ACC", 2),
    ("load C, OUTPUT; max 0, 1, 4, 1; store B, ACC; copy ACC, OUTPUT", "ACC", 2),
    ("load C, WEIGHTS, 1, 4, 0, 1; store B, WEIGHTS; load C, WEIGHTS", "WEIGHTS", 1),
]
#: Bodies that follow the rule.
PORTABLE = [
    "load C, INPUT; add; store B, OUTPUT",
    "add; store B, OUTPUT; load C, ACC",
    "zero ACC; load C, INPUT; matmul; store B, ACC",
    "load U, OUTPUT; load C, INPUT; store B, OUTPUT; add; store B, OUTPUT",
    "load C, INPUT, 2, 3, 1, 0; relu; store B, OUTPUT",
    "zero OUTPUT; load C, OUTPUT, 2, 3; load V, OUTPUT, 3, 1, 0, 1; store B, OUTPUT",
    "load C, OUTPUT; zero ACC; sum 0, 0, 4, 1; max 1, 1, 3, 2; store B, ACC",
    "nop; load C, INPUT; copy ACC, ACC; copy ACC, INPUT; store B, ACC",
    "store B, INPUT; store B, WEIGHTS, 1, 1",
]


@pytest.mark.parametrize("body, register, at", CARRIED)
def test_values_of_other_iterations(body, register, at):
    text = around(body)
    program = assemble_text(SOFTWARE, text)
    place = text[: text.index("start_independent_loop")].count("\n") + 1 + at
    first, *others = reasons(program)
    assert first == (
        f"{place}:1: warning: {register} is read before the body of loop n has written all of "
        f"it, and may hold what another "
        "iteration left: the result depends on the number of contexts, expected all of "
        f"{register} written before, or .needs contexts=N"
    )
    assert len({leaves(program.data, contexts).tobytes() for contexts in WIDTHS}) > 1
    # A group that holds every iteration hands nothing on: either the only one, or a program that
    # says so.
    assert assert_same(text.replace(".loop n 5", ".loop n 1")) == [1, 4, 16]
    assert assert_same(".needs contexts=5\n" + text) == [16]


@pytest.mark.parametrize("body", PORTABLE)
@pytest.mark.parametrize("n", [0, 1, 5, 17])
def test_bodies_that_follow_the_rule(body, n):
    assert assert_same(around(body, n)) == [1, 4, 16]


#: Programs in which ``n`` leaves private tiles, which ``m`` reads.
READ_LATER = "start_independent_loop m\nstore E, INPUT\nend_loop m"


@pytest.mark.parametrize(
    "text, line",
    [
        (around("load C, INPUT", after=READ_LATER), "store E, INPUT"),
        # Ordered code that drops them comes in a loop that never runs, or too late.
        (
            around(
                "load C, INPUT", k=0, after=f"start_loop k\nzero INPUT\nend_loop k\n{READ_LATER}"
            ),
            "store E, INPUT",
        ),
        (
            around("load C, INPUT", before=f"start_loop k\n{READ_LATER}", after="end_loop k"),
            "store E, INPUT",
        ),
    ],
)
def test_tiles_of_an_earlier_loop(text, line):
    program = assemble_text(SOFTWARE, text)
    place = text[: text.index(line)].count("\n") + 1
    assert reasons(program) == [
        f"{place}:1: warning: INPUT holds what an earlier independent loop wrote, context by "
        f"context: the result depends on "
        "the number of contexts, expected .needs contexts=N"
    ]
    assert len({leaves(program.data, contexts).tobytes() for contexts in WIDTHS}) > 1


@pytest.mark.parametrize(
    "text",
    [
        around("load C, INPUT", after=f"zero INPUT\n{READ_LATER}"),
        around("load C, INPUT", after=f"start_loop k\nzero INPUT\nend_loop k\n{READ_LATER}"),
        around("load C, INPUT", n=0, after=READ_LATER),
        around("load C, INPUT; zero INPUT", after=READ_LATER),
        # A coefficient of 0 moves nothing.
        around("load V, INPUT", after=READ_LATER).replace("544 1 4", "544 1 4 n:0"),
        # Once round only.
        around("load C, INPUT", k=1, before=f"start_loop k\n{READ_LATER}", after="end_loop k"),
    ],
)
def test_tiles_that_are_dropped(text):
    assert assert_same(text) == [1, 4, 16]


def test_ordered_code_after_values_of_other_iterations():
    """OUTPUT is uniform in the first group and private from the second on: the walk goes on until
    nothing changes."""
    text = around("relu; load C, INPUT", after="store U, OUTPUT")
    assert [w.message.split(":")[0] for w in assemble_text(SOFTWARE, text).warnings][1:] == [
        "OUTPUT is read in ordered code after an independent loop wrote it"
    ]


# Programs of the tree


def test_programs_of_the_firmware():
    """All of them say what they need."""
    assert [
        assert_same(text) for text in programs((small.FOLDER / "relu_matmul.s").read_text())
    ] == [[4, 16]]
    for text in programs((small.FOLDER.parent / "digits" / "digits.s").read_text()):
        program = assemble_text(SOFTWARE, text)
        assert program.data[8] and not program.warnings


@pytest.mark.parametrize("workload", workloads.WORKLOADS, ids=lambda w: w.name)
def test_programs_of_the_workloads(workload):
    """Likewise."""
    for text in programs(workloads.source(workload, "85f")[0]):
        program = assemble_text(SOFTWARE, text)
        assert program.data[8] and not program.warnings


@pytest.mark.parametrize("seed", range(40))
def test_programs_of_the_random_tests(seed):
    """Few follow the rule; those that do not must not be called portable."""
    params = SPACE.resolve("sim", {"sfu_lanes": 1})
    assert_same(disassemble(SOFTWARE, image_bytes(random_case(seed, params, words=12).image)))


# Random programs


def test_random_portable_programs():
    found = [bool(assert_same(random_text(seed), seed=seed)) for seed in range(250)]
    assert 120 < sum(found) < 220


def test_programs_called_otherwise():
    """Of those that are not portable by the rule, many do depend on the number of contexts."""
    texts = [
        text for text in map(random_text, range(250, 330)) if reasons(assemble_text(SOFTWARE, text))
    ]
    images = [assemble_text(SOFTWARE, text).data for text in texts]
    differ = sum(
        len({leaves(data, contexts).tobytes() for contexts in WIDTHS}) > 1 for data in images
    )
    assert 10 < len(images) < 3 * differ


@pytest.mark.long
def test_portable_programs_campaign():
    for seed in Campaign("cherry-portable", 0.5).seeds("model"):
        try:
            assert_same(
                random_text(seed), seed=random.Random(f"portable {seed}").randrange(1 << 32)
            )
        except AssertionError as error:
            raise AssertionError(f"program of seed {seed}") from error
