# SPDX-License-Identifier: BSD-2-Clause
"""The assembler of microprograms on the machine of its guide: words, registers, listing, and
everything that it refuses."""

import enum
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.gateware.microcode.layout import Layout
from quintet.gateware.microcode.machine import MachineFormat, Operation
from quintet.gateware.microcode.operands import Choice, Label, Number, Register
from quintet.gateware.microcode.program import Microprogram, jump_table
from quintet.gateware.microcode.registers import RegisterFile
from quintet.gateware.microcode.statement import MicrocodeError

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "how" / "microcode.md").read_text()
_OPERANDS = {
    "": (Register("rs", indexed={"x": 1}),),
    ">": (Register("rd", written=True), {"write": 1}),
    "*": (Number("rd", "Repetition", range(1, 8), {"*": 0}),),
    "?": (Choice("cond", {"ALWAYS": 1, "BUSY": 2}), Label("target")),
    "!": (Choice("target", {"GO": 1, "STOP": {"target": 2, "x": 1}}, argument=4),),
}
MACHINE = MachineFormat(
    layout=Layout(rs=5, rd=5, write=1, x=1, cond=2, target=8),
    operations={
        "hold": Operation({}, _OPERANDS),
        "wait": Operation({"cond": 3}, {}, 0),
        "count": Operation(
            {"cond": 3}, {"": (Choice("target", {"A": 1, "B": 2, "C": 4}, several=True),)}, 1
        ),
    },
    registers=RegisterFile(
        32, {"WORD": 1}, {"TABLE": (16, 8)}, variables=range(2, 6), constants=range(24, 28)
    ),
    size=16,
    defaults={"rs": "WORD"},
    filler="wait",
)
#: Variables and constants share their places; small constants lie in the micro-instruction.
SHARED = MachineFormat(
    layout=Layout(x=6),
    operations={
        "ld": Operation({}, {"": (Register("x", limit=16, immediate={"x": 32}),)}, 1),
        "st": Operation({}, {"": (Register("x", written=True),)}, 1),
    },
    registers=RegisterFile(8, variables=range(8)),
    size=64,
)


def assembled(text, machine=MACHINE, **options):
    return Microprogram(machine, {"text": text}, **options)


def fields(program, address=0):
    return {name: value for name, value in program.code[address].fields.items() if value}


def test_the_guide_is_right(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    exec(code, {})
    listing = capsys.readouterr().out
    assert f"```\n{listing}```" in GUIDE and listing.count("\n") == 6


@pytest.mark.parametrize(
    "statement, expected",
    [
        ("hold", {"rs": 1}),
        ("hold _", {"rs": 2}),
        ("hold #7", {"rs": 24}),
        ("hold TABLE.5", {"rs": 21}),
        ("hold TABLE+X", {"rs": 16, "x": 1}),
        ("hold WORD >T", {"rs": 1, "rd": 2, "write": 1}),
        ("hold *3", {"rs": 1, "rd": 3}),
        ("hold **", {"rs": 1}),
        ("hold ?BUSY a", {"rs": 1, "cond": 2}),
        ("hold !GO:3 >T", {"rs": 1, "target": 0x31, "rd": 2, "write": 1}),
        ("hold !STOP", {"rs": 1, "target": 2, "x": 1}),
        ("count A,C", {"rs": 1, "cond": 3, "target": 5}),
        ("wait", {"rs": 1, "cond": 3}),
    ],
)
def test_operands_set_fields(statement, expected):
    assert fields(assembled("a: " + statement + "; hold >_")) == expected


def test_statements_labels_and_parts():
    program = Microprogram(
        MACHINE,
        {"one": "hold; b: hold // c: hold\n\nd:\ne: hold ?ALWAYS f;", "two": "f: hold ?ALWAYS d"},
        entries=("b", "f"),
    )
    assert program.labels == {"b": 1, "d": 2, "e": 2, "f": 3} and len(program.words) == 4
    assert fields(program, 2)["target"] == 3 and fields(program, 3)["target"] == 2
    assert [line.split() for line in program.listing().splitlines()[2:3]] == [
        [
            "002",
            "00" + f"{program.words[2]:04x}",
            "rs=1",
            "cond=1",
            "target=3",
            "d:",
            "e:",
            "hold",
            "?ALWAYS",
            "f",
        ]
    ]


def test_places_of_variables_constants_and_aliases():
    program = assembled(
        ".also OTHER LATE\nhold FIRST >LATE; hold #-1 >FIRST; hold #0xFFFFFFFF >OTHER; hold "
        "#3; hold NAMED",
        constants={"NAMED": 9, "#3": 3},
        values={"TABLE": [5, 6]},
    )
    assert program.names == {
        "WORD": 1,
        "TABLE": 16,
        "NAMED": 24,
        "#3": 25,
        "LATE": 2,
        "OTHER": 2,
        "FIRST": 3,
        "#4294967295": 26,
    }
    assert program.registers == [0] * 16 + [5, 6] + [0] * 6 + [9, 3, 0xFFFF_FFFF] + [0] * 5
    program = assembled("ld #15; ld #16; st v; ld v", SHARED)
    assert program.words == [47, 0, 1, 1] and program.registers == [16] + [0] * 7


def test_tables_of_jumps():
    text = jump_table({1: "a", 9: "b"}, range(3), "other", "hold ?ALWAYS")
    assert [line.split() for line in text.splitlines()] == [
        ["hold", "?ALWAYS", label] for label in ("other", "a", "other")
    ]
    assert jump_table({4: "a"}, range(4, 5), "other").split() == ["jmp", "a"]


def test_gaps_are_filled():
    program = assembled("hold\n.align 4\na: hold\n.align 1\nhold")
    assert program.labels == {"a": 4} and [fields(program, k).get("cond", 0) for k in range(6)] == [
        0,
        3,
        3,
        3,
        0,
        0,
    ]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.data())
def test_fields_lie_side_by_side(widths, data):
    layout = Layout(**{f"f{k}": width for k, width in enumerate(widths)})
    values = {f"f{k}": data.draw(st.integers(0, 2**width - 1)) for k, width in enumerate(widths)}
    word, low = layout.encode(values), 0
    for field, width in layout.items():
        assert word >> low & (1 << width) - 1 == values[field]
        low += width
    assert word >> low == 0 and layout.describe(word) == " ".join(
        f"{field}={value}" for field, value in values.items() if value
    )


def test_a_layout_that_cannot_hold_its_enumeration():
    with pytest.raises(
        ValueError, match="Field kind of a micro-instruction has 2 bits, not enough for 4"
    ):
        Layout(kind=(2, enum.IntEnum("Kind", "A B C D")))


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "hold\nturn 3",
            "text, line 2: No operation 'turn' in 'turn 3', expected one of hold, wait, count",
        ),
        ("a: hold; a: hold", "text, line 1: Label a stands twice"),
        ("hold\na:\n", "text, line 2: Label a names no statement"),
        ("hold\n3: hold", "text, line 2: '3' is no label, expected a name"),
        (
            "hold ?ALWAYS b",
            "No label 'b' for 'hold ?ALWAYS b', expected a label of the microprogram",
        ),
        (
            "hold ?NEVER b",
            "Nothing is called 'NEVER' for 'hold ?NEVER b', expected one of ALWAYS, BUSY",
        ),
        ("hold ?ALWAYS", "Operand '?ALWAYS' in 'hold ?ALWAYS' lacks its label"),
        ("count A,D", "Nothing is called 'D' for 'count A,D', expected one of A, B, C"),
        ("count A,C,A", "A stands twice in 'count A,C,A', expected each name once"),
        ("count", "Operation 'count' has 0 operands, not 1"),
        ("wait 1", "Operation 'wait 1' has 1 operands, not 0"),
        (
            "hold $SKY",
            "No operand '$SKY' in 'hold $SKY', expected a name or >... or *... or ?... or !...",
        ),
        ("hold >A *3", "Operand '*3' in 'hold >A *3' sets rd, which is set already"),
        ("hold #1 #2", "Operand '#2' in 'hold #1 #2' sets rs, which is set already"),
        ("hold *8", "Repetition in 'hold *8' is not from 1 to 7"),
        ("hold *many", "'many' in 'hold *many' is no repetition, expected a number or *"),
        ("hold #many", "'many' in 'hold #many' is no constant, expected a number"),
        ("hold !GO:many", "'many' in 'hold !GO:many' is no argument, expected a number"),
        (
            "hold !GO:16",
            "Field target of a micro-instruction has 8 bits, not enough for 257, in 'hold !GO:16'",
        ),
        (
            "hold TABLE.8",
            "No array 'TABLE' with entry 8 for 'hold TABLE.8', expected one of TABLE.0 to TABLE.7",
        ),
        ("hold TABLE.-1", "No array 'TABLE' with entry -1 for 'hold TABLE.-1'"),
        ("hold TABLE.X", "'X' in 'hold TABLE.X' is no entry, expected a number"),
        ("hold SKY+X", "No array 'SKY' with entry 0 for 'hold SKY+X'"),
        ("hold >T+X", "'T+X' in 'hold >T+X' is no register's name, expected NAME, NAME.n or #n"),
        (
            "hold >#3",
            "Nothing can be stored in 'hold >#3': '#3' is a constant, expected a register",
        ),
        ("hold >A; hold >B; hold >C; hold >D\nhold >E", "text, line 2: No register is left for E"),
        ("hold #1; hold #2; hold #3; hold #4\nhold #5", "text, line 2: No register is left for #5"),
        (
            "hold >ADDRESS\nhold ADRESS",
            "text, line 2: Variable ADRESS in 'hold ADRESS' is never written",
        ),
        (".align none", "'none' in '.align none' is no alignment, expected a number"),
        (".align 0", "Alignment in '.align 0' is not from 1 to 16"),
        (".org 3", "No directive '.org 3', expected '.align n' or '.also NEW OLD'"),
        (".also B A; .also B C", "Variable B has a place, not that of C"),
    ],
)
def test_bad_statements(text, message):
    with pytest.raises(MicrocodeError, match=re.escape(message)):
        assembled(text)


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("hold\n" * 17, {}, "The microprogram has 17 instructions, more than 16"),
        ("hold", {"entries": ("start", "idle")}, "The microprogram has no entry idle, start"),
        ("hold", {"values": {"TABLE": [0] * 9}}, "Array TABLE has 8 entries, not 9"),
        ("hold", {"constants": {str(k): k for k in range(5)}}, "No register is left for 4"),
    ],
)
def test_bad_programs(text, options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        assembled(text, **options)


@pytest.mark.parametrize("text", ["hold >LIMIT", ".also OTHER LIMIT; hold >OTHER"])
def test_named_constants_stay_what_they_are(text):
    with pytest.raises(
        MicrocodeError,
        match=r"Nothing can be stored in 'hold >\w+': \w+ is a constant, expected a register",
    ):
        assembled(text, constants={"LIMIT": 9})


@pytest.mark.parametrize("number, entries, multiple", [(12, 8, 8), (8, 9, 16), (1, 2, 2)])
def test_arrays_that_an_index_does_not_reach(number, entries, multiple):
    with pytest.raises(
        ValueError,
        match=(
            f"^Array TABLE of {entries} entries has number {number}, expected a multiple of "
            f"{multiple}$"
        ),
    ):
        RegisterFile(32, arrays={"TABLE": (number, entries)})


def test_registers_of_a_machine_without_variables():
    machine = MachineFormat(
        MACHINE.layout, MACHINE.operations, RegisterFile(8, {"A": 0, "B": 1}), size=4
    )
    with pytest.raises(
        MicrocodeError, match="text, line 1: No register 'C' for 'hold C', expected one of A, B"
    ):
        assembled("hold C", machine)


def test_gaps_of_a_machine_without_a_filler():
    assert assembled(".align 4; st v", SHARED).words == [0]
    with pytest.raises(
        MicrocodeError,
        match="Nothing fills the gap of '.align 4': the machine's declaration has no filler",
    ):
        assembled("st v\n.align 4\nst v", SHARED)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "load #1 >T\nload T",
            "text, line 2: Micro-instruction 'load T' reads what the one before it writes",
        ),
        ("load #1 >T; hold; load T", None),
    ],
)
def test_hazards_of_the_guide(text, message):
    space = {}
    exec(re.search(r"```python\n(.*?)program = ", GUIDE, re.DOTALL)[1], space)
    if message is None:
        assert len(assembled(text, space["MACHINE"]).words) == 3
    else:
        with pytest.raises(MicrocodeError, match=message):
            assembled(text, space["MACHINE"])


def test_it_needs_no_fpga_tool_and_no_core():
    check = (
        "import sys, quintet.gateware.microcode.program, quintet.gateware.microcode.machine; "
        "sys.exit(', '.join({'amaranth', 'numpy', 'quintet.gateware.cores'} & "
        "set(sys.modules)) or 0)"
    )
    assert (
        subprocess.run([sys.executable, "-c", check], capture_output=True, text=True).stderr == ""
    )
