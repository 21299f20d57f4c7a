# SPDX-License-Identifier: BSD-2-Clause
"""Everything that becomes gates, and the pure Python that says what it must do: instruction sets, models, assemblers."""
