# SPDX-License-Identifier: BSD-2-Clause
"""Assembler directives of PIM (specification, section 3.5)."""

from ....isa.software import Directive
from ..image.fields import AUTO
from ..storage import MODE_NAMES, MODES, STORAGES
from .drafts import CORES, LIMITS, GroupDraft, SourceError, add_group, core_of, draft_of, drafts

__all__ = ["DIRECTIVES"]

_LOW32 = (1 << 32) - 1


def _here(assembler):
    return draft_of(assembler, core_of(assembler.section))


def _number(cursor, what, legal):
    place = cursor.place
    value = cursor.expression()
    if value not in legal:
        cursor.fail(
            f"{what} is {value if abs(value) < 1 << 64 else 'too large'}",
            place=place,
            expected=f"{legal[0]} to {legal[-1]}",
        )
    return value


def _pair(cursor, names, legal, usage):
    values = [_number(cursor, names[0], legal)]
    cursor.expect(",", expected=usage)
    return (*values, _number(cursor, names[1], legal))


def _word(cursor, names, what):
    token = cursor.token
    if token is None or token.text.lower() not in names:
        cursor.fail(f"unknown {what} {cursor.shown()}", expected=", ".join(names))
    return cursor.advance().text.lower()


def _arrays(assembler, cursor):
    place = cursor.place
    pair = _pair(
        cursor, ("rows of an array", "columns of an array"), range(1, 1025), ".arrays ROWS, COLS"
    )
    if assembler.state.setdefault("arrays", (pair, place))[0] != pair:
        cursor.fail("the geometry of the arrays is already set", place=place)
    params = assembler.params
    if params is not None and pair != (params["xb_rows"], params["xb_cols"]):
        cursor.fail(
            f"this build has arrays of {params['xb_rows']} x {params['xb_cols']} (xb_rows, "
            f"xb_cols)",
            place=place,
            expected=f".arrays {params['xb_rows']}, {params['xb_cols']}",
        )


def _gmem(assembler, cursor):
    assembler.state["gmem"] = _pair(
        cursor, ("base of GMem", "size of GMem"), range(_LOW32 + 1), ".gmem BASE, SIZE"
    )


def _core(assembler, cursor):
    most = CORES if assembler.params is None else assembler.params["cores"]
    number = _number(cursor, "core", range(most))
    if number == 0 and None in assembler.sections and 0 not in assembler.sections:
        assembler.section = assembler.sections[None]
    else:
        assembler.open_section(number, STORAGES[draft_of(assembler, number).mode])
    draft_of(assembler, number)


def _mode(assembler, cursor):
    place = cursor.place
    if assembler.section.items:
        cursor.fail(
            ".mode behind instructions of the core",
            place=place,
            expected=".mode before the first one",
        )
    mode = MODES[_word(cursor, MODE_NAMES, "mode")]
    _here(assembler).mode = mode
    assembler.section.storage = STORAGES[mode]


def _waitmode(assembler, cursor):
    _here(assembler).wait_mode = ("exact", "count").index(
        _word(cursor, ("exact", "count"), "wait mode")
    )


def _width(assembler, cursor):
    most = 32 if assembler.params is None else assembler.params["max_biw"]
    here = _here(assembler)
    here.ibiw, here.obiw = _pair(cursor, ("ibiw", "obiw"), range(1, most + 1), ".width IBIW, OBIW")


def _format(cursor, name):
    if cursor.peek_name() == "auto":
        cursor.advance()
        return AUTO
    return _number(cursor, name, range(32))


def _actfmt(assembler, cursor):
    here = _here(assembler)
    here.fi = _format(cursor, "fi")
    cursor.expect(",", expected=".actfmt FI, FO")
    here.fo = _format(cursor, "fo")


_KEYS = ("rows", "cols", "arrays", "mbiw", "shift", "round", "weights", "bias")


def _ids(cursor):
    ids = [_number(cursor, "array", range(64))]
    while cursor.token is not None and cursor.token.text == ",":
        following = cursor.statement.tokens[cursor.index + 1 : cursor.index + 3]
        if len(following) == 2 and following[1].text == "=":
            break
        cursor.advance()
        ids.append(_number(cursor, "array", range(64)))
    return tuple(ids)


def _group(assembler, cursor):
    begin = cursor.place
    number, values = _number(cursor, "group", range(1024)), {}
    while cursor.accept(","):
        place = cursor.place
        key = cursor.name("one of " + ", ".join(_KEYS))
        if key not in _KEYS:
            cursor.fail(f".group has no '{key}'", place=place, expected=", ".join(_KEYS))
        if key in values:
            cursor.fail(f"{key} is given twice", place=place)
        cursor.expect("=")
        place = cursor.place
        if key in LIMITS:
            values[key] = _number(cursor, key, LIMITS[key])
        elif key == "arrays":
            values[key] = _ids(cursor)
        else:
            from .grouping import load_npy

            try:
                values[key] = load_npy(assembler.folder / cursor.string("a file name"))
            except SourceError as error:
                cursor.fail(str(error), place=place)
    for key in ("rows", "cols"):
        if key not in values:
            cursor.fail(f"{key} is missing", expected=".group N, rows=R, cols=C")
    add_group(
        assembler, core_of(assembler.section), number, GroupDraft(**values, place=begin), begin
    )


def _inline(what):
    def handle(assembler, cursor):
        place = cursor.place
        core, number = assembler.state.get("last group", (None, None))
        if core != core_of(assembler.section) or number is None:
            cursor.fail(f".{what} without .group", place=place)
        group = drafts(assembler)[core].groups[number]
        values = getattr(group, what)
        if values is None:
            setattr(group, what, values := [])
        elif not isinstance(values, list):
            cursor.fail(f"group {number} has its {what} from a file", place=place)
        span = 7 if what == "weights" else 31
        values.append(_number(cursor, what, range(-1 << span, 1 << span)))
        while cursor.accept(","):
            values.append(_number(cursor, what, range(-1 << span, 1 << span)))

    return handle


DIRECTIVES = (
    Directive(".arrays", _arrays, "`ROWS, COLS`: geometry of an array; default 64, 64"),
    Directive(
        ".gmem",
        _gmem,
        "`BASE, SIZE`: main-memory address of GMem 0, and its size (0: up to the window's limit)",
    ),
    Directive(".core", _core, "`N`: what follows belongs to core N"),
    Directive(".mode", _mode, "`64`, `32` or `packed`: code form of this core"),
    Directive(".waitmode", _waitmode, "`exact` or `count`: how `wait` looks at an event register"),
    Directive(".width", _width, "`IBIW, OBIW`: widths at the start"),
    Directive(".actfmt", _actfmt, "`FI, FO`: fraction bits of `vtanh` and `vsigm`, or `auto`"),
    Directive(
        ".group",
        _group,
        '`N, rows=R, cols=C[, arrays=A,B..][, mbiw=8][, shift=0][, round=1][, weights="f.npy"]'
        '[, bias="f.npy"]`: declares a group of this core',
    ),
    Directive(
        ".weights", _inline("weights"), "`V, V, ..`: weights of the last group, row after row"
    ),
    Directive(".bias", _inline("bias"), "`V, V, ..`: biases of the last group"),
)
