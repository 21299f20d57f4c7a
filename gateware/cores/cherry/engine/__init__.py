# SPDX-License-Identifier: BSD-2-Clause
"""The Cherry engine, unit by unit."""
