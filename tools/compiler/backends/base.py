# SPDX-License-Identifier: BSD-2-Clause
"""What a machine offers the compiler: one class an ISA, found by its name. A sixth ISA adds one and
changes nothing else."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

from ....gateware.cores import open_room
from ...errors import InputError

__all__ = [
    "DECOMPOSED",
    "HOST",
    "NATIVE",
    "NO",
    "Backend",
    "LayerSpan",
    "Lowered",
    "LoweringError",
    "Placed",
    "Verdict",
    "moved",
]

#: Answers of a verdict: by its own instructions, by others of its instructions, on the host only,
#: not at all.
NATIVE, DECOMPOSED, HOST, NO = "native", "decomposed", "host", "no"


@dataclass(frozen=True)
class Verdict:
    """Whether a machine runs a node.

    Attributes
    ----------
    answer : NATIVE, DECOMPOSED, HOST or NO
    reason : str; of NATIVE empty, else how it is decomposed,
        or which attribute stands in the way and what is taken instead
    """

    answer: str
    reason: str = ""

    @property
    def runs(self):
        """Whether it runs on the machine."""
        return self.answer in (NATIVE, DECOMPOSED)


class LoweringError(InputError):
    """A network that a build cannot hold, or a conflict between layers that no support check knows
    of; the text says what it takes, what there is, and what takes most.

    Attributes
    ----------
    node : name of the node of the prepared graph that stands in the way,
        ``None`` where it is no single one
    reason : the text without that name
    """

    def __init__(self, reason, node=None):
        super().__init__(reason if node is None else f"{node}: {reason}")
        self.node, self.reason = node, reason


@dataclass(frozen=True)
class Placed:
    """A tensor in main memory during a run: its ``layout`` (quintet.tools.compiler.layout), the
    first axis of which counts the inputs of a run, and the name of the graph's tensor."""

    tensor: str
    layout: object


@dataclass(frozen=True)
class LayerSpan:
    """A node in a program.

    Attributes
    ----------
    name : of the node; a fused one is named by its last node
    nodes : names of the nodes that it does
    begin, end : byte addresses of its first instruction and behind its last,
        ``None`` where they are not in one piece
    macs : multiplications on real channels, for one input
    cycles : estimate, for all inputs of a run
    bytes : of main memory that it moves, for all inputs of a run
    cut : what ends the program behind this layer: pairs (offset in the program,
        bytes as hexadecimal digits) to be put in place of what is there; ``None`` where what
        follows is already begun, and behind the last
    """

    name: str
    nodes: tuple
    begin: int | None
    end: int | None
    macs: int
    cycles: int
    bytes: int
    cut: tuple | None = None


@dataclass(eq=False, kw_only=True)
class Lowered:
    """A program for one segment.

    Attributes
    ----------
    program : bytes, in the form that the core fetches; ``text``: the same as assembly source
    program_at : byte address of the program
    registers : dict, name -> value, all that a run needs
    constants : list of (byte address, uint8 array, what it is): written once
    zeros : list of (byte address, bytes): ranges that must be zero before the first run
    inputs, outputs : dict, tensor name -> Placed
    tensors : dict, tensor name -> Placed;
        every tensor that is still there after the run (all that exist, with ``keep``)
    images : inputs that one run works on
    memory : bytes of main memory from address 0 that it takes
    layers : list of LayerSpan
    params : dict, the build parameters that it needs; a target's must be equal in these
    again : dict, registers that differ from the second run on
    setup : list of (bytes, byte address): programs that run once,
        after the constants are written, with ``registers`` but their own place
    """

    program: bytes
    text: str
    program_at: int
    registers: dict
    constants: list = field(default_factory=list)
    zeros: list = field(default_factory=list)
    inputs: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    tensors: dict = field(default_factory=dict)
    images: int = 1
    memory: int = 0
    layers: list = field(default_factory=list)
    params: dict = field(default_factory=dict)
    setup: list = field(default_factory=list)
    again: dict = field(default_factory=dict)


def moved(lowered, by, registers, **changes):
    """``lowered`` with its tensors ``by`` bytes higher, and so what ``registers``, names, say. It
    writes no constants and runs no setup but those in ``changes``, further fields."""

    def higher(placed):
        return {
            name: replace(place, layout=replace(place.layout, address=place.layout.address + by))
            for name, place in placed.items()
        }

    fields = {
        "registers": {
            name: value + by if name in registers else value
            for name, value in lowered.registers.items()
        },
        "zeros": [(at + by, size) for at, size in lowered.zeros],
        "constants": [],
        "setup": [],
        "memory": lowered.memory + by,
    }
    return replace(
        lowered,
        **{
            **fields,
            **{key: higher(getattr(lowered, key)) for key in ("inputs", "outputs", "tensors")},
            **changes,
        },
    )


class Backend(ABC):
    """A machine's side of the compiler.

    Parameters
    ----------
    params : dict, build parameters as ``SPACE.resolve`` gives them
    memory_size : bytes of main memory of the target
    memory : dict, what the target's info text says of it, for estimates;
        empty where that is not known

    ``isa`` is the room's name. ``floating`` is true where the machine computes in floating point
    and nothing is quantised.
    """

    isa: str
    floating = False
    #: Whether what it answers HOST to needs no permission, since by the machine's design values are
    #: on the host between layers.
    host_free = False
    #: Whether programs are only looked at, so that those of large networks may be estimated with
    #: less of a search for the best.
    quick = False
    #: Nodes that the host has to run for what only the quantiser knows, name -> why.
    barred = {}
    #: Layers whose clip is to be made by a layer of its own, where the machine's clips ask for that
    #: (:attr:`~..quantised.Quantised.apart`).
    apart = frozenset()

    def __init__(self, *, params, memory_size, memory=None):
        self.params = params
        self.main_memory = memory or {}
        self.memory_size = memory_size

    @property
    def clock_ratio(self):
        """Cycles of its counters in one of the main clock: more than one where a core counts in a
        clock of its own."""
        peaks = open_room(self.isa).params.SPACE.peaks(self.params)
        return 1.0 if peaks is None else peaks.clock_ratio

    @abstractmethod
    def verdict(self, graph, node):
        """:class:`Verdict` on one node of an imported graph, after the passes that all machines
        share."""

    def prepare(self, graph):
        """The graph in the machine's own form (a new one): nodes decomposed, residuals joined to
        convolutions, where that changes the arithmetic. Only nodes for which :meth:`verdict` says
        that they run. Tensors that stay keep their names."""
        return graph

    def split(self, graph):
        """Parts of a prepared graph that each make one program, in order
        (:meth:`~..graph.Graph.part`); usually the whole."""
        return [graph]

    def check(self, graph):
        """Raises :class:`LoweringError` where a part of :meth:`split` does not fit the machine, as
        far as that is known before anything is quantised."""
        return None

    def check_programs(self, parts, images=1):
        """Raises :class:`LoweringError` where main memory or the machine's own memories do not hold
        the programs of ``parts`` (Quantised, with placeholder numbers), before anything is
        quantised. What :meth:`lower_all` refuses, unless a machine knows a shorter way to the same
        answer."""
        self.lower_all(parts, images)

    def arithmetic(self, graph, node):
        """:class:`~quintet.tools.compiler.quantised.Arithmetic` of a node of a prepared graph;
        ``None`` where the machine computes in floating point."""
        return None

    def partial_sums(self, graph, node, values):
        """For machines whose partial sums saturate: the partial sums of a convolution, dense or
        average node, one after the other as the machine makes them, in the node's real numbers,
        given its source ``values`` (float64, first axis the inputs). Yields arrays [inputs, ...,
        out]; the bias is in the first."""
        return iter(())

    @abstractmethod
    def reference(self, quantised, inputs, keep=False):
        """Bit for bit what the machine gives, in numpy.

        Parameters
        ----------
        quantised : Quantised
        inputs : dict, tensor name -> whole numbers (float: float32), the first axis counts inputs
        keep : bool, every tensor and not only the outputs

        Returns
        -------
        dict, tensor name -> array
        """

    @abstractmethod
    def lower(self, quantised, *, keep=False):
        """:class:`Lowered` program; ``keep``: every tensor has a place of its own, so that all can
        be read after a run. Raises
        :class:`LoweringError`."""

    def most_images(self, graph):
        """Inputs that one run of a prepared graph may work on; where more than one, :meth:`lower`
        takes ``images``."""
        return 1

    def lower_all(self, parts, images=1):
        """Programs of all parts of a network, a list; each part by itself from address 0 on, unless
        a machine places them side by side. ``images``: inputs that a run works on, at most, as far
        as the machine can."""
        taken = [min(images, self.most_images(part.graph)) for part in parts]
        return [
            self.lower(part, **({"images": some} if some > 1 else {}))
            for part, some in zip(parts, taken, strict=True)
        ]

    def twin(self, quantised, lowered, at):
        """The program of ``lowered`` once more, with places of its own for inputs and outputs in
        the memory from ``at`` on, a multiple of 64: while the one runs the other's input is written
        and its output read. ``None`` where the machine has none. A twin needs what ``lowered`` has
        written and set up."""
        return None
