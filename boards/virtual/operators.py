# SPDX-License-Identifier: BSD-2-Clause
"""Replacement of operators in CXXRTL's runtime: one expression each, where every value has one
chunk.

The runtime computes an operator in several calls, each of which fills a value of its own: a cast of
every operand, a loop over chunks, a mask. A design calls thousands of operators, nearly all of them
on values of one chunk, and the optimiser spends most of its time on what these calls leave behind.
Measured: docs/lessons.md.
"""

import re
from functools import partial

__all__ = ["OPERATORS", "direct_operators"]

#: Operator of the runtime -> the result's chunk. ``A`` and ``B`` are the operands' chunks; ``SA``
#: and ``SB`` are these with the sign carried through the whole chunk.
OPERATORS = {
    "logic_not": "A == 0",
    "logic_and": "A != 0 && B != 0",
    "logic_or": "A != 0 || B != 0",
    "reduce_and": "A == value<BitsA>::msb_mask",
    "reduce_or": "A != 0",
    "reduce_bool": "A != 0",
    "not_u": "~A",
    "and_uu": "A & B",
    "or_uu": "A | B",
    "xor_uu": "A ^ B",
    "xnor_uu": "~(A ^ B)",
    "eq_uu": "A == B",
    "ne_uu": "A != B",
    "lt_uu": "A < B",
    "le_uu": "A <= B",
    "gt_uu": "A > B",
    "ge_uu": "A >= B",
    "lt_ss": "int32_t(SA) < int32_t(SB)",
    "le_ss": "int32_t(SA) <= int32_t(SB)",
    "gt_ss": "int32_t(SA) > int32_t(SB)",
    "ge_ss": "int32_t(SA) >= int32_t(SB)",
    "add_uu": "A + B",
    "sub_uu": "A - B",
    "mul_uu": "A * B",
    "neg_s": "-SA",
    "add_ss": "SA + SB",
    "sub_ss": "SA - SB",
    "mul_ss": "SA * SB",
}
_CHUNK = "chunk_traits<chunk_t>::bits"
_FUNCTION = (
    r"(value<BitsY> {name}\(const value<BitsA> &a(, const value<BitsB> &b)?\) \{{\n)"
    r"((?:\t[^\n]*\n)+)\}}"
)
#: Texts of the runtime, and what stands for each.
_MEMBERS = (
    # A slice within one chunk, or of two neighbours.
    (
        """\
		return static_cast<const value<T::bits> &>(expr)
			.template rtrunc<T::bits - Start>()
			.template trunc<bits>();
""",
        f"""\
		constexpr size_t low = Start / {_CHUNK}, high = Stop / {_CHUNK}, by = Start % {_CHUNK};
		const value<T::bits> &whole = expr;
		if constexpr (low == high) {{
			return value<bits>{{ chunk_t(whole.data[low] >> by & value<bits>::msb_mask) }};
		}} else if constexpr (bits <= {_CHUNK}) {{
			return value<bits>{{ chunk_t((whole.data[low] >> by |
				whole.data[high] << ({_CHUNK} - by)) & value<bits>::msb_mask) }};
		}} else {{
			return whole.template rtrunc<T::bits - Start>().template trunc<bits>();
		}}
""",
    ),
    # A concatenation: each of its operands puts its bits in their place.
    (
        """\
		value<bits> ms_shifted = static_cast<const value<T::bits> &>(ms_expr)
			.template rzext<bits>();
		value<bits> ls_extended = static_cast<const value<U::bits> &>(ls_expr)
			.template zext<bits>();
		return ms_shifted.bit_or(ls_extended);
	}
""",
        f"""\
		if constexpr (bits <= {_CHUNK}) {{
			return value<bits>{{ chunk_t(
				static_cast<const value<T::bits> &>(ms_expr).data[0] << U::bits |
				static_cast<const value<U::bits> &>(ls_expr).data[0]) }};
		}} else {{
			value<bits> result;
			place<0>(result);
			return result;
		}}
	}}

	template<size_t At, size_t Whole>
	CXXRTL_ALWAYS_INLINE
	void place(value<Whole> &result) const {{
		ms_expr.template place<At + U::bits>(result);
		ls_expr.template place<At>(result);
	}}
""",
    ),
    # Both expressions: without a cast between the operand and its value.
    (
        "\t\treturn static_cast<const value<bits> &>(*this);\n",
        "\t\treturn this->operator value<bits>();\n",
    ),
    (
        """\
	slice_expr(const slice_expr<T, Stop, Start> &) = delete;
""",
        """\
	slice_expr(const slice_expr<T, Stop, Start> &) = delete;

	template<size_t At, size_t Whole>
	CXXRTL_ALWAYS_INLINE
	void place(value<Whole> &result) const {
		val().template place<At>(result);
	}
""",
    ),
    # A value as an operand of a concatenation.
    (
        """\
	explicit operator bool() const {
		return !is_zero();
	}
""",
        """\
	CXXRTL_ALWAYS_INLINE
	explicit operator bool() const {
		if constexpr (chunks == 1)
			return data[0] != 0;
		else
			return !is_zero();
	}

	template<size_t At, size_t Whole>
	CXXRTL_ALWAYS_INLINE
	void place(value<Whole> &result) const {
		constexpr size_t first = At / chunk::bits, by = At % chunk::bits;
		if constexpr (chunks == 1 && by + Bits <= chunk::bits) {
			result.data[first] |= data[0] << by;
		} else {
			for (size_t n = 0; n < chunks; n++) {
				result.data[first + n] |= data[n] << by;
				if (by != 0 && first + n + 1 < value<Whole>::chunks)
					result.data[first + n + 1] |= data[n] >> (chunk::bits - by) % chunk::bits;
			}
		}
	}
""",
    ),
    (
        "\t\treturn *this ? value<Bits * Count>().bit_not() : value<Bits * Count>();\n",
        """\
		if constexpr (Count <= chunk::bits)
			return value<Count>{ chunk_t(-data[0] & value<Count>::msb_mask) };
		else
			return *this ? value<Bits * Count>().bit_not() : value<Bits * Count>();
""",
    ),
)


def _operator(found: re.Match[str], chunk: str) -> str:
    """Text of a runtime function with ``chunk`` in front of its body."""
    operands = "AB" if found[2] else "A"
    for name in operands:
        value = f"{name.lower()}.data[0]"
        sign = f"chunk_t(1) << (Bits{name} - 1)"
        chunk = re.sub(rf"\bS{name}\b", f"(({value} ^ {sign}) - ({sign}))", chunk)
        chunk = re.sub(rf"\b{name}\b", value, chunk)
    fits = " && ".join(f"Bits{name} <= {_CHUNK}" for name in "Y" + operands)
    return (
        f"{found[1]}\tif constexpr ({fits}) {{\n"
        f"\t\treturn value<BitsY>{{ chunk_t(chunk_t({chunk}) & value<BitsY>::msb_mask) }};\n"
        f"\t}} else {{\n{found[3]}\t}}\n}}"
    )


def direct_operators(header: str) -> tuple[str, int]:
    """Replaces operators in the runtime by direct ones; returns ``(cxxrtl.h, number of
    replacements)``.

    What a release of yosys writes in another way stays, and its designs take longer to compile.
    """
    done = 0
    for name, chunk in OPERATORS.items():
        pattern = re.compile(_FUNCTION.format(name=name))
        header, count = pattern.subn(partial(_operator, chunk=chunk), header)
        done += count
    members = [(old, new) for old, new in _MEMBERS if old in header]
    # Operands of a concatenation need all of their functions.
    if len(members) == len(_MEMBERS):
        for old, new in members:
            header = header.replace(old, new)
        done += len(members)
    return header, done
