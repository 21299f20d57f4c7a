# SPDX-License-Identifier: BSD-2-Clause
"""Back-end interface of the compiler: one class per ISA, found by its name, and the batch size of
its runs. A new ISA adds one class and changes nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import numpy as np

from ....gateware.cores import open_core
from ...errors import InputError

if TYPE_CHECKING:
    from ..graph import Graph, Node
    from ..layout import BitPlanes, Layout
    from ..quantise.calibration import Seen
    from ..quantised import Arithmetic, Quantised
    from ..target_build import TargetBuild

__all__ = [
    "BETWEEN",
    "backend_class",
    "backend_names",
    "Backend",
    "DECOMPOSED",
    "HOST",
    "LayerSpan",
    "Lowered",
    "LoweringError",
    "NATIVE",
    "NO",
    "Placed",
    "Support",
    "copyable_states",
    "line_seconds",
    "moved",
    "programs_of",
    "with_states",
]


#: Answers of a support check: by its own instructions, by others of its instructions, on the host
#: where the values are by the core's design, on the host if the user allows it, not at all.
NATIVE, DECOMPOSED, BETWEEN, HOST, NO = "native", "decomposed", "between", "host", "no"


@dataclass(frozen=True)
class Support:
    """Result of a support check: whether a core runs a node.

    Attributes
    ----------
    answer : NATIVE, DECOMPOSED, BETWEEN, HOST or NO
    reason : str; of NATIVE empty, else how it is decomposed, or the unsupported attribute and its
        supported values
    costly : whether a node that the core runs is left to the host if the user allows that
    """

    answer: str
    reason: str = ""
    costly: bool = False

    @property
    def runs(self) -> bool:
        """Whether the core runs the node."""
        return self.answer in (NATIVE, DECOMPOSED)


class LoweringError(InputError):
    """Error of lowering: a network does not fit a build, or its layers conflict in a way that no
    support check detects. The text states the requirement, the available amount and the largest
    consumer.

    Attributes
    ----------
    node : name of the node of the legalised graph that stands in the way,
        ``None`` where it is no single one
    reason : the text without that name
    bytes_needed : bytes of main memory that would do, ``None`` if these are not what is missing
    """

    def __init__(self, reason: str, node: str | None = None, bytes_needed: int | None = None):
        super().__init__(reason if node is None else f"{node}: {reason}")
        self.node, self.reason, self.bytes_needed = node, reason, bytes_needed


@dataclass(frozen=True)
class Placed:
    """Placement of a tensor in main memory during a run: its ``layout``
    (quintet.tools.compiler.layout), the first axis of which counts the inputs of a run, and the
    name of the graph's tensor."""

    tensor: str
    layout: Layout | BitPlanes


@dataclass(frozen=True)
class LayerSpan:
    """Range of program words that belong to one layer.

    Attributes
    ----------
    name : of the node; a fused one is named by its last node
    nodes : names of the nodes that it does
    begin, end : byte addresses of its first instruction and behind its last,
        ``None`` where they are not contiguous
    macs : multiplications on real channels, for one input
    cycles : estimate, for all inputs of a run
    bytes : of main memory that it moves, for all inputs of a run
    cut : patches that end the program after this layer: pairs (offset in the program,
        bytes as hexadecimal digits) to replace the program's; ``None`` where what
        follows is already begun, and behind the last
    """

    name: str
    nodes: tuple[str, ...]
    begin: int | None
    end: int | None
    macs: int
    cycles: int
    bytes: int
    cut: tuple[tuple[int, str], ...] | None = None


@dataclass(eq=False, kw_only=True)
class Lowered:
    """A lowered segment: the program, its memory contents and its registers.

    Attributes
    ----------
    program : bytes, in the form that the core fetches; ``text``: the same as assembly source
    program_at : byte address of the program
    registers : dict, name -> value, all that a run needs
    constants : list of (byte address, uint8 array, description): written once
    zeros : list of (byte address, bytes): ranges that must be zero before the first run
    inputs, outputs : dict, tensor name -> Placed
    tensors : dict, tensor name -> Placed;
        every tensor that is still there after the run (all that exist, with ``keep``)
    images : inputs that one run works on
    memory : bytes of main memory from address 0 that it takes
    layers : list of LayerSpan
    params : dict, the build parameters that it needs; a target's must be equal in these
    again : dict, registers that differ from the second run on
    states : dict, tensor name -> Placed; inputs that the program itself writes at its end for the
        next run, and that are not among ``inputs``
    setup : list of (bytes, byte address): programs that run once,
        after the constants are written, with ``registers`` but their own place
    """

    program: bytes
    text: str
    program_at: int
    registers: dict[str, int]
    constants: list[tuple[int, np.ndarray, str]] = field(default_factory=list)
    zeros: list[tuple[int, int]] = field(default_factory=list)
    inputs: dict[str, Placed] = field(default_factory=dict)
    outputs: dict[str, Placed] = field(default_factory=dict)
    tensors: dict[str, Placed] = field(default_factory=dict)
    images: int = 1
    memory: int = 0
    layers: list[LayerSpan] = field(default_factory=list)
    params: Mapping[str, Any] = field(default_factory=dict)
    setup: list[tuple[bytes, int]] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    states: dict[str, Placed] = field(default_factory=dict)

    @property
    def read(self) -> dict[str, Placed]:
        """All tensors that a run reads: inputs and states."""
        return {**self.inputs, **self.states}


def with_states(lowered: Lowered, kept: Collection[str]) -> Lowered:
    """Returns ``lowered`` with states: its program ends by writing the inputs ``kept`` for the next
    run."""
    if not kept:
        return lowered
    inputs = {name: place for name, place in lowered.inputs.items() if name not in kept}
    states = {name: place for name, place in lowered.inputs.items() if name in kept}
    return replace(lowered, inputs=inputs, states=states)


def copyable_states(
    pairs: Sequence[tuple[str, str]], span: Callable[[str], tuple[int, int]]
) -> list[tuple[str, str]]:
    """Those of ``pairs`` (input, output) that may be copied one after another, since their inputs
    overlap no output. ``span``: (begin, end) of a tensor in memory."""
    outputs = [span(output) for _, output in pairs]

    def is_clear(name):
        begin, end = span(name)
        return all(end <= first or last <= begin for first, last in outputs)

    return [pair for pair in pairs if is_clear(pair[0])]


def moved(lowered: Lowered, by: int, registers: Collection[str], **changes: Any) -> Lowered:
    """Relocates a lowered segment by ``by`` bytes: its tensors, and the ``registers`` (names) that
    point to them. The result has no constants and no setup programs except those in ``changes``,
    which holds replacements of further fields."""

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
    """Base class of back ends: the compiler's view of one core.

    Parameters
    ----------
    params : dict, build parameters as ``SPACE.resolve`` gives them
    memory_size : bytes of main memory of the target
    memory : dict, its description in the target's info text, for estimates;
        empty where that is not known

    ``isa`` is the core's name. ``floating`` is true where the core computes in floating point
    and nothing is quantised.
    """

    isa: str
    floating = False
    #: Whether by the core's design values are on the host between layers. Its support check answers
    #: BETWEEN for nodes that work on them there.
    host_free = False
    #: Whether programs are only looked at, so that those of large networks may be estimated with
    #: less of a search for the best.
    quick = False
    #: Nodes that the host has to run for reasons that only the quantiser knows, name -> why.
    forced_to_host: Mapping[str, str] = {}
    #: Pairs (tensor of an input, tensor of an output) of states: the program that reads the one and
    #: makes the other is to leave the output where the next run reads the input
    #: (:attr:`Lowered.states`), and both get one scale.
    states: tuple[tuple[str, str], ...] = ()
    #: Groups of tensors that get one scale, beside those that share one by what a node is.
    alike: tuple[tuple[str, ...], ...] = ()
    #: Whether programs of this core can do that at all.
    keeps_states = True
    #: Layers whose clip is to be made by a layer of its own, where the core's clips ask for that
    #: (:attr:`~..quantised.Quantised.apart`).
    unfused_clips: frozenset[str] = frozenset()

    def __init__(
        self,
        *,
        params: Mapping[str, Any],
        memory_size: int,
        memory: Mapping[str, Any] | None = None,
    ):
        self.params = params
        self.main_memory = memory or {}
        self.memory_size = memory_size

    def is_narrow(self, bits: int | None = None) -> bool:
        """Whether results have so few bits that a constant in them costs accuracy; ``bits`` is the
        width that the user requested."""
        return not self.floating

    @property
    def clock_ratio(self) -> float:
        """Cycles of the core's counters per cycle of the main clock: greater than one if the core
        has a faster clock of its own."""
        peaks = open_core(self.isa).params.SPACE.peaks(self.params)
        return 1.0 if peaks is None else peaks.clock_ratio

    @abstractmethod
    def check_support(self, graph: Graph, node: Node) -> Support:
        """Support check: the :class:`Support` on one node of an imported graph, after the passes
        that all cores share."""

    def suits(self, graph: Graph, node: Node) -> bool:
        """Whether the core runs a node, and not by more work than sums of padded maps, which states
        and streams may have in place of joined and cut rows."""
        return self.check_support(graph, node).runs

    def legalise(self, graph: Graph) -> Graph:
        """Legalises a graph (returns a new one): decomposes nodes and fuses residuals into
        convolutions where that changes the arithmetic. All nodes must run by :meth:`check_support`.
        Tensors that stay keep their names."""
        return graph

    def split(self, graph: Graph) -> list[Graph]:
        """Splits a legalised graph into subgraphs that become one program each, in order
        (:meth:`~..graph.Graph.part`); usually the whole."""
        return [graph]

    def check(self, graph: Graph) -> None:
        """Raises :class:`LoweringError` if a subgraph of :meth:`split` does not fit the core, as
        far as that is known before quantisation."""
        return None

    def check_programs(self, parts: Sequence[Quantised], images: int = 1) -> None:
        """Raises :class:`LoweringError` if main memory or the core's own memories cannot hold the
        programs of ``parts`` (Quantised, with placeholder numbers). The check runs before
        quantisation. It agrees with :meth:`lower_all`, but a back end may override it with a faster
        way to the same answer."""
        self.lower_all(parts, images)

    def arithmetic(self, graph: Graph, node: Node) -> Arithmetic | None:
        """The :class:`~quintet.tools.compiler.quantised.Arithmetic` of a node of a legalised graph;
        ``None`` if the core computes in floating point."""
        return None

    def tensor_steps(self, graph: Graph, seen: Mapping[str, Seen]) -> dict[str, tuple[float, str]]:
        """Scales that the core wants for tensors of a legalised graph: tensor -> (scale, reason),
        of those for which the layer that makes them cannot choose one by itself. ``seen``:
        statistics of every tensor on the calibration inputs."""
        return {}

    def partial_sums(self, graph: Graph, node: Node, values: np.ndarray) -> Iterator[np.ndarray]:
        """Partial sums of a convolution, dense or average node in the core's accumulation order,
        for cores whose partial sums saturate: real numbers, for source ``values`` (float64, first
        axis the inputs). Yields arrays [inputs, ..., out]; the bias is in the first."""
        return iter(())

    @abstractmethod
    def reference(
        self, quantised: Quantised, inputs: Mapping[str, np.ndarray], keep: bool = False
    ) -> dict[str, np.ndarray]:
        """Bit-exact numpy reference of the core.

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
    def lower(self, quantised: Quantised, *, keep: bool = False) -> Lowered:
        """Lowers a quantised graph to a program; ``keep``: every tensor has a place of its own, so
        that all can be read after a run. Raises :class:`LoweringError`."""

    def most_images(self, graph: Graph) -> int:
        """Greatest batch size of a run of a legalised graph; if it is more than one, :meth:`lower`
        takes ``images``."""
        return 1

    def lower_all(self, parts: Sequence[Quantised], images: int = 1) -> list[Lowered]:
        """Lowers all subgraphs of a network; each is placed from address 0 on by itself, unless a
        core places them side by side. ``images``: greatest batch size of a run, reduced to the
        core's own limit."""
        programs = []
        for part in parts:
            taken = min(images, self.most_images(part.graph))
            options: dict[str, Any] = {"images": taken} if taken > 1 else {}
            programs.append(self.lower(part, **options))
        return programs

    def buffered_copy(self, quantised: Quantised, lowered: Lowered, at: int) -> Lowered | None:
        """The double-buffered copy of ``lowered``, whose inputs and outputs lie in memory from
        ``at`` on, a multiple of 64: while one program runs, the other's input is written and its
        output read. ``None`` if the core has none. The copy relies on the constants and setup of
        ``lowered``."""
        return None


#: A bound that is so much longer than the best is as good.
_AS_GOOD = 1.02
#: Bytes on the line of a run, each way, beside its inputs and outputs: registers, start, the look
#: that sees its end; of a request beside its data.
_RUN, _REQUEST = (64, 48), 17
#: Bits of a byte on a serial line.
_UART_BITS = 10
#: Bytes a second that bulk transfers of full-speed USB carry at most: 19 packets of 64 bytes in a
#: frame of a millisecond.
_USB_BYTES = 19 * 64 * 1000


def line_seconds(link: object, sent: float, received: float) -> float | None:
    """Lower bound in seconds for sending and receiving so many bytes, ``None`` if the link's rate
    is unknown; ``link`` is the link entry of a target's info."""
    link = link if isinstance(link, dict) else {}
    if link.get("baud"):  # both directions at once
        return max(sent, received) * _UART_BITS / link["baud"]
    return (sent + received) / _USB_BYTES if link.get("kind") == "usb" else None


def programs_of(
    backend: Backend, parts: Sequence[Quantised], images: int | None, build: TargetBuild
) -> list[Lowered]:
    """Lowers all subgraphs of a network for a common batch size.

    Parameters
    ----------
    images : inputs of a run, at most; ``None``:
        the fewest with which no more inputs a second could be had, by the bound: time of core or
        link for one, whichever is longer
    build : TargetBuild

    Raises
    ------
    LoweringError
        The core cannot hold the network.
    """
    if images is not None:
        return backend.lower_all(parts, images)
    most = max((backend.most_images(part.graph) for part in parts), default=1)
    count = 1
    tried: list[tuple[float, list[Lowered]]] = []
    while True:
        try:
            programs = backend.lower_all(parts, count)
        except LoweringError:
            if not tried:
                raise
            break
        core, line = _core(backend, programs, build), _line(programs, build)
        tried.append((max(core, line), programs))
        # More of them lower the core's share of the time, which makes no difference if the line is
        # slower.
        if count >= most or line >= core:
            break
        count = min(2 * count, most)
    best = min(bound for bound, _ in tried)
    return next(programs for bound, programs in tried if bound <= _AS_GOOD * best)


def _core(backend, programs, build):
    """Seconds of the core per input (cycles if no clock is known)."""
    cycles = sum(span.cycles / lowered.images for lowered in programs for span in lowered.layers)
    return cycles / (build.clock_hz * backend.clock_ratio) if build.clock_hz else cycles


def _line(programs, build):
    """Seconds of the link per input; 0 if its rate is unknown."""
    if not build.clock_hz:
        return 0.0
    way = [0.0, 0.0]
    for lowered in programs:
        for k, places in enumerate((lowered.inputs, lowered.outputs)):
            sizes = [
                int(np.prod(place.layout.shape)) * np.dtype(place.layout.dtype).itemsize
                for place in places.values()
            ]
            way[k] += (sum(size + _REQUEST for size in sizes) + _RUN[k]) / lowered.images
    return line_seconds(build.link, *way) or 0.0


def backend_names() -> list[str]:
    """Instruction sets that networks can be compiled for: the packages of this folder."""
    return sorted(
        module.name for module in iter_modules([str(Path(__file__).parent)]) if module.ispkg
    )


def backend_class(isa: str) -> type[Backend]:
    """The :class:`Backend` class of an instruction set, ``BACKEND`` of its package."""
    return import_module(f"{__package__}.{isa}").BACKEND
