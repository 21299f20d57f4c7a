# SPDX-License-Identifier: BSD-2-Clause
"""Einsum against onnxruntime."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from quintet.tools.compiler.onnx_import import OnnxError  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from tests.tools.compiler.onnx_models import check, import_model, make_model, node  # noqa: E402

#: Length of each letter's axis.
LENGTHS = dict(zip("bijkdhtn", (1, 3, 4, 5, 6, 2, 4, 3), strict=True))


def einsum(equation, constants=(), shapes=None):
    """An Einsum whose operands with the numbers ``constants`` are constants."""
    random, inputs, held, names = np.random.default_rng(2), {}, {}, []
    for at, text in enumerate(equation.replace(" ", "").split("->")[0].split(",")):
        shape = shapes[at] if shapes else tuple(LENGTHS[letter] for letter in text)
        names.append(f"x{at}")
        if at in constants:
            held[names[-1]] = random.normal(size=shape)
        else:
            inputs[names[-1]] = shape
    nodes = [node("Einsum", names, ["y"], name="n", equation=equation)]
    return make_model(nodes, inputs, {"y": None}, held)


@pytest.mark.parametrize(
    "equation, constants",
    [
        ("bid,bjd->bij", ()),  # scores of attention
        ("bij,bjd->bid", ()),
        ("bhid,bhjd->bhij", ()),  # with heads
        ("bihd,bjhd->bhij", ()),  # heads behind the steps, as Keras has them
        ("bhij,bjhd->bihd", ()),
        ("btd,dhk->bhtk", (1,)),  # a projection to heads
        ("bthk,hkd->btd", (1,)),  # and back
        ("dk,btd->bkt", (0,)),
        ("bij,bij->bji", ()),
        ("bijk->bj", ()),
        ("bi,bj->bij", ()),  # an outer product
        ("bij,bij->bi", ()),
        ("bij,i->bj", (1,)),
        ("bij , bi -> bj", ()),
        ("bid,jd,jk->bik", (1, 2)),
        ("jd,jk,bid->bik", (0, 1)),
        ("bij,bjd", ()),  # the result in the letters' order
        ("bijk,bn->bk", ()),  # letters of one operand alone
    ],
)
def test_einsum(tmp_path, equation, constants):
    check(einsum(equation, constants), tmp_path)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("...ij,...jk->...ik", [(1, 2, 3, 4), (1, 2, 4, 5)]),
        ("...ij,jk->...ik", [(1, 2, 3, 4), (4, 5)]),
        ("...ij,...jk", [(1, 3, 4), (1, 4, 5)]),
    ],
)
def test_an_ellipsis(tmp_path, equation, shapes):
    check(einsum(equation, shapes=shapes), tmp_path)


def test_attention_is_two_products(tmp_path):
    """Not products by element, which cores have no wide unit for."""
    graph = simplify(check(einsum("bhid,bhjd->bhij"), tmp_path))
    assert {one.kind for one in graph.nodes} <= {"matmul", "transpose", "reshape"}


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("bii->bi", [(1, 3, 3)], r"n \(Einsum\): equation = 'bii->bi': expected each letter once"),
        ("bij->bk", [(1, 3, 3)], "no operand has the letter 'k'"),
        ("bij,bj->bi", [(1, 3, 3)], "of 1 operands"),
        ("bij,bj->bi", [(1, 3, 4), (1, 5)], "an axis of 5 and one of 4 have the same letter"),
        ("bij->bi", [(1, 3)], r"3 letters for an operand of shape \(1, 3\)"),
        ("b1j->bj", [(1, 3, 4)], "expected letters, commas"),
    ],
)
def test_refused(tmp_path, equation, shapes, message):
    model = einsum(equation, shapes=[*shapes, (1, 1)][: equation.count(",") + 1])
    if message == "of 1 operands":
        del model.graph.node[0].input[1:]
    model.graph.node[0].name = "n"
    with pytest.raises(OnnxError, match=message):
        import_model(model, tmp_path)
