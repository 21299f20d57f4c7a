# SPDX-License-Identifier: BSD-2-Clause
"""Checks of a core's engines on one bench against the golden model, for any ISA."""

import random

from tests.support.campaigns import random_behaviour
from tests.support.comparing import registers_of

__all__ = ["Checks"]


class Checks:
    """Checks of one core's benches; each runs random cases from its own seeds.

    Parameters
    ----------
    compare : the core's ``bench/compare.py``: ``check_case``,
        ``check_aborted``, ``check_bus_error``
    draw : ``draw(seed, params, **options)`` gives a random case; a method's further options are its
    behaviour : ``behaviour(seed)``: how main memory answers
    """

    def __init__(self, compare, draw, behaviour=random_behaviour):
        self.compare, self.draw, self.behaviour = compare, draw, behaviour

    def run(self, bench, case, behaviour, seed=0, note="", **more):
        """Checks that a run equals the golden model's; returns its outcome."""
        problems, outcome = self.compare.check_case(bench, case, behaviour, seed, **more)
        assert not problems, (case.name, seed, note, problems)
        return outcome

    def _drawn(self, bench, seeds, fails, options):
        for seed in seeds:
            legal = {"legal": seed % fails != 0} if fails else {}
            yield (
                seed,
                random.Random(seed),
                self.draw(seed, bench.params, **legal, **options),
                self.behaviour(seed),
            )

    def random_programs(self, bench, seeds, fails=0, **options):
        """Checks random programs, each with its own memory timing; one in ``fails`` ends in a
        fault."""
        for seed, _, case, behaviour in self._drawn(bench, seeds, fails, options):
            self.run(bench, case, behaviour, seed)

    def core_resets(self, bench, count, fails=0, latest=3000, **options):
        """Checks core resets at random cycles, and a complete run of the same program after
        each."""
        for seed, rng, case, behaviour in self._drawn(bench, range(count), fails, options):
            bench.behave(behaviour, seed=seed)
            bench.load(case.memory)
            bench.start(registers_of(case))
            bench.step(rng.choice((0, 1, 3, 17, 200, rng.randrange(latest))))
            bench.reset()
            assert bench.status() == 0
            self.run(bench, case, behaviour, seed, "after a core reset")

    def aborts(self, bench, count, latest, again=None, every=1, **options):
        """Checks aborts at random cycles below ``latest``. With ``again``, a memory, every
        ``every``-th program runs completely after it. Returns the number of aborts."""
        aborted = 0
        for seed, rng, case, behaviour in self._drawn(bench, range(count), 0, options):
            cycle = rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(latest)))
            problems, outcome = self.compare.check_aborted(bench, case, cycle, behaviour, seed)
            assert not problems, (case.name, cycle, problems)
            aborted += outcome.status == "aborted"
            if again is not None and seed % every == 0:
                self.run(bench, case, again, note="after an abort")
        return aborted

    def bus_errors(self, bench, count, least, again=None, *, address, every=1, **options):
        """Checks bus errors at ``address(case, rng)``, for reads or writes or both; more than
        ``least`` must be hit. ``again``, ``every`` as for :meth:`aborts`."""
        hit = 0
        for seed, rng, case, behaviour in self._drawn(bench, range(count), 0, options):
            place = address(case, rng)
            problems, outcome = self.compare.check_bus_error(
                bench, case, place, rng.choice((True, False, None)), behaviour, seed
            )
            assert not problems, (case.name, hex(place), problems)
            hit += outcome.status == "fault"
            if again is not None and seed % every == 0:
                self.run(bench, case, again, note="after a bus error")
        assert hit > least
