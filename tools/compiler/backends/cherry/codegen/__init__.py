# SPDX-License-Identifier: BSD-2-Clause
"""Code generation for Cherry: loop nests over views of maps as programs, and an estimate of their
cycles."""
