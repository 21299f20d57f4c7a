# SPDX-License-Identifier: BSD-2-Clause
"""Vector unit of the PIM engine."""
