# SPDX-License-Identifier: BSD-2-Clause
"""The assembler's warning of pitches that make loads and stores wait for a bank of MEM: where it
stands, what it advises, and when it is silent."""

import re
from pathlib import Path

import pytest

from quintet.firmware.cherry.measure.workloads import FOLDER, PRESETS, WORKLOADS, source
from quintet.gateware.cores.cherry.asm.banks import access_cycles, better_pitch
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import AsmError, assemble, assemble_text

#: But those of the workloads, which have no steps.
SHIPPED = [
    path
    for path in sorted((Path(__file__).resolve().parents[4] / "firmware" / "cherry").rglob("*.s"))
    if path.parent != FOLDER or path.stem.startswith("product")
]
BANKS = (1, 2, 4, 8, 16)


def warnings(text, preset="85f", **sizes):
    return [
        str(w).removeprefix("<text>:")
        for w in assemble_text(SOFTWARE, text, params=SPACE.resolve(preset, sizes)).warnings
    ]


def walk(unit, count=40, access="load a, INPUT"):
    return f".loop l {count}\n.apu a {unit}\nstart_independent_loop l\n  {access}\nend_loop l\n"


def product(pitch):
    """A product of 64 x 64 with matrices that lie at ``pitch``."""
    text = (FOLDER / "matmul_64.s").read_text()
    for old, new in (
        (68, pitch),
        (272, 4 * pitch),
        (276, 4 * pitch + 4),
        (4352, 64 * pitch),
        (4624, 68 * pitch),
        (8704, 128 * pitch),
        (12784, 188 * pitch),
    ):
        text = re.sub(rf"\b{old}\b", str(new), text)
    return f"{text}.step p0\n"


@pytest.mark.parametrize(
    "strides, shape, banks, cycles",
    [
        ((1, 68), (4, 4), 16, 1),
        ((68, 1), (4, 4), 16, 1),
        ((1, 64), (4, 4), 16, 4),
        ((1, 8), (4, 4), 16, 2),
        ((1, 4), (4, 4), 16, 1),
        ((0, 64), (4, 4), 16, 4),
        ((0, 0), (4, 4), 16, 1),
        ((1, 64), (1, 4), 16, 1),
        ((64, 1), (1, 4), 16, 4),
        ((1, 64), (4, 4), 4, 4),
        ((4, 64), (4, 4), 4, 16),
        ((1, 64), (4, 4), 1, 16),
        ((1, 1), (4, 4), 4, 2),
        ((-1, -64), (4, 4), 16, 4),
        ((1 << 17, 1 << 17), (4, 4), 16, 2),
    ],
)
def test_cycles_of_an_access(strides, shape, banks, cycles):
    assert access_cycles(*strides, *shape, banks) == cycles


@pytest.mark.parametrize("banks", BANKS)
def test_what_is_advised_is_better_and_the_best(banks):
    for shape in ((4, 4), (1, 4), (4, 1), (2, 3), (3, 4)):
        for small in (-1, 0, 1, 2, 4):
            for pitch in (*range(1, 40), 64, 66, 68, 128, -64, -20):
                for strides, down in (((small, pitch), True), ((pitch, small), False)):
                    now, found = (
                        access_cycles(*strides, *shape, banks),
                        better_pitch(*strides, *shape, banks),
                    )
                    if now <= max(1, 16 // banks):
                        assert found is None
                        continue
                    # Which stride is meant shows in what is advised.
                    others = [
                        (small, sign * p) if down else (sign * p, small)
                        for sign in (1, -1)
                        for p in range(abs(pitch), abs(pitch) + 64)
                    ]
                    best = min(access_cycles(*other, *shape, banks) for other in others)
                    if abs(pitch) > abs(small) and shape[not down] > 1:
                        assert (found is None) == (best == now), (strides, shape)
                    if found is not None and abs(pitch) > abs(small) and shape[not down] > 1:
                        new = (small, found[0]) if down else (found[0], small)
                        assert access_cycles(*new, *shape, banks) == found[1] == best < now and abs(
                            found[0]
                        ) > abs(pitch)
                        assert found[0] * pitch > 0


@pytest.mark.parametrize(
    "text, preset, message",
    [
        (
            walk("0 1 64 l:4"),
            "85f",
            "4:3: warning: this load takes 4 cycles: with the pitch of 64 of address unit a "
            "rows of a tile lie in the same of 16 "
            "banks; a pitch of 68 takes 1 (up to 120 cycles of the program)",
        ),
        (
            walk("0 64 1 l:256"),
            "85f-max",
            "4:3: warning: this load takes 4 cycles: with the pitch of 64 of address unit a "
            "columns of a tile",
        ),
        (
            walk("0 1 64 l:4", access="store a, ACC"),
            "85f",
            "4:3: warning: this store takes 4 cycles",
        ),
        (
            walk("0 4 64 l:16"),
            "45f",
            "4:3: warning: this load takes 16 cycles: with the pitch of 64 of address unit a "
            "rows of a tile lie in the same of 4 "
            "banks; a pitch of 65 takes 4",
        ),
        (
            walk("4096 -1 -64 l:4"),
            "85f",
            "4:3: warning: this load takes 4 cycles: with the pitch of -64 of address unit a "
            "rows of a tile lie in the same of "
            "16 banks; a pitch of -68 takes 1",
        ),
        (
            walk("0 0 16 l:64", access="load a, INPUT, 4, 1, 1, 0"),
            "85f",
            "4:3: warning: this load takes 4 cycles: with the pitch of 16",
        ),
        # All of an address unit's accesses count, and the first is where it stands.
        (
            ".loop l 30\n.apu a 0 1 64 l:4\nstart_loop l\nload a, INPUT\nload a, WEIGHTS\n"
            "end_loop l\n",
            "85f",
            "4:1: warning: this load takes 4 cycles",
        ),
    ],
)
def test_a_pitch_that_wastes_cycles(text, preset, message):
    found = warnings(text, preset)
    assert len(found) == 1 and found[0].startswith(message)


@pytest.mark.parametrize(
    "text, preset",
    [
        (walk("0 1 68 l:4"), "85f"),
        (walk("0 68 1 l:272"), "85f"),
        (walk("0 1 4 l:16"), "85f"),
        (walk("0 0 0"), "85f"),
        # One row of a tile; four banks, which a whole tile takes four cycles of in any case, and so
        # does a column; a single bank.
        (walk("0 1 64 l:4", access="load a, INPUT, 1, 4, 1, 0"), "85f"),
        (walk("0 1 64 l:4"), "45f"),
        (walk("0 4 0 l:16"), "45f"),
        (walk("0 1 64 l:4"), "25f"),
        (walk("0 1 64 l:4"), "up5k"),
        # What costs less than half a step: few iterations, or one load for all contexts.
        (walk("0 1 64 l:4", count=33), "85f"),
        (walk("0 1 64"), "85f"),
        (".apu a 0 1 64\nload a, INPUT\n", "85f"),
        (walk("0 1 64 l:4", count=0), "85f"),
    ],
)
def test_pitches_without_a_warning(text, preset):
    assert warnings(text, preset) == []


def test_a_product_at_a_pitch_of_a_power_of_two():
    found = warnings(product(64))
    assert found and all("a pitch of 68 takes 1" in text for text in found)
    assert warnings(product(68)) == []


def test_without_a_build_nothing_is_said():
    assert not assemble_text(SOFTWARE, product(64)).warnings


@pytest.mark.parametrize("preset", SPACE.presets)
def test_programs_that_ship_do_not_warn(preset):
    assert len(SHIPPED) >= 2
    for path in SHIPPED:
        try:
            found = assemble(SOFTWARE, path, SPACE.resolve(preset)).warnings
        except AsmError as error:
            assert (
                "the program needs contexts" in error.message
            )  # more than this build has: refused
            continue
        assert not [str(w) for w in found if "banks" in w.message]
    if preset in PRESETS:
        for workload in WORKLOADS:
            text, names = source(workload, preset)
            assert (
                warnings("".join((text, *(f".step {name}\n" for name in names))), preset) == []
            ), workload.name
