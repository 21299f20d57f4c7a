# SPDX-License-Identifier: BSD-2-Clause
"""Cherry: generators, builds and comparer of the campaigns."""

from tests.gateware.cores.cherry.bench import compare
from tests.support.campaigns import whole
from tests.support.subjects import Subject

__all__ = ["SUBJECT"]


def _aborted(check, bench, seed, rng, behaviour):
    return compare.check_aborted(
        bench, compare.program_case(seed, bench.params), rng.randrange(6000), behaviour, seed
    )[0]


#: Of ten cases six are programs, two lists, one a program with something wrong, one is aborted.
PLAN = (
    *[
        whole(
            lambda seed, params, rng: compare.program_case(
                seed, params, words=rng.choice((12, 40, 80))
            )
        )
    ]
    * 6,
    *[whole(lambda seed, params, rng: compare.list_case(seed, params))] * 2,
    whole(lambda seed, params, rng: compare.spoilt_case(seed, params)),
    _aborted,
)

SUBJECT = Subject("cherry", tuple(compare.BUILDS), compare.open_build, compare.check_case, PLAN)
