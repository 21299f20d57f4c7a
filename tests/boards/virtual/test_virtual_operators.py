# SPDX-License-Identifier: BSD-2-Clause
"""Operators of CXXRTL's runtime as one expression each: the same values as whole numbers in
Python."""

import random
import subprocess

import pytest

from quintet.boards.virtual.operators import _MEMBERS, OPERATORS, direct_operators
from quintet.boards.virtual.quicken import one_chunk
from quintet.boards.virtual.toolchain import find_compiler, find_yosys

#: Widths of a result and its operands: of one chunk (32 bits) and of more.
WIDTHS = [(1, 1, 1), (1, 8, 8), (8, 8, 8), (32, 32, 32), (9, 8, 5), (3, 8, 2), (32, 31, 1)]
WIDTHS += [(16, 5, 12), (33, 32, 32), (8, 33, 8), (40, 33, 2), (2, 64, 65)]
#: Width of a value, and bits of it that are taken.
SLICES = [(1, 0, 0), (8, 7, 0), (8, 5, 5), (32, 31, 0), (32, 31, 31), (40, 33, 30), (64, 63, 32)]
SLICES += [(64, 62, 31), (64, 63, 0), (70, 69, 64), (175, 130, 99), (175, 97, 96), (175, 174, 5)]
#: Widths of operands of a concatenation, the highest first.
CONCATENATIONS = [(1, 1), (31, 1), (1, 31), (32, 1), (1, 32), (16, 17), (7, 1, 24), (40, 3, 60)]
CONCATENATIONS += [(1,) * 33, (32, 32, 32), (5, 31, 31, 31, 64, 1)]


def signed(value, width):
    return value - (value >> (width - 1) << width)


#: Operator -> its result before it is cut to its width; of two numbers and their widths.
RESULTS = {
    "logic_not": lambda a, b, wa, wb: not a,
    "logic_and": lambda a, b, wa, wb: bool(a and b),
    "logic_or": lambda a, b, wa, wb: bool(a or b),
    "reduce_and": lambda a, b, wa, wb: a == (1 << wa) - 1,
    "reduce_or": lambda a, b, wa, wb: a != 0,
    "reduce_bool": lambda a, b, wa, wb: a != 0,
    "not_u": lambda a, b, wa, wb: ~a,
    "and_uu": lambda a, b, wa, wb: a & b,
    "or_uu": lambda a, b, wa, wb: a | b,
    "xor_uu": lambda a, b, wa, wb: a ^ b,
    "xnor_uu": lambda a, b, wa, wb: ~(a ^ b),
    "eq_uu": lambda a, b, wa, wb: a == b,
    "ne_uu": lambda a, b, wa, wb: a != b,
    "lt_uu": lambda a, b, wa, wb: a < b,
    "le_uu": lambda a, b, wa, wb: a <= b,
    "gt_uu": lambda a, b, wa, wb: a > b,
    "ge_uu": lambda a, b, wa, wb: a >= b,
    "lt_ss": lambda a, b, wa, wb: signed(a, wa) < signed(b, wb),
    "le_ss": lambda a, b, wa, wb: signed(a, wa) <= signed(b, wb),
    "gt_ss": lambda a, b, wa, wb: signed(a, wa) > signed(b, wb),
    "ge_ss": lambda a, b, wa, wb: signed(a, wa) >= signed(b, wb),
    "add_uu": lambda a, b, wa, wb: a + b,
    "sub_uu": lambda a, b, wa, wb: a - b,
    "mul_uu": lambda a, b, wa, wb: a * b,
    "neg_s": lambda a, b, wa, wb: -signed(a, wa),
    "add_ss": lambda a, b, wa, wb: signed(a, wa) + signed(b, wb),
    "sub_ss": lambda a, b, wa, wb: signed(a, wa) - signed(b, wb),
    "mul_ss": lambda a, b, wa, wb: signed(a, wa) * signed(b, wb),
}
ONE_OPERAND = {"logic_not", "reduce_and", "reduce_or", "reduce_bool", "not_u", "neg_s"}


def numbers(rnd, width):
    """The ends of a range, its middle, and a random number."""
    return [0, (1 << width) - 1, 1 << (width - 1), rnd.getrandbits(width)]


def literal(value, width):
    chunks = ", ".join(f"{value >> at & 0xFFFF_FFFF:#x}u" for at in range(0, width, 32))
    return f"value<{width}>{{{chunks}}}"


class Program:
    """A C++ program that prints a value a line, and the lines that are expected."""

    def __init__(self):
        self.body, self.expected, self.names = [], [], []

    def print(self, name, expression, value, width):
        self.body.append(f"\tprint({expression});")
        self.names.append(name)
        self.expected.append(f"{width}'{value & ((1 << width) - 1):0{(width + 3) // 4}x}")

    def variable(self, value, width):
        """A variable whose value the compiler does not know."""
        name = f"v{len(self.body)}"
        self.body.append(f"\tvalue<{width}> {name} = unknown({literal(value, width)});")
        return name

    @property
    def text(self):
        return "\n".join(
            [
                "#include <iostream>",
                "#include <cxxrtl/cxxrtl.h>",
                "using namespace cxxrtl;",
                "using namespace cxxrtl_yosys;",
                "template<size_t N> void print(const value<N> &a) { std::cout << a << '\\n'; }",
                "template<size_t N> __attribute__((noinline)) value<N> unknown(value<N> a) {",
                '\tasm volatile("" : : "r"(&a) : "memory");',
                "\treturn a;",
                "}",
                "int main() {",
                *self.body,
                "}",
                "",
            ]
        )


def operators(program, rnd, tried):
    for name in tried:
        for y, wide, other in WIDTHS:
            for a in numbers(rnd, wide):
                b = rnd.choice([*numbers(rnd, other), a & ((1 << other) - 1)])
                operands = [program.variable(a, wide)]
                if name not in ONE_OPERAND:
                    operands.append(program.variable(b, other))
                program.print(
                    (name, y, wide, other, a, b),
                    f"{name}<{y}>({', '.join(operands)})",
                    int(RESULTS[name](a, b, wide, other)),
                    y,
                )


def expressions(program, rnd):
    for wide, stop, start in SLICES:
        for value in numbers(rnd, wide):
            name = program.variable(value, wide)
            taken = value >> start
            width = stop - start + 1
            program.print(
                ("slice", wide, stop, start), f"{name}.slice<{stop},{start}>().val()", taken, width
            )
            program.print(
                ("slice of a concatenation", wide, stop, start),
                f"{name}.concat(value<3>{{5u}}).slice<{stop + 3},{start + 3}>().val()",
                taken,
                width,
            )
    for widths in CONCATENATIONS:
        for turn in range(3):
            expression, whole = "", 0
            for position, width in enumerate(widths):
                value = numbers(rnd, width)[(turn + position) % 4]
                operand = program.variable(value << 2, width + 2)
                operand = f"{operand}.slice<{width + 1},2>()"
                if (turn + position) % 2:
                    operand = program.variable(value, width)
                expression = f"{expression}.concat({operand})" if expression else operand
                whole = whole << width | value
            program.print(("concat", widths), f"{expression}.val()", whole, sum(widths))
    for count in (1, 8, 32, 33):
        for bit in (0, 1):
            name = program.variable(bit, 1)
            program.print(("repeat", count), f"{name}.repeat<{count}>()", -bit, count)
    for width in (1, 32, 33):
        for value in numbers(rnd, width):
            name = program.variable(value, width)
            told = f"({name} ? value<1>{{1u}} : value<1>{{0u}})"
            program.print(("bool", width), told, int(value != 0), 1)


@pytest.fixture(scope="module")
def header():
    return direct_operators(one_chunk((find_yosys().runtime / "cxxrtl" / "cxxrtl.h").read_text()))[
        0
    ]


def run(program, header, folder):
    (folder / "cxxrtl").mkdir()
    (folder / "cxxrtl" / "cxxrtl.h").write_text(header)
    (folder / "main.cpp").write_text(program.text)
    subprocess.run(
        [
            *find_compiler().command,
            *("-std=c++17", "-O1", "-w", "-I.", f"-I{find_yosys().runtime}"),
            *("main.cpp", "-o", "main"),
        ],
        cwd=folder,
        check=True,
    )
    found = subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout
    return [
        (name, got, expected)
        for name, got, expected in zip(
            program.names, found.splitlines(), program.expected, strict=True
        )
        if got != expected
    ]


def test_every_operator_is_replaced():
    """A release of yosys that writes its runtime in another way would make simulations slow to
    compile."""
    header = (find_yosys().runtime / "cxxrtl" / "cxxrtl.h").read_text()
    assert direct_operators(one_chunk(header))[1] == len(OPERATORS) + len(_MEMBERS)
    assert RESULTS.keys() == OPERATORS.keys()


def test_another_runtime_stays():
    assert direct_operators("struct value;") == ("struct value;", 0)


def test_values_are_those_of_whole_numbers(header, tmp_path):
    program, rnd = Program(), random.Random(7)
    operators(program, rnd, OPERATORS)
    expressions(program, rnd)
    assert run(program, header, tmp_path) == []


@pytest.mark.parametrize("name, chunk", [("lt_ss", "A < B"), ("not_u", "A")])
def test_a_wrong_operator_is_found(name, chunk, tmp_path, monkeypatch):
    monkeypatch.setitem(OPERATORS, name, chunk)
    wrong = direct_operators(one_chunk((find_yosys().runtime / "cxxrtl" / "cxxrtl.h").read_text()))[
        0
    ]
    program = Program()
    operators(program, random.Random(7), [name])
    assert {found[0][0] for found in run(program, wrong, tmp_path)} == {name}
