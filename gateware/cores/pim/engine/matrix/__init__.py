# SPDX-License-Identifier: BSD-2-Clause
"""Matrix unit of the PIM engine."""
