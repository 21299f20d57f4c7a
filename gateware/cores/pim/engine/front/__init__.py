# SPDX-License-Identifier: BSD-2-Clause
"""Front end of the PIM engine: fetches, decodes, checks and issues instructions."""
