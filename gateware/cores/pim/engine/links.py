# SPDX-License-Identifier: BSD-2-Clause
"""Interfaces of a processor to the rest of the engine: crossbar, events, LOAD, state.

All are signatures as the processor has them (``Out`` goes from the processor to the engine).
Widths come from the parameters.
"""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ....isa.parameters import Params
from ....shell.engine import Stall

__all__ = [
    "COUNT_BITS",
    "EVENT_BITS",
    "SIZE_BITS",
    "CrossbarPort",
    "EventPort",
    "StartPort",
    "StatePort",
    "StartLayout",
    "core_bits",
]

#: Bits of a byte count of a transfer, of an event register, of an instruction index.
SIZE_BITS, EVENT_BITS, COUNT_BITS = 11, 10, 32


def core_bits(params: Params) -> int:
    """Width of a core number."""
    return bits_for(params["cores"] - 1)


class CrossbarPort(wiring.Signature):
    """Crossbar port: rendezvous with another core, and transfer of its bytes (section 4.4).

    Members
    -------
    meet : Out, level: a send (``sends`` 1) or recv (0) waits for core ``peer``;
        ``size`` bytes. All hold still until ``go``.
    go : In, one cycle: both ends are there. ``meet`` falls in the next cycle.
    differs : In, with ``go``: the sizes differ, nothing is moved,
        the sender raises SIZE_MISMATCH; ``peer_size``: of the other side.
    word_out : Out, words of ``vec_bytes`` bytes, the sender's from ``go`` on,
        the bytes in order, byte 0 first; ``out_valid``, ``out_ready``
    word_in : In, the receiver's words; ``in_valid``, ``in_ready``. Without latency in between.
    written : Out, one cycle, of the receiver: its last byte is in LMem
    sent : In, one cycle, of the sender: that is so
    """

    def __init__(self, params: Params) -> None:
        width = 8 * params["vec_bytes"]
        super().__init__(
            {
                "meet": Out(1),
                "sends": Out(1),
                "peer": Out(core_bits(params)),
                "size": Out(SIZE_BITS),
                "go": In(1),
                "differs": In(1),
                "peer_size": In(SIZE_BITS),
                "word_out": Out(width),
                "out_valid": Out(1),
                "out_ready": In(1),
                "word_in": In(width),
                "in_valid": In(1),
                "in_ready": Out(1),
                "written": Out(1),
                "sent": In(1),
            }
        )


class EventPort(wiring.Signature):
    """Event port: sync and wait requests of one core (section 4.5).

    Members
    -------
    sync : Out, level until ``synced``: add 1 to event ``sync_event`` of core ``sync_core``;
        both hold still
    synced : In, one cycle: it has it; with ``overflow`` it stays 1023.
        ``sync`` falls in the next cycle, or is another one then.
    wait : Out, level until ``granted``:
        event ``wait_event`` of this core for ``wait_value``; ``wait_count``: count mode
    granted : In, one cycle: it was so, and was taken. ``wait`` falls in the next cycle,
        or is another one then.
    """

    def __init__(self, params: Params) -> None:
        super().__init__(
            {
                "sync": Out(1),
                "sync_core": Out(core_bits(params)),
                "sync_event": Out(5),
                "synced": In(1),
                "overflow": In(1),
                "wait": Out(1),
                "wait_event": Out(5),
                "wait_value": Out(EVENT_BITS),
                "wait_count": Out(1),
                "granted": In(1),
            }
        )


class StartLayout(data.StructLayout):
    """Start state of a core; stable from ``prime`` to the end of the run.

    Members
    -------
    code : main-memory address of its code, a multiple of 8; code_bytes : its bytes;
        count : instructions, 0: no program
    mode : 0 = 64-bit, 1 = 32-bit, 2 = packed; wait_count : wait in count mode
    ibiw, obiw : 1 to 32; fi, fo : 0 to 31, or 255 (auto)
    groups : entries of its group table
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "code": 32,
                "code_bytes": 32,
                "count": COUNT_BITS,
                "mode": 2,
                "wait_count": 1,
                "ibiw": 6,
                "obiw": 6,
                "fi": 8,
                "fo": 8,
                "groups": 11,
            }
        )


class StartPort(wiring.Signature):
    """Run control port, seen from the processor.

    Members
    -------
    clear : In, one cycle, before LOAD programs anything: registers 0, pc 0,
        nothing under way; and, if ``zero`` is high with it, a sweep of zeros over LMem begins
    ready : Out, level: the sweep, and whatever else ``clear`` began, is over
    prime : In, one cycle: ``start`` holds; code may be fetched ahead. Earlier than ``go``,
        and once a run
    go : In, one cycle: RUN begins
    start : In, :class:`StartLayout`
    gmem_base : In, main-memory address of GMem 0. gmem_low, gmem_high : In:
        a range of GMem addresses is legal when its first is at least the one and its last below the
        other (GMem's size, window and 2^32 are all in them)
    cores : In, number of core entries
    stop : In, level, from a fault or an abort to the end of the run: start nothing new,
        make no request
    """

    def __init__(self, params: Params) -> None:
        super().__init__(
            {
                "clear": In(1),
                "zero": In(1),
                "ready": Out(1),
                "prime": In(1),
                "go": In(1),
                "start": In(StartLayout()),
                "gmem_base": In(32),
                "gmem_low": In(32),
                "gmem_high": In(32),
                "cores": In(range(params["cores"] + 1)),
                "stop": In(1),
            }
        )


class StatePort(wiring.Signature):
    """State report of a processor to the engine and its debug registers.

    Members
    -------
    finished : Out, level from ``go`` on: at the end of its program,
        every instruction complete (high at once without a program)
    quiet : Out, level: nothing is outstanding on its memory ports
    blocked : Out, level: the oldest instruction that is not complete is a send or recv whose peer
        has not come, or a wait that was not granted, and everything older is complete
    blocked_read : Out, with ``blocked``: a recv
    fault : Out, level until ``clear``:
        its instruction at ``pc`` faults with ``fault_code`` and ``fault_detail``, all older ones
        are complete
    pc : Out, index of the faulting instruction, of the one it is blocked in,
        else of the oldest that is not complete, or of the next one
    pc_offset : Out, bytes from the start of its code to that instruction
    working : Out, matrix or vector unit works in this cycle
    stall : Out, :class:`~quintet.gateware.shell.engine.Stall`: class of this cycle for this core,
        looked at when not ``working`` and not ``finished``
    done_scalar, done_matrix, done_vector, done_transfer : Out, an instruction of the kind was
    completed in this cycle
    macs : Out, 21 bits, MACs completed in this cycle; bytes_read, bytes_written,
        code_bytes, comm_bytes : Out, 4 bits, bytes of this cycle
    debug_index : In, 0 to 31 registers, 64 ibiw, 65 obiw; debug_value : Out,
        two cycles later, while the core does not run
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "finished": Out(1),
                "quiet": Out(1),
                "blocked": Out(1),
                "blocked_read": Out(1),
                "fault": Out(1),
                "fault_code": Out(8),
                "fault_detail": Out(32),
                "pc": Out(COUNT_BITS),
                "pc_offset": Out(32),
                "working": Out(1),
                "stall": Out(Stall),
                "done_scalar": Out(1),
                "done_matrix": Out(1),
                "done_vector": Out(1),
                "done_transfer": Out(1),
                "macs": Out(21),
                "bytes_read": Out(4),
                "bytes_written": Out(4),
                "code_bytes": Out(4),
                "comm_bytes": Out(4),
                "debug_index": In(7),
                "debug_value": Out(32),
            }
        )
