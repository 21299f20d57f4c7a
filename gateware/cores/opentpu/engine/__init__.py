# SPDX-License-Identifier: BSD-2-Clause
"""The OpenTPU engine, unit by unit."""
