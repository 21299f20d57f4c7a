# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU behind the compiler's back-end contract."""

from ..base import Backend, moved
from .lower import lower, most_images
from .numbers import arithmetic
from .prepare import prepare
from .reference import run
from .verdicts import verdict

__all__ = ["OpenTpu"]

#: Words of a program that is not compared with others where it is only looked at.
_QUICK = 60_000


class OpenTpu(Backend):
    """OpenTPU: everything is a sum of products of tiles over shifted maps, a shift and a saturation
    (docs/cores/opentpu-kernels.md)."""

    isa = "opentpu"

    def verdict(self, graph, node):
        return verdict(graph, node, self.params)

    def prepare(self, graph):
        return prepare(graph)

    def arithmetic(self, graph, node):
        return arithmetic(node, self.params["n"])

    def reference(self, quantised, inputs, keep=False):
        return run(quantised, inputs, keep)

    def most_images(self, graph):
        """Inputs that a run of a prepared graph may work on."""
        return most_images(graph, self.params)

    def lower(self, quantised, *, keep=False, images=1):
        """As the base; ``images`` inputs a run, up to :meth:`most_images`."""
        return lower(
            quantised,
            self.params,
            self.memory_size,
            keep,
            images,
            self.main_memory,
            _QUICK if self.quick else None,
        )

    def check_programs(self, parts, images=1):
        # It is enough that one of the programs fits.
        for part in parts:
            some = min(images, self.most_images(part.graph))
            lower(part, self.params, self.memory_size, False, some, self.main_memory, 0)

    def twin(self, quantised, lowered, at):
        # Programs address vectors within a region, its constant ones included; tensors that are
        # tiles lie in that of the weights as well.
        if lowered.registers["weights_base"] == lowered.registers["hostmem_base"]:
            return None
        first, end = lowered.registers["hostmem_base"], lowered.registers["hostmem_limit"]
        vectors = [
            (at, data, what) for address, data, what in lowered.constants if address == first
        ]
        return moved(
            lowered,
            at - first,
            ("hostmem_base", "hostmem_limit"),
            constants=vectors,
            memory=at + end - first,
        )
