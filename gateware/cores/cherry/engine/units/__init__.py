# SPDX-License-Identifier: BSD-2-Clause
"""The units of the Cherry engine that compute, load and store."""
