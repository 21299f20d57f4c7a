# SPDX-License-Identifier: BSD-2-Clause
"""Long campaigns of gateware against its golden model: seeds, and totals that add up over runs
(docs/how/campaigns.md)."""

import json
import os
import random
import time
from pathlib import Path

import pytest

from quintet.boards.virtual.bench import Behaviour
from quintet.boards.virtual.simulation import SimulationError

__all__ = ["Campaign", "aborted", "bus_error", "campaign_test", "random_behaviour", "whole"]


class Campaign:
    """A long campaign: runs seeds for QUINTET_MINUTES from QUINTET_SEED on, and resumes where the
    last run stopped.

    Totals are kept in ``campaigns/<name>.json`` below the cache folder; ``docs/how/campaigns.md``
    lists them.
    """

    def __init__(self, name, share=1.0):
        from quintet.boards.virtual.cache import default_folder

        self.path = Path(default_folder()) / "campaigns" / f"{name}.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.base = int(os.environ.get("QUINTET_SEED", "1"))
        self.until = time.monotonic() + 60 * float(os.environ.get("QUINTET_MINUTES", "20")) * share
        self.name = name

    def _totals(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def seeds(self, build):
        """Seeds that have not been run for ``build`` and this base, until the time is over."""
        key = f"{build}/{self.base}"
        done = self._totals().get(key, 0)
        while time.monotonic() < self.until:
            yield self.base * 10_000_000 + done
            done += 1
            if done % 50 == 0:
                self._save(key, done)
        self._save(key, done)

    def tally(self, build, count, what="frames"):
        """Adds to a count other than seeds, for example the frames of a link: ``<build>
        frames``."""
        key = f"{build} {what}/{self.base}"
        self._save(key, self._totals().get(key, 0) + count)

    def _save(self, key, done):
        """Saves the totals; those of other builds, which may run at the same time, are kept."""
        totals = {**self._totals(), key: done}
        work = self.path.with_suffix(f".{os.getpid()}")
        work.write_text(json.dumps(totals, indent=1, sort_keys=True))
        work.replace(self.path)


def random_behaviour(seed):
    """Timing of main memory's answers in the run of ``seed``."""
    return Behaviour.random(random.Random(f"behaviour {seed}"))


# Steps of a campaign's plan. ``draw(seed, params, rng)`` gives the case, so that a seed's random
# numbers come in one order.


def whole(draw):
    """Variation that runs the program unchanged."""

    def step(check, bench, seed, rng, behaviour):
        return check(bench, draw(seed, bench.params, rng), behaviour, seed)[0]

    return step


def aborted(draw, check_aborted, cycles):
    """Variation that aborts the program within so many cycles."""

    def step(check, bench, seed, rng, behaviour):
        case = draw(seed, bench.params, rng)
        return check_aborted(bench, case, rng.randrange(cycles), behaviour, seed)[0]

    return step


def bus_error(draw, check_bus_error, address):
    """Variation that runs the program with a bus error at every access of a kind to the beat at
    ``address(case, rng)``."""

    def step(check, bench, seed, rng, behaviour):
        case = draw(seed, bench.params, rng)
        return check_bus_error(
            bench, case, address(case, rng), rng.choice((True, False, None)), behaviour, seed
        )[0]

    return step


def run_step(subject, bench, seed):
    """Runs the program of ``seed``; returns the differences."""
    step = subject.plan[seed % len(subject.plan)]
    try:
        return step(
            subject.check, bench, seed, random.Random(f"campaign {seed}"), random_behaviour(seed)
        )
    except SimulationError as error:
        return [str(error)]


def campaign_test(subject):
    """Creates a test that runs a subject's campaign on each of its builds, each for its share of
    QUINTET_MINUTES."""

    @pytest.mark.long
    @pytest.mark.parametrize("build", subject.builds)
    def test(build):
        with subject.open_build(build) as bench:
            campaign = Campaign(
                subject.name, 1 / len(subject.builds)
            )  # its time begins when the compiler is done
            for seed in campaign.seeds(build):
                problems = run_step(subject, bench, seed)
                assert not problems, (build, seed, problems)

    return test
