# SPDX-License-Identifier: BSD-2-Clause
"""Cores as modules of other SoC generators."""
