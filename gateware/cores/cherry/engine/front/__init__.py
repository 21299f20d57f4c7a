# SPDX-License-Identifier: BSD-2-Clause
"""Front end of the Cherry engine: fetches and decodes instructions, and issues operations to the
units."""
