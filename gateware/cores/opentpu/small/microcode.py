# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the small engine: start checks, decoding, faults (specification, sections 3 and 6). Pure Python.

Addresses of main memory are kept in vectors of four bytes, program positions in half words, so that nothing is multiplied and
every check is one addition and its carry. A micro-instruction is executed in two stages: its operand is read while it waits
for one cycle, then ``A = f(A, R[rs])``. The carry is looked at by the micro-instructions behind, never by the one that makes it,
so that adder and jump lie in different cycles. A jump that is taken costs one cycle more. What a micro-instruction writes may be
read by the next but one (:func:`assemble` refuses anything else).
"""
import enum

__all__ = ["Act", "Alu", "Command", "Cond", "External", "LAYOUT", "assemble", "constants", "encode"]


class Alu(enum.IntEnum):
    HOLD = 0        #: A stays; the result is A + R
    LOAD = 1
    ADD = 2         #: ADD, SUB and DOUBLE set the carry, the others leave it
    SUB = 3
    DOUBLE = 4      #: A + A
    REDUCE = 5      #: A - R if that is not negative, else A


class Cond(enum.IntEnum):
    NEVER, ALWAYS, CARRY, NO_CARRY, BAD_FLAGS, LENGTH, HIGH, LOW, UB = range(9)
    WEIGHTS = 9         #: the weight queue forbids this instruction
    NO_WORD = 10        #: the next word is not there yet
    UNFREE = 11         #: TRANSFER or AWRY
    TRANSFER = 12       #: a transfer is under way, or instructions wait to be retired
    TROUBLE = 13        #: a transfer failed
    HOST = 14           #: rows are transferred
    BESET = 15          #: HOST or AWRY
    QUEUED = 16         #: no place for another MMC or ACT
    COMPUTING = 17
    SETTLED = 18        #: no MMC or ACT, and not AWRY
    BUSY = 19           #: anything of the run is under way
    SWITCH = 20
    ABORT = 21
    ODD = 22            #: a field that must be zero is not, addr is above 2**32, or WEIGHTS
    ODD_LENGTH, ODD_HOST, ODD_WEIGHTS, WHOLE_LIMIT, EVEN_FETCH = range(23, 28)
    AWRY = 28           #: a carry since the word was dispatched, or TROUBLE
    MARK = 29           #: the highest bit of R


class Act(enum.IntEnum):
    NONE = 0
    WRITE = 1           #: R[rd] = result
    COPY = 2            #: R[rd] = external value number rd
    COMPUTE_ROW = 3     #: R[rd] = result, and R goes to the queue of the compute unit
    MOVER_ROW = 4       #: R[rd] = result, and R goes to the mover
    COMMAND = 5         #: number rd, with R; not if a conditional jump is taken


class Command(enum.IntEnum):
    # DISPATCH goes on at the next word's entry, or at `halt` and does nothing else, if fetch or transfer failed, the host ends
    # the run, or there is no carry (the program is over).
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
    # Limits of host memory and, less three, of weight memory; 0 where these do not lie in the window as a whole.
    "HOST_TOP": 8, "WEIGHTS_TOP": 9,
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
        "LESS_TWO": _ONES - 1, "FETCH_FAILED": 1 << 31 | 6,
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
            load LENGTH
            sub SEVEN >REMAIN ?ODD_LENGTH bad_length
            reduce SEVEN_{_STEPS - 1} ?NO_CARRY bad_length
            {"".join(f"reduce SEVEN_{k};" for k in reversed(range(_STEPS - 1)))}
            add ONES
            load PROGRAM ?CARRY bad_length
            double
            add LENGTH >T
            load HOST_LIMIT >LAST ?WHOLE_LIMIT ceiling
            add ONE >LAST
ceiling:    load HOST_BASE ?ODD_HOST bad_host_base
            sub LAST
            load PROGRAM ?CARRY apart
            sub LAST
            load HOST_BASE ?CARRY apart
            double
            sub T
apart:      load HOST_LIMIT ?NO_CARRY bad_host_base
            sub HOST_BASE
            load WEIGHTS_LIMIT ?NO_CARRY bad_host_limit
            sub WEIGHTS_BASE ?ODD_WEIGHTS bad_weights_base
            load PROGRAM >BEGIN ?NO_CARRY bad_weights_limit
            sub WINDOW_BASE
            load PROGRAM ?NO_CARRY window_begin
            sub WINDOW_LIMIT
            load WINDOW_LIMIT ?CARRY window_begin
            double
            sub T
            load HOST_BASE ?NO_CARRY window_end
            sub WINDOW_BASE
            load WINDOW_LIMIT ?NO_CARRY no_host_top
            sub HOST_LIMIT
            load HOST_LIMIT >HOST_TOP ?CARRY host_topped
no_host_top: load ZERO >HOST_TOP
host_topped: load WEIGHTS_BASE
            sub WINDOW_BASE
            load WINDOW_LIMIT ?NO_CARRY no_top
            sub WEIGHTS_LIMIT
            load WEIGHTS_LIMIT ?NO_CARRY no_top
            sub THREE >WEIGHTS_TOP
            hold ZERO ?CARRY topped
no_top:     load ZERO >WEIGHTS_TOP
topped:     load LENGTH >REMAIN
            fetch PROGRAM
head:       load REMAIN
            sub SEVEN >REMAIN
word:       dispatch ZERO ?NO_WORD word
"""

# Entries of instructions. MMC and ACT are one, RHM and WHM another. In the common case no addition or subtraction of a word's
# checks has a carry: AWRY, looked at once, says that one had, and ODD that a field is wrong. Either leads to a second, closer
# look, taken in the order of the faults.
_ENTRIES = {
    "nop": """
            retire ZERO ?ODD bad_word
            sub SEVEN >REMAIN
nop_word:   dispatch ZERO ?NO_WORD nop_word
nothing:    retire ZERO ?ALWAYS head
""",
    "rw": """
            load LOW ?ODD rw_exact
            double
            double
            add WEIGHTS_BASE >BEGIN
            sub WEIGHTS_TOP
            move BEGIN ?UNFREE rw_wait
moved:      load REMAIN >MOVER_REMAIN
            sub SEVEN >REMAIN
move_word:  dispatch ZERO ?NO_WORD move_word
rw_wait:    hold ZERO ?AWRY rw_exact
            hold ZERO ?ALWAYS transfer_free
""",
    "compute": """
            load UB ?ODD compute_exact
            add NUMBER >FINAL
            sub UB_ROWS
            load LOW
            add NUMBER
            sub ACC_ROWS
compute_free: load UB >FIRST !COMPUTE_ROW ?QUEUED compute_free
            compute LOW ?BESET compute_host
computed:   load REMAIN
            sub SEVEN >REMAIN
compute_word: dispatch ZERO ?NO_WORD compute_word
compute_host: load UB ?AWRY compute_exact
            add NUMBER
            sub MOVER_FIRST
            load MOVER_LAST ?NO_CARRY compute_apart
            sub UB
            hold ZERO ?NO_CARRY compute_apart
compute_wait: hold ZERO ?HOST compute_wait
compute_apart: compute LOW ?ALWAYS computed
""",
    "transfer": """
            load UB ?ODD transfer_exact
            add NUMBER >MOVER_LAST
            sub UB_ROWS
            load LOW
            add HOST_BASE >BEGIN
            add NUMBER
            sub HOST_TOP
            hold ZERO ?SETTLED transfer_free
            hold ZERO ?AWRY transfer_exact
transfer_rows: load FINAL
            sub UB
            load MOVER_LAST ?NO_CARRY transfer_older
            sub FIRST
            hold ZERO ?CARRY transfer_wait
transfer_older: load FINAL_1
            sub UB
            load MOVER_LAST ?NO_CARRY transfer_free
            sub FIRST_1
            hold ZERO ?NO_CARRY transfer_free
transfer_wait: hold ZERO ?COMPUTING transfer_wait
transfer_free: hold ZERO ?TRANSFER transfer_free
            load UB >MOVER_FIRST !MOVER_ROW ?TROUBLE stop
            move BEGIN ?ALWAYS moved
""",
    "sync": """
            hold ZERO ?BAD_FLAGS bad_flags
            hold ZERO ?LENGTH bad_length_field
            load LOW ?HIGH bad_addr
            sub TAG
            hold ZERO ?CARRY bad_addr
            hold ZERO ?UB bad_ub
sync_wait:  hold ZERO ?BUSY sync_wait
            hold ZERO ?TROUBLE stop
            sync LOW ?ALWAYS head
""",
    "hlt": """
            retire ZERO ?ODD bad_word
hlt_wait:   load ZERO >CODE ?BUSY hlt_wait
            hold ZERO ?TROUBLE stop
            hold ZERO ?ALWAYS finish
""",
}

_REST = """
rw_exact:   hold ZERO ?BAD_FLAGS bad_flags
            hold ZERO ?LENGTH bad_length_field
            load LOW >DETAIL ?UB bad_ub
            double
            double ?CARRY bad_tile
            add WEIGHTS_BASE >BEGIN ?CARRY bad_tile
            add THREE >LAST ?CARRY bad_tile
            sub WEIGHTS_LIMIT ?CARRY bad_tile
            load BEGIN ?CARRY bad_tile
            sub WINDOW_BASE ?HIGH bad_tile
            hold ZERO ?WEIGHTS bad_place
            load LAST ?NO_CARRY window_begin
            sub WINDOW_LIMIT
            hold ZERO ?CARRY window_last
            hold ZERO ?ALWAYS transfer_free
transfer_exact: load UB ?BAD_FLAGS bad_flags
            add NUMBER >UB_LAST
            sub UB_ROWS
            load LOW ?CARRY bad_rows
            add NUMBER >DETAIL
            add HOST_BASE >LAST ?CARRY bad_host
            sub HOST_LIMIT ?CARRY bad_host
            load BEGIN ?CARRY bad_host
            sub WINDOW_BASE ?HIGH bad_host
            load LAST ?NO_CARRY window_begin
            sub WINDOW_LIMIT
            hold ZERO ?NO_CARRY transfer_rows
window_last: load BEGIN
            sub WINDOW_LIMIT
            hold ZERO ?CARRY window_begin
window_end: load WINDOW_LIMIT ?ALWAYS window_bytes
window_begin: load BEGIN
window_bytes: double
            double >DETAIL
            load CODE_5 >CODE ?ALWAYS fault
compute_exact: load UB ?BAD_FLAGS bad_flags
            add NUMBER >UB_LAST
            sub UB_ROWS
            load LOW ?CARRY bad_rows
            add NUMBER >DETAIL ?HIGH far_acc
            sub ACC_ROWS ?CARRY far_acc
            hold ZERO ?CARRY bad_acc
            load ZERO >DETAIL ?SWITCH underflow
            load CODE_22 >CODE ?ALWAYS fault
underflow:  load CODE_23 >CODE ?ALWAYS fault

bad_length: load LENGTH_OFFSET >DETAIL ?ALWAYS bad_register
bad_host_base: load HOST_BASE_OFFSET >DETAIL ?ALWAYS bad_register
bad_host_limit: load HOST_LIMIT_OFFSET >DETAIL ?ALWAYS bad_register
bad_weights_base: load WEIGHTS_BASE_OFFSET >DETAIL ?ALWAYS bad_register
bad_weights_limit: load WEIGHTS_LIMIT_OFFSET >DETAIL
bad_register: load CODE_16 >CODE ?ALWAYS fault
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
halt:       hold ZERO ?CARRY stop
            load LENGTH
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
            hold CODE ?MARK fetched
finish:     finish CODE ?ALWAYS idle
            hold DETAIL
fetched:    hold ZERO >DETAIL ?EVEN_FETCH finish
            hold LESS_TWO >DETAIL ?ALWAYS finish
stop:       hold ZERO ?BUSY stop
            hold ZERO ?TROUBLE trouble
            load ZERO >DETAIL ?ABORT aborted
            load FETCH_FAILED >CODE ?ALWAYS position
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
        if first["act"] in writes and second["act"] in writes and first["target"] == k and first["cond"] != Cond.ALWAYS:
            raise ValueError(f"Micro-instruction {k} waits and leaves the fields of the next word no cycle to be written in")


def encode(fields):
    """A micro-instruction as a number."""
    value = shift = 0
    for name, bits in LAYOUT.items():
        if fields[name] >> bits:
            raise ValueError(f"Field {name} of a micro-instruction has {bits} bits, not enough for {fields[name]}")
        value |= int(fields[name]) << shift
        shift += bits
    return value
