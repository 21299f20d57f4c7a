# SPDX-License-Identifier: BSD-2-Clause
"""What Hypothesis draws does not depend on the files that are imported."""

from hypothesis.internal.conjecture import providers


def test_no_constant_of_our_files_is_drawn():
    if hasattr(providers, "_get_local_constants"):
        assert len(providers._get_local_constants()) == 0
