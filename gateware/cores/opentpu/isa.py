# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's instruction set: encoding, assembly, registers and faults (docs/isa/opentpu.md,
sections 3, 6 and 7.2). Pure Python."""

from ...isa.instruction import Modulo, Named
from ...isa.parameters import Params
from ...isa.registers import Fault, Register
from ...isa.table import Field, Instruction, Isa, Part, Rule, Storage, Syntax, built

__all__ = ["CFG_MASKS", "CFG_NAMES", "ISA", "cfg_built", "cfg_legal"]

#: CFG registers by number; the control register with a register's initial value is ``cfg_<name>``.
CFG_NAMES = ("norm", "conv", "pool", "poolrow")

_CFG_EXTENSION = ("ext_norm", "ext_conv", "ext_pool", "ext_pool")

#: Bits that may be set in each CFG register, by number.
CFG_MASKS = (0x0003_011F, 0xFFFF_FFFF, 0x00FF_FFFF, 0xFFFF_FFFF)


def cfg_built(number: int, params: Params | None) -> bool:
    """Whether CFG register ``number`` exists with ``params`` (without parameters, all four do)."""
    return number < len(CFG_NAMES) and built(params, _CFG_EXTENSION[number])


def cfg_legal(number: int, value: int) -> bool:
    """Whether ``value`` is legal for CFG register ``number`` (section 4.9: reserved bits, mode 3,
    PW or PH 0)."""
    if number >= len(CFG_NAMES) or value & ~CFG_MASKS[number]:
        return False
    if CFG_NAMES[number] == "norm":
        return value >> 16 != 3
    if CFG_NAMES[number] == "pool":
        return value & 0xF != 0 and value >> 4 & 0xF != 0
    return True


# Fields


def _length():
    return Field("length", 95, 88, coding=Modulo(256), label="n", doc="256 is coded 0")


def _ub(label):
    return Field("ub", 23, 0, label=label, doc="row of the unified buffer")


def _host(label):
    return Field("addr", 87, 24, label=label, doc="vector of host memory")


def _acc(label):
    # The core compares all 64 bits with its size; the assembler knows that no build has more than
    # 2**16 rows.
    return Field("addr", 87, 24, limit=range(1 << 16), label=label, doc="accumulator row")


def _flag(letter, name, bit, doc, **options):
    return Field(name, 96 + bit, 96 + bit, flag=letter, doc=doc, **options)


# Rules


def _ub_range(values, params):
    if params is None or values.get("convolve") and built(params, "ext_conv"):
        return None  # rows of a convolving MMC are checked while it runs
    last = values["ub"] + values["length"] - 1
    return last if last >= params.get("ub_rows", 1 << 24) else None


def _acc_range(values, params):
    if params is None or values.get("pool") and built(params, "ext_pool"):
        return None
    last = values["addr"] + values["length"] - 1
    return min(last, 0xFFFF_FFFF) if last >= params.get("acc_rows", 1 << 64) else None


def _cfg(values, params):
    number = values["register"]
    return None if cfg_built(number, params) and cfg_legal(number, values["value"]) else number


def _past(what, parameter, first):
    def text(values, params):
        last = values[first] + values["length"] - 1
        return (
            f"{what} {values[first]} to {last} pass the last one of this build, "
            f"expected 0 to {params[parameter] - 1}"
        )

    return text


def _cfg_message(values, params):
    name = CFG_NAMES[values["register"]]
    if not cfg_built(values["register"], params):
        return f"CFG {name} is not built with these parameters: fault bad_config"
    return f"{values['value']:#x} is no legal value of {name}: fault bad_config"


_UB_RULE = Rule("ub_range", _ub_range, _past("vectors", "ub_rows", "ub"), field="ub")
_ACC_RULE = Rule(
    "acc_range", _acc_range, _past("accumulator rows", "acc_rows", "addr"), field="addr"
)
_CFG_RULE = Rule("bad_config", _cfg, _cfg_message, field="value", severity="warning")


INSTRUCTIONS = (
    Instruction("NOP", 0x00, doc="One issue cycle, nothing else."),
    Instruction(
        "WHM",
        0x01,
        (_ub("ub_src"), _host("host_dst"), _length()),
        "{ub}, {addr}, {length}",
        rules=(_UB_RULE,),
        doc="Write host memory: host[addr+i] = UB[ub+i].",
    ),
    Instruction(
        "RW",
        0x02,
        (
            _flag(
                "D",
                "diagonal",
                6,
                "the address is that of a row of N bytes, the tile's diagonal; its other weights "
                "are 0 (extension)",
                only_if="ext_diag",
                unbuilt="zero",
            ),
            Field(
                "addr", 87, 24, label="tile", doc="tile of weight memory; with D, row of N bytes"
            ),
        ),
        doc="Read weights: the tile is appended to the weight queue.",
    ),
    Instruction(
        "MMC",
        0x03,
        (
            _flag("S", "switch", 0, "the oldest tile of the queue becomes the current one"),
            _flag("O", "overwrite", 2, "overwrite the accumulators instead of adding"),
            _flag(
                "C",
                "convolve",
                1,
                "rows by the CFG register conv (extension; ignored where not built)",
                only_if="ext_conv",
            ),
            _flag(
                "B",
                "bias",
                7,
                "add to the last row, as it was before, instead of to each row (extension; "
                "nothing with O)",
                only_if="ext_bias",
                unbuilt="zero",
            ),
            _ub("ub_src"),
            _acc("acc_dst"),
            _length(),
        ),
        "{ub}, {addr}, {length}",
        rules=(_UB_RULE, _ACC_RULE),
        doc="Matrix multiply: ACC[addr+i] (+)= UB[ub+i] @ W.",
    ),
    Instruction(
        "ACT",
        0x04,
        (
            _flag("R", "relu", 3, "ReLU"),
            _flag("Q", "sigmoid", 4, "sigmoid; with R as well: none"),
            _flag(
                "P",
                "pool",
                5,
                "max-pool by the CFG registers pool and poolrow (extension)",
                only_if="ext_pool",
                unbuilt="zero",
            ),
            _acc("acc_src"),
            _ub("ub_dst"),
            _length(),
        ),
        "{addr}, {ub}, {length}",
        rules=(_UB_RULE, _ACC_RULE),
        doc="Activate: UB[ub+i] = f(ACC[addr+i]).",
    ),
    Instruction(
        "SYNC",
        0x05,
        (
            _flag("I", "interrupt", 0, "raise the interrupt"),
            Field("tag", 39, 24, default=0, doc="goes to the register sync_tag"),
        ),
        "<{tag}>",
        only_if="ext_sync",
        unbuilt="NOP",
        doc=(
            "Waits until every earlier instruction has completed (extension; a NOP where not "
            "built)."
        ),
    ),
    Instruction(
        "RHM",
        0x06,
        (_host("host_src"), _ub("ub_dst"), _length()),
        "{addr}, {ub}, {length}",
        rules=(_UB_RULE,),
        doc="Read host memory: UB[ub+i] = host[addr+i].",
    ),
    Instruction(
        "HLT",
        0x07,
        doc="Waits for every earlier instruction and its memory writes, then ends the run.",
    ),
    Instruction(
        "CFG",
        0x10,
        (
            Field(
                "register",
                23,
                0,
                limit=range(4),
                form=Named(tuple((n, k) for k, n in enumerate(CFG_NAMES))),
                label="reg",
                doc="norm, conv, pool or poolrow, or 0 to 3",
            ),
            Field("value", 55, 24, doc="32 bits"),
        ),
        rules=(_CFG_RULE,),
        only_if=("ext_norm", "ext_conv", "ext_pool"),
        doc="Sets a CFG register for the instructions after it (extension).",
    ),
)

#: In order of precedence: where several apply, the first is reported.
FAULTS = (
    Fault(
        16,
        "bad_register",
        "start: hostmem_base or weights_base not a multiple of 16, a limit below its base, "
        "program length 0 or not a multiple of 14, or the program overlaps host memory",
        "offset of the register (overlap: hostmem_base)",
    ),
    Fault(
        17,
        "bad_config",
        "a cfg_* register or a CFG instruction holds an illegal value or names no register",
        "number of the CFG register",
    ),
    Fault(
        5,
        "window",
        "program, host vectors or weight tile leave the core's memory window",
        "first byte address outside",
    ),
    Fault(1, "illegal_opcode", "opcode undefined, or its extension not built", "the opcode"),
    Fault(
        2,
        "bad_field",
        "a bit that must be zero is not; flag P without ext_pool, D without ext_diag, or B without "
        "ext_bias",
        "1 flags, 2 length, 3 addr, 4 ub",
    ),
    Fault(
        18,
        "ub_range",
        "a row past the end of the unified buffer",
        "last row of the instruction (C: first offending row)",
    ),
    Fault(
        19,
        "acc_range",
        "a row past the end of the accumulators",
        "last row, at most 2^32-1 (P: first offending row)",
    ),
    Fault(
        20, "host_range", "vectors past hostmem_limit", "low 32 bits of the last vector's address"
    ),
    Fault(
        21,
        "weight_range",
        "tile past weights_limit, or with D a row",
        "low 32 bits of the tile or row",
    ),
    Fault(22, "no_weights", "MMC before any MMC with S", "0"),
    Fault(23, "weight_underflow", "MMC with S, no tile pending", "0"),
    Fault(24, "weight_overflow", "RW with wfifo_tiles+1 tiles pending", "capacity"),
    Fault(6, "bus_error", "the memory answered with an error", "address of the request"),
    Fault(
        7,
        "program_end",
        "the instruction after the last word would issue (no HLT)",
        "program length in bytes",
    ),
    Fault(8, "aborted", "ended by the host or the cycle limit", "0"),
)

REGISTERS = (
    Register(
        "hostmem_base", 0x100, "rw", align=16, doc="byte address of host memory, a multiple of 16"
    ),
    Register("hostmem_limit", 0x104, "rw", doc="first byte after host memory"),
    Register(
        "weights_base", 0x108, "rw", align=16, doc="byte address of weight memory, a multiple of 16"
    ),
    Register("weights_limit", 0x10C, "rw", doc="first byte after weight memory"),
    Register(
        "sigmoid_compat",
        0x110,
        "rw",
        mask=1,
        doc="bit 0: sigmoid of negative values is 255, as published",
    ),
    Register(
        "sync_tag",
        0x114,
        "r",
        mask=0xFFFF,
        only_if="ext_sync",
        doc="tag of the last SYNC completed",
    ),
    Register(
        "cfg_norm",
        0x120,
        "rw",
        only_if="ext_norm",
        doc="CFG norm at start (reset: parameter norm_reset): shift [4:0], round [8], mode [17:16]",
    ),
    Register(
        "cfg_conv",
        0x124,
        "rw",
        reset=0x0000_0100,
        only_if="ext_conv",
        doc="CFG conv at start: OW [7:0], STEP [15:8], ROW [31:16]",
    ),
    Register(
        "cfg_pool",
        0x128,
        "rw",
        reset=0x0001_0011,
        only_if="ext_pool",
        doc="CFG pool at start: PW [3:0], PH [7:4], OW [15:8], STEP [23:16]",
    ),
    Register(
        "cfg_poolrow",
        0x12C,
        "rw",
        only_if="ext_pool",
        doc="CFG poolrow at start: ROW [15:0], OROW [31:16]",
    ),
)

PARTS = (
    Part("opcode", 111, 104),
    Part(
        "flags",
        103,
        96,
        detail=1,
        parts=(
            Part("switch", 0, 0),
            Part("convolve", 1, 1),
            Part("overwrite", 2, 2),
            Part("func", 4, 3),
            Part("pool", 5, 5),
            Part("diagonal", 6, 6),
            Part("bias", 7, 7),
        ),
    ),
    Part("length", 95, 88, detail=2),
    Part("addr", 87, 24, detail=3),
    Part("ub", 23, 0, detail=4),
)

ISA = Isa(
    name="opentpu",
    title="OpenTPU",
    tag="OTPU",
    version=(1, 0),
    program_align=16,
    storage=(Storage(112, 14, "big"),),
    parts=PARTS,
    instructions=INSTRUCTIONS,
    faults=FAULTS,
    registers=REGISTERS,
    syntax=Syntax(comments=("#",), fold=True),
    doc=(
        "Systolic matrix unit, unified buffer, accumulators, weight FIFO: int8 inference in "
        "straight-line programs."
    ),
)
