# SPDX-License-Identifier: BSD-2-Clause
"""Templates of packages that add a core or a board to quintet, for ``quintet new``; they work as
they stand.

In a core package's files the word *template* (``Template``, ``TMPL``) stands for the name.
"""
