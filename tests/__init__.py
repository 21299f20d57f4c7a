# SPDX-License-Identifier: BSD-2-Clause
"""Tests, and what they share: helpers are imported as ``tests.support.NAME`` and the like."""
