# SPDX-License-Identifier: BSD-2-Clause
"""The four models of MLPerf Tiny: the input bytes that the runner sends, and the results that a
device reports."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler.graph import Port
from ..errors import InputError

__all__ = ["BENCHMARKS", "Benchmark", "benchmark_of"]


@dataclass(frozen=True)
class Benchmark:
    """A model of MLPerf Tiny.

    Attributes
    ----------
    name : str, as a device reports it
    shape : tuple of int
        Axes of an input in the runner's order; pictures are rows, columns, channels.
    dtype : str, numpy name of an element, little-endian
    scale, zero_point : float, int
        A number q of the runner stands for ``(q - zero_point) * scale`` if the network takes real
        numbers: what the published network's training took.
    outputs : int, of the network
    error : bool
        A result is the mean squared difference of output and input, as the anomaly detector's is.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float
    zero_point: int
    outputs: int
    error: bool = False

    @property
    def size(self) -> int:
        """Bytes of an input."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize

    def array(self, data: bytes, port: Port) -> np.ndarray:
        """Converts the runner's bytes to the network's input, with a batch axis."""
        values = np.frombuffer(data, np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)
        if port.scale is None:
            values = (values.astype(np.float64) - self.zero_point) * self.scale
        elif self.dtype == "uint8" and port.signed:
            values = values.astype(np.int16) - 128
        if len(self.shape) == 3 and port.shape == (self.shape[2], *self.shape[:2]):
            values = values.transpose(2, 0, 1)
        return values.reshape(1, *port.shape)

    def result(self, given: np.ndarray, found: np.ndarray) -> list[float]:
        """Numbers in the line of results, from an input and its output."""
        if self.error:
            return [float(np.mean((given - found) ** 2))]
        return [float(value) for value in np.ravel(found)]


#: By name. Scales and zero points: docs/guides/mlperf.md.
BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("ic01", (32, 32, 3), "uint8", 1.0, 0, 10),
        Benchmark("kws01", (49, 10), "int8", 0.5847029089927673, 83, 12),
        Benchmark("vww01", (96, 96, 3), "uint8", 1 / 255, 0, 2),
        Benchmark("ad01", (640,), "float32", 1.0, 0, 640, error=True),
    )
}


def benchmark_of(
    network: str, inputs: Sequence[Port], outputs: Sequence[Port], name: str | None = None
) -> Benchmark:
    """Finds the benchmark of a network by the shapes of its ports, or by ``name``.

    Raises
    ------
    InputError
        None has these shapes, or ``name`` has others.
    """

    def fits(benchmark):
        return (
            len(inputs) == len(outputs) == 1
            and np.prod(inputs[0].shape) == np.prod(benchmark.shape)
            and np.prod(outputs[0].shape) == benchmark.outputs
        )

    choices = [BENCHMARKS[name]] if name else BENCHMARKS.values()
    found = next((benchmark for benchmark in choices if fits(benchmark)), None)
    if found is not None:
        return found
    shapes = ", ".join(f"{port.name} {list(port.shape)}" for port in (*inputs, *outputs))
    expected = "; ".join(f"{b.name}: {list(b.shape)} to [{b.outputs}]" for b in choices)
    raise InputError(f"{network}: inputs and outputs are {shapes}: expected those of {expected}")
