# SPDX-License-Identifier: BSD-2-Clause
"""HTML reports (``quintet report``): results of other commands as one self-contained page."""
