# SPDX-License-Identifier: BSD-2-Clause
"""Build parameters of a compilation target, found by the target's name or ``board/isa`` without
opening a virtual board."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError

__all__ = ["TargetBuild", "target_build"]

#: Main memory that a golden model is taken to have where nothing says otherwise, in bytes: that of
#: most boards with SDRAM.
_MODEL_MEMORY = 1 << 25


@dataclass(frozen=True)
class TargetBuild:
    """The build that a network is compiled for: ``isa``, ``preset`` (or ``None``), ``params``,
    ``memory_size`` in bytes, ``board`` (or ``None``), ``clock_hz`` (or ``None``), ``target``: the
    name to open it by, ``link`` and ``memory``: those entries of the target's info, or ``None``,
    ``kind`` as of a target's info."""

    isa: str
    preset: str | None
    params: Mapping[str, Any]
    memory_size: int
    board: str | None
    clock_hz: int | None
    target: str
    link: dict[str, Any] | None = None
    memory: dict[str, Any] | None = None
    kind: str = "sim"


def target_build(
    text: str, preset: str | None = None, params: Mapping[str, Any] | None = None
) -> TargetBuild:
    """Resolves ``text`` to a :class:`TargetBuild`: ``board/isa``, ``sim:board/isa?...``,
    ``model:isa?...``, or a serial port, which is opened and queried.

    Raises
    ------
    InputError, BoardError, ParameterError, LinkError
    """
    from ...boards import board_names
    from ..targets.names import open_target, parse_target

    board, slash, _ = text.partition("/")
    if slash and board in board_names():
        text = f"sim:{text}"
    name = parse_target(text)
    if name.kind == "board":
        if preset or params:
            raise InputError(
                f"--for {text}: a board has the sizes that it was built with; leave out "
                f"--preset and -P"
            )
        with open_target(text) as target:
            info = target.info
        if info.isa is None:
            raise InputError(f"--for {text}: this board holds no core")
        return TargetBuild(
            info.isa,
            info.preset,
            info.params,
            info.memory_size,
            info.board,
            info.clock_hz,
            text,
            info.link,
            info.memory,
            info.kind,
        )
    if name.isa is None:
        raise InputError(f"--for {text}: expected an ISA behind model:, as in model:opu")
    if preset and name.preset:
        raise InputError(f"--for {text}: the preset is given twice, here and by --preset")
    return _described(name, preset or name.preset, {**name.params, **(params or {})})


#: Options of a virtual board that a plan's target keeps.
_KEPT = ("on_chip", "run_list", "sdram_rate")


def _described(name, preset, params):
    from ...boards import open_board
    from ...gateware.cores import open_core
    from ..targets.ceilings import board_memory

    package, size, clock, link, memory = open_core(name.isa), _MODEL_MEMORY, None, None, None
    space = package.params.SPACE
    if name.kind == "sim":
        given = name.options.get("sdram_rate")
        rate = None if given is None else int(given)
        board = open_board(name.board).with_sdram_rate(rate)
        preset = preset or board.preset_for(package)
        resolved = space.resolve(preset, params)
        size = board.memory.usable(package, resolved)
        on_chip = name.options.get("on_chip")
        memory = board_memory(
            name.board,
            size,
            name.isa,
            resolved,
            preset,
            None if on_chip is None else int(on_chip),
            rate,
        )
        clock, link = round(board.clock_for(package, preset) * 1e6), board.link.info
    else:
        preset = preset or space.default_preset
        resolved = space.resolve(preset, params)
    query = "&".join(
        [
            f"preset={preset}",
            *(f"{key}={value}" for key, value in params.items()),
            *(f"{key}={value}" for key, value in name.options.items() if key in _KEPT),
        ]
    )
    place = f"sim:{name.board}/{name.isa}" if name.kind == "sim" else f"model:{name.isa}"
    return TargetBuild(
        name.isa,
        preset,
        resolved,
        size,
        name.board,
        clock,
        f"{place}?{query}",
        link,
        memory,
        name.kind,
    )
