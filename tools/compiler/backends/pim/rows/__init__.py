# SPDX-License-Identifier: BSD-2-Clause
"""Functions of rows and elements that PIM's vector unit computes by recipes."""
