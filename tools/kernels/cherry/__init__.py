# SPDX-License-Identifier: BSD-2-Clause
"""Loop nests over views of maps, of which the compiler makes Cherry's programs, and an estimate of
their cycles."""
