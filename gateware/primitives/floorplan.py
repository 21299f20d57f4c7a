# SPDX-License-Identifier: BSD-2-Clause
"""Floorplan: fixed sites for the multipliers and block RAMs of large arrays.

nextpnr's placer draws an array together near the pins that its results go to, and fills the tiles
beside the DSPs there more densely than their wires allow. With the multipliers spread over all DSP
columns, those of one column of the array side by side, everything else finds its place between
them. Block RAMs likewise: where an array takes most of an FPGA's, which one lies where decides how
far everything beside them has to reach.
"""

from collections.abc import Collection

__all__ = [
    "across",
    "dsp_clusters",
    "dsp_ring",
    "dsp_rows",
    "memory_places",
    "pair_places",
    "ram_columns",
    "ram_rows",
]

# FPGA -> rows of DSP blocks, and the columns in which their blocks begin (as Project Trellis's tile
# grid has them).
_BLOCKS = {"LFE5U-85F": ((10, 34, 58), (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114))}
# Multipliers of a block: columns from its beginning, name.
_MULTIPLIERS = ((0, "MULT18_0"), (1, "MULT18_1"), (4, "MULT18_4"), (5, "MULT18_5"))
# FPGA -> rows of block RAMs, and the columns in which their groups of four begin, the four two
# columns apart.
_RAMS = {
    "LFE5U-85F": ((22, 46, 70, 82), _BLOCKS["LFE5U-85F"][1]),
    "LFE5U-25F": ((25, 37), (4, 13, 22, 33, 42, 51, 60)),
}
_RAMS["LFE5U-12F"] = _RAMS["LFE5U-25F"]


def dsp_rows(device: str) -> list[list[str]]:
    """Multiplier sites of an FPGA by nextpnr's names, a list for each row of DSP blocks from left
    to right; empty for a device without a plan."""
    rows, columns = _BLOCKS.get(device, ((), ()))
    return [
        [f"X{x + offset}/Y{y}/{name}" for x in columns for offset, name in _MULTIPLIERS]
        for y in rows
    ]


def across(row: list[str], groups: int, size: int) -> list[list[str]]:
    """Splits ``row`` into ``groups`` lists of ``size`` adjacent sites, each in the middle of its
    share of the FPGA's width.

    Parameters
    ----------
    row : list of str
        Of :func:`dsp_rows` or :func:`ram_rows`.
    groups, size : int
        ``size`` at most ``len(row) // groups``.
    """
    each = len(row) / groups
    begins = [round(group * each + (each - size) / 2) for group in range(groups)]
    return [row[begin : begin + size] for begin in begins]


def dsp_clusters(device: str, count: int, size: int) -> list[list[str]]:
    """Selects ``count`` clusters of ``size`` adjacent multipliers, each next to (or above) the
    previous one.

    Parameters
    ----------
    device : str
        Of the FPGA, as Amaranth's platforms name it.
    count, size : int

    Returns
    -------
    list of lists of str, or an empty one where ``device`` has no plan or not so many multipliers in
    clusters, or where they are not more than half of all: a small array is better off near the
    logic that it works with
    """
    clusters, rows = [], dsp_rows(device)
    if 2 * count * size <= sum(map(len, rows)):
        return []
    for number, row in enumerate(rows):
        each = len(row) // size
        margin = (len(row) - each * size) // 2
        found = [row[margin + size * k : margin + size * (k + 1)] for k in range(each)]
        clusters += found[::-1] if number % 2 else found
    return clusters[:count] if len(clusters) >= count else []


def dsp_ring(device: str, count: int, size: int) -> list[list[str]]:
    """Selects ``count`` clusters as :func:`dsp_clusters` does, but around the middle of the FPGA,
    which is left to the logic that works with all of them: three in each of three rows, without the
    central one. The empty list also where that is not possible."""
    rows = dsp_rows(device)
    if not dsp_clusters(device, count, size) or len(rows) != 3 or len(rows[0]) // size != 3:
        return []
    above, beside, below = (across(row, 3, size) for row in rows)
    ring = [beside[0], *above, beside[2], *reversed(below)]
    return ring[:count] if count <= len(ring) else []


def pair_places(
    device: str, multipliers: str, pairs: int, size: int, ring: bool = False
) -> dict[str, str]:
    """Sites of a :class:`~.packed.PackedProducts` for ``pairs`` columns (or lanes), ``size`` each:
    those of a pair are adjacent.

    Parameters
    ----------
    device : str
    multipliers : str
        Its place in the engine, names of submodules with dots between; product ``k`` of pair ``p``
        is its number ``k * pairs + p``.
    pairs, size : int
    ring : bool
        The middle of the FPGA stays free (:func:`dsp_ring`).

    Returns
    -------
    dict, name of the DSP in the engine -> place; empty where :func:`dsp_clusters`, or
    :func:`dsp_ring`, has no plan
    """
    clusters = dsp_ring if ring else dsp_clusters
    return {
        f"{multipliers}.dsp_{k * pairs + pair}": place
        for pair, places in enumerate(clusters(device, pairs, size))
        for k, place in enumerate(places)
    }


def ram_rows(device: str) -> list[list[str]]:
    """Block RAM sites of an FPGA by nextpnr's names, in the form of :func:`dsp_rows`."""
    rows, columns = _RAMS.get(device, ((), ()))
    return [[f"X{x + 2 * k}/Y{y}/EBR{k}" for x in columns for k in range(4)] for y in rows]


def ram_columns(device: str, cols: int, size: int) -> list[list[str]]:
    """Selects ``cols`` lists of ``size`` block RAMs. Each covers a share of the FPGA's width,
    through all rows of block RAMs, with each RAM next to (or above) the previous one. ``device``
    and the empty list as in :func:`dsp_clusters`; ``cols`` and ``size`` correspond to its ``count``
    and ``size``."""
    rows = ram_rows(device)
    if not rows or 2 * cols * size <= sum(map(len, rows)):
        return []
    each = -(-size // len(rows))
    found = []
    for column in range(cols):
        places = []
        for number, row in enumerate(rows):
            begin = column * len(row) // cols
            part = row[begin : (column + 1) * len(row) // cols][:each]
            places += part[::-1] if number % 2 else part
        if len(places) < size:
            return []
        found.append(places[:size])
    return found


def memory_places(device: str, count: int, taken: Collection[str] = ()) -> list[str]:
    """Sites of ``count`` block RAMs that form one memory, as many as an FPGA with arrays can spare:
    adjacent, column by column through the two lowest rows, away from the DSPs, then in the middle
    of the next row; beside block RAMs that have been ``taken``, all that are left but those around
    the middle of the FPGA, where everything else has its own near its logic.

    Returns
    -------
    list of str, or an empty one where ``device`` has not got four rows, or where they are not more
    than a quarter of all: a small memory is better off near the logic that it works with
    """
    rows = ram_rows(device)
    if len(rows) != 4 or 4 * count <= sum(map(len, rows)) or count > 3 * len(rows[0]):
        return []
    if any(place in taken for row in rows for place in row):
        width = len(rows[0])
        free = [(n, k) for n in (3, 2, 1, 0) for k in range(width) if rows[n][k] not in taken]
        outwards = sorted(free, key=lambda at: (at[0] in (0, 3), abs(2 * at[1] + 1 - width)))
        left = outwards[: max(0, len(free) - count)]
        return [rows[n][k] for n, k in free if (n, k) not in left] if len(free) >= count else []
    low = [place for pair in zip(rows[3], rows[2], strict=True) for place in pair]
    margin = max(0, len(low) - count) // 4 * 2
    found = low[margin : margin + count]
    rest = count - len(found)
    begin = (len(rows[1]) - rest) // 2
    return found + rows[1][begin : begin + rest]
