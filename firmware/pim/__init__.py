# SPDX-License-Identifier: BSD-2-Clause
"""Networks and jobs for PIM."""
