# SPDX-License-Identifier: BSD-2-Clause
"""Assembler of the small engine's microprogram (:mod:`.machine`). Pure Python.

Micro-instructions are separated by ``;`` or new lines; ``//`` starts a comment, ``label:`` names the next one, ``.align n`` leaves room,
``.also b a`` makes ``b`` another name of the variable ``a``.

Operands of ``ld``, ``add``, ``sub``, ``and``, ``mul`` (and of ``st``, but for the last two): ``name``, a variable, given a place where it is
first named; ``name.2``, an entry of an array; ``name+X``, the entry that the index says; ``#n``, a number; ``$NAME``, a :class:`Source`.
"""
import enum

__all__ = ["ARRAYS", "Count", "Mode", "Microprogram", "Op", "RETURNS", "Sink", "Source"]


class Op(enum.IntEnum):
    """Operations; A: the accumulator, C: the carry, P: an address, X: an index, R: the operand."""
    LD = 0              #: A = R
    ADD = 1             #: A = A + R; C
    SUB = 2             #: A = A - R; C: A was at least R
    AND = 3             #: A = A & R
    ST = 4              #: R = A
    SHL = 5             #: A turns left by a number, or X; zeros follow. C: the last bit that left
    SHR = 6             #: right
    OUT = 7             #: a sink takes A
    READ = 8            #: A = word of main memory at A; C: error
    REQUEST = 9         #: a word is going to be written at A
    SEND = 10           #: it is A; C: error
    RUN = 11            #: an operation of a unit, from A
    CNT = 12            #: counters
    CLS = 13            #: the class of cycles from here on
    JMP = 14
    JZ = 15             #: A is 0
    JNZ = 16
    JC = 17
    JNC = 18
    JABORT = 19         #: the run is to be aborted
    CALL = 20
    RET = 21
    JTAB = 22           #: jump to label + A
    WAIT = 23           #: idle until a run starts; no call is open then
    MUL = 24            #: A = upper half of A * R; C: the bit below it


class Mode(enum.IntEnum):
    """Where R comes from."""
    PLACE, INDEXED, SOURCE, NUMBER = range(4)


class Source(enum.IntEnum):
    """What else is read; the last two at P."""
    WINDOW_BASE, WINDOW_LIMIT, PROGRAM_ADDRESS, PROGRAM_LENGTH, DMA_IN_LIST, DMA_OUT_LIST, TABLE, MEM = range(8)


class Sink(enum.IntEnum):
    """What takes A; TABLE and MEM at P. FINISH: the run is over, A is the fault's detail until the next."""
    X, P, TABLE, MEM, PC, STEP, CONTEXT, CODE, FINISH = range(9)


class Count(enum.IntFlag):
    """What a CNT counts: an instruction, element operations, bytes."""
    RETIRED, OPS16, OPS64, READ4, READ32, WRITTEN4 = 1, 2, 8, 16, 32, 64


#: Arrays: name -> (place, entries). The index is OR'ed to the place.
ARRAYS = {"INFO": (0x80, 32), "DESC": (0xA0, 8), "STACK": (0xA8, 8), "LCOUNT": (0xB0, 8), "BODY": (0xB8, 8), "ADDR": (0xC0, 16),
          "ITER": (0xD0, 8), "START": (0xD8, 8), "SERIES": (0x60, 19), "RECIPROCAL": (0xE0, 8), "LOGARITHM": (0xE8, 8), "ROOT": (0xF0, 8)}
#: Places of the return addresses.
RETURNS = 0xF8
_FREE = (*range(0x60), *range(0x60 + 19, 0x80))
_JUMPS = (Op.JMP, Op.JZ, Op.JNZ, Op.JC, Op.JNC, Op.JABORT, Op.CALL, Op.JTAB)
_PLAIN = (Op.READ, Op.REQUEST, Op.SEND, Op.RUN, Op.RET, Op.WAIT)


class Microprogram:
    """The assembled microprogram.

    Parameters
    ----------
    text : str
    values : dict, array -> list of what it holds at first
    classes : enum of the classes that ``cls`` names

    Attributes
    ----------
    words : list of int, 16 bits each
    labels : dict, label -> address
    registers : list of int, what the 256 places hold at first

    Raises
    ------
    ValueError
        Anything the machine could not run.
    """
    SIZE = 2048

    def __init__(self, text, *, values, classes):
        self._classes = classes
        self._names = {name: place for name, (place, _) in ARRAYS.items()}
        self._free = list(_FREE)
        self.registers = [0] * 256
        for name, entries in values.items():
            place, count = ARRAYS[name]
            if len(entries) > count:
                raise ValueError(f"Array {name} has {count} entries, not {len(entries)}")
            self.registers[place:place + len(entries)] = entries
        self.labels, lines = {}, []
        for line in text.splitlines():
            for part in line.partition("//")[0].split(";"):
                words = part.split()
                while words and words[0].endswith(":"):
                    label = words.pop(0)[:-1]
                    if label in self.labels:
                        raise ValueError(f"Label {label} stands twice")
                    self.labels[label] = len(lines)
                if words and words[0] == ".align":
                    lines += [["wait"]] * (-len(lines) % int(words[1]))
                elif words and words[0] == ".also":
                    if words[1] in self._names:
                        raise ValueError(f"Variable {words[1]} has a place, not that of {words[2]}")
                    self._names[words[1]] = self._place(words[2])
                elif words:
                    lines.append(words)
        if len(lines) > self.SIZE:
            raise ValueError(f"The microprogram has {len(lines)} instructions, more than {self.SIZE}")
        self.words = [self._encode(words) for words in lines]

    def _encode(self, words):
        line, name = " ".join(words), words[0].upper()
        if name not in Op.__members__:
            raise ValueError(f"No operation {words[0]!r} in {line!r}")
        op = Op[name]
        if len(words) != 1 + (op not in _PLAIN):
            raise ValueError(f"Operation {line!r} has {len(words) - 1} operands, not {int(op not in _PLAIN)}")
        argument = words[-1]
        if op in _PLAIN:
            x = 0
        elif op in _JUMPS:
            if argument not in self.labels:
                raise ValueError(f"No label {argument!r} for {line!r}")
            x = self.labels[argument]
        elif op in (Op.SHL, Op.SHR):
            x = 1 << 10 if argument == "X" else int(argument)
            if argument != "X" and not 1 <= x <= 31:
                raise ValueError(f"Shift in {line!r} is not from 1 to 31")
        elif op is Op.CNT:
            x = sum(self._named(Count, part, line) for part in argument.split(","))
        elif op in (Op.OUT, Op.CLS):
            x = self._named(Sink if op is Op.OUT else self._classes, argument, line)
        else:
            x = self._operand(op, argument, line)
        return op << 11 | x

    @staticmethod
    def _named(kind, name, line):
        if name not in kind.__members__:
            raise ValueError(f"Nothing is called {name!r} for {line!r}")
        return int(kind[name].value)

    def _operand(self, op, argument, line):
        if argument[0] in "#$" and op is Op.ST:
            raise ValueError(f"Nothing can be stored in {line!r}")
        if argument[0] == "$":
            if argument[1:] not in Source.__members__:
                raise ValueError(f"No source {argument!r} for {line!r}")
            return Mode.SOURCE << 9 | Source[argument[1:]]
        if argument[0] == "#":
            value = int(argument[1:], 0) & 0xFFFF_FFFF
            if value < 512:
                return Mode.NUMBER << 9 | value
            place = self._place(f"#{value}")
            self.registers[place] = value
            return place
        name, plus, _ = argument.partition("+X")
        if plus:
            return Mode.INDEXED << 9 | self._array(name, 0, line)
        name, dot, entry = argument.partition(".")
        return self._array(name, int(entry), line) if dot else self._place(name)

    def _array(self, name, entry, line):
        if name not in ARRAYS or entry >= ARRAYS[name][1]:
            raise ValueError(f"No array {name!r} with entry {entry} for {line!r}")
        return ARRAYS[name][0] + entry

    def _place(self, name):
        if name not in self._names:
            if not self._free:
                raise ValueError(f"No place is left for {name}")
            self._names[name] = self._free.pop(0)
        return self._names[name]
