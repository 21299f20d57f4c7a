# SPDX-License-Identifier: BSD-2-Clause
"""Reports on compiled networks: plans as tables, accuracy, comparison of cores."""
