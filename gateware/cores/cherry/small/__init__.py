# SPDX-License-Identifier: BSD-2-Clause
"""Small Cherry engine: microcoded, with serial units."""
