# SPDX-License-Identifier: BSD-2-Clause
"""``densify`` orders instructions by when they can start; what depends on what, and how cores meet,
stays."""

from dataclasses import replace

import pytest

from quintet.gateware.cores.pim.densify.densify import densify
from quintet.gateware.cores.pim.densify.reorder import completes
from quintet.gateware.cores.pim.densify.resolve import resolve
from quintet.gateware.cores.pim.image.codes import words_of
from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench import compare as pim_compare
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.gateware.cores.pim.bench.dense import (
    SIM,
    case_of,
    dense_text,
    group,
    image_of_text,
    same_effect,
)

SEND, RECV = 29, 30
SET = "setbw 16, 16\nsldi $4, 1024\nsldi $5, 2048\nsldi $6, 512\n"


def mnemonics(image, core=0):
    """The dense program's instructions that are no settings."""
    lines, _ = dense_text(image, core=core)
    return [line.split()[0] for line in lines if not line.startswith(("sldi", "setbw"))]


def results(image):
    """Where the instructions of the dense program write."""
    core = densify(image, SIM)[0].cores[0]
    return [
        step.operands[0].value
        for step in resolve(words_of(core.code, core.mode)[0], core.ibiw, core.obiw)
    ]


def test_independent_work_comes_between_dependent():
    chain = "vvadd $4, $0, $6, 32\nvvadd $4, $4, $6, 32\n"
    image = image_of_text(SET + chain + chain.replace("$4", "$5"))
    same_effect(case_of(image))
    assert results(image) == [1024, 2048, 1024, 2048]


def test_a_store_comes_as_soon_as_it_can():
    text = "".join(f"sldi $1, {1024 + 32 * k}\nmvmul $1, $0, 8, 0, 0\n" for k in range(4))
    image = image_of_text(SET + text + "st $2, $4, 32\n", groups=[group(16, 16)])
    same_effect(case_of(image))
    assert mnemonics(image) == ["mvmul", "mvmul", "st", "mvmul", "mvmul"]


@pytest.mark.parametrize("other", [0, 31, 64])
def test_loads_and_stores_of_one_place_stay_in_order(other):
    """A load may come before a store whose data it does not need, but not of the same bytes."""
    image = image_of_text(
        SET + "mvmul $4, $0, 8, 0, 0\nst $2, $4, 32\n" + f"ld $5, $2, 32, @{other}:1",
        groups=[group(16, 16)],
    )
    same_effect(case_of(image))
    assert mnemonics(image) == (["mvmul", "ld", "st"] if other == 64 else ["mvmul", "st", "ld"])


#: A pipeline's middle: what it sends depends on what it received.
ITEM = "recv $0, 0, 32\nmvmul $4, $0, 8, 0, 0\nsend $4, 2, 32\n"
ENDS = "send $0, 1, 32\n" * 2, "recv $0, 1, 32\n" * 2


def test_the_next_item_is_received_while_one_is_sent():
    image = image_of_text(ENDS[0], SET + ITEM * 2, ENDS[1], groups=[group(16, 16)])
    same_effect(case_of(image))
    assert mnemonics(image, 1) == ["recv", "mvmul", "recv", "send", "mvmul", "send"]


def test_cores_that_wait_for_each_other_keep_the_order():
    """Were core 0 to receive first, all three would wait for ever."""
    first = "recv $0, 2, 32\n"
    texts = [
        SET + "mvmul $4, $0, 8, 0, 0\nsend $4, 1, 32\n" + first,
        "recv $0, 0, 32\nsend $0, 2, 32\n",
        "recv $0, 1, 32\nsend $0, 0, 32\n",
    ]
    image = image_of_text(*texts, groups=[group(16, 16)])
    same_effect(case_of(image))
    assert mnemonics(image) == ["mvmul", "send", "recv"]
    # It is the cycle alone that keeps them in order.
    texts[1:] = ["recv $0, 0, 32\n", "send $0, 0, 32\n"]
    image = image_of_text(*texts, groups=[group(16, 16)])
    same_effect(case_of(image))
    assert mnemonics(image) == ["mvmul", "recv", "send"]


def told(how, at):
    """Core 0 stores 32 bytes and tells core 1 (``how``), which loads from ``at``: (mnemonics of
    core 0, of core 1)."""
    tell, hear = {
        "message": ("send $0, 1, 8", "recv $6, 0, 8"),
        "event": ("sync 3, 1", "wait 3, 1"),
    }[how]
    image = image_of_text(
        SET + f"mvmul $4, $0, 8, 0, 0\nst $2, $4, 32\n{tell}",
        SET + f"{hear}\nld $5, $2, 32, @{at}:1",
        groups=[group(16, 16)],
    )
    same_effect(case_of(image))
    return mnemonics(image), mnemonics(image, 1)


def test_what_another_core_reads_is_stored_before_it_is_told():
    assert told("message", 16) == told("message", 31) == (["mvmul", "st", "send"], ["recv", "ld"])
    assert told("message", 64) == (["mvmul", "send", "st"], ["recv", "ld"])
    assert told("event", 64) == (["mvmul", "st", "sync"], ["wait", "ld"])


def test_nothing_moves_past_an_event():
    """Core 1 waits for a count of one, twice: were both events told at once, it might see two and
    wait for ever."""
    text = (
        SET + "sync 3, 1\nvvadd $4, $0, $6, 32\nvvadd $4, $4, $6, 32\nsync 3, 1\nvrelu $5, $0, 16"
    )
    image = image_of_text(text, "wait 3, 1\nlldi $0, 5, 4\nwait 3, 1\nlldi $0, 6, 4")
    same_effect(case_of(image))
    assert mnemonics(image) == ["sync", "vvadd", "vvadd", "sync", "vrelu"] and mnemonics(
        image, 1
    ) == ["wait", "wait", "lldi"]


def test_a_core_that_cannot_be_followed_may_touch_everything():
    image = image_of_text(
        SET + "mvmul $4, $0, 8, 0, 0\nst $2, $4, 32\nsend $0, 1, 8\nsldi $1, 0",
        "recv $6, 0, 8\nsld $1, $2\n",
        groups=[group(16, 16)],
    )
    same_effect(case_of(image))
    assert mnemonics(image) == ["mvmul", "st", "send"]


def test_a_program_that_would_fail_keeps_its_order():
    """It names a group that does not exist: what came before the fault is what came before it in
    the source."""
    text = SET + (
        "vvadd $4, $0, $6, 32\nvvadd $4, $4, $6, 32\nvvadd $5, $0, $6, 32\nmvmul $5, $0, 8, "
        "0, {}\nsldi $1, 3"
    )
    for number, expected in ((0, [1024, 2048, 1024, 2048]), (1, [1024, 1024, 2048, 2048])):
        image = image_of_text(text.format(number), groups=[group(16, 16)] * 2)
        image = replace(image, cores=[replace(image.cores[0], groups=[group(16, 16)])])
        assert results(image) == expected


def test_meetings():
    assert completes([[], []]) and completes([[(SEND, 1, 4)], [(RECV, 0, 4)]])
    assert not completes([[(SEND, 1, 4)], [(RECV, 0, 5)]]) and not completes(
        [[(SEND, 1, 4)], [(SEND, 0, 4)]]
    )
    assert (
        not completes([[(SEND, 1, 4)], []])
        and not completes([[(SEND, 7, 4)], []])
        and not completes([None, []])
    )
    ring = [
        [(SEND, 1, 4), (RECV, 2, 4)],
        [(RECV, 0, 4), (SEND, 2, 4)],
        [(RECV, 1, 4), (SEND, 0, 4)],
    ]
    assert completes(ring) and not completes([ring[0][::-1], *ring[1:]])


@pytest.mark.parametrize("preset, seeds", [("sim", range(1000, 1060)), ("four", range(30))])
def test_random_programs_of_many_cores(preset, seeds):
    params = SIM if preset == "sim" else SPACE.resolve(*pim_compare.BUILDS[preset][:2])
    changed = 0
    for seed in seeds:
        case = pim_programs.random_case(seed, params)
        same_effect(case)
        changed += densify(case.image, params)[0].data() != case.image.data()
    assert changed > len(seeds) // 2
