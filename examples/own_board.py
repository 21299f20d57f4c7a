# SPDX-License-Identifier: BSD-2-Clause
"""A board of your own without a package: an iCEBreaker at 18 MHz with a slower serial line, checked
and listed with the cores that fit it."""

from dataclasses import replace

from quintet.boards import open_board
from quintet.boards.board import UARTLink
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import ParameterError


def main() -> None:
    board = replace(
        open_board("icebreaker"),
        name="slow-icebreaker",
        title="iCEBreaker at 18 MHz",
        clock_mhz=18,
        link=UARTLink(baud=1_000_000),
    )
    print(f"{board.title}: {board.fpga}, {board.clock_mhz} MHz")
    for isa in core_names():
        try:
            print(f"{isa:8} {', '.join(board.presets(open_core(isa))) or 'does not fit'}")
        except ParameterError as error:
            print(f"{isa:8} {error}")


if __name__ == "__main__":
    main()
