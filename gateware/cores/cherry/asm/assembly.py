# SPDX-License-Identifier: BSD-2-Clause
"""Directives of the Cherry assembler, and its linker, which makes an image or a program list from a
source (specification, section 3.2). Pure Python."""

import math
from dataclasses import dataclass, field

from ....isa.asm.assembler import Assembler
from ....isa.asm.errors import Place
from ....isa.asm.program import SourceLine
from ....isa.software import Directive
from ..image import (
    ENTRY_WORDS,
    FILL,
    FORMATS,
    HEADER_WORDS,
    IN,
    OUT,
    Descriptor,
    ProgramImage,
    Step,
    Unit,
    image_bytes,
    list_bytes,
    row_words,
)
from .banks import warn_of_banks
from .decimals import element
from .structure import Checker

__all__ = ["DIRECTIVES", "link"]

_LOW18 = (1 << 18) - 1
#: Words of an image, its instructions and records among them.
_MOST_WORDS = 65535
#: The pattern of infinity, and digits of a number that is read exactly.
_INFINITY, _MOST_DIGITS = 0x1FE00, 1000
_SIGNED18 = range(-(1 << 17), 1 << 18)


@dataclass
class _StepSource:
    program: str
    place: Place
    step: Step
    units: list[tuple[Place, str | int]] = field(default_factory=list)
    rebased: bool = False
    in_list: list[Descriptor] = field(default_factory=list)
    out_list: list[Descriptor] = field(default_factory=list)


def _number(cursor, what, legal):
    """Reads an expression without blanks and checks that it lies in ``legal``."""
    place = cursor.place
    if cursor.at_end:
        cursor.fail(f"{what} is missing")
    value = cursor.tight_expression()
    if value not in legal:
        cursor.fail(
            f"{what} is {value}",
            place=place,
            expected=f"{legal[0]} to {legal[-1]}"
            + (f" in steps of {legal.step}" if legal.step != 1 else ""),
        )
    return value


def _declare(assembler, cursor, kind, prefix, name, limit, what):
    """Declares ``name`` with the number in the source, or the lowest free one."""
    state = assembler.section.state
    names = state.setdefault(kind, {})
    place = cursor.place
    number = cursor.take_prefixed(prefix)
    if number is None:
        number = next((k for k in range(limit) if k not in names.values()), None)
        if number is None:
            cursor.fail(f"more than {limit} {what}s", place=place, expected=f"at most {limit}")
    elif number >= limit:
        cursor.fail(
            f"there is no {prefix}{number}",
            place=place,
            expected=f"{prefix}0 to {prefix}{limit - 1}",
        )
    elif number in names.values():
        cursor.fail(f"{prefix}{number} is declared twice", place=place, expected="another number")
    names[name] = number
    return number


def _new_name(assembler, cursor, kind, what):
    place = cursor.place
    name = cursor.name(f"the {what}'s name")
    if name in assembler.section.state.get(kind, {}):
        cursor.fail(f"{what} '{name}' is declared twice", place=place, expected="another name")
    return name


def _program(assembler, cursor):
    place = cursor.place
    name = cursor.name("the program's name")
    if name in assembler.sections:
        cursor.fail(f"program '{name}' stands twice", place=place, expected="another name")
    first = assembler.sections[None]
    if first.items or first.state:
        cursor.fail(
            "instructions or declarations stand before .program",
            place=place,
            expected=".program before them",
        )
    assembler.open_section(name)


def _loop(assembler, cursor):
    name = _new_name(assembler, cursor, "loop", "loop")
    count = _number(cursor, "count", range(_LOW18 + 1))
    number = _declare(assembler, cursor, "loop", "$d", name, 8, "loop")
    assembler.section.state.setdefault("counts", {})[number] = count


def _apu(assembler, cursor):
    place = cursor.place
    name = _new_name(assembler, cursor, "apu", "address unit")
    address, stride_x, stride_y = (
        _number(cursor, what, _SIGNED18) for what in ("address", "stride_x", "stride_y")
    )
    loops, coefficients = assembler.section.state.get("loop", {}), {}
    while cursor.peek_name() is not None:
        loop_place = cursor.place
        loop = cursor.name("a loop")
        if loop not in loops:
            cursor.fail(
                f"no loop is called '{loop}'",
                place=loop_place,
                expected=", ".join(loops) or ".loop before it",
            )
        if loops[loop] in coefficients:
            cursor.fail(f"loop '{loop}' has two coefficients", place=loop_place)
        cursor.expect(":", expected="':' and the coefficient")
        coefficients[loops[loop]] = _number(cursor, "coefficient", _SIGNED18)
    number = _declare(assembler, cursor, "apu", "$a", name, 32, "address unit")
    units = assembler.section.state.setdefault("units", {})
    units[number] = (
        Unit(
            *(v & _LOW18 for v in (address, stride_x, stride_y)),
            {k: v & _LOW18 for k, v in coefficients.items()},
        ),
        name,
        place,
    )


def _needs(assembler, cursor):
    needs = assembler.section.state.setdefault("needs", {})
    if cursor.at_end:
        cursor.fail("nothing is needed", expected="contexts=N or acc_frac=17")
    while not cursor.at_end:
        place = cursor.place
        name = cursor.name("contexts=N or acc_frac=17")
        cursor.expect("=", expected=f"{name}= and a number")
        if name not in ("contexts", "acc_frac"):
            cursor.fail(f"unknown need '{name}'", place=place, expected="contexts or acc_frac")
        needs[name] = _number(cursor, name, range(1, 33) if name == "contexts" else range(17, 18))
        has = None if assembler.params is None else assembler.params[name]
        if has is not None and has < needs[name]:
            cursor.fail(
                f"the program needs {name} = {needs[name]}, and {name} = {has} with these "
                f"parameters",
                place=place,
                expected=f"at least {name} = {needs[name]}",
            )


# DMA


def _options(cursor, legal):
    """Reads options ``name=value`` up to the end of the statement; ``legal``: name -> range."""
    found = {}
    while not cursor.at_end:
        place = cursor.place
        name = cursor.name("an option")
        if name not in legal:
            cursor.fail(
                f"unknown option '{name}'", place=place, expected=", ".join(f"{n}=" for n in legal)
            )
        if name in found:
            cursor.fail(f"{name} is given twice", place=place)
        cursor.expect("=", expected=f"{name}= and a number")
        found[name] = _number(cursor, name, legal[name])
    return found


_INT32 = range(-(1 << 31), 1 << 31)
_MEM_OPTIONS = {"mem_pitch": _INT32, "mem_step": _INT32}


def _steps(assembler):
    return assembler.state.setdefault("steps", [])


def _list_of(assembler, cursor, op):
    """DMA list to which a DMA statement belongs."""
    steps = _steps(assembler)
    if not steps:
        # A file without .step: one step that runs its program.
        steps.append(_StepSource(None, None, Step(0)))
    return steps[-1].out_list if op == OUT else steps[-1].in_list


def _transfer(op):
    def handle(assembler, cursor):
        place = cursor.place
        fmt = cursor.name(f"a format: {', '.join(FORMATS)}")
        if fmt not in FORMATS:
            cursor.fail(f"unknown format '{fmt}'", place=place, expected=", ".join(FORMATS))
        main = _number(cursor, "main-memory address", range(0, 1 << 32, 4))
        mem = _number(cursor, "MEM address", range(1 << 18))
        rows = _number(cursor, "number of rows", range(1, 1 << 16))
        cols = _number(cursor, "number of columns", range(1, 1 << 16))
        options = _options(cursor, {"pitch": range(-(1 << 31), 1 << 31, 4), **_MEM_OPTIONS})
        _list_of(assembler, cursor, op).append(
            Descriptor(
                op,
                fmt,
                main,
                mem,
                rows,
                cols,
                options.get("pitch", 4 * row_words(fmt, cols)),
                options.get("mem_pitch", cols),
                options.get("mem_step", 1),
            )
        )

    return handle


def _finite(cursor, token):
    """Element nearest to a number with a point or exponent; raises an error for a number that would
    round to infinity."""
    text = token.text.replace("_", "")
    # Powers of ten that a float does not hold are never computed exactly: they may have any size.
    if not token.value:
        return 0
    pattern = _INFINITY if len(text) > _MOST_DIGITS or math.isinf(token.value) else element(text)
    if pattern == _INFINITY:
        cursor.fail(
            f"value is {cursor.shown()}, which no element holds",
            place=cursor.place,
            expected="a number that rounds to less than 2^128, or inf",
        )
    return pattern


def _pattern(cursor):
    """Reads the value of a fill: a number with a point or exponent, inf, nan, or a bit pattern."""
    place = cursor.place
    negative = False
    if cursor.token is not None and cursor.token.text in "+-" and cursor.token.kind == "sign":
        following = cursor.statement.tokens[cursor.index + 1 : cursor.index + 2]
        if following and (following[0].kind == "float" or following[0].text in ("inf", "nan")):
            negative = cursor.advance().text == "-"
    token = cursor.token
    if token is not None and token.kind == "float":
        pattern = _finite(cursor, token)
        cursor.advance()
        return pattern ^ negative << 17
    if token is not None and token.text in ("inf", "nan"):
        cursor.advance()
        return 0x1FF00 if token.text == "nan" else _INFINITY | negative << 17
    value = cursor.tight_expression() if token is not None else None
    if value is None or not 0 <= value <= _LOW18:
        cursor.fail(
            f"value is {cursor.shown() if value is None else value}",
            place=place,
            expected=(
                "a number with a point or exponent, inf, -inf, nan, or a pattern from 0 to 0x3ffff"
            ),
        )
    return value


def _fill(assembler, cursor):
    pattern = _pattern(cursor)
    mem = _number(cursor, "MEM address", range(1 << 18))
    rows = _number(cursor, "number of rows", range(1, 1 << 16))
    cols = _number(cursor, "number of columns", range(1, 1 << 16))
    options = _options(cursor, _MEM_OPTIONS)
    _list_of(assembler, cursor, FILL).append(
        Descriptor(
            FILL,
            "fp32",
            pattern,
            mem,
            rows,
            cols,
            0,
            options.get("mem_pitch", cols),
            options.get("mem_step", 1),
        )
    )


def _step(assembler, cursor):
    steps, place = _steps(assembler), cursor.place
    if steps and steps[0].program is None:
        cursor.fail(
            "DMA lines stand before the first .step", place=place, expected=".step before them"
        )
    source = _StepSource(cursor.name("a program's name"), place, Step(0))
    while not cursor.at_end:
        place = cursor.place
        word = cursor.name("prefetch, defer, rebase=E or apus=A,B")
        if word in ("prefetch", "defer"):
            setattr(source.step, word, True)
        elif word == "rebase":
            cursor.expect("=", expected="rebase= and a number")
            source.step.rebase, source.rebased = _number(cursor, "rebase", _SIGNED18) & _LOW18, True
        elif word == "apus":
            cursor.expect("=", expected="apus= and names")
            source.units.append(
                (
                    cursor.place,
                    cursor.take_prefixed("$a") if cursor.peek_name() is None else cursor.name(),
                )
            )
            while cursor.accept(","):
                source.units.append(
                    (
                        cursor.place,
                        cursor.take_prefixed("$a") if cursor.peek_name() is None else cursor.name(),
                    )
                )
        else:
            cursor.fail(
                f"unknown option '{word}'",
                place=place,
                expected="prefetch, defer, rebase=E or apus=A,B",
            )
    steps.append(source)


DIRECTIVES = (
    Directive(".program", _program, "NAME: what follows belongs to this program"),
    Directive(".loop", _loop, "NAME COUNT [$dN]: a loop record"),
    Directive(
        ".apu", _apu, "NAME ADDRESS STRIDE_X STRIDE_Y [LOOP:COEF ...] [$aN]: an address unit"
    ),
    Directive(".needs", _needs, "contexts=N, acc_frac=17"),
    Directive(
        ".in",
        _transfer(IN),
        "FMT MAIN MEM ROWS COLS [pitch=B] [mem_pitch=E] [mem_step=E]: DMA into MEM",
    ),
    Directive(".fill", _fill, "VALUE MEM ROWS COLS [mem_pitch=E] [mem_step=E]: DMA fill"),
    Directive(".out", _transfer(OUT), "FMT MAIN MEM ROWS COLS [...]: DMA out of MEM"),
    Directive(
        ".step", _step, "NAME [prefetch] [defer] [rebase=E apus=A,B]: a step of the program list"
    ),
)


# The image


def _image(assembler, section):
    """Builds the :class:`ProgramImage` of a section and checks it."""
    state, items = section.state, section.items
    names = {number: name for name, number in state.get("loop", {}).items()}
    units = state.get("units", {})
    needs = state.get("needs", {})
    moved = {
        k: (name, tuple(loop for loop, step in u.coefficients.items() if step), place)
        for k, (u, name, place) in units.items()
    }
    checker = Checker(
        items,
        names,
        state.get("counts", {}),
        moved,
        "contexts" in needs,
        assembler.fail,
        assembler.warn,
    )
    checker.look()
    if assembler.params is not None:
        warn_of_banks(
            checker.accesses(), units, state.get("counts", {}), assembler.params, assembler.warn
        )
    used = [i for i in items if i.instruction is not None]
    image = ProgramImage(
        contexts=needs.get("contexts", 0),
        wide=needs.get("acc_frac") == 17,
        special=any(i.instruction.mnemonic in ("div", "pow", "exp", "log") for i in used),
        axes=any(i.values.get("axis") for i in used),
        loops={
            k: (count, checker.bodies.get(k, 0))
            for k, count in sorted(state.get("counts", {}).items())
        },
        units={k: unit for k, (unit, _, _) in sorted(units.items())},
        words=[i.word for i in items],
    )
    if image.size > _MOST_WORDS:
        assembler.fail(
            assembler.last_place, f"the image takes {image.size} words", f"at most {_MOST_WORDS}"
        )
    return image


def link(assembler: Assembler) -> bytes:
    """Links a source: the bytes of a bare image or of a program list."""
    sections = [s for s in assembler.sections.values() if s.name is not None or s.items or s.state]
    programs = {
        s.name or "main": (s, _image(assembler, s)) for s in sections or [assembler.sections[None]]
    }
    steps = _steps(assembler)
    if len(programs) > 1 and (not steps or steps[0].program is None):
        assembler.fail(
            assembler.last_place,
            f"{len(programs)} programs and no .step",
            ".step lines that run them",
        )
    only = next(iter(programs))
    if not steps:
        data = image_bytes(programs[only][1])
        _note_lines(assembler, programs[only], 0)
        return data
    entries = []
    for source in steps:
        name = source.program or only
        if name not in programs:
            assembler.fail(
                source.place, f"no program is called '{name}'", ", ".join(map(str, programs))
            )
        section, image = programs[name]
        for place, unit in source.units:
            units = section.state.get("apu", {})
            number = units.get(unit, unit if unit in units.values() else None)
            if number is None:
                assembler.fail(
                    place,
                    f"program '{name}' has no address unit {unit!r}",
                    ", ".join(units) or ".apu in it",
                )
            source.step.mask |= 1 << number
        if bool(source.units) != source.rebased:
            assembler.fail(source.place, "rebase and apus belong together", "both or none")
        entries.append((image_bytes(image), source.step, source.in_list, source.out_list))
    data = list_bytes(entries)
    for number, source in enumerate(steps):
        if source.place is not None:  # a source may have DMA lines and no .step
            assembler.lines[4 * (HEADER_WORDS + ENTRY_WORDS * number)] = SourceLine(
                source.place.file, source.place.line
            )
        _note_lines(assembler, programs[source.program or only], source.step.image)
    return data


def _note_lines(assembler, program, offset):
    section, image = program
    assembler.lay_out(section, offset + 4 * image.code_word)
