# SPDX-License-Identifier: BSD-2-Clause
"""Assembler of microprograms: translates text, by a machine's declaration, to words, labels and
registers. Pure Python."""

from collections.abc import Iterable, Mapping

from .machine import MachineFormat
from .registers import Registers
from .statement import Statement, statements

__all__ = ["Microprogram", "jump_table"]


def jump_table(
    labels: Mapping[int, str], numbers: Iterable[int], other: str, jump: str = "jmp"
) -> str:
    """Source text of a table for a computed jump: for each of ``numbers``, a jump to its label in
    ``labels`` (number -> label), or to ``other``."""
    return "\n".join(f"        {jump} {labels.get(number, other)}" for number in numbers)


class Microprogram:
    """An assembled microprogram; syntax in docs/how/microcode.md.

    Parameters
    ----------
    machine : :class:`~.machine.MachineFormat`
    parts : dict, name of a part (for messages) -> text
    constants : dict, name -> value; they take the first registers for constants, in this order
    values : dict, array -> list of its entries' initial values
    entries : labels that the gateware jumps to

    Attributes
    ----------
    words : list of int, micro-instructions
    code : list of :class:`~.statement.Statement`, one for each
    labels : dict, label -> address
    names : dict, register -> number
    registers : list of int, the registers' contents after configuration
    size : micro-instructions that the machine's memory holds

    Raises
    ------
    MicrocodeError
        Anything that the machine could not run; the message begins with part and line.
    ValueError
        The same, of no line in particular.
    """

    def __init__(
        self,
        machine: MachineFormat,
        parts: Mapping[str, str],
        *,
        constants: Mapping[str, int] | None = None,
        values: Mapping[str, list[int]] | None = None,
        entries: Iterable[str] = (),
    ) -> None:
        self._machine, self.size = machine, machine.size
        self.labels: dict[str, int] = {}
        self.code: list[Statement] = []
        self.file = Registers(machine.registers, constants or {}, values or {})
        self.names, self.registers = self.file.names, self.file.values
        for statement in statements(parts):
            self._place(statement)
        if len(self.code) > machine.size:
            raise ValueError(
                f"The microprogram has {len(self.code)} instructions, more than {machine.size}"
            )
        missing = sorted({*entries} - {*self.labels})
        if missing:
            raise ValueError(f"The microprogram has no entry {', '.join(missing)}")
        self.words = [self._encode(statement) for statement in self.code]
        for first, second in zip(self.code, self.code[1:], strict=False):
            for found, message in machine.hazards:
                if found(first, second):
                    raise (second if "{second}" in message else first).error(
                        "Micro-instruction " + message.format(first=first, second=second)
                    )
        self.file.check_written()

    def place(self, address: int) -> str:
        """Description of the statement at an address, for messages: part, line and text."""
        statement = self.code[address]
        return f"{statement.part}, line {statement.line}, {statement}"

    def listing(self, spent: list[int] | None = None) -> str:
        """Listing of the program as text: address, word, cycles, nonzero fields, labels and
        statement of every micro-instruction.

        ``spent``: cycles by address, shown in place of the machine's own cycles of each, if it
        declares them.
        """
        layout = self._machine.layout
        names: dict[int, list[str]] = {}
        for label, address in self.labels.items():
            names.setdefault(address, []).append(f"{label}:")
        fields = [layout.describe(word) for word in self.words]
        cycles = (
            [str(n) for n in spent]
            if spent is not None
            else [self._machine.cycles(word) for word in self.words]
        )
        width, digits, figures = (
            max(map(len, texts), default=0)
            for texts in (fields, [f"{(1 << sum(layout.values())) - 1:x}"], cycles)
        )
        return "".join(
            f"{address:03x}  {word:0{digits}x}  "
            f"{taken:>{figures}}{'  ' * bool(figures)}{field:{width}}  "
            f"{' '.join(names.get(address, [])):11} "
            f"{' '.join(statement.words)}\n"
            for address, (word, taken, field, statement) in enumerate(
                zip(self.words, cycles, fields, self.code, strict=True)
            )
        )

    def _place(self, statement):
        """Adds a statement as the next micro-instruction, or executes a directive."""
        name, *rest = statement.words
        for label in statement.labels:
            if label in self.labels:
                raise statement.error(f"Label {label} stands twice")
            self.labels[label] = len(self.code)
        if name == ".align" and len(rest) == 1:
            gap = -len(self.code) % statement.number(rest[0], "alignment", range(1, self.size + 1))
            if gap and not self._machine.filler:
                raise statement.error(
                    f"Nothing fills the gap of {statement}: the machine's declaration has no filler"
                )
            self.code += [statement.filled(self._machine.filler) for _ in range(gap)]
        elif name == ".also" and len(rest) == 2:
            self.file.alias(*rest, statement)
        elif name.startswith("."):
            raise statement.error(
                f"No directive {statement}, expected '.align n' or '.also NEW OLD'"
            )
        else:
            statement.address = len(self.code)
            self.code.append(statement)

    def _encode(self, statement):
        fields = self._fields(statement)
        statement.fields = dict.fromkeys(self._machine.layout, 0) | fields
        try:
            return self._machine.layout.encode(fields)
        except ValueError as error:
            raise statement.error(f"{error}, in {statement}") from None

    def _fields(self, statement):
        operations, (name, *rest) = self._machine.operations, statement.words
        if name not in operations:
            raise statement.error(
                f"No operation {name!r} in {statement}, expected one of {', '.join(operations)}"
            )
        fields, operands, count = operations[name]
        if count is not None and len(rest) != count:
            raise statement.error(f"Operation {statement} has {len(rest)} operands, not {count}")
        while rest:
            word = rest[0]
            given = self._operand(operands, rest, statement)
            twice = fields.keys() & given.keys()
            if twice:
                raise statement.error(
                    f"Operand {word!r} in {statement} sets {', '.join(sorted(twice))}, which "
                    f"is set already"
                )
            fields = fields | given
        return {
            field: self.file.number(name, statement)
            for field, name in self._machine.defaults.items()
            if field not in fields
        } | fields

    def _operand(self, operands, words, statement):
        """Parses the next operand: returns the fields that it sets, and consumes its words."""
        word = words[0]
        sign = "" if word[0].isalnum() or word[0] in "#_" else word[0]
        if sign not in operands:
            raise statement.error(
                f"No operand {word!r} in {statement}, expected "
                f"{' or '.join(f'{s}...' if s else 'a name' for s in operands)}"
            )
        fields, taken = {}, 0
        for part in operands[sign]:
            if not isinstance(part, dict):
                if not words:
                    raise statement.error(
                        f"Operand {word!r} in {statement} lacks its {type(part).__name__.lower()}"
                    )
                part, taken = (
                    part.read(words.pop(0)[0 if taken else len(sign) :], self, statement),
                    1,
                )
            fields |= {field: fields.get(field, 0) | value for field, value in part.items()}
        return fields
