# SPDX-License-Identifier: BSD-2-Clause
"""Folding of Pad nodes into the padding of convolutions and pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import AveragePool, Conv, MaxPool, Node, Pad
from ..ranges import never_negative

if TYPE_CHECKING:
    from .editor import Editor

__all__ = ["fold_padding"]


def fold_padding(editor: Editor, node: Node) -> bool:
    """Folds a Pad into the padding of the following convolution or pool."""
    if not isinstance(node, Conv | AveragePool | MaxPool):
        return False
    pad = editor.sole_source(node, Pad)
    if pad is None or len(pad.before) != 3 or pad.before[2] or pad.after[2]:
        return False
    border = (*pad.before[:2], *pad.after[:2])
    padding = tuple(a + b for a, b in zip(border, node.padding, strict=True))
    changes: dict[str, Any] = {"padding": padding}
    if isinstance(node, AveragePool):
        # Zeros of the border count; so must those of the pool's own padding.
        if pad.value != 0 or any(node.padding) and not node.include_padding:
            return False
        changes["include_padding"] = True
    elif isinstance(node, Conv):
        if pad.value != 0:
            return False
    else:
        effective_size = [(k - 1) * d + 1 for k, d in zip(node.window, node.dilation, strict=True)]
        # Zeros change no maximum of values from zero on, as long as each window meets one of them.
        if (
            pad.value != 0
            or any(p >= r for p, r in zip(padding, effective_size * 2, strict=True))
            or not never_negative(editor.maker, pad.inputs[0])
        ):
            return False
    editor.swallow(pad, node, **changes)
    return True
