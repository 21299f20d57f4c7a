# SPDX-License-Identifier: BSD-2-Clause
"""Jobs for PIM, and its measurements."""
