# SPDX-License-Identifier: BSD-2-Clause
"""What has come of a network: plans as tables, accuracy, cores side by side."""
