# SPDX-License-Identifier: BSD-2-Clause
"""Code generation for OpenTPU: instruction words of the steps of a network."""
