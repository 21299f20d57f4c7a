# SPDX-License-Identifier: BSD-2-Clause
"""Small OpenTPU engine: microcoded, with few units."""
