# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's kernels: loop nests over views of maps, from which the compiler makes programs, and an
estimate of their cycles."""
