# SPDX-License-Identifier: BSD-2-Clause
"""Post-training quantiser for integer cores: scales, shifts, integer weights and biases from
calibration inputs."""

from .quantiser import check_bits, quantise

__all__ = ["check_bits", "quantise"]
