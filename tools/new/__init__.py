# SPDX-License-Identifier: BSD-2-Clause
"""Packages that bring a core or a board of one's own: ``quintet new`` writes them of the rooms
here, which work as they stand.

In a room's files the word *template* (``Template``, ``TMPL``) stands for the name.
"""
