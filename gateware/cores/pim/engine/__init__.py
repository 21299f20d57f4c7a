# SPDX-License-Identifier: BSD-2-Clause
"""The PIM engine, unit by unit."""
