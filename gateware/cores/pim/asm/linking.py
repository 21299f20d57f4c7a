# SPDX-License-Identifier: BSD-2-Clause
"""Linker: builds the program image of an assembled source (specification, sections 3.5 and 3.6)."""

from collections.abc import Callable, Mapping

import numpy as np

from ....isa.asm.assembler import Assembler
from ..image.image import CodeError, CoreProgram, Group, Image, Writer, code_of
from .drafts import Block, SourceError, core_of, draft_of, drafts
from .grouping import check_maps, finish_groups

__all__ = ["link"]


def _sections(assembler):
    """Sections of each core, in order."""
    found = {}
    for section in assembler.sections.values():
        if section.items or section.name is not None:
            found.setdefault(core_of(section), []).append(section)
    for number in drafts(assembler):
        found.setdefault(number, [])
    return found


def _check_item(assembler, core, item, groups, cores):
    """Raises an error for an instruction that names a missing group or core."""
    values = item.values
    if item.instruction.mnemonic == "mvmul":
        number = values["group"]
        if number not in groups:
            assembler.fail(
                item.place,
                f"core {core} has no group {number}: fault group",
                f"0 to {len(groups) - 1}" if groups else "a group declared by .group",
            )
        if values["mbiw"] != groups[number].mbiw:
            assembler.fail(
                item.place,
                f"mbiw is {values['mbiw']} and group {number} has {groups[number].mbiw}: fault "
                f"width",
            )
    elif "core" in values:
        other = values["core"]
        if other >= cores:
            assembler.fail(
                item.place,
                f"the program has no core {other}: fault core_range",
                f"0 to {cores - 1}",
            )
        if other == core and item.instruction.mnemonic != "sync":
            assembler.fail(item.place, f"core {other} is the core itself: fault core_range")


def bad_words(
    words: np.ndarray, core: int, groups: Mapping[int, Group], cores: int
) -> tuple[tuple[np.ndarray, Callable[[int], str]], ...]:
    """Pairs (mask, sentence) of words with an error: an instruction that names a missing group,
    width or core. ``words`` uint64."""
    op = (words & np.uint64(63)).astype(np.int64)
    matrix = op == 9
    group = (words >> np.uint64(21) & np.uint64(1023)).astype(np.int64)
    mbiw = (words >> np.uint64(16) & np.uint64(31)).astype(np.int64)
    mbiw[mbiw == 0] = 32
    declared = np.zeros(1024, np.int64)
    for number, one in groups.items():
        declared[number] = one.mbiw
    other = (words >> np.uint64(11) & np.uint64(1023)).astype(np.int64)
    peers = (op >= 29) & (op <= 30)
    # Long streams: most instructions are none of these.
    return (
        (
            matrix & (declared[group] == 0),
            lambda k: f"core {core} has no group {group[k]}: fault group",
        ),
        (
            matrix & (declared[group] != mbiw),
            lambda k: (
                f"mbiw is {mbiw[k]} and group {group[k]} has {declared[group[k]]}: fault width"
            ),
        ),
        (
            (peers | (op == 32)) & (other >= cores),
            lambda k: f"the program has no core {other[k]}: fault core_range",
        ),
        (
            peers & (other == core),
            lambda k: f"core {other[k]} is the core itself: fault core_range",
        ),
    )


def _not_built(words, isa, params):
    """Pairs (mask, sentence) as in :func:`bad_words`, for instructions that this build lacks."""
    places = (
        np.flatnonzero(np.isin((words & np.uint64(63)).astype(np.int64), (8, 19, 20)))
        if params is not None
        else ()
    )
    faults = {int(k): isa.decode(int(words[k]), params).fault for k in places}
    bad = np.zeros(len(words), bool)
    bad[[k for k, fault in faults.items() if fault is not None]] = True
    return bad, lambda k: f"this build cannot carry it out: fault {faults[k]}"


def _check_block(assembler, core, block, groups, cores):
    for bad, sentence in (
        *bad_words(block.words, core, groups, cores),
        _not_built(block.words, assembler.isa, assembler.params),
    ):
        if bad.any():
            k = int(bad.argmax())
            place = block.place._replace(line=block.place.line + k) if block.lines else block.place
            index = "" if block.lines else f"core {core}, instruction {k}: "
            assembler.fail(place, index + sentence(k))


def _pieces(assembler, core, sections, groups, cores):
    """Code of a core: ``(code, count, [(offset, place)])``."""
    pieces, count, places, at = [], 0, [], 0
    for section in sections:
        mode = draft_of(assembler, core).mode
        for item in section.items:
            if isinstance(item, Block):
                if not item.raw:
                    _check_block(assembler, core, item, groups, cores)
                try:
                    piece = code_of(item.words, mode)
                except CodeError as error:
                    place = (
                        item.place._replace(line=item.place.line + error.index)
                        if item.lines
                        else item.place
                    )
                    index = "" if item.lines else f"core {core}, instruction {error.index}: "
                    assembler.fail(place, index + str(error))
                count += len(item.words)
            else:
                if item.instruction is not None and not item.raw:
                    _check_item(assembler, core, item, groups, cores)
                try:
                    piece = (
                        section.storage.raw(item.word)
                        if item.raw
                        else section.storage.store(item.word)
                    )
                except ValueError as error:
                    assembler.fail(item.place, str(error))
                count += 1
                places.append((at, item.place))
            pieces.append(piece)
            at += len(piece)
    return b"".join(pieces), count, places


def link(assembler: Assembler) -> bytes:
    """Implements the hook ``Software.link``: returns the image's bytes."""
    from ....isa.asm.program import SourceLine

    params, found = assembler.params, _sections(assembler)
    (rows, cols), place = assembler.state.get("arrays", ((64, 64), assembler.last_place))
    if params is not None and (rows, cols) != (params["xb_rows"], params["xb_cols"]):
        assembler.fail(
            place,
            f"the arrays of this build are {params['xb_rows']} x {params['xb_cols']} (xb_rows, "
            f"xb_cols) and "
            f"the program's {rows} x {cols}",
            f".arrays {params['xb_rows']}, {params['xb_cols']}",
        )
    total, cores, places = max(found, default=0) + 1, [], {}
    for number in range(total):
        draft = draft_of(assembler, number)
        try:
            groups = finish_groups(number, draft, rows, cols, params, assembler.warn)
        except SourceError as error:
            assembler.fail(error.place or assembler.last_place, str(error))
        code, count, places[number] = _pieces(
            assembler, number, found.get(number, ()), draft.groups, total
        )
        cores.append(
            CoreProgram(
                code,
                count,
                draft.mode,
                draft.wait_mode,
                draft.ibiw,
                draft.obiw,
                draft.fi,
                draft.fo,
                groups,
            )
        )
    if "maps" in assembler.state:
        check_maps(assembler, {number: core.groups for number, core in enumerate(cores)})
    base, size = assembler.state.get("gmem", (0, 0))
    writer = Writer(Image(cores, rows, cols, base, size))
    for number, own in places.items():
        for at, where in own:
            assembler.lines[writer.code_offsets[number] + at] = SourceLine(where.file, where.line)
    return writer.data
