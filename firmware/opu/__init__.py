# SPDX-License-Identifier: BSD-2-Clause
"""Jobs for the OPU, and its measurements."""
