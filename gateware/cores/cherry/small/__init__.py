# SPDX-License-Identifier: BSD-2-Clause
"""The small Cherry engine: a microprogram and few units."""
