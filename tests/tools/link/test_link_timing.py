# SPDX-License-Identifier: BSD-2-Clause
"""Retry times that are learnt from round trips."""

import pytest

from quintet.tools.link.timing import LEAST, RoundTrips

MOST = 0.1
SMALL, LARGE = 48, 600


def test_nothing_learnt_waits_longest():
    assert RoundTrips().patience(SMALL, 0, MOST) == MOST


@pytest.mark.parametrize(
    "trip, patience", [(0.004, 0.012), (1e-6, LEAST), (5.0, MOST)], ids=["own", "least", "most"]
)
def test_first_round_trip_sets_three_times_itself_within_bounds(trip, patience):
    trips = RoundTrips()
    trips.take(SMALL, 0, trip)
    assert trips.patience(SMALL, 0, MOST) == pytest.approx(patience)


def test_steady_round_trips_come_close_and_a_late_one_widens():
    trips = RoundTrips()
    for _ in range(100):
        trips.take(SMALL, 0, 0.01)
    assert trips.patience(SMALL, 0, MOST) == pytest.approx(0.01, rel=0.01)
    trips.take(SMALL, 0, 0.03)
    assert 0.03 < trips.patience(SMALL, 0, MOST) < MOST


def test_a_small_request_says_nothing_of_a_large_one_or_of_a_checksum():
    trips = RoundTrips()
    trips.take(SMALL, 0, 0.002)
    assert trips.patience(LARGE, 0, MOST) == MOST
    assert trips.patience(SMALL, 8192, MOST) == MOST
