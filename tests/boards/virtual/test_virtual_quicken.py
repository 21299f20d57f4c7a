# SPDX-License-Identifier: BSD-2-Clause
"""Rewriting of CXXRTL's output, and the parts that stay; that it means the same every
simulation shows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.boards.virtual import quicken
from quintet.boards.virtual.statements import merged_scopes, statements, without_comments
from quintet.boards.virtual.toolchain import find_yosys
from tests.support.cut_designs import same_statements, undeclared

LOOP = "for (size_t n = 0; n < chunks; n++)"


@pytest.mark.parametrize(
    "body",
    [
        "\n\t\tx[n] = y[n];",
        " {\n\tx[n] = y[n];\n\tif (z) { w; }\n}",
        "\n\tif (x[n] != 0)\n\t\treturn false;",
        "\n\tfor (int k = 0; k < f(n); k++)\n\t\tx[n] += k;",
    ],
)
def test_loops_over_chunks_are_written_out(body):
    assert quicken.one_chunk(f"a;\n{LOOP}{body}\nb;") == (
        f"a;\nif constexpr (chunks == 1) {{ constexpr size_t n = 0; {body} }} else {LOOP}{body}\nb;"
    )
    result = f"for (size_t n = 0; n < result.chunks; n++){body}"
    assert (
        f"(decltype(result)::chunks == 1) {{ constexpr size_t n = 0; {body} }}"
        in quicken.one_chunk(result)
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{LOOP} {{ if (x) break; }} c;",
        f"{LOOP} {{ if (x) continue; y; }}",
        "for (size_t n = 1; n < chunks; n++) x;",
        "for (auto &n : chunks) x;",
    ],
)
def test_other_loops_stay(text):
    assert quicken.one_chunk(text) == text


def test_an_open_bracket_is_refused():
    with pytest.raises(ValueError, match="bracket '{' at 39 is never closed"):
        quicken.one_chunk(f"{LOOP}\n   {{ x;")


def test_the_runtime_has_what_is_looked_for():
    """A release of yosys that writes its loops in another way would make simulations slow to
    compile."""
    header = (find_yosys().runtime / "cxxrtl" / "cxxrtl.h").read_text()
    text = quicken.one_chunk(header)
    assert (
        text.count("if constexpr (chunks == 1) ") >= 8
        and text.count("if constexpr (chunks == 1 &&") >= 4
    )
    assert len(re.findall(r"\{", text)) - len(re.findall(r"\}", text)) == header.count(
        "{"
    ) - header.count("}")


def evaluating(*lines):
    return "".join(
        f"{line}\n" for line in ("bool p_top::eval(performer *performer) {", *lines, "}")
    )


def edge(clock, *lines):
    return [f"\tif (posedge_{clock}) {{", *(f"\t\t{line}" for line in lines), "\t}"]


def test_neighbouring_registers_share_a_branch():
    text = evaluating(
        "\t// cells a",
        *edge("p_clk", "a = 1;"),
        "\t// cells b",
        *edge("p_clk", "b = 2;", "if (c) {", "}"),
        "\tx = y;",
        *edge("p_clk", "c = 3;"),
        *edge("p_second", "d = 4;"),
        *edge("p_second", "e = 5;"),
        "\treturn;",
    )
    assert (
        quicken.join_edges("before\n" + text + "after\n")
        == "before\n"
        + evaluating(
            *edge("p_clk", "a = 1;", "b = 2;", "if (c) {", "}"),
            "\tx = y;",
            *edge("p_clk", "c = 3;"),
            *edge("p_second", "d = 4;", "e = 5;"),
            "\treturn;",
        )
        + "after\n"
    )


def test_what_else_than_an_edge_is_tested_stays_apart():
    other = [
        "\tif (posedge_p_clk) {",
        "\t\tc = 3;",
        "\t} else {",
        "\t\tc = 4;",
        "\t}",
        "\tif (posedge_p_clk) d = 5;",
    ]
    text = evaluating(
        *edge("p_clk", "a = 1;"), *other, *edge("p_clk", "b = 2;"), "\treturn converged;"
    )
    assert quicken.join_edges(text) == text


def test_registers_are_copied_and_memories_not():
    text = (
        "if (p_a.commit(observer)) changed = true; if (memory_p_b.commit(observer)) changed = true;"
    )
    assert (
        quicken.copy_registers(text)
        == "p_a.curr = p_a.next; if (memory_p_b.commit(observer)) changed = true;"
    )


def test_a_large_function_is_cut():
    """Between statements; what belongs together stays, what two parts use becomes a member."""
    source = """before
bool p_top::eval(performer *performer) {
	bool converged = true;
	bool posedge_p_clk = this->posedge_p_clk();
	value<1> p_a;
	value<8> p_b;
	p_a = f(value<1>{0u});
	auto tmp_0 = memory_index(p_a);
	CXXRTL_ASSERT(tmp_0.valid && "out of bounds read");
	if(tmp_0.valid) {
		p_b = m[tmp_0.index];
	} else {
		p_b = value<8> {};
	}
	if (posedge_p_clk) {
		p_c.next = p_b;
		if (p_d.curr) {
			p_e.next = p_b;
		}
		auto tmp_1 = memory_index(p_c.curr);
		// cells m
		if (p_d.curr) {
			CXXRTL_ASSERT(tmp_1.valid && "out of bounds read");
			p_f.next = m[tmp_1.index];
		}
	}
	p_out = p_b;
	return converged;
}
after
"""
    header = (
        "struct p_top : public module {\n\twire<8> p_c;\n\tbool eval(performer *performer = "
        "nullptr) override;\n};\n"
    )
    text, members = quicken.cut_up(source, header, 1)
    parts = [part.split("\n}\n")[0].split("\n") for part in text.split("void p_top::eval_")[1:]]
    assert [part[0] for part in parts] == [
        f"{k}(performer *performer) {{" for k in range(len(parts))
    ]
    head = "\tbool posedge_p_clk = this->posedge_p_clk();"
    inner = [part[2:] for part in parts if part[1] == head]
    assert inner[0] == ["\tp_a = f(value<1>{0u});"]
    assert inner[1][0].startswith("\tauto tmp_0") and len(inner[1]) == 7
    assert inner[2:] == [
        ["\tif (posedge_p_clk) {", "\t\tp_c.next = p_b;", "\t}"],
        ["\tif (posedge_p_clk) {", "\t\tif (p_d.curr) {", "\t\t\tp_e.next = p_b;", "\t\t}", "\t}"],
        [
            "\tif (posedge_p_clk) {",
            "\t\tauto tmp_1 = memory_index(p_c.curr);",
            "\t\tif (p_d.curr) {",
            '\t\t\tCXXRTL_ASSERT(tmp_1.valid && "out of bounds read");',
            "\t\t\tp_f.next = m[tmp_1.index];",
            "\t\t}",
            "\t}",
        ],
        ["\tp_out = p_b;"],
    ]
    assert text.startswith("before\n") and text.endswith("\treturn converged;\n}\nafter\n")
    for line in ("\tvalue<1> p_a;", "\tvalue<8> p_b;", "\tvoid eval_5(performer *performer);"):
        assert line in members and line not in text
    whole, kept = quicken.cut_up(source, header, 1000)
    assert (
        whole.count("void p_top::eval_") == 1 and "\tvalue<8> p_b;" in whole and "p_b" not in kept
    )


#: What CXXRTL writes of a memory's port whose address some cells compute, as the OPU's small engine
#: has it: comments stand between an index and its use, in the block and outside.
HARD = evaluating(
    "\tbool converged = true;",
    "\tbool posedge_p_clk = this->posedge_p_clk();",
    "\tvalue<8> p_a;",
    "\tvalue<1> p_b;",
    "\tbool early = p_c.curr;",
    "\tauto cell_next = p_c.curr; // {",
    "\tp_a = f(cell_next);",
    '\t// cells between { and "',
    "\tp_b = g(\"// } \", '}', p_a);",
    "\tcell = cell_next;",
    "\tp_d.next = early;",
    *edge(
        "p_clk",
        "auto tmp_0 = memory_index(p_a, 0, 8);",
        "auto tmp_1 = memory_index(p_b, 0, 8);",
        "// cells {",
        'CXXRTL_ASSERT(tmp_0.valid && "out of bounds read");',
        "if(tmp_0.valid) {",
        "\tvalue<8> tmp_2 = m[tmp_0.index];",
        "\t// cells }",
        "\tp_c.next = tmp_2;",
        "} else {",
        "\tp_c.next = value<8> {};",
        "}",
        "/* cells",
        " ( */",
        "if(tmp_1.valid) {",
        "\tp_d.next = p_a;",
        "}",
        "p_e.next = p_b;",
    ),
    "\tp_a = h(p_a);",
    "\treturn converged;",
)
HEADER = (
    "struct p_top : public module {\n\twire<8> p_c;\n\twire<8> p_d;\n\twire<1> p_e;\n"
    "\tvalue<8> cell;\n\tmemory<8> m;\n"
    "\tbool posedge_p_clk() const {\n\t}\n\tbool eval(performer *performer = nullptr) "
    "override;\n};\n"
)
RUNTIME = "memory_index CXXRTL_ASSERT valid index value f g h"


@pytest.mark.parametrize("size", [1, 60, 120, 300, 10_000])
def test_comments_part_no_name_from_its_use(size):
    joined = quicken.join_edges(HARD)
    text, header = quicken.cut_up(joined, HEADER, size)
    assert (
        undeclared(text, header, RUNTIME) == []
        and same_statements(HARD, joined)
        and same_statements(HARD, text)
    )
    parts = text.split("void p_top::eval_")[1:]
    assert len(parts) == {1: 4, 60: 3, 120: 3, 300: 2, 10_000: 1}[size]
    for name in ("tmp_0", "tmp_1", "tmp_2", "cell_next", "early"):
        assert (
            len({number for number, part in enumerate(parts) if re.search(rf"\b{name}\b", part)})
            == 1
        )


def test_the_check_of_names_can_fail():
    """A name used before it is declared, in another function, behind its scope; a function that is
    taken for a value."""
    cut = (
        "void p_top::eval_0(performer *performer) {\n\tauto tmp_0 = f(p_a);\n\tp_c.next = "
        "tmp_1;\n\tauto tmp_1 = f();\n}\n"
        "void p_top::eval_1(performer *performer) {\n\tif (posedge_p_clk) {\n\t\tvalue<8> x = "
        "tmp_0;\n\t}\n\tp_c.next = x;\n}\n"
    )
    assert undeclared(cut, HEADER, RUNTIME) == [
        ("eval_0", "p_a"),
        ("eval_0", "tmp_1"),
        ("eval_1", "posedge_p_clk"),
        ("eval_1", "tmp_0"),
        ("eval_1", "x"),
    ]
    swapped = HARD.replace("p_e.next = p_b;", "p_e.next = p_a;")
    assert not same_statements(HARD, swapped)


@given(
    st.recursive(
        st.sampled_from(
            [
                "auto tmp = f(x);",
                "p.next = tmp;",
                'value<4> tmp = g("}");',
                "// tmp {\n",
                "q = '{';",
                "/* } */",
                "r(tmp) = value<1>{0u};",
            ]
        ),
        lambda inner: st.lists(inner, max_size=5).map(
            lambda parts: "if (c[tmp]) {" + "\n".join(["", *parts, ""]) + "} else { }"
        ),
        max_leaves=25,
    ),
    st.data(),
)
def test_any_run_of_the_pieces_is_a_scope(text, data):
    """Pieces put together are the scope again, and what one of them declares no later one names."""
    scope = without_comments(text)
    parts = statements(scope)
    assert "".join(parts) == scope.rstrip() or not scope.strip()
    pieces = merged_scopes(parts)
    assert "".join(pieces) == "".join(parts)
    for number, piece in enumerate(pieces):
        if re.match(r"\s*(auto|value<4>) tmp\b", piece):
            assert not any(re.search(r"\btmp\b", later) for later in pieces[number + 1 :])


@pytest.mark.parametrize(
    "text, message",
    [
        ("switch (x) { }", "statement 'switch' at 0 is not known here"),
        ("a; else b;", "statement 'else' at 3 is not known here"),
        ("a = (b];", "bracket ']' at 6 closes another one"),
        ("a = b", "statement at 0 never ends"),
        ("a = b } c;", "statement at 0 never ends"),
        ("if (a) { b;", "bracket '{' at 7 is never closed"),
    ],
)
def test_what_is_not_understood_is_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        statements(text)


def contents(width, rows, place=0):
    """Initial values of a memory as CXXRTL writes them."""
    values = "".join(f"\t\tvalue<{width}>{{{row}}},\n" for row in rows)
    return (
        f"\tstatic const value<{width}> mem_init_1[{len(rows)}] {{\n{values}\t}};\n"
        f"\tstd::copy(std::begin(mem_init_1), std::end(mem_init_1), "
        f"&memory_p_a.data[{place}]);\n"
    )


def test_contents_of_memories_are_words_up_to_the_last_that_is_not_zero():
    text = contents(40, ["0x00000001u,0x02u", "0u,0u", "0x00000003u,0x00u", "0x00000000u,0x00u"])
    assert quicken.plain_memories(f"\ta;\n{text}\tb;\n") == (
        "\ta;\n"
        "\tstd::fill_n(&memory_p_a.data[0], 4, value<40>{});\n"
        "\tstatic const uint32_t mem_init_1[] {\n"
        "\t\t0x1u, 0x2u, 0x0u, 0x0u, 0x3u,\n"
        "\t};\n"
        '\tstatic_assert(sizeof(value<40>) == 8, "");\n'
        "\tstd::memcpy(static_cast<void *>(&memory_p_a.data[0]), mem_init_1, sizeof mem_init_1);\n"
        "\tb;\n"
    )


def test_a_memory_of_zeros_has_no_words():
    text = contents(8, ["0x00u"] * 3, place=7)
    assert quicken.plain_memories(text) == ("\tstd::fill_n(&memory_p_a.data[7], 3, value<8>{});\n")


def test_contents_that_are_written_in_another_way_stay():
    text = contents(40, ["0x1u"])
    assert quicken.plain_memories(text) == text
