# SPDX-License-Identifier: BSD-2-Clause
"""Front end of the Cherry engine: from instruction words to operations that may start."""
