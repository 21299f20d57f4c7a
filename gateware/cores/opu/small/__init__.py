# SPDX-License-Identifier: BSD-2-Clause
"""Small OPU engine: microcoded, with few units."""
