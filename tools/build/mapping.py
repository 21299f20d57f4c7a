# SPDX-License-Identifier: BSD-2-Clause
"""Technology mapping: yosys' choices by name, and adders of an ECP5, whose carry chains need no
extra cells at their ends (``ecp5/carry.v``)."""

from pathlib import Path

__all__ = ["FILES", "MAPPINGS", "mapped", "steps"]

#: By family: names of ways to map logic (``quintet build --mapping``) -> options of yosys'
#: ``synth_<family>``. ``plain`` is yosys' own choice: abc9 on an ECP5, abc on an iCE40. None has
#: ``-dsp`` of an iCE40, which takes SB_MAC16 instances for its own and strips them of clock,
#: registers and mode.
MAPPINGS: dict[str, dict[str, str]] = {
    "ecp5": {
        "plain": "",
        "abc": "-noabc9",
        "dff": "-dff",
        "retime": "-noabc9 -retime",
        "nowidelut": "-nowidelut",
    },
    "ice40": {
        "plain": "",
        "abc9": "-abc9",
        "abc2": "-abc2",
        "dff": "-abc9 -dff",
        "retime": "-retime",
    },
}

_FOLDER = Path(__file__).parent / "ecp5"
#: By family: files that yosys reads besides the netlist, name -> text.
FILES: dict[str, dict[str, str]] = {
    "ecp5": {name: (_FOLDER / name).read_text() for name in ("carry.v", "carry_ends.v")},
    "ice40": {},
}


def mapped(family: str, options: str) -> str:
    """Options of ``synth_<family>`` that stop it before the steps of :func:`steps`; ``options`` are
    those of the design."""
    return f"{options} -run begin:map_gates".strip() if family == "ecp5" else options


def steps(family: str, options: str, top: str) -> list[str]:
    """yosys commands after a ``synth_<family>`` with the options of :func:`mapped`: the rest of the
    synthesis."""
    if family != "ecp5":
        return []
    return [
        # Sums of more than two end in adders, too.
        "maccmap t:$macc t:$macc_v2",
        "techmap -map carry.v t:$alu",
        f"synth_{family} {options} -run map_gates: -top {top}",
        *(
            f"chtype -set CCU2C_{end.upper()} a:quintet_{end} t:CCU2C %i"
            for end in ("first", "last")
        ),
        "techmap -map carry_ends.v t:CCU2C_*",
        "clean",
    ]
