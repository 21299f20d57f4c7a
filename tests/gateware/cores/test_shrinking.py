# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns and the shrinker, whatever the ISA, without gateware: a comparer of their own says what
differs."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from quintet.boards.virtual.simulation import SimulationError
from quintet.gateware.cores import core_names, open_core
from tests.support import shrinking
from tests.support.campaigns import run_step
from tests.support.subjects import find_subject, subject_names

SHRUNK = [name for name in subject_names() if find_subject(name).with_words is not None]


class Bench(SimpleNamespace):
    """Stand-in for a bench: parameters, and no simulation."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def recover(self):
        self.recovered = True


def subject_of(name, check):
    params = open_core(name).params.SPACE.resolve("sim")
    bench = Bench(params=params, recovered=False)
    return replace(find_subject(name), open_build=lambda build: bench, check=check), bench


def test_every_core_has_one():
    assert subject_names() == sorted(core_names()) and SHRUNK == [
        "imagine",
        "opentpu",
        "opu",
        "pim",
    ]


@pytest.mark.parametrize("name", SHRUNK)
def test_shrunk_to_the_word_that_differs(name, monkeypatch, capsys):
    """A program differs as long as a certain word is in it: that one is left."""
    found = []

    def check(bench, case, behaviour, seed, limit):
        words = list(case.words)
        found[:] = found or [words[len(words) // 2]]
        return (["memory differs"] if found[0] in words else []), None

    subject, _ = subject_of(name, check)
    monkeypatch.setattr(shrinking, "find_subject", lambda isa: subject)
    assert shrinking.main([name, subject.builds[0], "3"]) == 1
    out = capsys.readouterr().out
    case = subject.draw(
        3,
        subject.open_build("").params,
        legal=True,
        fault=None,
        **({} if subject.budget is None else {"budget": subject.budget}),
    )
    small = subject.with_words(case, found)
    assert (
        subject.listing(small) in out
        and "memory differs" in out
        and f"{len(case.words)} words" in out
    )


def test_a_difference_of_another_kind_is_another_bug(monkeypatch, capsys):
    """Halves that differ in another way are not gone on with; a bench that breaks a rule is usable
    again."""
    sizes = []

    def check(bench, case, behaviour, seed, limit):
        sizes.append(len(case.words))
        if len(case.words) == sizes[0]:
            raise SimulationError("memory rule broken")
        return ["counter differs"], None

    subject, bench = subject_of("opu", check)
    monkeypatch.setattr(shrinking, "find_subject", lambda isa: subject)
    shrinking.main(["opu", "sim"])
    assert bench.recovered and "memory rule broken" in capsys.readouterr().out
    subject, bench = subject_of("opu", lambda *_, limit: ([], None))
    assert shrinking.main(["opu", "sim"]) == 0


@pytest.mark.parametrize(
    "args, message",
    [
        (("cherry", "sim"), "cherry: its programs are not shrunk"),
        (("opu", "x"), "build x: opu has sim, acc32"),
        (("opu", "sim", "--fault", "x"), "--fault x: opu has "),
        (("pim", "sim", "--directed", "a", "b"), "--directed: pim has no directed programs"),
        (("opentpu", "plain4", "--budget", "5"), "--budget: programs of opentpu have none"),
    ],
)
def test_refused(args, message, capsys):
    with pytest.raises(SystemExit):
        shrinking.main(args)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", subject_names())
def test_a_campaign_s_programs_are_those_of_their_seeds(name):
    """Steps that run a program whole: one seed, one program; the plan's wrong ones fault on the
    model or say so themselves."""
    drawn = []

    def check(bench, case, behaviour, seed, limit=None):
        drawn.append(case)
        return [], None

    subject, bench = subject_of(name, check)
    whole = [k for k, step in enumerate(subject.plan) if step.__qualname__.startswith("whole.")]
    assert len(whole) >= len(subject.plan) - 2
    for k in (whole[0], whole[-1]):
        for _ in range(2):
            assert run_step(subject, bench, 10 * len(subject.plan) + k) == []
    assert all(
        (a.memory == b.memory).all() and a.name == b.name
        for a, b in zip(drawn[::2], drawn[1::2], strict=True)
    )


def test_a_broken_rule_is_a_difference():
    def check(*_):
        raise SimulationError("a payload changed while it waited")

    subject, bench = subject_of("opu", check)
    assert run_step(subject, bench, 1) == ["a payload changed while it waited"]
