# SPDX-License-Identifier: BSD-2-Clause
"""Pages and tables of the documents that are written from the tables and from figures of builds."""
