# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's networks of dense layers from integer weights: compiled for given sizes, and written as
jobs (docs/how/contracts.md; specification, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.tools.compiler.backends.opentpu import BACKEND
from quintet.tools.compiler.graph import Activation, Dense, Graph, Port, Tensor
from quintet.tools.compiler.quantised import Integer, Quantised, Scale
from quintet.tools.jobs.job import Job, Load, Save, Source
from quintet.tools.jobs.recognition import Recognition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quintet.tools.compiler.backends.base import Lowered

__all__ = ["Layer", "Network", "network_job"]


@dataclass(frozen=True)
class Layer:
    """One dense layer.

    Attributes
    ----------
    weights : int8 [inputs, outputs]
    relu : whether a ReLU follows
    shift : right shift of the sums, which are rounded and saturated to int8; ``None``: the low
        bytes of the sums are the results, as without ``ext_norm``
    """

    weights: np.ndarray
    relu: bool = False
    shift: int | None = None


class Network:
    """A network of dense layers, compiled for a core of build parameters ``params``.

    Either all ``layers`` have a shift or none has; programs without shifts run on every build.

    Attributes
    ----------
    backend : Backend of the compiler
    quantised : Quantised
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        params: Mapping[str, Any],
        *,
        name: str = "network",
        memory_size: int = 1 << 32,
        memory: Mapping[str, Any] | None = None,
    ):
        self.shifted = any(layer.shift is not None for layer in layers)
        if not self.shifted:
            params = {**params, "ext_norm": False, "norm_reset": 0}
        self.backend = BACKEND(params=params, memory_size=memory_size, memory=memory)
        graph = Graph(name)
        self.quantised = Quantised(graph=graph)
        graph.tensors["0"] = Tensor("0", (len(layers[0].weights),))
        for number, layer in enumerate(layers):
            source, target = str(number), str(number + 1)
            width = layer.weights.shape[1]
            graph.tensors[target] = Tensor(target, (width,))
            weights = layer.weights.T.astype(np.int64)
            name = f"dense{number + 1}"
            ends: dict[str, Any] = {"inputs": [source], "output": target, "origin": name}
            relu = Activation(name=name, function="relu", **ends) if layer.relu else None
            graph.nodes.append(
                Dense(name=name, weights=weights.astype(np.float64), activation=relu, **ends)
            )
            self.quantised.layers[name] = Integer(
                weights=weights,
                bias=None,
                shift=np.full(width, layer.shift or 0),
                bias_shift=np.zeros(width, np.int64),
            )
        self.quantised.scales = {tensor: Scale(1.0, 8) for tensor in graph.tensors}
        for ports, tensor in ((graph.inputs, "0"), (graph.outputs, target)):
            ports.append(Port(tensor, tensor, (0,), graph.shape(tensor)))
        self.output = target

    def lower(self, rows: int) -> Lowered:
        """Compiles the program for ``rows`` inputs a run."""
        return self.backend.lower(self.quantised, images=rows)

    def operands(self, lowered: Lowered, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What main memory holds before a run on ``inputs`` [rows, K]: host memory up to the
        results, int8 [vectors, n], and weight memory, int8 [tiles, n, n]."""
        memory, n = np.zeros(lowered.memory, np.uint8), self.backend.params["n"]
        for at, data, _ in lowered.constants:
            memory[at : at + data.size] = data
        lowered.inputs["0"].layout.write(memory, np.asarray(inputs, np.int8))
        at = lowered.registers
        results = lowered.outputs[self.output].layout.address
        host = memory[at["hostmem_base"] : results].view(np.int8)
        tiles = memory[at["weights_base"] : at["weights_limit"]].view(np.int8)
        return host.reshape(-1, n), tiles.reshape(-1, n, n)


def network_job(
    folder: str | Path,
    name: str,
    layers: Sequence[Layer],
    inputs: np.ndarray,
    params: Mapping[str, Any],
    *,
    comment: str = "",
    cycles: int = 100_000_000,
    memory: int | None = None,
    labels: np.ndarray | None = None,
) -> Path:
    """Writes the job that applies ``layers`` to int8 ``inputs`` [rows, K] on a core of ``params``:
    ``name.toml``, ``name.a`` and ``name.npz`` in ``folder``.

    ``[params]`` of the job names n, ub_rows, acc_rows and, where layers have a shift, ext_norm. The
    results are saved as ``<name>_out.npy``, int8 [blocks of outputs x rows, n].

    Parameters
    ----------
    comment : first lines of the job and the program
    memory : bytes of main memory that the job must fit, or ``None``
    labels : of the inputs, with which the job says how many of them it recognised

    Returns
    -------
    Path of the job.
    """
    network = Network(
        layers, params, name=comment or name, memory_size=1 << 32 if memory is None else memory
    )
    rows, n, outputs = len(inputs), params["n"], layers[-1].weights.shape[1]
    lowered = network.lower(rows)
    registers, (hostmem, tiles) = lowered.registers, network.operands(lowered, inputs)
    results = lowered.outputs[network.output].layout.address
    wanted = {"n": n, "ub_rows": params["ub_rows"], "acc_rows": params["acc_rows"]}
    wanted |= {"ext_norm": True} if network.shifted else {"norm_reset": 0}
    found, blocks = None, -(-outputs // n)
    if labels is not None:
        found = Recognition(np.asarray(labels), (blocks, rows, n), (1, 0, 2), outputs)
    save = Save(
        results, f"{name}_out.npy", dtype="int8", shape=(blocks * rows, n), recognition=found
    )
    job = Job(
        core="opentpu",
        program=Source(f"{name}.a", lowered.text),
        program_at=lowered.program_at,
        params=wanted,
        registers={key: value for key, value in registers.items() if "program" not in key},
        loads=[
            Load(registers["hostmem_base"], hostmem, f"{name}.npz:hostmem"),
            Load(registers["weights_base"], tiles, f"{name}.npz:tiles"),
        ],
        saves=[save],
        cycle_limit=cycles,
        origin=f"job {name}",
    )
    return job.save(Path(folder, f"{name}.toml"), comment=comment)
