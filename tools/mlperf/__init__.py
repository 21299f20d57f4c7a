# SPDX-License-Identifier: BSD-2-Clause
"""MLPerf Tiny's device interface: a compiled network behind the serial conversation that the
benchmark's runner holds with a device under test."""

from .benchmarks import BENCHMARKS, Benchmark
from .device import Device

__all__ = ["BENCHMARKS", "Benchmark", "Device"]
