# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's numbers and operations in plain numpy: what its programs must give."""
