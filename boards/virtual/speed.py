# SPDX-License-Identifier: BSD-2-Clause
"""Measures how fast a virtual board is: cycles a second compiled, and of the same SoC in Amaranth's simulator.

``python -m quintet.boards.virtual.speed [BOARD ISA] [--cycles N] [--pysim-cycles N]``

Both do the same job: the link is asked to write and read back memory again and again.
"""
import argparse
import sys
import time

__all__ = ["compiled_rate", "pysim_rate"]


def _requests():
    """Bytes that open a session and write memory; what the board answers does not matter to the gateware's work."""
    return bytes(range(256)) * 64


def compiled_rate(board, isa, cycles):
    """Cycles a second of processor time of the compiled SoC."""
    from .board import open_virtual
    with open_virtual(board, isa) as virtual:
        virtual.advance(20_000)
        start = time.process_time()
        done = 0
        while done < cycles:
            virtual.pipe.write(_requests())
            virtual.advance(20_000)
            virtual.pipe.read(1 << 16, 0)
            done = virtual.cycle - 20_000
        return done / (time.process_time() - start)


def pysim_rate(board, isa, cycles):
    """Cycles a second of processor time of the same SoC in Amaranth's simulator."""
    from amaranth.sim import Simulator

    from ...gateware.cores import open_room
    from .. import open_board
    from .top import VirtualTop
    top = VirtualTop(soc=open_board(board).make_soc(room=open_room(isa), family=None))
    simulator = Simulator(top)
    simulator.add_clock(1e-8)
    data = _requests()
    seconds = []

    async def host(ctx):
        start = time.process_time()
        ctx.set(top.tx.ready, 1)
        sent = 0
        ctx.set(top.rx.valid, 1)
        for _ in range(cycles):
            ctx.set(top.rx.payload, data[sent % len(data)])
            _, _, ready = await ctx.tick().sample(top.rx.ready)
            sent += ready
        seconds.append(time.process_time() - start)
    simulator.add_testbench(host)
    simulator.run()
    return cycles / seconds[0]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m quintet.boards.virtual.speed", description=__doc__.splitlines()[0])
    parser.add_argument("board", nargs="?", default="ulx3s-85f")
    parser.add_argument("isa", nargs="?", default="opentpu")
    parser.add_argument("--cycles", type=int, default=1_000_000)
    parser.add_argument("--pysim-cycles", type=int, default=3_000, help="0: compiled only")
    args = parser.parse_args(arguments)
    fast = compiled_rate(args.board, args.isa, args.cycles)
    print(f"{args.board}/{args.isa} compiled: {fast:,.0f} cycles a second")
    if args.pysim_cycles:
        slow = pysim_rate(args.board, args.isa, args.pysim_cycles)
        print(f"Amaranth's simulator: {slow:,.0f} cycles a second; compiled is {fast / slow:,.0f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main())
