# SPDX-License-Identifier: BSD-2-Clause
"""Operator fusion: elementwise chains are applied to a result before it is stored, if nothing else
reads it. Results do not change."""

from .kernel_graph import Chain, KernelGraph, Operation, PairProduct, Product, Ref, Value, Window

__all__ = ["fuse", "made_closely"]

#: Cycles of copying a tile.
_COPY = 3.5


def fuse(kernel_graph: KernelGraph, keep: bool) -> KernelGraph:
    """Fuses elementwise operations into their producers; with ``keep``, every tensor of the graph
    is preserved."""
    outputs = {kernel_graph.values[name].value for name in kernel_graph.outputs}
    kept = {ref.value for ref in kernel_graph.values.values()} if keep else outputs
    for name in kernel_graph.outputs:
        kernel_graph.outputs[name] = kernel_graph.values[name]
    readers: dict[Value, list[Operation]] = {}
    writers: dict[Value, list[Operation]] = {}
    for operation in kernel_graph.operations:
        for ref in operation.refs():
            readers.setdefault(ref.value, []).append(operation)
        writers.setdefault(operation.out.value, []).append(operation)
    done: list[Operation] = []
    for operation in kernel_graph.operations:
        before = done[-1] if done else None
        if isinstance(operation, Chain):
            # The producer of the chain's operand may stand some places ahead.
            for ref in operation.refs():
                made = writers.get(ref.value, [])
                if (
                    len(made) != 1
                    or made[0] not in done
                    or ref.value in kept
                    or set(map(id, readers[ref.value])) != {id(operation)}
                ):
                    continue
                if _fused(made[0], operation, done):
                    before = made[0]
                    break
            else:
                done.append(operation)
                continue
            done.remove(before)
            done.append(before)
            writers[operation.out.value] = [
                before if w is operation else w for w in writers[operation.out.value]
            ]
            for ref in operation.refs():
                if ref.value in readers:
                    readers[ref.value] = [
                        before if r is operation else r for r in readers[ref.value]
                    ]
            continue
        done.append(operation)
    kernel_graph.operations = done
    return kernel_graph


def _fused(first, chain, done):
    """Appends ``chain`` to the operation ``first``, if the chain can read the result from a
    register everywhere."""
    if (
        not isinstance(first, (Product, PairProduct, Window, Chain))
        or first.out.shape != chain.out.shape
    ):
        return False
    made = first.out
    if made.shape != made.value.shape or made.axes != (0, 1, 2):
        return False
    if isinstance(first, (Product, PairProduct)) and chain.out.shape != first.out.shape:
        return False
    # What stands between the two must not write what the chain reads later than it would now, nor
    # read what it writes: the chain runs where it stood, so only the first operation moves, and
    # what it reads must not be written in between.
    later = done[done.index(first) + 1 :]
    written = {operation.out.value for operation in later}
    if any(ref.value in written for ref in first.refs()) or any(
        ref.value is first.out.value for operation in later for ref in operation.refs()
    ):
        return False
    held = "OUTPUT" if first.parts or isinstance(first, Chain) else "ACC"
    parts, touched = [], False
    for part in chain.parts:
        if isinstance(part, str):
            touched |= _writes(part) == held
            parts.append(part)
            continue
        register, ref = part
        if ref.value is not made.value:
            touched |= register == held
            parts.append(part)
            continue
        if touched or not _same(ref, made):
            return False
        if register != held:
            parts.append(f"copy {register}, {held}")
    first.parts = [*first.parts, *parts]
    first.out = chain.out
    first.fused = tuple(
        name for name in dict.fromkeys((*first.nodes, *chain.fused)) if name != chain.node
    )
    first.node = chain.node
    return True


def _same(ref: Ref, other: Ref):
    return (ref.value, ref.shape, ref.axes, ref.start, ref.step) == (
        other.value,
        other.shape,
        other.axes,
        other.start,
        other.step,
    )


def _writes(text):
    """Name of the register that an instruction writes."""
    name, *operands = text.replace(",", " ").split()
    return operands[0] if name in ("copy", "zero") else "ACC" if name == "mulacc" else "OUTPUT"


# Packing of results that need a border: a 1x1 convolution writes them without one, and they are
# copied, if the tiles saved are worth the copy.


def made_closely(kernel_graph: KernelGraph, macs: int) -> KernelGraph:
    """Splits a convolution with a border into a borderless one and a copy, where that is faster;
    ``macs``: multipliers of the build."""
    operations = []
    for operation in kernel_graph.operations:
        operations.append(operation)
        if not _gains(operation, macs):
            continue
        out = operation.out
        operation.out = Ref.of(Value(out.shape))
        operations.append(
            Chain(
                node=operation.node,
                fused=operation.fused,
                out=out,
                parts=[("OUTPUT", operation.out)],
            )
        )
    kernel_graph.operations = operations
    return kernel_graph


def _gains(operation, macs):
    if (
        not isinstance(operation, Product)
        or operation.each
        or operation.weights.shape[:2] != (1, 1)
        or operation.stride != (1, 1)
    ):
        return False
    out, source = operation.out, operation.source
    if (
        not any(out.value.border)
        or any(source.value.border)
        or source.value.tight
        or out.shape != out.value.shape
        or source.shape != source.value.shape
    ):
        return False
    rows, columns, channels = out.shape
    apart = min(rows * -(-columns // 4), columns * -(-rows // 4))
    closely = -(-rows * columns // 4)
    blocks, steps = -(-channels // 4), -(-operation.weights.shape[2] // 4)
    return (apart - closely) * blocks * steps * 64 / macs > apart * blocks * _COPY
