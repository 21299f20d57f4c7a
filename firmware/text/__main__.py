# SPDX-License-Identifier: BSD-2-Clause
"""Let the language model write on every core: ``python -m quintet.firmware.text``.

For each core the model is compiled for the ULX3S-85F. The golden model and, with --boards, the
virtual board write the same number of tokens, which are compared with those of the reference in
plain numpy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from quintet.tools.compiler.backends import backend_names
from quintet.tools.console import Console
from quintet.tools.errors import Exit

from ..commandline import Parser, guarded
from . import FOLDER

if TYPE_CHECKING:
    from quintet.tools.compiler.plan.plan import Plan

__all__ = ["BOARD", "CoreText", "compiled", "main", "reference_text", "text_on"]

BOARD = "ulx3s-85f"


@dataclass(frozen=True)
class CoreText:
    """A text on a target.

    Attributes
    ----------
    target : its name
    numbers : those of the tokens
    cycles : of a token; on a golden model, which counts none, as the plan estimates them
    counted : whether the cycles are counted
    clock_hz : clock that counts them, as far as place and route has reached; ``None``: not known
    hosted : nodes of the network that run on the host
    """

    target: str
    numbers: tuple[int, ...]
    cycles: float
    counted: bool
    clock_hz: float | None
    hosted: int

    @property
    def rate(self) -> float | None:
        """Tokens a second by the core, ``None`` if the clock is not known."""
        return self.clock_hz / self.cycles if self.clock_hz else None


def compiled(isa: str) -> Plan:
    """The plan of the shipped model for a core of the ULX3S-85F."""
    from quintet.gateware.isa.files import load_archive
    from quintet.tools.compiler.api import compile_model

    calibration = load_archive(FOLDER / "text.npz")["calibration"]
    path = FOLDER / "text.onnx"
    return compile_model(path, f"sim:{BOARD}/{isa}", calibration=calibration, host_steps=True).plan


def text_on(plan: Plan, target: str, tokens: int, temperature: float = 0.7) -> CoreText:
    """Text that a plan writes on a target, behind the first token of the vocabulary."""
    from quintet.tools.build.reached import time_clock
    from quintet.tools.compiler.session import Session
    from quintet.tools.compiler.target_build import target_build
    from quintet.tools.language.model import Choice, plan_model, written
    from quintet.tools.targets import open_target

    with Session(plan, open_target(target)) as session:
        choice = Choice(temperature, 0)
        numbers = tuple(written(session, plan_model(plan), [0], tokens, choice))
        report = session.report
    clock = time_clock(target_build(f"{BOARD}/{plan.isa}"))
    return CoreText(
        target=target,
        numbers=numbers,
        cycles=report.cycles / report.inputs if report.cycles else plan.cycles,
        counted=bool(report.cycles),
        clock_hz=plan.clock(clock.hz),
        hosted=sum(len(step.names) for step in plan.steps if step not in plan.core_steps),
    )


def reference_text(plan: Plan, numbers: Sequence[int], temperature: float = 0.7) -> tuple[int, ...]:
    """Tokens that the reference in numpy chooses at every step of the text ``numbers``. If they are
    the text, the reference writes the same one."""
    from quintet.tools.compiler.fidelity import reference_tensors
    from quintet.tools.compiler.values import check_inputs, from_graph
    from quintet.tools.language.model import Choice, plan_model

    model, choice = plan_model(plan), Choice(temperature, 0)
    read = model.inputs([0, *numbers[:-1]])
    inputs = check_inputs(plan.network, plan.inputs, {model.token.name: read})
    values = reference_tensors(plan, inputs)[1]
    return tuple(choice(row) for row in from_graph(model.scores, values[model.scores.tensor]))


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = Parser(prog="text", description=__doc__)
    parser.add_argument("--isa", action="append", choices=backend_names(), help="these cores only")
    parser.add_argument("--tokens", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument(
        "--boards", action="store_true", help="write on the virtual board too, and count cycles"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on standard output"
    )
    args = parser.parse_args(argv)
    return guarded("text", lambda: _command(args, Console(args.json)))


def _command(args, console):
    rows = []
    for isa in args.isa or backend_names():
        plan = compiled(isa)
        model = text_on(plan, f"model:{isa}", args.tokens)
        found = text_on(plan, f"sim:{BOARD}/{isa}", args.tokens) if args.boards else model
        equal = reference_text(plan, model.numbers) == model.numbers == found.numbers
        rows.append(
            {"isa": isa, "equal": equal, "rate": found.rate, "snr": plan.snr} | asdict(found)
        )
        text = "".join(plan.vocabulary[number] for number in model.numbers)
        console.note(f"{isa}: {'the same tokens' if equal else 'DIFFERENT tokens'}: {text!r}")
    console.table(
        ("core", ">cycles a token", ">clock, MHz", ">tokens a second", ">SNR, dB", "", ">on host"),
        [
            (
                row["isa"],
                f"{row['cycles']:,.0f}",
                f"{row['clock_hz'] / 1e6:.4g}" if row["clock_hz"] else "",
                f"{row['rate']:,.1f}" if row["rate"] else "",
                f"{row['snr']:.1f}",
                "counted" if row["counted"] else "estimated",
                row["hosted"],
            )
            for row in rows
        ],
    )
    console.result({"tokens": args.tokens, "cores": rows})
    return Exit.OK if all(row["equal"] for row in rows) else Exit.NO


if __name__ == "__main__":
    sys.exit(main())
