# SPDX-License-Identifier: BSD-2-Clause
"""Assembler of microprograms: text and a machine's declaration give words, labels and registers. Pure Python."""
from .statement import statements

__all__ = ["Microprogram"]


class Microprogram:
    """An assembled microprogram; syntax in docs/microcode.md.

    Parameters
    ----------
    machine : :class:`~.machine.MachineFormat`
    parts : dict, name of a part (for messages) -> text
    constants : dict, name -> value; they take the first registers for constants, in this order
    values : dict, array -> list of what its entries hold at first
    entries : labels that the gateware jumps to

    Attributes
    ----------
    words : list of int, micro-instructions
    labels : dict, label -> address
    names : dict, register -> number
    registers : list of int, what the registers hold after configuration
    size : micro-instructions that the machine's memory holds

    Raises
    ------
    MicrocodeError
        Anything that the machine could not run; the message begins with part and line.
    ValueError
        The same, of no line in particular.
    """
    def __init__(self, machine, parts, *, constants=None, values=None, entries=()):
        self._machine, self.size, file = machine, machine.size, machine.registers
        self.names = file.fixed | {name: number for name, (number, _) in file.arrays.items()}
        self.registers, self.labels = [0] * file.size, {}
        self._variables = list(file.variables)
        self._constants = self._variables if file.constants is None else list(file.constants)
        for name, value in (constants or {}).items():
            self._constant(name, value)
        for name, given in (values or {}).items():
            number, count = file.arrays[name]
            if len(given) > count:
                raise ValueError(f"Array {name} has {count} entries, not {len(given)}")
            self.registers[number:number + len(given)] = given
        self._code = []
        for statement in statements(parts):
            self._place(statement)
        if len(self._code) > machine.size:
            raise ValueError(f"The microprogram has {len(self._code)} instructions, more than {machine.size}")
        missing = sorted({*entries} - {*self.labels})
        if missing:
            raise ValueError(f"The microprogram has no entry {', '.join(missing)}")
        self.words = [self._encode(statement) for statement in self._code]
        for first, second in zip(self._code, self._code[1:], strict=False):
            for found, message in machine.hazards:
                if found(first, second):
                    raise (second if "{second}" in message else first).error("Micro-instruction " + message.format(first=first, second=second))

    def listing(self):
        """Text: address, word, fields, label and statement of every micro-instruction."""
        digits, names = (sum(self._machine.layout.values()) + 3) // 4, {}
        for label, address in self.labels.items():
            names.setdefault(address, []).append(f"{label}:")
        fields = [self._machine.layout.describe(word) for word in self.words]
        width = max(map(len, fields), default=0)
        return "".join(f"{address:03x}  {word:0{digits}x}  {field:{width}}  {' '.join(names.get(address, [])):12} {' '.join(statement.words)}\n"
                       for address, (word, field, statement) in enumerate(zip(self.words, fields, self._code, strict=True)))

    def register(self, name, statement):
        """Number of a register; a variable or constant gets one where it is first named."""
        if name not in self.names:
            if name.startswith("#"):
                self._constant(name, int(name[1:]), statement)
            elif not self._machine.registers.variables:
                raise statement.error(f"No register {name!r} for {statement}, expected one of {', '.join(self.names)}")
            else:
                self.names[name] = self._next(self._variables, name, statement)
        return self.names[name]

    def entry(self, name, entry, statement):
        """Number of an entry of an array."""
        number, count = self._machine.registers.arrays.get(name, (0, 0))
        if entry >= count:
            raise statement.error(f"No array {name!r} with entry {entry} for {statement}, "
                                  f"expected {', '.join(f'{n}.0 to {n}.{c - 1}' for n, (_, c) in self._machine.registers.arrays.items())}")
        return number + entry

    def _constant(self, name, value, statement=None):
        self.names[name] = self._next(self._constants, name, statement)
        self.registers[self.names[name]] = value

    def _next(self, free, name, statement):
        if not free:
            message = f"No register is left for {name}"
            raise statement.error(message) if statement else ValueError(message)
        return free.pop(0)

    def _place(self, statement):
        """Takes a statement as the next micro-instruction, or does what a directive says."""
        name, *rest = statement.words or [""]
        for label in statement.labels:
            if label in self.labels:
                raise statement.error(f"Label {label} stands twice")
            self.labels[label] = len(self._code)
        if name == ".align" and len(rest) == 1:
            gap = -len(self._code) % statement.number(rest[0], "alignment")
            self._code += [statement.filled(self._machine.filler) for _ in range(gap)]
        elif name == ".also" and len(rest) == 2:
            if rest[0] in self.names:
                raise statement.error(f"Variable {rest[0]} has a place, not that of {rest[1]}")
            self.names[rest[0]] = self.register(rest[1], statement)
        elif name.startswith("."):
            raise statement.error(f"No directive {statement}, expected '.align n' or '.also NEW OLD'")
        elif name:
            statement.address = len(self._code)
            self._code.append(statement)

    def _encode(self, statement):
        layout, fields = self._machine.layout, self._fields(statement)
        statement.fields = dict.fromkeys(layout, 0) | fields
        try:
            return layout.encode(fields)
        except ValueError as error:
            raise statement.error(f"{error}, in {statement}") from None

    def _fields(self, statement):
        operations, (name, *rest) = self._machine.operations, statement.words
        if name not in operations:
            raise statement.error(f"No operation {name!r} in {statement}, expected one of {', '.join(operations)}")
        fields, operands, count = operations[name]
        if count is not None and len(rest) != count:
            raise statement.error(f"Operation {statement} has {len(rest)} operands, not {count}")
        while rest:
            word = rest[0]
            sign = "" if word[0].isalnum() or word[0] == "#" else word[0]
            if sign not in operands:
                raise statement.error(f"No operand {word!r} in {statement}, expected {' or '.join(f'{s}...' if s else 'a name' for s in operands)}")
            given = {}
            for part in operands[sign]:
                if not isinstance(part, dict):
                    if not rest:
                        raise statement.error(f"Operand {word!r} in {statement} lacks its {type(part).__name__.lower()}")
                    taken = rest.pop(0)
                    part = part.read(taken[len(sign):] if taken is word else taken, self, statement)
                given |= {field: given.get(field, 0) | value for field, value in part.items()}
            twice = fields.keys() & given.keys()
            if twice:
                raise statement.error(f"Operand {word!r} in {statement} sets {', '.join(sorted(twice))}, which is set already")
            fields = fields | given
        for field, register in self._machine.defaults.items():
            if field not in fields:
                fields = fields | {field: self.register(register, statement)}
        return fields
