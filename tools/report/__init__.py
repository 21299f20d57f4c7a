# SPDX-License-Identifier: BSD-2-Clause
"""``quintet report``: what other commands have measured, as one HTML page that opens without a
network."""
