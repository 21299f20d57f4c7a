# SPDX-License-Identifier: BSD-2-Clause
"""Group builder: converts declared groups to groups of the image, with their checks (specification,
sections 3.5 to 3.7)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....isa.asm.assembler import Assembler
from ....isa.asm.errors import Place
from ....isa.files import FileError, load_array
from ....isa.parameters import Params
from ..image.fields import MOST_ARRAYS
from ..image.image import Group
from .drafts import CoreDraft, GroupDraft, SourceError

__all__ = ["bias_array", "check_maps", "finish_groups", "load_npy", "weight_matrix"]


def load_npy(path: str | Path) -> np.ndarray:
    """Loads an array of integers from a ``.npy`` file."""
    try:
        array = load_array(path)
    except FileError as error:
        raise SourceError(str(error)) from None
    if array.dtype.kind not in "iu":
        raise SourceError(f"{path} holds no integers, expected an array of them")
    return array


def _integers(values, shape, what):
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        array = None
    if array is None or array.dtype.kind not in "iu" and array.size:
        raise SourceError(f"{what} must be whole numbers, {' x '.join(map(str, shape))} of them")
    return array


def weight_matrix(draft: GroupDraft, values: Any, who: str) -> np.ndarray:
    """Converts ``values``, which are flat, nested or an array, to int8 (rows, cols)."""
    shape = draft.rows, draft.cols
    array = _integers(values, shape, f"weights of {who}")
    if array.ndim == 1 and array.size == draft.rows * draft.cols and isinstance(values, list):
        array = array.reshape(shape)
    if array.shape != shape:
        raise SourceError(
            f"weights of {who} are {_shape(array)}, expected {draft.rows} x {draft.cols}"
        )
    most = 1 << draft.mbiw - 1
    low, high = int(array.min()), int(array.max())
    if low < -most or high >= most:
        raise SourceError(
            f"weight {low if low < -most else high} of {who} does not fit mbiw = {draft.mbiw} "
            f"bits, "
            f"expected {-most} to {most - 1}"
        )
    return array.astype(np.int8)


def bias_array(draft: GroupDraft, values: Any, who: str) -> np.ndarray:
    """Converts ``values`` to int32 (cols,)."""
    array = _integers(values, (draft.cols,), f"biases of {who}")
    if array.shape != (draft.cols,):
        raise SourceError(f"biases of {who} are {_shape(array)}, expected {draft.cols}")
    for value in (int(array.min()), int(array.max())):
        if not -1 << 31 <= value < 1 << 31:
            raise SourceError(f"bias {value} of {who} does not fit 32 bits")
    return array.astype(np.int32)


def _shape(array):
    return " x ".join(map(str, array.shape)) or "one number"


def _limit(params, name, otherwise):
    return otherwise if params is None else params[name]


def finish_groups(
    number: int,
    draft: CoreDraft,
    xb_rows: int,
    xb_cols: int,
    params: Params | None,
    warn: Callable[[Place, str], object],
) -> list[Group]:
    """Builds the :class:`Group` objects of a core, in order.

    Parameters
    ----------
    number : int, of the core
    draft : CoreDraft
    params : dict or None
    warn : callable of (place, message)

    Raises
    ------
    SourceError
    """
    found: list[Group] = []
    owners: dict[int, int] = {}
    if draft.groups and sorted(draft.groups) != list(range(len(draft.groups))):
        missing = next(n for n in range(len(draft.groups)) if n not in draft.groups)
        raise SourceError(
            f"group {missing} of core {number} is missing, group {max(draft.groups)} is declared",
            draft.groups[max(draft.groups)].place,
        )
    most = _limit(params, "groups", 1024)
    if len(draft.groups) > most:
        raise SourceError(
            f"core {number} has {len(draft.groups)} groups, expected at most {most} (groups)",
            draft.groups[most].place,
        )
    # Arrays are given out in the order of declaration.
    given = {
        n: _arrays(number, n, draft.groups[n], xb_rows, xb_cols, params, owners)
        for n in draft.groups
    }
    contents: dict[tuple[int, ...], Any] = {}
    biases = 0
    for n in range(len(draft.groups)):
        one, who = draft.groups[n], f"group {n} of core {number}"
        try:
            weights = None if one.weights is None else weight_matrix(one, one.weights, who)
            bias = None if one.bias is None else bias_array(one, one.bias, who)
        except SourceError as error:
            raise SourceError(str(error), error.place or one.place) from None
        biases += one.cols if bias is not None else 0
        if biases > _limit(params, "bias_words", 4096):
            raise SourceError(
                f"core {number} has {biases} biases up to group {n}, expected at most "
                f"{_limit(params, 'bias_words', 4096)} (bias_words)",
                one.place,
            )
        group = Group(one.rows, one.cols, given[n], one.mbiw, one.shift, one.round, weights, bias)
        _shared(n, group, one.place, xb_rows, xb_cols, contents, warn, number)
        found.append(group)
    return found


def _arrays(number, n, one, xb_rows, xb_cols, params, owners):
    who, most = f"group {n} of core {number}", _limit(params, "arrays", 64)
    wanted = -(-one.rows // xb_rows) * -(-one.cols // xb_cols)
    if wanted > MOST_ARRAYS:
        raise SourceError(
            f"{who} of {one.rows} x {one.cols} takes {wanted} arrays of {xb_rows} x {xb_cols}, "
            f"expected at most "
            f"{MOST_ARRAYS}",
            one.place,
        )
    ids = one.arrays
    if ids is None:
        ids = tuple(k for k in range(most) if k not in owners)[:wanted]
        if len(ids) < wanted:
            raise SourceError(
                f"{who} takes {wanted} arrays and {len(ids)} of {most} are left", one.place
            )
    if len(ids) != wanted:
        raise SourceError(
            f"{who} of {one.rows} x {one.cols} names {len(ids)} arrays, expected {wanted} of "
            f"{xb_rows} x "
            f"{xb_cols}",
            one.place,
        )
    for k in ids:
        if not 0 <= k < most:
            raise SourceError(
                f"array {k} of {who} does not exist, expected 0 to {most - 1}", one.place
            )
    if len(set(ids)) != len(ids):
        raise SourceError(f"{who} names an array twice", one.place)
    owners.update(dict.fromkeys(ids, n))
    return tuple(ids)


def _shared(n, group, place, xb_rows, xb_cols, contents, warn, number):
    """Warns if a group programs an array with other contents than an earlier group; ``contents``:
    array -> (group, its bytes)."""
    if group.weights is None:
        return
    tiles = -(-group.cols // xb_cols)
    for k, array in enumerate(group.arrays):
        top, left = k // tiles * xb_rows, k % tiles * xb_cols
        block = np.zeros((min(xb_rows, group.rows - top), xb_cols), np.int8)
        part = group.weights[top : top + xb_rows, left : left + xb_cols]
        block[:, : part.shape[1]] = part
        if array in contents:
            other, before = contents[array]
            rows = min(len(before), len(block))
            if (before[:rows] != block[:rows]).any():
                warn(
                    place,
                    f"groups {other} and {n} of core {number} share array {array} with "
                    f"different weights; group {n}'s "
                    "stay",
                )
            if len(before) > len(block):
                block = np.concatenate([block, before[len(block) :]])
        contents[array] = n, block


def check_maps(assembler: Assembler, groups: Mapping[int, Any]) -> None:
    """Compares the number of arrays per group in imported files with the declared arrays;
    ``groups``: by core."""
    for given, path, place in assembler.state.get("maps", ()):

        def wrong(message, where=place, name=path):
            assembler.fail(where, f"{name}: array_group_map{message}")

        if not isinstance(given, dict):
            wrong(" is no object")
        for name, counts in given.items():
            number = (
                int(name[4:])
                if name.startswith("core") and name[4:].isdecimal() and len(name) < 9
                else None
            )
            if number is None or number not in groups:
                continue
            if not isinstance(counts, list):
                wrong(f" of core {number} is no list")
            for n, count in enumerate(counts):
                count = len(count) if isinstance(count, list) else count
                have = len(groups[number][n].arrays) if n < len(groups[number]) else 0
                if type(count) is not int or count != have:
                    wrong(
                        f" of core {number}: group {n} has {str(count)[:40]} arrays, the "
                        f"declared groups say {have}"
                    )
