# SPDX-License-Identifier: BSD-2-Clause
"""What is rewritten of CXXRTL's output, and what is left alone; that it means the same every simulation shows."""
import re

import pytest

from quintet.boards.virtual import quicken
from quintet.boards.virtual.toolchain import find_yosys

LOOP = "for (size_t n = 0; n < chunks; n++)"


@pytest.mark.parametrize("body", ["\n\t\tx[n] = y[n];", " {\n\tx[n] = y[n];\n\tif (z) { w; }\n}", "\n\tif (x[n] != 0)\n\t\treturn false;",
                                  "\n\tfor (int k = 0; k < f(n); k++)\n\t\tx[n] += k;"])
def test_loops_over_chunks_are_written_out(body):
    assert quicken.one_chunk(f"a;\n{LOOP}{body}\nb;") == (
        f"a;\nif constexpr (chunks == 1) {{ constexpr size_t n = 0; {body} }} else {LOOP}{body}\nb;")
    result = f"for (size_t n = 0; n < result.chunks; n++){body}"
    assert f"(decltype(result)::chunks == 1) {{ constexpr size_t n = 0; {body} }}" in quicken.one_chunk(result)


@pytest.mark.parametrize("text", [f"{LOOP} {{ if (x) break; }} c;", f"{LOOP} {{ if (x) continue; y; }}",
                                  "for (size_t n = 1; n < chunks; n++) x;", "for (auto &n : chunks) x;"])
def test_other_loops_stay(text):
    assert quicken.one_chunk(text) == text


def test_an_open_bracket_is_refused():
    with pytest.raises(ValueError, match="bracket '{' at 39 is never closed"):
        quicken.one_chunk(f"{LOOP}\n   {{ x;")


def test_the_runtime_has_what_is_looked_for():
    """A release of yosys that writes its loops in another way would make simulations slow to compile."""
    header = (find_yosys().runtime / "cxxrtl" / "cxxrtl.h").read_text()
    text = quicken.one_chunk(header)
    assert text.count("if constexpr (chunks == 1) ") >= 8 and text.count("if constexpr (chunks == 1 &&") >= 4
    assert len(re.findall(r"\{", text)) - len(re.findall(r"\}", text)) == header.count("{") - header.count("}")


def test_neighbouring_registers_share_a_branch():
    def block(clock, *lines):
        return "".join(f"{line}\n" for line in (f"\tif (posedge_{clock}) {{", *(f"\t\t{line}" for line in lines), "\t}"))
    text = ("\t// cells a\n" + block("p_clk", "a = 1;") + "\t// cells b\n" + block("p_clk", "b = 2;", "if (c) {", "}") + "\tx = y;\n"
            + block("p_clk", "c = 3;") + block("p_second", "d = 4;") + block("p_second", "e = 5;") + "\treturn;\n")
    assert quicken.join_edges(text) == (
        block("p_clk", "a = 1;", "b = 2;", "if (c) {", "}") + "\tx = y;\n" + block("p_clk", "c = 3;")
        + block("p_second", "d = 4;", "e = 5;") + "\treturn;\n")


def test_registers_are_copied_and_memories_not():
    text = "if (p_a.commit(observer)) changed = true; if (memory_p_b.commit(observer)) changed = true;"
    assert quicken.copy_registers(text) == "p_a.curr = p_a.next; if (memory_p_b.commit(observer)) changed = true;"


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
    header = "struct p_top : public module {\n\twire<8> p_c;\n\tbool eval(performer *performer = nullptr) override;\n};\n"
    text, members = quicken.cut_up(source, header, 1)
    parts = [part.split("\n}\n")[0].split("\n") for part in text.split("void p_top::eval_")[1:]]
    assert [part[0] for part in parts] == [f"{k}(performer *performer) {{" for k in range(len(parts))]
    head = "\tbool posedge_p_clk = this->posedge_p_clk();"
    inner = [part[2:] for part in parts if part[1] == head]
    assert inner[0] == ["\tp_a = f(value<1>{0u});"]
    assert inner[1][0].startswith("\tauto tmp_0") and len(inner[1]) == 7
    assert inner[2:] == [["\tif (posedge_p_clk) {", "\t\tp_c.next = p_b;", "\t}"],
                         ["\tif (posedge_p_clk) {", "\t\tif (p_d.curr) {", "\t\t\tp_e.next = p_b;", "\t\t}", "\t}"],
                         ["\tif (posedge_p_clk) {", "\t\tauto tmp_1 = memory_index(p_c.curr);", "\t\tif (p_d.curr) {",
                          '\t\t\tCXXRTL_ASSERT(tmp_1.valid && "out of bounds read");', "\t\t\tp_f.next = m[tmp_1.index];", "\t\t}", "\t}"],
                         ["\tp_out = p_b;"]]
    assert text.startswith("before\n") and text.endswith("\treturn converged;\n}\nafter\n")
    for line in ("\tvalue<1> p_a;", "\tvalue<8> p_b;", "\tvoid eval_5(performer *performer);"):
        assert line in members and line not in text
    whole, kept = quicken.cut_up(source, header, 1000)
    assert whole.count("void p_top::eval_") == 1 and "\tvalue<8> p_b;" in whole and "p_b" not in kept
