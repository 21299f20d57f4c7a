# SPDX-License-Identifier: BSD-2-Clause
"""The passes ``strip-nops`` and ``pad-nops``: same results, the source's latencies, each undoes the
other."""

import pytest

from quintet.gateware.cores.opentpu.asm.nops import pad_nops, strip_nops
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text, disassemble
from quintet.gateware.isa.asm.program import Program
from quintet.tools.cli import main
from quintet.tools.compiler.backends.opentpu.codegen.program import Word
from tests.gateware.cores.opentpu.bench.compare import sanitised
from tests.gateware.cores.opentpu.bench.programs import OP, hazard_cases, random_case, scatter

EIGHT = {"n": 8}


def words_of(data):
    return [
        Word(
            data[at],
            data[at + 1],
            data[at + 2],
            int.from_bytes(data[at + 3 : at + 11], "big"),
            int.from_bytes(data[at + 11 : at + 14], "big"),
        )
        for at in range(0, len(data), 14)
    ]


def padded(text, n=8):
    """Canonical text of ``text`` with NOPs for side ``n``, a run of NOPs as its length."""
    lines, nops = [], 0
    for line in disassemble(
        SOFTWARE, pad_nops(SOFTWARE, assemble_text(SOFTWARE, text), {"n": n}).data
    ).splitlines():
        if line.strip() == "NOP":
            nops += 1
        else:
            lines += [nops] * (nops > 0) + [line.strip()]
            nops = 0
    return lines + [nops] * (nops > 0)


def cases():
    for preset in ("sim", "sim-ext", "sim-plain", "85f-8x8"):
        params = SPACE.resolve(preset)
        for seed in range(12):
            case = random_case(seed, params)
            yield sanitised(case, scatter(case.words, seed))
    yield from hazard_cases(SPACE.resolve("sim"), distances=(0, 3))


def test_the_model_gives_the_same():
    for case in cases():
        found, counts = set(), []
        for program in (
            Program(case.program),
            strip_nops(SOFTWARE, Program(case.program)),
            pad_nops(SOFTWARE, Program(case.program), case.params),
        ):
            other = sanitised(case, words_of(program.data))
            outcome = Model(case.params, other.memory).run(dict(other.registers))
            assert outcome.status == "done", case.name
            found.add(
                (
                    other.memory[: case.memory.size].tobytes(),
                    outcome.counters["operations"],
                    outcome.values["sync_tag"],
                )
            )
            counts.append(outcome.counters["instructions"])
        assert len(found) == 1, case.name
        assert counts[1] < counts[0] < counts[2], case.name


def test_each_undoes_the_other():
    for case in cases():
        program = Program(case.program)
        bare, full = strip_nops(SOFTWARE, program), pad_nops(SOFTWARE, program, case.params)
        assert strip_nops(SOFTWARE, full).data == bare.data == strip_nops(SOFTWARE, bare).data, (
            case.name
        )
        assert pad_nops(SOFTWARE, full, case.params).data == full.data, case.name
        run = [word.opcode for word in words_of(bare.data)]
        assert OP["NOP"] not in run[: run.index(OP["HLT"])], case.name


@pytest.mark.parametrize(
    "first, second, nops",
    [
        # Of the source's table of latencies, for N = 8 and 5 vectors.
        ("RHM 0, 0, 5", "MMC 4, 0, 1", 4),
        ("RHM 0, 0, 5", "WHM 0, 9, 5", 4),
        ("RHM 0, 0, 5", "MMC 5, 0, 1", 0),
        ("ACT 0, 0, 5", "MMC 0, 9, 1", 5),
        ("ACT 0, 0, 5", "WHM 4, 0, 1", 5),
        ("MMC 0, 0, 5", "ACT 4, 9, 1", 20),
        ("MMC 0, 0, 5", "ACT 5, 9, 1", 0),
        ("MMC 0, 0, 5", "HLT", 20),
        ("RHM 0, 0, 5", "HLT", 4),
        ("ACT 0, 0, 5", "HLT", 5),
        # Measured on the published hardware (10.2).
        ("WHM 0, 0, 5", "HLT", 5),
        ("MMC 0, 0, 5", "MMC 0, 0, 1", 5),
        ("ACT 0, 0, 5", "ACT 9, 9, 1", 5),
        ("RHM 0, 0, 5", "RHM 9, 9, 1", 5),
        ("WHM 0, 0, 5", "WHM 9, 9, 1", 5),
        ("RW 0", "RW 1", 3),
        ("RW 0", "MMC.S 0, 0, 1", 17),
        ("RW 0\nMMC.S 0, 0, 1", "MMC.S 0, 0, 1", 18),
        # Rows that are still read.
        ("MMC 0, 0, 5", "RHM 0, 4, 1", 4),
        ("WHM 0, 0, 5", "ACT 9, 4, 1", 4),
        ("ACT 0, 9, 5", "MMC 0, 4, 1", 4),
        ("ACT 0, 0, 5", "RHM 0, 4, 1", 5),
        ("WHM 0, 0, 5", "RHM 4, 9, 1", 5),
        ("RHM 0, 0, 5", "WHM 9, 4, 1", 4),
        # What takes a cycle and shares nothing, and what lies between counts.
        ("SYNC", "NOP", 1),
        ("MMC 0, 0, 5\nNOP\nRHM 0, 50, 1", "ACT 0, 9, 1", 18),
        ("NOP", "HLT", 1),
    ],
)
def test_latencies(first, second, nops):
    lines = padded(f"{first}\n{second}")
    if second == "NOP":
        assert lines[-1] == nops
    else:
        assert (lines[-2] if type(lines[-2]) is int else 0) == nops, lines


def test_the_array_s_side_counts():
    assert padded("MMC 0, 0, 3\nACT 0, 0, 3", 16)[1] == 3 + 32 - 1
    assert padded("RW 0\nRW 1\nRW 2", 32)[1] == 15  # 1,024 bytes, 64 a cycle
    # A tile of 64 KB takes longer than any other instruction, also with NOPs or words between.
    assert padded("RW 0\nRW 1", 256)[1] == 1023
    lines = padded("RW 0\nMMC 0, 0, 256\nACT 0, 0, 1\nRW 1", 256)
    assert lines[2] == 767 and lines[4] == 1024 - 1 - 768 - 1


def test_a_switch_waits_for_the_tile_behind_its_own_too():
    lines = padded("RW 0\nNOP\nRW 1\nMMC.SO 0, 0, 1\nHLT")
    assert lines[:6] == ["RW 0", 3, "RW 1", 17, "MMC.SO 0, 0, 1", 16]
    # A place in the queue is free again when the switch that gives it up is over.
    lines = padded("\n".join(f"RW {k}" for k in range(5)) + "\nMMC.SO 0, 0, 1\nRW 5\nHLT")
    assert lines[-3:] == [18, "RW 5", "HLT"]


def test_what_padding_cannot_mend_is_said():
    def notes(text):
        return [str(w) for w in pad_nops(SOFTWARE, assemble_text(SOFTWARE, text), EIGHT).warnings]

    assert notes("RW 0\nMMC.S 0, 0, 1\nHLT") == []
    assert notes("RW 0\nMMC.S 0, 0, 1\nRW 1\nMMC.S 0, 0, 1\nHLT") == [
        "warning: an RW behind the MMC.S before the one that takes its tile: the published "
        "hardware never loads that tile"
    ]
    assert (
        "warning: an MMC of 256 vectors: the published hardware takes 65536 (1 more of this kind)"
        in notes("RW 0\nMMC.S 0, 0, 256\nMMC 0, 0, 256\nHLT")
    )
    assert notes("RW 0\nNOP\nMMC.SB 0, 0, 1\nHLT")[-1:] == [
        "warning: MMC.B: the published hardware adds to each row"
    ]
    assert notes("RW.D 0\nMMC.S 0, 0, 1\nHLT") == [
        "warning: RW.D: the published hardware reads a whole tile"
    ]
    assert notes("CFG norm, 0\nHLT") == ["warning: CFG: the published hardware does not know it"]


def test_what_is_never_executed_or_faults_stays():
    text = "NOP\n.word 0x0001000000000000000000000000\nNOP\nHLT\nNOP\nRW 3\nNOP"
    program = assemble_text(SOFTWARE, text)
    bare = strip_nops(SOFTWARE, program)
    assert [w.opcode for w in words_of(bare.data)] == [
        OP["NOP"],
        OP["HLT"],
        OP["NOP"],
        OP["RW"],
        OP["NOP"],
    ]
    assert [(at // 14, line.line) for at, line in sorted(bare.lines.items())] == [
        (0, 2),
        (1, 4),
        (2, 5),
        (3, 6),
        (4, 7),
    ]
    full = pad_nops(SOFTWARE, program, EIGHT)
    assert full.data == program.data and full.lines == program.lines
    moved = pad_nops(SOFTWARE, assemble_text(SOFTWARE, "RHM 0, 0, 3\nWHM 0, 9, 3\nHLT"), EIGHT)
    assert {at // 14: line.line for at, line in moved.lines.items()} == {0: 1, 3: 2, 7: 3}
    # A run that never ends in HLT still begins.
    assert strip_nops(SOFTWARE, assemble_text(SOFTWARE, "NOP\nNOP")).data == bytes(14)


def test_command(tmp_path, capsys):
    (tmp_path / "x.a").write_text("RHM 0, 0, 3\nNOP\nWHM 0, 9, 3\nHLT\n")

    def asm(name, *arguments):
        code = main(
            ["asm", "opentpu", str(tmp_path / "x.a"), "-o", str(tmp_path / name), *arguments]
        )
        return code, capsys.readouterr().err

    assert asm("strip.out", "--pass", "strip-nops") == (0, "")
    assert asm("pad.out", "--pass", "strip-nops", "--pass", "pad-nops", "-P", "n=8") == (0, "")
    assert (
        len((tmp_path / "strip.out").read_bytes()) == 3 * 14
        and len((tmp_path / "pad.out").read_bytes()) == 8 * 14
    )
    code, error = asm("none.out", "--pass", "pad-nops")
    assert (
        code == 2
        and error == "quintet: pad-nops needs the side of the array: give a preset, or -P n=8\n"
    )
    code, error = asm("none.out", "--pass", "pad")
    assert code == 2 and "--pass pad: opentpu has strip-nops, pad-nops" in error
    assert not (tmp_path / "none.out").exists()
