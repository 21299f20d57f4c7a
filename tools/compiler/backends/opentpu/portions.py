# SPDX-License-Identifier: BSD-2-Clause
"""Steps whose sources do not fit the unified buffer: their chunks read the sources in portions.

A portion is a set of vectors that are in the buffer at the same time. Sums stay in the accumulators
from one portion to the next, so that a step needs no more of its sources than one product reads.
While one portion is multiplied the next one is loaded into a second area of the same size, unless
one large area saves loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...common.inputs import KernelError
from .chunks import Chunk, chunks, front_rows, pool_window, slot_rows, term_lines
from .form import InterleaveStep, KernelStep, PoolStep, Step

if TYPE_CHECKING:
    from .layout import Planes

__all__ = ["Group", "Portion", "Portions", "Read", "choose_portions", "divide", "groups"]

#: Vectors between two runs of a portion that are loaded with them: less than a request costs.
_BETWEEN = 4


@dataclass(frozen=True)
class Read:
    """Consecutive vectors of a source that one product, or a few of them, need.

    Attributes
    ----------
    source : number of the source
    begin, end : first vector of the source's planes, and the one behind the last
    what : what is made of them, by the kind of the step: (block of the result, number of the term)
        of a Step, (phase of the position, number of the term) of an InterleaveStep, (block, line of
        the source) of a PoolStep, (block, first position) of a KernelStep
    """

    source: int
    begin: int
    end: int
    what: tuple[int, int]


@dataclass(frozen=True)
class Group:
    """Results of a chunk that are in the accumulators together: ``blocks`` of it, and the reads
    for them in the order of the sources' vectors."""

    chunk: Chunk
    blocks: tuple[int, ...]
    reads: list[Read]


@dataclass(frozen=True)
class Portion:
    """Reads of a group whose vectors are in the unified buffer together.

    Attributes
    ----------
    runs : (source, first vector, vector behind the last), one after another from row 0 of an area
    reads : (read, row of its first vector)
    """

    runs: list[tuple[int, int, int]]
    reads: list[tuple[Read, int]]


@dataclass(frozen=True)
class Portions:
    """Sizes of a step that reads its sources in portions.

    Attributes
    ----------
    slot : accumulator rows of a chunk at most
    areas : areas of the unified buffer for portions, 1 or 2
    size : rows of each of these
    out : rows of each of the two areas for results
    """

    slot: int
    areas: int
    size: int
    out: int


def choose_portions(
    step: Step | PoolStep | KernelStep | InterleaveStep,
    planes: Mapping[str, Planes],
    params: Mapping[str, Any],
    rows: int,
) -> Portions:
    """Chooses the sizes by which a step loads the fewest vectors, weight tiles included; those that
    are loaded while nothing is multiplied count twice.

    Parameters
    ----------
    step : a step
    planes : dict, tensor -> Planes
    params : build parameters
    rows : of the unified buffer, for sources and results

    Raises
    ------
    KernelError
        A build whose accumulators do not hold one window of a pooling, or whose unified buffer does
        not hold its elements.
    """
    found: tuple[int, Portions] | None = None
    slot, before = 2 * slot_rows(params), None
    while slot > 1:
        slot //= 2
        parts = chunks(step, planes, params, slot=slot)
        if not parts or parts == before and not isinstance(step, KernelStep):
            continue
        before = parts
        out = _out_rows(step, planes[step.target], parts, slot)
        each = [Portions(slot, areas, (rows - 2 * out) // areas, out) for areas in (2, 1)]
        all_ = [one for chunk in parts for one in groups(step, chunk, planes, params, slot)]
        loaded = [_loaded(all_, sizes, params["n"]) for sizes in each]
        best = min((count for count in loaded if count is not None), default=None)
        if found is not None and (best is None or best > found[0]):
            break  # still smaller chunks read the tiles more often
        if best is not None and (found is None or best < found[0]):
            found = best, each[loaded.index(best)]
    if found is None:
        # Any other step needs a vector of its sources and two of its result.
        assert isinstance(step, PoolStep)
        raise KernelError(_refusal(step, params, rows), step.name)
    return found[1]


def _refusal(step, params, rows):
    """Reason why no sizes fit a pooling."""
    window = " x ".join(map(str, step.window))
    return (
        f"a window of {window} takes more than the {params['acc_rows']} accumulator rows of "
        f"this build, or its elements more than the {rows} rows of the unified buffer"
    )


def _out_rows(step, target, parts, slot):
    """Rows of the largest result of a chunk."""
    rows = max(chunk.rows for chunk in parts)
    if isinstance(step, KernelStep):
        return rows if step.turned else 0
    return front_rows(target, slot) + rows


def _loaded(found, sizes, n):
    """Vectors that the groups ``found`` load from main memory, with a tile of ``n`` for each read;
    ``None`` if the results leave no area, or if a read is larger than it."""
    if sizes.size < 1:
        return None
    total, before = 0, None
    for group in found:
        if any(read.end - read.begin > sizes.size for read in group.reads):
            return None
        for portion in divide(group.reads, sizes.size):
            if portion.runs != before:
                moved = sum(end - begin for _, begin, end in portion.runs)
                total += moved * (3 - sizes.areas)
            before = portion.runs
        total += n * len(group.reads)
    return total


def divide(reads: Sequence[Read], size: int) -> Iterator[Portion]:
    """Divides reads, in the order of the sources' vectors, into portions of at most ``size``
    vectors."""
    runs: list[tuple[int, int, int]] = []
    placed: list[tuple[Read, int]] = []
    used = 0
    for read in reads:
        source, begin, end = runs[-1] if runs else (-1, 0, 0)
        joins = read.source == source and read.begin <= end + _BETWEEN
        more = max(0, read.end - end) if joins else read.end - read.begin
        if used + more > size:
            yield Portion(runs, placed)
            runs, placed, used = [], [], 0
            joins, more = False, read.end - read.begin
        if joins:
            end = max(end, read.end)
            runs[-1] = source, begin, end
        else:
            begin, end = read.begin, read.end
            runs.append((read.source, begin, end))
        used += more
        placed.append((read, used - (end - begin) + read.begin - begin))
    if placed:
        yield Portion(runs, placed)


def groups(
    step: Step | PoolStep | KernelStep | InterleaveStep,
    chunk: Chunk,
    planes: Mapping[str, Planes],
    params: Mapping[str, Any],
    slot: int,
) -> list[Group]:
    """The groups of a chunk, with at most ``slot`` accumulator rows for each block."""
    return _GROUPS[type(step)](step, chunk, planes, params, slot)


def _group(chunk, blocks, reads):
    return Group(chunk, tuple(blocks), sorted(reads, key=lambda r: (r.source, r.begin, r.end)))


def _sums(step, chunk, planes, params, slot):
    """Groups of a :class:`Step`: as many blocks as half of the accumulators hold, so that those of
    two groups are there at the same time."""
    target = planes[step.target]
    rows = front_rows(target, slot) + chunk.rows
    most = max(1, params["acc_rows"] // rows // 2)
    real = chunk.real(target)
    found = []
    for first in range(0, len(step.terms), most):
        blocks = range(first, min(first + most, len(step.terms)))
        reads = []
        for block in blocks:
            for number, term in enumerate(step.terms[block]):
                low, high = term_lines(step, term, chunk, planes)
                if low < high and real > 0:
                    source, (down, across) = planes[step.sources[term.source]], step.stride
                    line, place = low * down + term.line, chunk.begin * across + term.place
                    begin = source.vector(term.block, line, place)
                    length = (high - 1 - low) * down * source.pitch + (real - 1) * across + 1
                    reads.append(Read(term.source, begin, begin + length, (block, number)))
        found.append(_group(chunk, blocks, reads))
    return found


def _maxima(step, chunk, planes, params, slot):
    """Groups of a :class:`PoolStep`: a block each."""
    source = planes[step.sources[0]]
    lines, places = pool_window(step, chunk, planes)
    first, length = max(places.start, 0), min(places.stop, source.across)
    found = []
    for block in range(planes[step.target].blocks):
        reads = []
        # A chunk of zeros behind a line reads nothing.
        for line in range(max(lines.start, 0), min(lines.stop, source.down)) if places else ():
            begin = source.vector(block, line, first)
            reads.append(Read(0, begin, begin + length - first, (block, line)))
        found.append(_group(chunk, [block], reads))
    return found


def _phases(step, chunk, planes, params, slot):
    """Groups of an :class:`InterleaveStep`: a block each."""
    (down, across), target = step.factors, planes[step.target]
    row, phase = divmod(chunk.first, down)
    count = max(0, chunk.real(target)) // across
    found = []
    for block in range(target.blocks):
        reads = []
        # A chunk of zeros behind a line reads nothing.
        for column, terms in enumerate(step.terms[phase] if count else ()):
            for number, term in enumerate(terms[block]):
                source = planes[step.sources[term.source]]
                begin = source.vector(term.block, row, chunk.begin // across)
                reads.append(Read(term.source, begin, begin + count, (column, number)))
        found.append(_group(chunk, [block], reads))
    return found


def _tiles(step, chunk, planes, params, slot):
    """Groups of a :class:`KernelStep`: runs of positions or, turned, a chunk's rows of as many
    tiles as the accumulators hold. A chunk of fewer rows than a tile has also reads no more
    positions at a time, so that both fit a small buffer."""
    source = planes[step.sources[0]]
    n, across = source.n, source.across
    # A run of a line is written as it is; a tile may be of several lines.
    lines, length, most = source.down, across, slot
    if step.turned:
        lines, length, most = 1, source.down * across, n
    tiles = []
    for block in range(source.blocks):
        for line in range(lines):
            for at in range(0, length, most):
                first, last = line * length + at, line * length + min(at + most, length)
                tiles.append(_positions(source, block, range(first, last), min(most, slot)))
    together = max(1, slot // n) if step.turned else len(tiles)
    return [
        Group(chunk, (0,), list(chain(*tiles[at : at + together])))
        for at in range(0, len(tiles), together)
    ]


def _positions(source, block, places, most):
    """Reads of consecutive positions of a block, at most so many each."""
    found = []
    for first in places[::most]:
        last = min(first + most, places.stop) - 1
        begin, end = (source.vector(block, *divmod(k, source.across)) for k in (first, last))
        found.append(Read(0, begin, end + 1, (block, first)))
    return found


_GROUPS: dict[type, Callable[..., list[Group]]] = {
    Step: _sums,
    PoolStep: _maxima,
    InterleaveStep: _phases,
    KernelStep: _tiles,
}
