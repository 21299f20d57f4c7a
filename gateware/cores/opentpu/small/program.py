# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine: start checks, decoding and faults (specification, sections 3
and 6). Pure Python.

Addresses of main memory are kept in vectors of four bytes, program positions in half words, so that
nothing is multiplied and every check is one addition and its carry.
"""

from ....isa.parameters import Params
from ....isa.registers import COMMON_REGISTERS
from ....microcode.program import Microprogram
from ..isa import ISA
from .instructions import MACHINE, External

__all__ = ["PARTS", "microprogram"]

#: Half words of an instruction. The largest multiple by a power of two below 2**31, half words of
#: the longest program, is that by 2**28.
_SIZE = ISA.storage[0].size // 2
_STEPS = 29
#: Registers that a fault may name by their offset; detail of a fault by the part of the word.
_NAMED = ("program_length", "hostmem_base", "hostmem_limit", "weights_base", "weights_limit")
_DETAIL = {part.name: part.detail for part in ISA.parts}


def _numbers(*values):
    return {f"#{value}": value for value in values}


def _constants(params):
    codes = ISA.fault_codes
    return {
        **_numbers(0, 1, 2, 3, 4),
        "SIZE": _SIZE,
        **_numbers(0xFFFF_FFFF, 1 << 16, 0xFFFF_FFFE),
        "FETCH_FAILED": 1 << 31 | codes["bus_error"],
        "UB_ROWS": params["ub_rows"],
        "ACC_ROWS": params["acc_rows"],
        "CAPACITY": params["wfifo_tiles"] + 1,
        **{
            f"{r.name.upper()}_OFFSET": r.offset
            for r in (*COMMON_REGISTERS, *ISA.registers)
            if r.name in _NAMED
        },
        **{
            name.upper(): codes[name]
            for name in sorted(codes, key=codes.get)
            if name != "bad_config"
        },
        **{f"SIZE_{k}": _SIZE << k for k in range(_STEPS)},
    }


def microprogram(params: Params) -> Microprogram:
    """Assembles the :class:`~quintet.gateware.microcode.program.Microprogram` of a build."""
    return Microprogram(MACHINE, PARTS, constants=_constants(params), entries=_ENTRIES)


#: Where runs and instructions begin. MMC and ACT are one, RHM and WHM another.
_ENTRIES = (
    "start",
    "nop",
    "nothing",
    "transfer",
    "rw",
    "compute",
    "sync",
    "hlt",
    "illegal",
    "halt",
)

_START = f"""
idle:       hold DETAIL ?ALWAYS idle
            hold DETAIL
start:      begin
            {"".join(f"copy {e.name};" for e in External if e < 8)}
            load LENGTH; sub SIZE >REMAIN ?ODD_LENGTH bad_length
            reduce SIZE_{_STEPS - 1} ?NO_CARRY bad_length
            {"".join(f"reduce SIZE_{k};" for k in reversed(range(_STEPS - 1)))}
            add #-1
            load PROGRAM ?CARRY bad_length
            double; add LENGTH >T
            load HOST_LIMIT >LAST ?WHOLE_LIMIT ceiling
            add #1 >LAST
ceiling:    load HOST_BASE ?ODD_HOST bad_host_base
            sub LAST
            load PROGRAM ?CARRY apart
            sub LAST
            load HOST_BASE ?CARRY apart
            double; sub T
apart:      load HOST_LIMIT ?NO_CARRY bad_host_base
            sub HOST_BASE
            load WEIGHTS_LIMIT ?NO_CARRY bad_host_limit
            sub WEIGHTS_BASE ?ODD_WEIGHTS bad_weights_base
            load PROGRAM >BEGIN ?NO_CARRY bad_weights_limit
            sub WINDOW_BASE
            load PROGRAM ?NO_CARRY window_begin
            sub WINDOW_LIMIT
            load WINDOW_LIMIT ?CARRY window_begin
            double; sub T
            load HOST_BASE ?NO_CARRY window_end
            sub WINDOW_BASE
            load WINDOW_LIMIT ?NO_CARRY no_host_top
            sub HOST_LIMIT
            load HOST_LIMIT >HOST_TOP ?CARRY host_topped
no_host_top: load #0 >HOST_TOP
host_topped: load WEIGHTS_BASE; sub WINDOW_BASE
            load WINDOW_LIMIT ?NO_CARRY no_top
            sub WEIGHTS_LIMIT
            load WEIGHTS_LIMIT ?NO_CARRY no_top
            sub #3 >WEIGHTS_TOP; hold ?CARRY topped
no_top:     load #0 >WEIGHTS_TOP
topped:     load LENGTH >REMAIN; fetch PROGRAM
head:       load REMAIN; sub SIZE >REMAIN
word:       dispatch ?NO_WORD word
"""

# In the common case no addition or subtraction of a word's checks has a carry: AWRY, looked at
# once, says that one had, and ODD that a field is wrong. Either leads to a second, closer look,
# taken in the order of the faults.
_WORDS = """
nop:        retire ?ODD bad_word
            sub SIZE >REMAIN
nop_word:   dispatch ?NO_WORD nop_word
nothing:    retire ?ALWAYS head

rw:         load LOW ?ODD rw_exact
            double; double; add WEIGHTS_BASE >BEGIN; sub WEIGHTS_TOP; move BEGIN ?UNFREE rw_wait
moved:      load REMAIN >MOVER_REMAIN; sub SIZE >REMAIN
move_word:  dispatch ?NO_WORD move_word
rw_wait:    hold ?AWRY rw_exact
            hold ?ALWAYS transfer_free

compute:    load UB ?ODD compute_exact
            add NUMBER >FINAL; sub UB_ROWS
            load LOW; add NUMBER; sub ACC_ROWS
compute_free: load UB !COMPUTE_ROW FIRST ?QUEUED compute_free
            compute LOW ?BESET compute_host
computed:   load REMAIN; sub SIZE >REMAIN
compute_word: dispatch ?NO_WORD compute_word
compute_host: load UB ?AWRY compute_exact
            add NUMBER; sub MOVER_FIRST
            load MOVER_LAST ?NO_CARRY compute_apart
            sub UB; hold ?NO_CARRY compute_apart
compute_wait: hold ?HOST compute_wait
compute_apart: compute LOW ?ALWAYS computed

transfer:   load UB ?ODD transfer_exact
            add NUMBER >MOVER_LAST; sub UB_ROWS
            load LOW; add HOST_BASE >BEGIN; add NUMBER; sub HOST_TOP; hold ?SETTLED transfer_free
            hold ?AWRY transfer_exact
transfer_rows: load FINAL; sub UB
            load MOVER_LAST ?NO_CARRY transfer_older
            sub FIRST; hold ?CARRY transfer_wait
transfer_older: load FINAL_1; sub UB
            load MOVER_LAST ?NO_CARRY transfer_free
            sub FIRST_1; hold ?NO_CARRY transfer_free
transfer_wait: hold ?COMPUTING transfer_wait
transfer_free: hold ?TRANSFER transfer_free
            load UB !MOVER_ROW MOVER_FIRST ?TROUBLE stop
            move BEGIN ?ALWAYS moved

sync:       hold ?BAD_FLAGS bad_flags
            hold ?LENGTH bad_length_field
            load LOW ?HIGH bad_addr
            sub #0x10000; hold ?CARRY bad_addr
            hold ?UB bad_ub
sync_wait:  hold ?BUSY sync_wait
            hold ?TROUBLE stop
            sync LOW ?ALWAYS head

hlt:        retire ?ODD bad_word
hlt_wait:   load #0 >CODE ?BUSY hlt_wait
            hold ?TROUBLE stop
            hold ?ALWAYS finish
"""

_REST = f"""
rw_exact:   hold ?BAD_FLAGS bad_flags
            hold ?LENGTH bad_length_field
            load LOW >DETAIL ?UB bad_ub
            double; double ?CARRY bad_tile
            add WEIGHTS_BASE >BEGIN ?CARRY bad_tile
            add #3 >LAST ?CARRY bad_tile
            sub WEIGHTS_LIMIT ?CARRY bad_tile
            load BEGIN ?CARRY bad_tile
            sub WINDOW_BASE ?HIGH bad_tile
            hold ?WEIGHTS bad_place
            load LAST ?NO_CARRY window_begin
            sub WINDOW_LIMIT; hold ?CARRY window_last
            hold ?ALWAYS transfer_free
transfer_exact: load UB ?BAD_FLAGS bad_flags
            add NUMBER >UB_LAST; sub UB_ROWS
            load LOW ?CARRY bad_rows
            add NUMBER >DETAIL; add HOST_BASE >LAST ?CARRY bad_host
            sub HOST_LIMIT ?CARRY bad_host
            load BEGIN ?CARRY bad_host
            sub WINDOW_BASE ?HIGH bad_host
            load LAST ?NO_CARRY window_begin
            sub WINDOW_LIMIT; hold ?NO_CARRY transfer_rows
window_last: load BEGIN; sub WINDOW_LIMIT; hold ?CARRY window_begin
window_end: load WINDOW_LIMIT ?ALWAYS window_bytes
window_begin: load BEGIN
window_bytes: double; double >DETAIL
            load WINDOW >CODE ?ALWAYS fault
compute_exact: load UB ?BAD_FLAGS bad_flags
            add NUMBER >UB_LAST; sub UB_ROWS
            load LOW ?CARRY bad_rows
            add NUMBER >DETAIL ?HIGH far_acc
            sub ACC_ROWS ?CARRY far_acc
            hold ?CARRY bad_acc
            load #0 >DETAIL ?SWITCH underflow
            load NO_WEIGHTS >CODE ?ALWAYS fault
underflow:  load WEIGHT_UNDERFLOW >CODE ?ALWAYS fault

bad_length: load PROGRAM_LENGTH_OFFSET >DETAIL ?ALWAYS bad_register
bad_host_base: load HOSTMEM_BASE_OFFSET >DETAIL ?ALWAYS bad_register
bad_host_limit: load HOSTMEM_LIMIT_OFFSET >DETAIL ?ALWAYS bad_register
bad_weights_base: load WEIGHTS_BASE_OFFSET >DETAIL ?ALWAYS bad_register
bad_weights_limit: load WEIGHTS_LIMIT_OFFSET >DETAIL
bad_register: load BAD_REGISTER >CODE ?ALWAYS fault
illegal:    copy OPCODE
            load ILLEGAL_OPCODE >CODE
            load OPCODE >DETAIL ?ALWAYS fault
bad_word:   hold ?BAD_FLAGS bad_flags
            hold ?LENGTH bad_length_field
            hold ?HIGH bad_addr
            hold ?LOW bad_addr
bad_ub:     load #{_DETAIL["ub"]} >DETAIL ?ALWAYS bad_field
bad_addr:   load #{_DETAIL["addr"]} >DETAIL ?ALWAYS bad_field
bad_length_field: load #{_DETAIL["length"]} >DETAIL ?ALWAYS bad_field
bad_flags:  load #{_DETAIL["flags"]} >DETAIL
bad_field:  load BAD_FIELD >CODE ?ALWAYS fault
bad_rows:   load UB_LAST >DETAIL
            load UB_RANGE >CODE ?ALWAYS fault
far_acc:    load #-1 >DETAIL
bad_acc:    load ACC_RANGE >CODE ?ALWAYS fault
bad_host:   load HOST_RANGE >CODE ?ALWAYS fault
bad_tile:   load WEIGHT_RANGE >CODE ?ALWAYS fault
bad_place:  load CAPACITY >DETAIL
            load WEIGHT_OVERFLOW >CODE ?ALWAYS fault
halt:       hold ?CARRY stop
            load LENGTH; double >DETAIL
            load PROGRAM_END >CODE

fault:      hold ?BUSY fault
            hold ?TROUBLE trouble
position:   load LENGTH; sub REMAIN; sub SIZE; double >T
            load PROGRAM; double; double; add T
            hold CODE ?MARK fetched
finish:     finish CODE ?ALWAYS idle
            hold DETAIL
fetched:    hold >DETAIL ?EVEN_FETCH finish
            hold #-2 >DETAIL ?ALWAYS finish
stop:       hold ?BUSY stop
            hold ?TROUBLE trouble
            load #0 >DETAIL ?ABORT aborted
            load FETCH_FAILED >CODE ?ALWAYS position
aborted:    load ABORTED >CODE ?ALWAYS position
trouble:    copy TRANSFER
            load MOVER_REMAIN >REMAIN
            load TRANSFER; double; double >DETAIL
            load BUS_ERROR >CODE ?ALWAYS position
"""

PARTS = {"start": _START, "words": _WORDS, "rest": _REST}
