# SPDX-License-Identifier: BSD-2-Clause
"""MLPerf Tiny's device interface: a compiled network as the device under test of the benchmark's
runner."""

from .benchmarks import BENCHMARKS, Benchmark
from .device import Device

__all__ = ["BENCHMARKS", "Benchmark", "Device"]
