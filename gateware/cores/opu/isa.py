# SPDX-License-Identifier: BSD-2-Clause
"""OPU's instruction set: words, registers and faults (specification, sections 3, 6 and 7). Pure
Python."""

from dataclasses import dataclass

from ...isa.instruction import Form, Log2, Number, Signed
from ...isa.registers import Counter, Fault, Register
from ...isa.table import Field, Instruction, Isa, Part, Rule, Storage, Syntax

__all__ = [
    "BIAS",
    "CONVOLUTIONS",
    "IFM",
    "ISA",
    "KER",
    "LOADS",
    "MAX_POSITIONS",
    "MAX_TAPS",
    "OFM",
    "POST_FORMS",
    "REGIONS",
    "REGION_BITS",
    "UNIT",
    "post_fields",
]

#: Bytes of the unit that addresses of ``ld.*``, ``store`` and ``pad`` count.
UNIT = 64
#: Entries of the region table, and log2 of the bytes of the largest region.
REGIONS, REGION_BITS = 16, 28
#: Bits of the masks of buffers (faults undef_buf and capacity).
IFM, KER, BIAS, OFM = 1, 2, 4, 8
#: Most positions of a shape, most taps of a kernel.
MAX_POSITIONS, MAX_TAPS = 2048, 36

LOADS = ("ld.ifm", "ld.ker", "ld.bias")
CONVOLUTIONS = ("conv", "conv.bias", "conv.acc")

#: The legal forms of ``@post``: bits ``res << 4 | order << 2 | act`` -> text (section 3.2).
POST_FORMS = {
    0b0_00_00: "pool",
    0b1_00_00: "res, pool",
    0b0_00_01: "act.relu, pool",
    0b1_00_01: "act.relu, res, pool",
    0b0_00_10: "act.leaky, pool",
    0b1_00_10: "act.leaky, res, pool",
    0b1_01_01: "res, act.relu, pool",
    0b1_01_10: "res, act.leaky, pool",
    0b1_10_00: "pool, res",
    0b1_10_01: "act.relu, pool, res",
    0b1_10_10: "act.leaky, pool, res",
}


def post_fields(post: int) -> tuple[int, int, int]:
    """Fields ``(act, order, res)`` of the value of ``@post``."""
    return post & 3, post >> 2 & 3, post >> 4 & 1


@dataclass(frozen=True)
class _Post(Form):
    """Operand form of ``@post``: its operations in order, separated by commas."""

    commas = True

    def parse(self, cursor, field):
        place, words = cursor.place, []
        while not cursor.at_end:
            words.append(cursor.advance().text)
        text = "".join(words)
        for value, form in POST_FORMS.items():
            if text == form.replace(" ", ""):
                return value
        cursor.fail(
            f"'{' '.join(words).replace(' ,', ',')}' is no form of @post",
            place=place,
            expected="one of " + "; ".join(POST_FORMS.values()),
        )

    def format(self, value):
        return POST_FORMS[value]


# Fields. A fault's detail is the lowest bit of its field.


def _field(name, hi, lo, doc="", **options):
    return Field(name, hi, lo, detail=lo, doc=doc, **options)


def _address(doc):
    return _field(
        "addr", 27, 6, doc + ", in units of 64 bytes from its region's start", form=Number(16)
    )


def _region(doc):
    return _field("addr", 9, 6, f"region of {doc}: base addr * 2^28")


def _sides(what):
    return (
        _field("h", 12, 6, f"rows of {what}", limit=range(1, 128)),
        _field("w", 19, 13, f"columns of {what}", limit=range(1, 128)),
    )


def _channels(low, doc):
    # No detail of its own: where h*w is wrong too, that is the lower field.
    return Field("c", 26, 20, coding=Log2(low, 6), label="γ", doc=f"{doc}; coded as its logarithm")


def _positions(values, params):
    return None if 1 <= values["h"] * values["w"] <= MAX_POSITIONS else 6


_POSITIONS = Rule(
    "bad_field",
    _positions,
    lambda v, p: f"h*w is {v['h'] * v['w']}, expected 1 to {MAX_POSITIONS}",
    field="h",
)


def _detail(word, item):
    """Detail of faults whose field has none of its own: the opcode, or the channels of
    ``@shape``."""
    if item is None or item.name == "opcode":
        return word & 0x3F
    area = (word >> 6 & 0x7F) * (word >> 13 & 0x7F)
    return item.lo if 1 <= area <= MAX_POSITIONS else 6


_CONV = (
    _field("h", 9, 6, "first row of the window of ifm"),
    _field("w", 13, 10, "first column of it"),
    _field("n", 19, 14, "tap of the kernel"),
)
_CONV_TEXT = "ifm:[{h},{w}], ker:{n}"

INSTRUCTIONS = (
    Instruction(
        "end",
        0,
        doc="Waits for every earlier instruction and its memory writes, then ends the run.",
    ),
    Instruction(
        "ld.ifm",
        1,
        (_address("address of the feature map"),),
        doc="Loads ifm: ifm_h x ifm_w positions, ifm_c channels of each slot.",
    ),
    Instruction(
        "ld.ker",
        2,
        (_address("address of the kernels"),),
        doc="Loads ker: ker_n x ofm_c x ifm_c weights.",
    ),
    Instruction(
        "ld.bias", 3, (_address("address of the bias"),), doc="Loads bias: ofm_c elements."
    ),
    Instruction("conv", 4, _CONV, _CONV_TEXT, doc="One tap: ofm = kappa(S * 2^f)."),
    Instruction(
        "conv.bias", 5, _CONV, _CONV_TEXT, doc="One tap: ofm = kappa(bias * 2^b + S * 2^f)."
    ),
    Instruction("conv.acc", 6, _CONV, _CONV_TEXT, doc="One tap: ofm = kappa(ofm + S * 2^f)."),
    Instruction(
        "store",
        7,
        (_address("address of the result"),),
        doc="Stores ofm after requantisation, activation, residual and pooling.",
    ),
    Instruction(
        "pad",
        8,
        (_address("address of the map"), _field("p", 31, 28, "width of the border")),
        doc="Zeroes a border of p positions inside the map of ofm_mem_h x ofm_mem_w slots.",
    ),
    Instruction(
        "@shape.ifm",
        16,
        (*_sides("ifm"), _channels(4, "channels of ifm")),
        "[{h},{w},{c}]",
        rules=(_POSITIONS,),
        doc="Sets the shape of ifm; invalidates ifm and ker.",
    ),
    Instruction(
        "@shape.ofm",
        17,
        (*_sides("ofm"), _channels(1, "channels of ofm")),
        "[{h},{w},{c}]",
        rules=(_POSITIONS,),
        doc="Sets the shape of ofm; invalidates ofm and ker, and bias if the channels change.",
    ),
    Instruction(
        "@shape.ker",
        18,
        (_field("n", 11, 6, "taps", legal=range(1, MAX_TAPS + 1)),),
        doc="Sets the taps of ker; invalidates ker.",
    ),
    Instruction(
        "@mem.ifm",
        19,
        (_region("ld.ifm"), _field("w", 19, 10, "slots of a row in memory", legal=range(1, 1024))),
        doc="Sets the region of ld.ifm and the width of the map it loads from.",
    ),
    Instruction("@mem.ker", 20, (_region("ld.ker"),), doc="Sets the region of ld.ker."),
    Instruction("@mem.bias", 21, (_region("ld.bias"),), doc="Sets the region of ld.bias."),
    Instruction(
        "@mem.ofm",
        22,
        (
            _region("store and pad"),
            _field("h", 19, 10, "rows of the map in memory", legal=range(1, 1024)),
            _field("w", 29, 20, "slots of a row in memory", legal=range(1, 1024)),
        ),
        "{addr}, [{h},{w}]",
        doc="Sets the region of store and pad and the size of the map they write.",
    ),
    Instruction(
        "@stride",
        23,
        (
            _field("h", 8, 6, "rows", legal=range(1, 8)),
            _field("w", 11, 9, "columns", legal=range(1, 8)),
        ),
        "[{h},{w}]",
        doc="Sets the strides of conv*.",
    ),
    Instruction(
        "@shift",
        24,
        (
            _field("f", 13, 6, "of the dot product", coding=Signed()),
            _field("b", 21, 14, "of the bias", coding=Signed()),
        ),
        doc="Sets the binary places by which conv* shift, to the left where positive.",
    ),
    Instruction(
        "@post",
        25,
        (
            _field(
                "post",
                10,
                6,
                "act in the two lowest bits, order in the next two, res above",
                legal=tuple(sorted(POST_FORMS)),
                form=_Post(),
                label="steps",
            ),
        ),
        doc="Sets what store does after requantisation.",
    ),
    Instruction(
        "@pool",
        26,
        (
            _field("h", 9, 6, "rows of a window", legal=range(1, 16)),
            _field("w", 13, 10, "columns of a window", legal=range(1, 16)),
            _field("i", 16, 14, "rows between windows", legal=range(1, 8)),
            _field("j", 19, 17, "columns between windows", legal=range(1, 8)),
        ),
        "[{h},{w}], [{i},{j}]",
        doc="Sets the pooling of store.",
    ),
)

#: In order of precedence: within one instruction the first is reported.
FAULTS = (
    Fault(1, "illegal_op", "opcode 9 to 15 or 27 to 63", "the opcode"),
    Fault(
        2,
        "bad_field",
        "a field with an illegal value",
        "lowest bit number of the lowest bad field (h*w of a shape: 6)",
    ),
    Fault(
        16,
        "undef_reg",
        "a register that the instruction needs is unset",
        "mask: 1 shape.ifm, 2 shape.ofm, 4 shape.ker, 8 mem.ifm, 16 mem.ofm",
    ),
    Fault(
        3,
        "undef_buf",
        "a buffer that the instruction needs is invalid",
        "mask: 1 ifm, 2 ker, 4 bias, 8 ofm",
    ),
    Fault(
        17,
        "range",
        "operands that do not fit the shapes",
        "1 window rows, 2 window columns, 3 tap, 4 kernel volume, 5 pool rows, 6 pool columns, "
        "7 residual rows, "
        "8 residual columns, 9 residual channels: the lowest that applies",
    ),
    Fault(
        4,
        "capacity",
        "a legal shape or kernel larger than this build holds",
        "mask as undef_buf: 1 ifm, 2 ker, 8 ofm",
    ),
    Fault(18, "region", "the array passes region_limit", "first byte of the array, as ISA address"),
    Fault(
        5,
        "window",
        "array or next word not inside the memory window, or past 2^32",
        "first byte of the array, or of the word, in main memory",
    ),
    Fault(7, "fetch", "the next word is not wholly below the program's end", "its address"),
    Fault(6, "bus", "the memory answered with an error", "address of the failed request"),
    Fault(8, "aborted", "ended by the host or the cycle limit", "0"),
)

REGISTERS = (
    Register(
        "region_base",
        0x100,
        "rw",
        mask=0xFFFF_FFC0,
        count=REGIONS,
        storage="engine",
        reset_step=1 << REGION_BITS,
        doc="main-memory address of region r",
    ),
    Register(
        "region_limit",
        0x140,
        "rw",
        reset=1 << REGION_BITS,
        mask=0xFFFF_FFC0,
        count=REGIONS,
        storage="engine",
        doc="bytes of region r, at most 0x1000_0000 (larger values read back as that); 0 closes it",
    ),
    Register(
        "fault_insn",
        0x180,
        "r",
        doc="word of the faulting instruction; 0 where it could not be fetched",
    ),
    Register(
        "cap_types",
        0x184,
        "r",
        build=True,
        doc="widths in bits: ifm [7:0], ker [15:8], bias [23:16], ofm [31:24]",
    ),
    Register(
        "cap_lanes",
        0x188,
        "r",
        build=True,
        doc="pi [7:0], po [15:8], banks of ifm [23:16], banks of ofm [31:24]",
    ),
    Register("cap_ifm_lines", 0x18C, "r", build=True, doc="parameter ifm_lines"),
    Register("cap_ofm_lines", 0x190, "r", build=True, doc="parameter ofm_lines"),
    Register("cap_ker_rows", 0x194, "r", build=True, doc="parameter ker_rows"),
)

COUNTERS = (
    Counter("stall_ifm", 0x198, doc="cycles the convolution unit waited for ld.ifm or ld.bias"),
    Counter("stall_ker", 0x1A0, doc="cycles it waited for weights"),
    Counter("stall_ofm", 0x1A8, doc="cycles it waited for a free bank of ofm"),
    Counter("dma_busy", 0x1B0, doc="cycles the DMA moved data or waited for them"),
)

ISA = Isa(
    name="opu",
    title="OPU",
    tag="OPU1",
    version=(1, 0),
    program_align=64,
    storage=(Storage(32, 4),),
    parts=(Part("opcode", 5, 0), Part("operands", 31, 6)),
    instructions=INSTRUCTIONS,
    faults=FAULTS,
    registers=REGISTERS,
    counters=COUNTERS,
    syntax=Syntax(comments=("#", ";")),
    rest="ignored",
    opcode_fault="illegal_op",
    fault_detail=_detail,
    doc="Convolutional overlay processor: feature map, kernel and bias buffers, one kernel tap "
    "an instruction over a whole "
    "tile, straight-line programs.",
)
