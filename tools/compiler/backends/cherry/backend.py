# SPDX-License-Identifier: BSD-2-Clause
"""The back end of Cherry."""
import numpy as np

from ..base import Backend
from .decompose import machine_of
from .reference.numeric import run_machine
from .verdicts import verdict
from .ways import lower_machine

__all__ = ["Cherry"]


class Cherry(Backend):
    """Networks in Cherry's 18-bit floats: nothing is quantised."""
    isa = "cherry"
    floating = True

    def verdict(self, graph, node):
        return verdict(graph, node, self.params)

    def reference(self, quantised, inputs, keep=False):
        graph = quantised.graph
        machine = machine_of(graph, self.params, keep=keep)
        held = run_machine(machine, inputs, 18 if self.params["acc_frac"] == 17 else 10)
        names = machine.values if keep else machine.outputs
        return {name: np.asarray(inputs[name], np.float32) if name in machine.inputs else self._array(machine.values[name], held, graph.shape(name))
                for name in names}

    @staticmethod
    def _array(ref, held, shape):
        array = held[ref.value] if ref.value.data is None else np.repeat(ref.value.data[None], len(next(iter(held.values()))), 0)
        return np.ascontiguousarray(ref.read(array)).reshape(-1, *shape).astype(np.float32)

    def lower(self, quantised, *, keep=False):
        graph = quantised.graph
        return lower_machine(machine_of(graph, self.params, keep=keep), graph, self.params, self.memory_size, keep)
