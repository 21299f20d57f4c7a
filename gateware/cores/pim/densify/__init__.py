# SPDX-License-Identifier: BSD-2-Clause
"""Code size optimiser of PIM (pass ``densify``). Pure Python."""
