# SPDX-License-Identifier: BSD-2-Clause
"""The small OPU engine: a microprogram and few units."""
