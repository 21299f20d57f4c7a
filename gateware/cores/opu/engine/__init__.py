# SPDX-License-Identifier: BSD-2-Clause
"""The OPU engine, unit by unit."""
