# SPDX-License-Identifier: BSD-2-Clause
"""Assembler of the small engine's microprogram (:mod:`.program`). Pure Python.

A micro-instruction is one line: ``[label:] operation [register] [*count] [action]``.

* operation: :class:`Alu`; ``*n`` repeats it n times (1 to 30), ``**`` as often as the count register says (0 to 31).
* register: a name (a variable, given a place where it is first named), ``#n`` (a constant), ``NAME+X`` (an entry of an array,
  index register X). It is read a cycle before the operation, so that X must have been set by the last instruction but one.
* action: ``>REG`` writes the result to a register, ``>REG+X`` to an entry of an array; ``=U``/``=U+X``/``=B+X`` to the tables of
  the rounder; ``=M`` puts the register (not the result) into M; ``?COND label`` jumps; ``!COMMAND`` or ``!COMMAND:n``;
  ``<NAME`` writes a register of the control block to the register named.

What an instruction writes may be read by the next but one. A jump that is taken costs one cycle more.
"""
import enum

__all__ = ["Act", "Alu", "Command", "Cond", "DYNAMIC", "FIXED", "LAYOUT", "TABLE_B", "TABLE_U", "Microprogram"]


class Alu(enum.IntEnum):
    HOLD = 0            #: A
    LOAD = 1            #: R
    ADD = 2             #: A + R
    SUB = 3             #: A - R
    SHL = 4             #: 2A
    SHR = 5             #: A/2, sign kept
    MUL = 6             #: 2A + (top bit of M ? R : 0), from A = 0 in the first of a repetition; M turns left by one


class Act(enum.IntEnum):
    NONE, WRITE, JUMP, COMMAND, LOAD_M, COPY, WRITE_U, WRITE_B = range(8)


class Cond(enum.IntEnum):
    ALWAYS, CARRY, NO_CARRY = range(3)
    NEG = 3             #: the result is negative
    HIGH_OPCODE = 4     #: opcode of 32 or more, in M
    HALT = 5            #: a request failed, or the host ends the run
    TROUBLE = 6         #: a request failed
    NO_WORD = 7         #: the instruction word is not there yet
    DMA = 8             #: requests or results are under way
    CONV = 9            #: a convolution is under way
    BUSY = 10           #: any of both
    LOOP = 11           #: the counter is not 0; it goes down by one
    MORE = 12           #: the counter is not 0


class Command(enum.IntEnum):
    """Commands take their value from R (configuration, before it is needed) or from A (addresses)."""
    DISPATCH = 0        #: jump to entry 32 * n + opcode
    X = 1               #: index = R
    COUNT = 2           #: count register of ``**`` = R
    CNT = 3             #: counter of LOOP = R
    FETCH = 4           #: ask for the word at A
    READ = 5            #: ask for BEATS + 1 beats at A
    WRITE = 6           #: announce them; the next RUN begins a new position
    BEATS = 7
    SINK = 8            #: n = 1: loads go to bias, 2: to the line at the pointer
    STORING = 9         #: a store or pad begins
    MOVED = 10          #: a DMA instruction is over
    RETIRE = 11
    FINISH = 12         #: with code R; the next instruction reads the detail, A is the pc
    READY = 13          #: idle
    WHERE = 14          #: index = number of the request that failed
    LINE = 15           #: pointer = line A
    SLICE = 16          #: pointer = line A; copy a tap's weights
    CONV = 17           #: pointer = line A; convolve, R: kind
    RUN = 18            #: requantise a position from A on, residual at line R; n: 1 writes it, 2 takes it from the pool
    ZEROS = 19          #: write a slot of zeros
    LINE_STEP, ROW_STEP, COLUMNS, ROWS, CHANNELS, CHUNKS, WORDS, SHIFT, MASK, POST = range(20, 30)


#: Bits of the fields of a micro-instruction, lowest first. ``what``: condition of a jump, else repetitions.
LAYOUT = {"rs": 8, "alu": 3, "act": 3, "x": 10, "what": 5, "rs_x": 1, "x_x": 1}
#: ``what`` of an operation that is repeated as often as the count register says.
DYNAMIC = 31

#: Registers with a place that the hardware knows: the word and its address field, arrays.
FIXED = {"WORD": 0, "OFFSET": 1, "BASE": 64, "LIMIT": 80, "RING": 124, "BIAS": 128}
#: Addresses of the rounder's tables: first values of sums for ``conv.bias`` (and, at ``U``, of all others), and addends.
TABLE_U, TABLE_B = {"U": 128, "U+X": 64}, {"B+X": 64}

_VARIABLES = (*range(2, 64), *range(96, 124), *range(192, 208))
_CONSTANTS = range(208, 256)
_SOURCES = ("PROGRAM", "LENGTH", "WINDOW_BASE", "WINDOW_LIMIT")


class Microprogram:
    """The assembled microprogram.

    Parameters
    ----------
    tables : tuple of dict
        Entries of the two dispatch tables: opcode -> label; ``None`` -> label of all others of that table. The second ends with
        its last entry.
    text : str

    Attributes
    ----------
    words : list of int, micro-instructions
    labels : dict, label -> address
    registers : list of int, what registers hold after configuration

    Raises
    ------
    ValueError
        Anything the hardware could not run.
    """
    SIZE = 1024

    def __init__(self, tables, text):
        self._names, self._values = dict(FIXED), {}
        self._free, self._free_constants = list(_VARIABLES), list(_CONSTANTS)
        self.labels, lines = {}, []
        for table in tables:
            for opcode in range(32 if table is tables[0] else max(filter(None, table)) + 1):
                lines.append(f"hold ?ALWAYS {table.get(opcode, table[None])}")
        for line in text.splitlines():
            words = line.partition(" # ")[0].split()
            while words and words[0].endswith(":"):
                label = words.pop(0)[:-1]
                if label in self.labels:
                    raise ValueError(f"Label {label} stands twice")
                self.labels[label] = len(lines)
            if words:
                lines.append(" ".join(words))
        if len(lines) > self.SIZE:
            raise ValueError(f"The microprogram has {len(lines)} instructions, more than {self.SIZE}")
        code = [self._parse(line) for line in lines]
        self._check(code, lines)
        self.words = [encode(fields) for fields in code]
        self.registers = [self._values.get(k, 0) for k in range(256)]

    def _register(self, name):
        """(number, with index) of a register."""
        indexed = name.endswith("+X")
        name = name.removesuffix("+X")
        if name not in self._names:
            free = self._free_constants if name.startswith("#") else self._free
            if not free:
                raise ValueError(f"No register is left for {name}")
            self._names[name] = free.pop(0)
            if name.startswith("#"):
                self._values[self._names[name]] = int(name[1:], 0) & 0xFFFF_FFFF
        return self._names[name], indexed

    def _parse(self, line):
        name, *rest = line.split()
        if name.upper() not in Alu.__members__:
            raise ValueError(f"No operation {name!r} in {line!r}")
        fields = {"rs": self._register("#0")[0], "alu": Alu[name.upper()], "act": Act.NONE, "x": 0, "what": 0, "rs_x": 0, "x_x": 0}
        while rest:
            word = rest.pop(0)
            key, value = word[0], word[1:]
            if key == "*":
                fields["what"] = DYNAMIC if value == "*" else int(value)
                if fields["alu"] not in (Alu.SHL, Alu.SHR, Alu.MUL) or value != "*" and not 1 <= int(value) < DYNAMIC:
                    raise ValueError(f"Repetition {word!r} in {line!r} is not possible")
            elif key == ">":
                fields["x"], fields["x_x"] = self._register(value)
                fields["act"] = Act.WRITE
            elif key == "=":
                table = {"M": (Act.LOAD_M, 0)} | {n: (Act.WRITE_U, a) for n, a in TABLE_U.items()}
                table |= {n: (Act.WRITE_B, a) for n, a in TABLE_B.items()}
                fields["act"], fields["x"] = table[value]
                fields["x_x"] = int(value.endswith("+X"))
            elif key == "?":
                if fields["what"]:
                    raise ValueError(f"A repetition cannot jump: {line!r}")
                target = rest.pop(0)
                if target not in self.labels:
                    raise ValueError(f"No label {target!r} for {line!r}")
                fields |= {"act": Act.JUMP, "what": Cond[value], "x": self.labels[target]}
            elif key == "!":
                command, _, argument = value.partition(":")
                fields |= {"act": Act.COMMAND, "x": Command[command] | int(argument or 0) << 5}
            elif key == "<":
                fields |= {"act": Act.COPY, "rs": _SOURCES.index(value), "x": self._register(rest.pop(0))[0]}
            else:
                fields["rs"], fields["rs_x"] = self._register(word)
        return fields

    def _check(self, code, lines):
        for first, second, line in zip(code, code[1:], lines[1:], strict=False):
            if first["act"] in (Act.WRITE, Act.COPY) and second["rs"] == first["x"] and second["act"] != Act.COPY:
                raise ValueError(f"Micro-instruction {line!r} reads what the one before it writes")
            if first["act"] == Act.COMMAND and first["x"] & 31 in (Command.X, Command.WHERE) and second["rs_x"]:
                raise ValueError(f"Micro-instruction {line!r} is read with the index before this one")


def encode(fields):
    """A micro-instruction as a number."""
    value = shift = 0
    for name, bits in LAYOUT.items():
        if not 0 <= fields[name] < 1 << bits:
            raise ValueError(f"Field {name} of a micro-instruction has {bits} bits, not enough for {fields[name]}")
        value |= int(fields[name]) << shift
        shift += bits
    return value
