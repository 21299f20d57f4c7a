# SPDX-License-Identifier: BSD-2-Clause
"""The IMAGine engine, unit by unit."""
