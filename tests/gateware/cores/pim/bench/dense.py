# SPDX-License-Identifier: BSD-2-Clause
"""Programs of text for the tests of ``densify``, and the proof that what it makes of one has the
same effect."""

import numpy as np

from quintet.firmware.pim.measure.case import make_case
from quintet.gateware.cores.pim.asm.listing import core_lines, image_of
from quintet.gateware.cores.pim.densify.densify import densify
from quintet.gateware.cores.pim.image.codes import code_of, words_of
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from tests.gateware.cores.pim.bench.compare import run_model

SIM = SPACE.resolve("sim")


def words_in(image):
    return [
        (k, int(w)) for k, core in enumerate(image.cores) for w in words_of(core.code, core.mode)[0]
    ]


def same_effect(case, constants=()):
    """Densifies a case; the model must leave the same global memory, local memories and events.
    Gives both numbers of instructions."""
    outcome, memory, model = run_model(case)
    dense, notes = densify(case.image, case.params, constants)
    at = case.registers["program_address"]
    plain = case.memory.copy()
    plain[at : at + case.registers["program_length"]] = 0
    again = make_case(case.name, case.params, dense, words_in(dense), plain, at)
    result, other, twin = run_model(again)
    assert result.status == outcome.status, case.name
    length = max(case.registers["program_length"], again.registers["program_length"])
    memory[at : at + length] = other[at : at + length] = 0
    assert np.array_equal(memory, other), case.name
    for a, b in zip(model.cores, twin.cores, strict=True):
        assert np.array_equal(a.lmem, b.lmem) and a.events == b.events, case.name
        for name in ("operations", "bytes_read", "bytes_written", "comm_bytes"):
            assert a.counters[name] == b.counters[name], (case.name, name)
    return sum(c.count for c in case.image.cores), sum(c.count for c in dense.cores), notes


def case_of(image, seed=1):
    rng = np.random.default_rng(seed)
    memory = rng.integers(0, 256, 1 << 17, dtype=np.uint8)
    return make_case("own", SIM, image, words_in(image), memory, 0)


def group(rows, cols, **more):
    rng = np.random.default_rng(rows)
    return Group(
        rows, cols, (0,), weights=rng.integers(-20, 20, (rows, cols), dtype=np.int8), **more
    )


def image_of_text(*texts, groups=(), mode=0):
    """An image of one program a core, all with the same groups."""
    programs = [load(text, core, len(groups)) for core, text in enumerate(texts)]
    return Image(
        [
            CoreProgram(code_of(words, mode), len(words), mode=mode, groups=list(groups))
            for words in programs
        ],
        gmem_base=0x10000,
    )


def load(text, core, groups):
    """Words of a core's program."""
    cores = [f".core {other}" for other in range(4) if other != core]
    declared = [f".group {k}, rows=1, cols=1" for k in range(groups)]
    data = assemble_text(SOFTWARE, "\n".join([*cores, f".core {core}", *declared, text])).data
    return words_of(image_of(data)[0].cores[core].code, 0)[0]


def dense_text(image, params=SIM, constants=(), core=0):
    dense, _ = densify(image, params, constants)
    return core_lines(dense.cores[core], core, len(dense.cores)), dense
