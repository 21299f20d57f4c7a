# SPDX-License-Identifier: BSD-2-Clause
"""Many-core PIM engine, unit by unit."""
