# SPDX-License-Identifier: BSD-2-Clause
"""Front end of the OPU engine: fetches, decodes and checks instructions, and fills the queues of
the units."""
