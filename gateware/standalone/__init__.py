# SPDX-License-Identifier: BSD-2-Clause
"""Operation of the SoC without a host: boot from flash memory, and lists of runs
(docs/how/standalone.md)."""
