# SPDX-License-Identifier: BSD-2-Clause
"""Schedule of the OPU: tiles of the layers, and where tensors and constants lie in memory."""
