# SPDX-License-Identifier: BSD-2-Clause
"""Quantiser of all machines that compute in whole numbers: real-number scales, shifts, weights and
biases, on calibration inputs."""

from .quantiser import check_bits, quantise

__all__ = ["check_bits", "quantise"]
