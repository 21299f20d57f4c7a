# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling for OpenTPU: padding of lines in memory, chosen so that a step can process many lines
at once, and the buffer plan: which tensors stay in the unified buffer, where by their lifetimes in
steps, and which are streamed through main memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from ...common.lifetimes import first_fit
from .chunks import Chunk, band_lines, band_size, chunks, pool_lines, slot_rows
from .form import (
    InterleaveStep,
    KernelStep,
    PackedBias,
    PoolStep,
    Step,
    bias_tiles,
    packed_biases,
    packed_rows,
)
from .portions import Portions, choose_portions

if TYPE_CHECKING:
    import numpy as np

    from .layout import Planes

__all__ = [
    "FAR",
    "Item",
    "MERGES",
    "ONES",
    "Plan",
    "allocate",
    "make_plan",
    "overhang",
    "settle",
]


#: Ways to choose whether a result gets lines of its source's length, so that one product goes over
#: many of them; if not, a product a line does it: by the places of a line, and what the source and
#: the result want between their lines.
MERGES = {
    "all": lambda places, source, target: True,
    "no longer ones": lambda places, source, target: places < 12 or source <= target,
    "short ones": lambda places, source, target: places < 24,
}


def overhang(step: Step, index: int, source: Planes, result: Planes) -> tuple[int, int]:
    """Positions that ``step`` reads beyond the left and right ends of a line. ``index``: number of
    the source, ``source``: its layout, ``result``: layout of the result."""
    places = [t.place for terms in step.terms for t in terms if t.source == index]
    if not places:
        return 0, 0
    return max(0, -min(places)), max(
        0, max(places) + (result.across - 1) * step.stride[1] - (source.across - 1)
    )


def settle(
    steps: Sequence[Step | PoolStep | KernelStep | InterleaveStep],
    planes: Mapping[str, Planes],
    merge: str = "all",
) -> tuple[dict[str, Planes], set[str]]:
    """Chooses the gap and lead of every map.

    Parameters
    ----------
    steps : list of Step, PoolStep, KernelStep and InterleaveStep
    planes : dict, tensor name -> Planes without gaps
    merge : name out of JOINS

    Returns
    -------
    (dict, tensor name -> Planes, set of the names whose gaps must be zero)
    """
    left, gap, merged = (
        dict.fromkeys(planes, 0),
        dict.fromkeys(planes, 0),
        {name: name for name in planes},
    )

    def find(name):
        while merged[name] != name:
            name = merged[name]
        return name

    for step in steps:
        if not isinstance(step, Step):
            continue
        target = planes[step.target]
        for index, name in enumerate(step.sources):
            before, behind = overhang(step, index, planes[name], target)
            left[name], gap[name] = max(left[name], before), max(gap[name], before, behind)
    for step in steps:
        target = planes[step.target]
        if isinstance(step, Step) and step.stride == (1, 1) and target.down > 1:
            for name in step.sources:
                if MERGES[merge](
                    target.across, planes[name].across + gap[name], target.across + gap[step.target]
                ):
                    merged[find(name)] = find(step.target)
    pitch: dict[str, int] = {}
    for name, map_ in planes.items():
        pitch[find(name)] = max(pitch.get(find(name), 0), map_.across + gap[name])
    settled = {
        name: replace(map_, gap=pitch[find(name)] - map_.across, lead=left[name])
        for name, map_ in planes.items()
    }
    return settled, {name for name in planes if gap[name]}


#: Orders that are tried before something goes to main memory.
_TRIES = 100


@dataclass(frozen=True)
class Item:
    """A buffer of ``size`` rows that is live from step ``first`` to step ``last``; ``name`` of a
    tensor, or a tuple (step, purpose, ...) for scratch space."""

    name: str | tuple[Any, ...]
    size: int
    first: int
    last: int


def allocate(items: Sequence[Item], begin: int, end: int) -> dict[Any, int] | Item:
    """Assigns rows to all items, largest first, each at the lowest rows that are free during its
    lifetime. If that fails, tries other deterministic orders, and both ends.

    Returns
    -------
    (dict, name -> first row), or the item that found no place
    """
    order = sorted(items, key=lambda i: (-i.size, i.first, str(i.name)))
    failed = _place(order, [False] * len(order), begin, end)
    if isinstance(failed, dict) or _too_much(items, end - begin):
        return failed
    born = sorted(items, key=lambda i: (i.first, -i.size, str(i.name)))
    result = _place(born, [k % 2 == 1 for k in range(len(born))], begin, end)
    random = Random(0)
    for _ in range(_TRIES):
        if isinstance(result, dict):
            return result
        random.shuffle(born)
        result = _place(born, [random.random() < 0.5 for _ in born], begin, end)
    return failed


def _too_much(items, rows):
    """Whether the items that are live at some step exceed the buffer."""
    return any(
        sum(i.size for i in items if i.first <= step <= i.last) > rows
        for step in {i.first for i in items}
    )


def _place(order, high, begin, end):
    addresses = first_fit(order, begin, end, high)
    if len(addresses) < len(order):
        return order[len(addresses)]
    return {item.name: at for at, item in zip(addresses, order, strict=True)}


#: Constant vectors that biases are products of, at most.
ONES = 64

#: Positions of a map, with its gaps, up to which its biases are packed into tiles of several
#: blocks' (:func:`~.form.packed_biases`): each position takes a constant vector of every slot.
PACKED = 48

#: Most lines of a network's first chunk, by the cycles of MobileNet (:func:`_begin_early`).
_FIRST_LINES = 4

#: Number of the first host vector of tensors that lie apart from the others; where they really lie
#: is decided when the program's length and the tiles are known.
FAR = 1 << 40


@dataclass(eq=False, kw_only=True)
class Plan:
    """Buffer plan of a network, the result of :func:`make_plan`.

    Attributes
    ----------
    planes : dict, tensor -> Planes
    zeroed : set of tensors whose gaps must be zero
    outside : set of (tensor, block, place): vectors outside a map, by their place in the lines of
        its planes, that must be zero
    base : dict, tensor -> first row in the unified buffer; of those alone that stay there
    home : dict, tensor -> first host vector; of those that have a place in main memory
    parts : list, a step's chunks
    bands : list, number of chunks of a step with lines of their sources in the buffer: two, which
        includes the next chunk, or one
    scratch : dict, (step, what) -> first row of what a step needs besides: ``("band", source,
        0 or 1)`` lines of a source that comes from main memory, ``("out", 0 or 1)`` a chunk of the
        result on its way there; ``("portion", 0 or 1)`` vectors of sources that are read in
        portions
    first_at_once : whether the lines of the first chunk are loaded in one piece
    portions : dict, step -> :class:`~.portions.Portions`; of those that read their sources in
        portions
    zeros, ones : vectors of zeros and of constants, at the begin of the unified buffer
    packed : dict, rows of a packed bias -> constant vectors of each slot, behind them; empty where
        no biases are packed
    once : whether a bias is multiplied by one constant vector, for all positions (MMC.B)
    vectors : host vectors in all
    far_vectors : host vectors from FAR on, besides
    kernels : names of the tensors that are tiles
    """

    planes: dict[str, Planes]
    zeroed: set[str]
    outside: set[tuple[str, int, int]] = field(default_factory=set)
    base: dict[str, int] = field(default_factory=dict)
    home: dict[str, int] = field(default_factory=dict)
    parts: list[list[Chunk]] = field(default_factory=list)
    bands: list[int] = field(default_factory=list)
    first_at_once: bool = False
    scratch: dict[tuple[Any, ...], int] = field(default_factory=dict)
    portions: dict[int, Portions] = field(default_factory=dict)
    zeros: int = 0
    ones: int = 0
    packed: dict[int, int] = field(default_factory=dict)
    once: bool = False
    vectors: int = 0
    far_vectors: int = 0
    kernels: set[str] = field(default_factory=set)

    def slot(self, number: int) -> int | None:
        """Greatest number of rows of a step's chunk if it reads its sources in portions."""
        return self.portions[number].slot if number in self.portions else None

    @property
    def constants(self) -> int:
        """Total number of constant vectors."""
        return self.ones + self._vectors_of(self.packed)

    def packed_row(self, bias: PackedBias) -> int:
        """First row of the unified buffer with constant vectors for a packed bias."""
        smaller = [rows for rows in self.packed if rows < bias.rows]
        return (
            self.zeros + self.ones + self._vectors_of(smaller) + bias.slot * self.packed[bias.rows]
        )

    def biases(self, step: Step) -> list[PackedBias | list[np.ndarray] | None]:
        """Bias of each block of a step: a :class:`~.form.PackedBias`, tiles by which constant
        vectors are multiplied, or ``None``."""
        if step.bias is None:
            return [None] * len(step.terms)
        target = self.planes[step.target]
        sizes = [
            rows
            for rows, positions in self.packed.items()
            if self.once or target.plane <= positions
        ]
        packed = packed_biases(step.bias, target.n, sizes)
        tiles = bias_tiles(step.bias, target.n)
        return [one or some for one, some in zip(packed, tiles, strict=True)]

    def _vectors_of(self, sizes):
        """Number of constant vectors for packed biases with these rows."""
        n = next(iter(self.planes.values())).n if self.packed else 0
        return _packed_vectors({rows: self.packed[rows] for rows in sizes}, n)


def _begin_early(plan):
    """Splits a long first chunk of a network, which waits for its lines of the input: the fewer
    they are, the sooner the core begins. They are loaded in one piece."""
    first, *others = plan.parts[0]
    if first.end - first.first > _FIRST_LINES:
        middle = first.first + _FIRST_LINES
        plan.parts[0] = [replace(first, end=middle), replace(first, first=middle), *others]
        plan.first_at_once = True


def _outside(steps, planes):
    """Vectors outside of shifted maps that a step reads: set of (tensor, block, place)."""
    found = set()
    for step in steps:
        if not isinstance(step, Step):
            continue
        across = planes[step.target].across
        for term in (term for terms in step.terms for term in terms):
            name = step.sources[term.source]
            for place in planes[name].outside(term.block) if planes[name].shift[1] else ():
                first, rest = divmod(place - term.place, step.stride[1])
                if not rest and 0 <= first < across:
                    found.add((name, term.block, place))
    return found


def _lives(steps):
    """Lifetimes of tensors: name -> (first, last) step."""
    lives = {}
    for number, step in enumerate(steps):
        for name in (*step.sources, step.target):
            first, _ = lives.get(name, (number, number))
            lives[name] = first, number
    return lives


def make_plan(
    steps: Sequence[Step | PoolStep | KernelStep | InterleaveStep],
    planes: dict[str, Planes],
    zeroed: set[str],
    *,
    inputs: Collection[str],
    stored: Collection[str],
    params: Mapping[str, Any],
    least: int = 1,
    far: Collection[str] | None = None,
) -> Plan:
    """Places all tensors of a network.

    Parameters
    ----------
    steps : list of Step, PoolStep, KernelStep and InterleaveStep
    planes, zeroed : of :func:`settle`
    inputs : names of tensors that lie in main memory before a run
    stored : names of tensors that must lie there after it
    params : build parameters
    least : least lines of a chunk; below that, another tensor goes to main memory instead
    far : names of tensors whose host vectors are numbered from FAR on; tensors that are not there
        at the same time then share host vectors, and small maps' biases are packed. ``None``:
        every tensor has its own

    Raises
    ------
    KernelError
        A build whose unified buffer or accumulators do not hold what one step needs.
    """
    packings = [{}] if far is None else _packings(steps, planes, params)
    found = [
        _plan(
            steps,
            planes,
            zeroed,
            packed=packed,
            inputs=inputs,
            stored=stored,
            params=params,
            least=least,
            far=far,
        )
        for packed in packings
    ]
    if len(found) == 1:
        return found[0]
    # Constant vectors must not cost a tensor its place in the unified buffer.
    return min(
        found,
        key=lambda plan: (
            sum(planes[name].size for name in planes.keys() & plan.home),
            _bias_vectors(steps, plan),
        ),
    )


def _bias_vectors(steps, plan):
    """Vectors of main memory that the biases take: tiles, and the constants to multiply them by."""
    found = [bias for step in steps if isinstance(step, Step) for bias in plan.biases(step)]
    packed = {bias.tile.tobytes() for bias in found if isinstance(bias, PackedBias)}
    alone = [tile for bias in found if isinstance(bias, list) for tile in bias]
    n = next(iter(plan.planes.values())).n
    return plan.constants + n * (len(packed) + len(alone))


def _plan(steps, planes, zeroed, *, packed, inputs, stored, params, least, far):
    """The :class:`Plan` with biases ``packed`` as given; parameters of :func:`make_plan`."""
    plan = Plan(
        planes=planes,
        zeroed=zeroed,
        packed=packed,
        once=params["ext_bias"],
        outside=_outside(steps, planes),
    )
    rows = params["ub_rows"]
    widest = max((max(planes[name].gap, planes[name].lead) for name in zeroed), default=0)
    widest = max(widest, 1 if plan.outside else 0)
    plan.zeros = min(widest, rows // 2)
    plan.ones = (
        min(
            ONES,
            rows // 16,
            max((planes[s.target].down * planes[s.target].pitch for s in steps), default=1),
        )
        if steps
        else 0
    )
    kernels = {step.target for step in steps if isinstance(step, KernelStep)}
    lives, streamed, most = _lives(steps), set(kernels), [None] * len(steps)
    plan.bands = [2] * len(steps)
    free = rows - plan.zeros - plan.constants
    for number, step in enumerate(steps):
        if _exceeds_accumulators(step, planes, params):
            plan.portions[number] = choose_portions(step, planes, params, free)
            streamed |= {*step.sources, step.target}
    while True:
        plan.parts = [
            chunks(step, planes, params, most[number], plan.slot(number))
            for number, step in enumerate(steps)
        ]
        items = [
            Item(name, planes[name].size, *life)
            for name, life in lives.items()
            if name not in streamed
        ]
        for number, step in enumerate(steps):
            items += _scratch(number, step, plan, streamed)
        places = allocate(items, plan.zeros + plan.constants, rows)
        if isinstance(places, dict):
            break
        if not _evict(places, plan, lives, streamed, most, least):
            step = steps[places.first]
            plan.portions[places.first] = choose_portions(step, planes, params, free)
    plan.base = {name: places[name] for name in lives if name not in streamed}
    if far is not None and steps and {*steps[0].sources} <= {*inputs} & plan.base.keys():
        _begin_early(plan)
    plan.scratch = {name: at for name, at in places.items() if isinstance(name, tuple)}
    names = [name for name in planes if name in inputs or name in stored or name in streamed]
    if far is not None and not kernels:
        _share_placement(plan, names, lives, inputs, stored, far)
        return plan
    at = plan.constants
    for name in names:
        # A tile begins at a whole number of them.
        at = -(-at // planes[name].n) * planes[name].n if name in kernels else at
        plan.home[name] = at
        at += planes[name].size
    plan.vectors, plan.kernels = at, kernels
    return plan


def _exceeds_accumulators(step, planes, params):
    """Whether the accumulators do not hold a step's result or window, unless it is made in
    portions."""
    if isinstance(step, KernelStep):
        return step.turned and slot_rows(params) < params["n"]
    return isinstance(step, PoolStep) and pool_lines(step, planes, params) < 1


def _packed(steps, planes, once):
    """Constant vectors that a packed bias needs, by its rows: the positions of the largest map with
    one, or ``once`` for all."""
    found: dict[int, int] = {}
    for step in steps:
        bias, target = getattr(step, "bias", None), planes[step.target]
        if bias is None or target.plane > PACKED and not once:
            continue
        for rows in set(packed_rows(bias, target.n)) - {None}:
            found[rows] = 1 if once else max(found.get(rows, 0), target.plane)
    return dict(sorted(found.items()))


def _packings(steps, planes, params):
    """Choices of the packed biases' rows: all, the powers of two, and these without the smallest,
    whose constant vectors are the most; biases take the rows of the next size that is left. The
    last choice packs none. Choices whose constant vectors take more than a quarter of the unified
    buffer are left out."""
    every = _packed(steps, planes, params["ext_bias"])
    usual = [rows for rows in every if rows & (rows - 1) == 0]
    found = [every] + [_only(every, usual[k:]) for k in range(len(usual) + 1)]
    most = params["ub_rows"] // 4
    return [packed for packed in found if _packed_vectors(packed, params["n"]) <= most]


def _only(packed, sizes):
    """The packed biases' rows (:func:`_packed`) if only these ``sizes`` may be used."""
    found = dict.fromkeys(sizes, 0)
    for rows, positions in packed.items():
        size = next((size for size in sizes if size >= rows), None)
        if size is not None:
            found[size] = max(found[size], positions)
    return found


def _packed_vectors(packed, n):
    """Number of constant vectors for packed biases."""
    return sum(n // rows * count for rows, count in packed.items())


def _share_placement(plan, names, lives, inputs, stored, far):
    """Host vectors of tensors; tensors with disjoint lifetimes may share them.

    Inputs are there all the time: their gaps are written once. What is stored is there from its
    step on.
    """
    last = max((end for _, end in lives.values()), default=0)
    items = {
        name: Item(
            name,
            plan.planes[name].size,
            0 if name in inputs else lives[name][0],
            last if name in inputs or name in stored else lives[name][1],
        )
        for name in names
    }
    tops = []
    for begin, some in (
        (plan.constants, [items[name] for name in names if name not in far]),
        (FAR, [items[name] for name in names if name in far]),
    ):
        plan.home |= allocate(some, begin, begin + sum(item.size for item in some))
        tops.append(max([plan.home[i.name] + i.size for i in some], default=begin))
    plan.vectors, plan.far_vectors = tops[0], tops[1] - FAR


def _scratch(number, step, plan, streamed):
    """Scratch memory of a step, in addition to its tensors."""
    if number in plan.portions:
        portions = plan.portions[number]
        areas = [((number, "portion", k), portions.size) for k in range(portions.areas)]
        areas += [((number, "out", k), portions.out) for k in range(2)]
        return [Item(name, size, number, number) for name, size in areas]
    items = []
    for index, name in enumerate(step.sources):
        if name in streamed and name not in step.sources[:index]:
            size = band_size(
                band_lines(step, index, plan.parts[number], plan.planes), plan.planes[name]
            )
            items += [
                Item((number, "band", name, k), size, number, number)
                for k in range(plan.bands[number])
            ]
    if step.target in streamed:
        size = plan.planes[step.target].lead + max(chunk.rows for chunk in plan.parts[number])
        size = plan.planes[step.target].n if isinstance(step, KernelStep) else size
        items += [Item((number, "out", k), size, number, number) for k in range(2)]
    return items


def _evict(item, plan, lives, streamed, most, least):
    """Changes one choice so that ``item`` may fit: shorter chunks, one band, or a spilled tensor.
    Returns false if nothing is left to change."""
    present = [
        name
        for name, (first, last) in lives.items()
        if name not in streamed and first <= item.last and item.first <= last
    ]
    number = item.first
    if isinstance(item.name, tuple) and number not in plan.portions:
        longest = max(chunk.end - chunk.first for chunk in plan.parts[number])
        if longest > (least if present else 1):
            most[number] = max(longest // 2, min(least, longest - 1))
            return True
        if not present and plan.bands[number] > 1:
            plan.bands[number] = 1
            return True
    if present:
        streamed.add(max(present, key=lambda name: (plan.planes[name].size, name)))
        return True
    return False
