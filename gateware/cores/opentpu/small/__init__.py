# SPDX-License-Identifier: BSD-2-Clause
"""The small OpenTPU engine: a microprogram and few units."""
