# SPDX-License-Identifier: BSD-2-Clause
"""Memory map: decides which data of a network lie in the on-chip part of main memory.

Without on-chip memory, or where it holds everything, program, tensors and tiles lie one behind
another. Where they do not fit, tiles and tensors are placed by the cycles that each byte saves on
chip: its traffic times the difference between the two memories. Both memories work at the same
time, and traffic of the slow one that goes by beside a layer's work costs nothing: every layer
leaves as many of its tiles to the slow memory as it hides. The timing model of the whole program
chooses between the maps that result.

Diagonal tiles, which take one row of n bytes each, lie in front of the full tiles: their bytes save
the most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .codegen.program import DIAGONAL, RW, Program
from .cost import Memory, word_times
from .layout import are_diagonal
from .schedule import FAR

if TYPE_CHECKING:
    from .lower import CompiledSteps

__all__ = ["MemoryMap", "align", "maps_of", "plain_map"]

#: Shares of a layer's time, with everything on chip, that its traffic of the slow memory may take.
_SHARES = (0.0, 0.5, 0.75, 1.0, 1.15, 1.3)


def align(address: int, step: int = 64) -> int:
    """Rounds up to a multiple of ``step``."""
    return -(-address // step) * step


@dataclass(frozen=True, eq=False)
class MemoryMap:
    """Byte addresses of a compiled network.

    Attributes
    ----------
    program : Program, its instructions by the numbers that tensors and tiles have here
    program_at : of the program
    host : of host vector 0
    host_end : behind the last host vector
    tiles_at : of the first tile
    tiles : int8 [bytes], as they lie there
    weights : of tile 0, where weight memory begins
    far : int, host vectors from FAR on are this many lower
    end : behind everything
    cycles : float, of a run as estimated
    times : cycle at which each word issues
    """

    program: Program
    program_at: int
    host: int
    host_end: int
    tiles_at: int
    tiles: np.ndarray
    weights: int
    far: int
    end: int
    times: tuple[float, ...]
    cycles: float

    def vector(self, home: int) -> int:
        """Number of the host vector at the plan's address ``home``."""
        return home - self.far if home >= FAR else home


@dataclass(frozen=True, eq=False)
class WeightMemory:
    """Layout of weight tiles: rows of diagonal tiles, then full tiles.

    Attributes
    ----------
    data : int8 [bytes], from the first tile on
    reads : dict, number of a tile in the compiled program -> (flags, addr) of the RW that reads it
    """

    data: np.ndarray
    reads: dict[int, tuple[int, int]]


def weight_memory(
    compiled: CompiledSteps, order: Sequence[int], params: Mapping[str, Any]
) -> WeightMemory:
    """Lays out the tiles of a program in the ``order`` of their numbers."""
    n, first = params["n"], compiled.first_tile
    tiles = compiled.tiles[[number - first for number in order]]
    short = are_diagonal(tiles, params)
    diagonals = [number for number, is_short in zip(order, short, strict=True) if is_short]
    full = [number for number, is_short in zip(order, short, strict=True) if not is_short]
    # A full tile begins at a multiple of its bytes.
    padding = -len(diagonals) % n
    rows = np.pad(np.diagonal(tiles[short], axis1=1, axis2=2), ((0, padding), (0, 0)))
    behind = first + len(rows) // n
    reads = {number: (DIAGONAL, first * n + row) for row, number in enumerate(diagonals)}
    reads |= {number: (0, behind + place) for place, number in enumerate(full)}
    return WeightMemory(np.concatenate([rows.ravel(), tiles[~short].ravel()]), reads)


def _all_tiles(compiled):
    """Numbers of a program's tiles, in the order of their first use."""
    return range(compiled.first_tile, compiled.first_tile + len(compiled.tiles))


def plain_map(compiled: CompiledSteps, params: Mapping[str, Any], memory: Memory) -> MemoryMap:
    """Memory map without an on-chip limit: program, host vectors and weight tiles one after
    another, from address 0."""
    n = params["n"]
    size = 14 * len(compiled.program.words)
    host = align(size)
    tiles_at = (
        host + n * n * compiled.first_tile
        if compiled.first_tile
        else align(host + n * compiled.vectors)
    )
    weights = host if compiled.first_tile else tiles_at
    placed = weight_memory(compiled, _all_tiles(compiled), params)
    program = Program(_renumbered(compiled.program.words, placed.reads))
    times, cycles = word_times(program.words, params, memory, host, weights)
    return MemoryMap(
        program=program,
        program_at=0,
        host=host,
        host_end=host + n * compiled.vectors,
        tiles_at=tiles_at,
        tiles=placed.data,
        weights=weights,
        far=0,
        end=align(tiles_at + placed.data.size),
        times=tuple(times),
        cycles=cycles,
    )


def maps_of(compiled: CompiledSteps, params: Mapping[str, Any], memory: Memory) -> list[MemoryMap]:
    """Candidate memory maps of a network that exceeds the on-chip memory, compiled with the tensors
    ``far`` in slow memory. The program comes first or last, with several choices of the weight
    tiles in slow memory."""
    found = []
    for program_last in (False, True):
        orders = {
            tuple(_tile_order(compiled, params, memory, share, program_last)): None
            for share in _SHARES
        }
        found += [_map(compiled, params, memory, order, program_last) for order in orders]
    return found


def _tile_order(compiled, params, memory, share, program_last):
    """Order of the weight tiles by cycles saved on chip, largest saving first; diagonal tiles,
    which lie in front of the others anyway, are never left to the slow memory."""
    words, size = compiled.program.words, params["n"] ** 2
    fast = replace(memory, border=1 << 62)
    placed = weight_memory(compiled, _all_tiles(compiled), params)
    times, total = word_times(_renumbered(words, placed.reads), params, fast)
    uses = Counter(word.addr for word in words if word.opcode == RW)
    full = {number for number, (flags, _) in placed.reads.items() if flags != DIAGONAL}
    hidden: set[int] = set()
    for begin, end in compiled.spans:
        last = times[end] if end < len(words) else total
        slack = share * (
            last - times[begin] - _slow_cycles(words[begin:end], params, memory, program_last)
        )
        mine = Counter(
            word.addr for word in words[begin:end] if word.opcode == RW and word.addr in full
        )
        for reads in sorted(set(mine.values())):
            # Of a layer's own tiles those that it reads least often, evenly over the layer, so that
            # the queue of tiles bridges each.
            some = [tile for tile, count in mine.items() if count == reads == uses[tile]]
            cycles = reads * memory.cycles(size)
            number = min(len(some), max(0, int(slack / cycles)))
            slack -= number * cycles
            hidden |= {some[k * len(some) // number] for k in range(number)}
    return sorted(uses, key=lambda tile: (tile in hidden, -uses[tile], tile))


def _slow_cycles(words, params, memory, program_last):
    """Cycles in which these words occupy the slow memory, with the program there or not, and with
    the far tensors."""
    n, total = params["n"], 0.0
    for word in words:
        if program_last:
            total += 14 / memory.bandwidth + memory.overhead / 8
        if word.mnemonic in ("RHM", "WHM") and word.addr >= FAR:
            total += memory.cycles(n * word.count)
    return total


def _map(compiled, params, memory, order, program_last):
    """Memory map with the tiles in this order: program, near tensors, tiles, far tensors; or the
    same with the program last."""
    n, length = params["n"], 14 * len(compiled.program.words)
    host = 0 if program_last else align(length)
    tiles_at = align(host + n * compiled.vectors, max(64, n))
    placed = weight_memory(compiled, order, params)
    # Host vectors are numbered from `host` on, tiles in between or not.
    first_far = -(-(align(tiles_at + placed.data.size) - host) // n)
    far_end = host + n * (first_far + compiled.far_vectors)
    program_at = align(far_end) if program_last else 0
    far = FAR - first_far
    program = Program(_renumbered(compiled.program.words, placed.reads, far))
    times, cycles = word_times(program.words, params, memory, host, tiles_at, program_at)
    return MemoryMap(
        program=program,
        program_at=program_at,
        host=host,
        host_end=far_end if compiled.far_vectors else host + n * compiled.vectors,
        tiles_at=tiles_at,
        tiles=placed.data,
        weights=tiles_at,
        far=far,
        end=align(max(far_end, program_at + length if program_last else 0)),
        times=tuple(times),
        cycles=cycles,
    )


def _renumbered(words, reads, far=0):
    """Rewrites words with the places of their tiles and the addresses of far vectors. Tiles that
    are tensors (:class:`~.form.StoredTile`) keep their numbers."""
    result = []
    for word in words:
        if word.opcode == RW and word.addr in reads:
            flags, addr = reads[word.addr]
            word = replace(word, flags=flags, addr=addr)
        elif word.mnemonic in ("RHM", "WHM") and word.addr >= FAR:
            word = replace(word, addr=word.addr - far)
        result.append(word)
    return result
