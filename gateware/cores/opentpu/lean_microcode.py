# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine: start checks, decoding, faults (specification, sections 3 and 6). Pure Python.

Addresses of main memory are kept in vectors of four bytes, program positions in half words, so that nothing is multiplied and
every check is one addition and its carry. A micro-instruction is executed in two stages: its operand is read while it waits
for one cycle, then ``A = f(A, R[rs])``. A jump that is taken costs one cycle more. What a micro-instruction writes may be read
by the next but one (:func:`assemble` refuses anything else).
"""
import enum

__all__ = ["Act", "Alu", "Command", "Cond", "External", "LAYOUT", "assemble", "constants", "encode"]


class Alu(enum.IntEnum):
    HOLD = 0        #: A stays; the value written is R
    LOAD = 1
    ADD = 2
    SUB = 3
    DOUBLE = 4      #: A + A
    REDUCE = 5      #: A - R if that is not negative, else A


class Cond(enum.IntEnum):
    NEVER, ALWAYS, CARRY, NO_CARRY, BAD_FLAGS, LENGTH, HIGH, LOW, UB = range(9)
    WEIGHTS = 9         #: the weight queue forbids this instruction
    NO_WORD = 10        #: the next word is not there yet
    HALT = 11           #: fetch or transfer failed, or the host ends the run
    TRANSFER = 12       #: a transfer is under way, or instructions wait to be retired
    TROUBLE = 13        #: a transfer failed
    HOST = 14           #: rows are transferred
    NO_HOST = 15
    QUEUED = 16         #: no place for another MMC or ACT
    COMPUTING = 17
    IDLE = 18           #: no MMC or ACT
    BUSY = 19           #: anything of the run is under way
    SWITCH = 20
    ABORT = 21
    ODD = 22            #: a field that must be zero is not, addr is above 2**32, or WEIGHTS
    ODD_LENGTH, ODD_HOST, ODD_WEIGHTS, WHOLE_LIMIT, EVEN_FETCH = range(23, 28)


class Act(enum.IntEnum):
    NONE = 0
    WRITE = 1           #: R[rd] = result
    COPY = 2            #: R[rd] = external value number rd
    COMPUTE_ROW = 3     #: R[rd] = result, and R goes to the queue of the compute unit
    MOVER_ROW = 4       #: R[rd] = result, and R goes to the mover
    COMMAND = 5         #: number rd, with R; not if a conditional jump is taken


class Command(enum.IntEnum):
    BEGIN, FETCH, DISPATCH, COMPUTE, MOVE, RETIRE, SYNC, FINISH = range(8)


class External(enum.IntEnum):
    """Values that :attr:`Act.COPY` brings into the register of the same number."""
    PROGRAM, LENGTH, WINDOW_BASE, WINDOW_LIMIT, HOST_BASE, HOST_LIMIT, WEIGHTS_BASE, WEIGHTS_LIMIT, TRANSFER, OPCODE = range(10)


#: Bits of the fields of a micro-instruction, lowest first.
LAYOUT = {"rs": 7, "rd": 5, "act": 3, "alu": 3, "cond": 5, "target": 8}

_REGISTERS = {e.name: e.value for e in External} | {
    "REMAIN": 10, "DETAIL": 11, "UB_LAST": 12, "BEGIN": 13, "LAST": 14, "MOVER_REMAIN": 15,
    # Rows of the last two instructions of the compute unit; the lowest bit of a number written is the hardware's.
    "FIRST": 16, "FIRST_1": 17, "FINAL": 18, "FINAL_1": 19,
    "MOVER_FIRST": 20, "MOVER_LAST": 21, "T": 22, "CODE": 23,
    "WEIGHTS_TOP": 9,       # limit of tiles that lie in the window as well; 0 if weight memory does not
    # Fields of the word at work.
    "NUMBER": 24, "LOW": 26, "UB": 27,
}
_ONES = 0xFFFF_FFFF
_STEPS = 29             # 7 << 28 is the largest multiple of 7 below 2**31, half words of the longest program


def constants(params):
    """Registers 0..127 after configuration."""
    values = [0] * 128
    for number, value in _constants(params).values():
        values[number] = value
    return values


def _constants(params):
    named = {
        "ZERO": 0, "ONE": 1, "TWO": 2, "THREE": 3, "FOUR": 4, "SEVEN": 7, "ONES": _ONES, "TAG": 1 << 16,
        "UB_ROWS": params["ub_rows"], "ACC_ROWS": params["acc_rows"], "CAPACITY": params["wfifo_tiles"] + 1,
        "LENGTH_OFFSET": 0x24, "HOST_BASE_OFFSET": 0x100, "HOST_LIMIT_OFFSET": 0x104, "WEIGHTS_BASE_OFFSET": 0x108,
        "WEIGHTS_LIMIT_OFFSET": 0x10C,
    }
    named |= {f"CODE_{code}": code for code in (1, 2, 5, 6, 7, 8, 16, 18, 19, 20, 21, 22, 23, 24)}
    named |= {f"SEVEN_{k}": 7 << k for k in range(_STEPS)}
    return {name: (32 + k, value) for k, (name, value) in enumerate(named.items())}


_START = f"""
idle:       hold DETAIL ?ALWAYS idle
            hold DETAIL
start:      begin ZERO
            {"".join(f"copy {e.name};" for e in External if e < 8)}
            load ZERO
            load LENGTH ?ODD_LENGTH bad_length
            sub SEVEN >REMAIN
            load LENGTH
            add ONES ?NO_CARRY bad_length
            load LENGTH
            {"".join(f"reduce SEVEN_{k};" for k in reversed(range(_STEPS)))}
            add ONES ?CARRY bad_length
            load PROGRAM
            double
            add LENGTH >T
            load HOST_LIMIT >LAST ?WHOLE_LIMIT ceiling
            add ONE >LAST
ceiling:    load HOST_BASE ?ODD_HOST bad_host_base
            sub LAST ?CARRY apart
            load PROGRAM
            sub LAST ?CARRY apart
            load HOST_BASE
            double
            sub T ?NO_CARRY bad_host_base
apart:      load HOST_LIMIT
            sub HOST_BASE ?NO_CARRY bad_host_limit
            load WEIGHTS_LIMIT >WEIGHTS_TOP ?ODD_WEIGHTS bad_weights_base
            sub WEIGHTS_BASE ?NO_CARRY bad_weights_limit
            load PROGRAM >BEGIN
            sub WINDOW_BASE ?NO_CARRY window_begin
            load PROGRAM
            sub WINDOW_LIMIT ?CARRY window_begin
            load WINDOW_LIMIT
            double
            sub T ?NO_CARRY window_end
            load WEIGHTS_BASE
            sub WINDOW_BASE ?NO_CARRY no_top
            load WINDOW_LIMIT
            sub WEIGHTS_LIMIT ?CARRY topped
no_top:     load ZERO >WEIGHTS_TOP
topped:     load LENGTH >REMAIN
            fetch PROGRAM
head:       load REMAIN
            sub SEVEN >REMAIN ?NO_CARRY past_end
word:       hold ZERO ?NO_WORD word
            dispatch ZERO ?HALT stop
            hold ZERO
"""

# Entries of instructions. MMC and ACT are one, RHM and WHM another. ODD: something about this word wants a closer look, which is
# taken in the order of the faults; the checks of the common case are as short as they can be.
_ENTRIES = {
    "nop": """
            hold ZERO ?ODD bad_word
            retire ZERO ?ALWAYS head
""",
    "rw": """
            load LOW ?ODD rw_exact
            double ?CARRY rw_exact
            double ?CARRY rw_exact
            add WEIGHTS_BASE >BEGIN ?CARRY rw_exact
            add THREE ?CARRY rw_exact
            sub WEIGHTS_TOP ?CARRY rw_exact
rw_free:    hold ZERO ?TRANSFER rw_free
move:       move BEGIN ?TROUBLE stop
            load REMAIN >MOVER_REMAIN
            sub SEVEN >REMAIN ?NO_CARRY past_end
move_word:  hold ZERO ?NO_WORD move_word
            dispatch ZERO ?HALT stop
            hold ZERO
""",
    "compute": """
            load UB ?ODD compute_exact
            add NUMBER >UB_LAST
            sub UB_ROWS ?CARRY compute_exact
            load LOW
            add NUMBER ?CARRY compute_exact
            sub ACC_ROWS ?CARRY compute_exact
compute_rows: load UB_LAST >FINAL ?HOST compute_host
compute_free: hold ZERO ?QUEUED compute_free
            load UB >FIRST !COMPUTE_ROW
            compute LOW
            load REMAIN
            sub SEVEN >REMAIN ?NO_CARRY past_end
compute_word: hold ZERO ?NO_WORD compute_word
            dispatch ZERO ?HALT stop
            hold ZERO
""",
    "transfer": """
            load UB ?BAD_FLAGS bad_flags
            add NUMBER >UB_LAST
            sub UB_ROWS ?CARRY bad_rows
            load LOW
            add NUMBER >DETAIL ?CARRY bad_host
            add HOST_BASE >LAST ?CARRY bad_host
            sub HOST_LIMIT ?CARRY bad_host
            load LOW ?HIGH bad_host
            add HOST_BASE >BEGIN
            sub WINDOW_BASE ?NO_CARRY window_begin
            load LAST
            sub WINDOW_LIMIT ?CARRY window_last
            hold ZERO ?IDLE transfer_free
            load FINAL
            sub UB ?NO_CARRY transfer_older
            load UB_LAST
            sub FIRST ?CARRY transfer_wait
transfer_older: load FINAL_1
            sub UB ?NO_CARRY transfer_free
            load UB_LAST
            sub FIRST_1 ?NO_CARRY transfer_free
transfer_wait: hold ZERO ?COMPUTING transfer_wait
transfer_free: load UB_LAST >MOVER_LAST ?TRANSFER transfer_free
            load UB >MOVER_FIRST !MOVER_ROW
            hold ZERO ?ALWAYS move
""",
    "sync": """
            hold ZERO ?BAD_FLAGS bad_flags
            hold ZERO ?LENGTH bad_length_field
            load LOW ?HIGH bad_addr
            sub TAG ?CARRY bad_addr
            hold ZERO ?UB bad_ub
sync_wait:  hold ZERO ?BUSY sync_wait
            hold ZERO ?TROUBLE stop
            sync LOW ?ALWAYS head
""",
    "hlt": """
            hold ZERO ?ODD bad_word
hlt_wait:   hold ZERO ?BUSY hlt_wait
            hold ZERO ?TROUBLE stop
            retire ZERO
            load ZERO >CODE
hlt_retired: hold ZERO ?BUSY hlt_retired
            hold ZERO ?ALWAYS finish
""",
    "nothing": """
            retire ZERO ?ALWAYS head
""",
}

_REST = """
rw_exact:   hold ZERO ?BAD_FLAGS bad_flags
            hold ZERO ?LENGTH bad_length_field
            load LOW >DETAIL ?UB bad_ub
            double ?CARRY bad_tile
            double ?CARRY bad_tile
            add WEIGHTS_BASE >BEGIN ?CARRY bad_tile
            add THREE >LAST ?CARRY bad_tile
            sub WEIGHTS_LIMIT ?CARRY bad_tile
            load BEGIN ?HIGH bad_tile
            sub WINDOW_BASE ?WEIGHTS bad_place
            load BEGIN
            sub WINDOW_BASE ?NO_CARRY window_begin
            load LAST
            sub WINDOW_LIMIT ?CARRY window_last
            hold ZERO ?ALWAYS rw_free
compute_exact: load UB ?BAD_FLAGS bad_flags
            add NUMBER >UB_LAST
            sub UB_ROWS ?CARRY bad_rows
            load LOW ?HIGH far_acc
            add NUMBER >DETAIL ?CARRY far_acc
            sub ACC_ROWS ?CARRY bad_acc
            load ZERO >DETAIL ?SWITCH underflow
            load CODE_22 >CODE ?ALWAYS fault
underflow:  load CODE_23 >CODE ?ALWAYS fault
compute_host: load MOVER_LAST
            sub UB ?NO_CARRY compute_free
            load UB_LAST
            sub MOVER_FIRST ?NO_CARRY compute_free
compute_wait: hold ZERO ?HOST compute_wait
            hold ZERO ?ALWAYS compute_free

bad_length: load LENGTH_OFFSET >DETAIL ?ALWAYS bad_register
bad_host_base: load HOST_BASE_OFFSET >DETAIL ?ALWAYS bad_register
bad_host_limit: load HOST_LIMIT_OFFSET >DETAIL ?ALWAYS bad_register
bad_weights_base: load WEIGHTS_BASE_OFFSET >DETAIL ?ALWAYS bad_register
bad_weights_limit: load WEIGHTS_LIMIT_OFFSET >DETAIL
bad_register: load LENGTH
            sub SEVEN >REMAIN
            load CODE_16 >CODE ?ALWAYS fault
window_last: load BEGIN
            sub WINDOW_LIMIT ?CARRY window_begin
window_end: load WINDOW_LIMIT ?ALWAYS window_bytes
window_begin: load BEGIN
window_bytes: double
            double >DETAIL
            load CODE_5 >CODE ?ALWAYS fault
illegal:    copy OPCODE
            load CODE_1 >CODE
            load OPCODE >DETAIL ?ALWAYS fault
bad_word:   hold ZERO ?BAD_FLAGS bad_flags
            hold ZERO ?LENGTH bad_length_field
            hold ZERO ?HIGH bad_addr
            hold ZERO ?LOW bad_addr
bad_ub:     load FOUR >DETAIL ?ALWAYS bad_field
bad_addr:   load THREE >DETAIL ?ALWAYS bad_field
bad_length_field: load TWO >DETAIL ?ALWAYS bad_field
bad_flags:  load ONE >DETAIL
bad_field:  load CODE_2 >CODE ?ALWAYS fault
bad_rows:   load UB_LAST >DETAIL
            load CODE_18 >CODE ?ALWAYS fault
far_acc:    load ONES >DETAIL
bad_acc:    load CODE_19 >CODE ?ALWAYS fault
bad_host:   load CODE_20 >CODE ?ALWAYS fault
bad_tile:   load CODE_21 >CODE ?ALWAYS fault
bad_place:  load CAPACITY >DETAIL
            load CODE_24 >CODE ?ALWAYS fault
past_end:   load LENGTH
            double >DETAIL
            load CODE_7 >CODE

fault:      hold ZERO ?BUSY fault
            hold ZERO ?TROUBLE trouble
position:   load LENGTH
            sub REMAIN
            sub SEVEN
            double >T
            load PROGRAM
            double
            double
            add T
finish:     finish CODE ?ALWAYS idle
            hold DETAIL
stop:       hold ZERO ?BUSY stop
            hold ZERO ?TROUBLE trouble
            load ZERO >DETAIL ?ABORT aborted
            load CODE_6 >CODE
            load LENGTH
            sub REMAIN
            sub SEVEN
            double >T
            load PROGRAM
            double
            double
            add T >DETAIL ?EVEN_FETCH position
            sub TWO >DETAIL ?ALWAYS position
aborted:    load CODE_8 >CODE ?ALWAYS position
trouble:    copy TRANSFER
            load MOVER_REMAIN >REMAIN
            load TRANSFER
            double
            double >DETAIL
            load CODE_6 >CODE ?ALWAYS position
"""


def _lines(text):
    """(labels, words) of every micro-instruction."""
    labels = []
    for line in text.replace(";", "\n").splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            labels.append(words.pop(0)[:-1])
        if words:
            yield labels, words
            labels = []


def _parse(words, registers):
    fields = dict(rs=registers["ZERO"], rd=0, act=Act.NONE, alu=Alu.HOLD, cond=Cond.NEVER, target=None)
    name, *rest = words
    upper = name.upper()
    if upper in Alu.__members__:
        fields["alu"] = Alu[upper]
    elif upper == "COPY":
        fields |= {"act": Act.COPY, "rd": External[rest.pop(0)]}
    else:
        fields |= {"act": Act.COMMAND, "rd": Command[upper]}
    while rest:
        word = rest.pop(0)
        if word[0] == ">":
            fields |= {"act": Act.WRITE, "rd": registers[word[1:]]}
        elif word[0] == "?":
            fields |= {"cond": Cond[word[1:]], "target": rest.pop(0)}
        elif word[0] == "!":
            fields["act"] = Act[word[1:]]
        else:
            fields["rs"] = registers[word]
    return fields


def assemble(params):
    """The microprogram.

    Returns
    -------
    list of dict
        256 micro-instructions, fields as :data:`LAYOUT`.
    dict
        label -> address; ``nop`` .. ``hlt``, ``illegal`` are the entries.
    """
    registers = _REGISTERS | {name: number for name, (number, _) in _constants(params).items()}
    labels, code = {}, []
    for text in (_START, *(f"{name}: {body.lstrip()}" for name, body in _ENTRIES.items()), _REST):
        for names, words in _lines(text):
            for name in names:
                if name in labels:
                    raise ValueError(f"Label {name} stands twice")
                labels[name] = len(code)
            code.append(_parse(words, registers))
    if len(code) > 1 << LAYOUT["target"]:
        raise ValueError(f"The microprogram has {len(code)} instructions, more than {1 << LAYOUT['target']}")
    for fields in code:
        fields["target"] = 0 if fields["target"] is None else labels[fields["target"]]
    _check_distances(code)
    return code, labels


def _check_distances(code):
    writes = (Act.WRITE, Act.COPY, Act.COMPUTE_ROW, Act.MOVER_ROW)
    for k, (first, second) in enumerate(zip(code, code[1:], strict=False)):
        if first["act"] in writes and second["rs"] == first["rd"] and first["cond"] != Cond.ALWAYS and second["rs"] < 32:
            raise ValueError(f"Micro-instruction {k + 1} reads what the one before it writes")


def encode(fields):
    """A micro-instruction as a number."""
    value = shift = 0
    for name, bits in LAYOUT.items():
        if fields[name] >> bits:
            raise ValueError(f"Field {name} of a micro-instruction has {bits} bits, not enough for {fields[name]}")
        value |= int(fields[name]) << shift
        shift += bits
    return value
