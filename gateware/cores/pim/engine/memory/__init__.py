# SPDX-License-Identifier: BSD-2-Clause
"""Local memory of the PIM engine."""
