# SPDX-License-Identifier: BSD-2-Clause
"""Parts that the compilers of several cores share."""
