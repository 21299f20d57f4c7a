# SPDX-License-Identifier: BSD-2-Clause
"""Generators of documents: pages and tables from the ISA tables and from measured figures."""
