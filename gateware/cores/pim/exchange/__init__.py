# SPDX-License-Identifier: BSD-2-Clause
"""Published program forms of PIM, read and written. Pure Python."""
