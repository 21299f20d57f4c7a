# SPDX-License-Identifier: BSD-2-Clause
"""PIM's kernel library at random: a network that it accepts gives on the golden model the results
of plain numpy, for any order of layers, shapes, bits, shifts, biases, chunks and cores; others
raise :class:`~quintet.tools.kernels.inputs.KernelError`."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.campaigns import Campaign
from tests.tools.pim_networks import Drawn, Seeded, try_network


def test_networks_of_fixed_seeds(tmp_path):
    """The text of one in eight is assembled, too. Most must be accepted, or nothing would be
    compared."""
    accepted = [try_network(Seeded(seed), None if seed % 8 else tmp_path) for seed in range(400)]
    assert sum(accepted) >= 240


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_networks_of_hypothesis(data):
    try_network(Drawn(lambda low, high: data.draw(st.integers(low, high))))


@pytest.mark.long
def test_pim_networks_campaign(tmp_path):
    """``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
    campaign = Campaign("pim-networks", 1 / 4)
    for seed in campaign.seeds("networks"):
        try:
            try_network(Seeded(seed), None if seed % 8 else tmp_path)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
