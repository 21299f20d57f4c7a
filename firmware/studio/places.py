# SPDX-License-Identifier: BSD-2-Clause
"""Targets that the studio offers: golden models, virtual boards for every fitting board and core,
and the connected boards of the command line."""

from collections.abc import Iterable, Sequence

from quintet.tools.errors import InputError

__all__ = ["first_places", "list_places"]


def list_places(ports: Iterable[str] = ()) -> list[tuple[str, str, str]]:
    """Lists targets as (name, ISA, label), each ISA's golden model first. ``ports``: connected
    boards, which are opened to identify their core.

    Raises
    ------
    InputError
        A board without a core.
    LinkError, NoDeviceError, TargetError
        As of :func:`~quintet.tools.targets.open_target`.
    """
    from quintet.boards import board_names, open_board
    from quintet.gateware.cores import open_core
    from quintet.tools.compiler.backends import backend_names

    boards = [open_board(name) for name in board_names()]
    connected = [_connected(port) for port in ports]
    found = []
    for isa in backend_names():
        package = open_core(isa)
        found.append((f"model:{isa}", isa, "golden model"))
        found += [place for place in connected if place[1] == isa]
        found += [
            (f"sim:{board.name}/{isa}", isa, f"{board.name}, virtual")
            for board in boards
            if _fits(board, package)
        ]
    return found


def _fits(board, package):
    """Whether a board fits some preset of a core, as far as known."""
    return any((package.name, preset) not in board.too_large for preset in board.presets(package))


def _connected(port):
    from quintet.tools.targets import open_target
    from quintet.tools.targets.names import parse_target, public_name

    if parse_target(port).kind != "board":
        raise InputError(
            f"--on {port}: expected a port; models and virtual boards are on the page already"
        )
    with open_target(port) as target:
        if target.info.isa is None:
            raise InputError(f"--on {port}: this board holds no core")
        return port, target.info.isa, f"{target.info.board}, {public_name(port)}"


def first_places(
    places: Sequence[tuple[str, str, str]], board: str | None, ports: Sequence[str] = ()
) -> list[str]:
    """Names of the initially selected targets, one per ISA: a connected board, else the virtual
    board ``board``, else the golden model.

    Raises
    ------
    BoardError
        No board has this name.
    """
    if board is not None:
        from quintet.boards import open_board

        open_board(board)
    found: dict[str, tuple[int, str]] = {}
    for name, isa, _ in places:
        rank = (
            0
            if name in ports
            else 1
            if name == f"sim:{board}/{isa}"
            else 2
            if name == f"model:{isa}"
            else 3
        )
        if rank < found.get(isa, (3,))[0]:
            found[isa] = (rank, name)
    return [name for _, name in found.values()]
