# SPDX-License-Identifier: BSD-2-Clause
"""Image loader (LOAD) of the PIM engine."""
