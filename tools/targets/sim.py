# SPDX-License-Identifier: BSD-2-Clause
"""The virtual board as a target: the bitstream's own SoC, compiled, spoken to by the same link client as a board."""
from ..errors import TargetError

__all__ = ["open_sim"]

#: Deadlines in simulated seconds. Nothing disturbs a virtual board's link, so that they matter only if gateware is
#: broken; at a board's own two seconds that would take minutes to be seen.
TIMEOUT, RETRY = 0.25, 0.1


def open_sim(name, progress=None):
    """A :class:`~.link.LinkTarget` on the virtual board that ``name`` (a :class:`~.names.TargetName`) describes.

    Raises
    ------
    BoardError, ParameterError, TargetError
        No such board, preset or size, or none that fits the board.
    ToolMissing, CompileError
        It cannot be compiled; the message says what is missing.
    """
    from ...boards import open_board
    from ...gateware.cores import open_room
    board, room = open_board(name.board), open_room(name.isa)
    space = room.params.SPACE
    preset = name.preset or space.preset_for(board.fpga)
    if preset is None:
        raise TargetError(f"target {name.text}: {room.name} has no preset that fits {board.name} ({board.fpga})")
    space.resolve(preset, name.params)      # before anything that takes time

    from ...boards.virtual.board import open_virtual
    from ..link.client import LinkClient
    from .link import LinkTarget
    trace = name.options.get("trace")
    if trace is not None:
        trace = (trace, int(name.options.get("trace_from", 0)))
    virtual = open_virtual(board, room, preset=preset, params=name.params, trace=trace,
                           link="wire" if name.options.get("link") == "wire" else "bytes", progress=progress)
    client = LinkClient(virtual.pipe, timeout=TIMEOUT, retry=RETRY)
    try:
        target = LinkTarget(client=client, name=name.text, kind="sim")
    except BaseException:
        client.close()
        raise
    target.virtual = virtual
    return target
