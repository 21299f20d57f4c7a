# SPDX-License-Identifier: BSD-2-Clause
"""Reports on compiled networks: tables of plans, accuracy, comparison of cores."""
