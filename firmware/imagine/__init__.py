# SPDX-License-Identifier: BSD-2-Clause
"""Jobs for IMAGine, and its measurements."""
