# SPDX-License-Identifier: BSD-2-Clause
"""Published forms of PIM programs: JSON dialect, record containers, companions; errors, round
trips, fuzzing (3.7)."""

import gzip
import json
import random
import struct

import numpy as np
import pytest

from quintet.gateware.cores.pim.asm.listing import image_of
from quintet.gateware.cores.pim.exchange.container import (
    RecordError,
    container_of,
    words_of_container,
)
from quintet.gateware.cores.pim.exchange.dialect import Encoder, Problem
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image, code_of, words_of
from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import (
    AsmError,
    assemble_text,
    disassemble,
    load_program,
    save_program,
)
from quintet.gateware.isa.asm.program import Program
from quintet.gateware.isa.words import extreme_words, random_word
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.support.shares import fewer

GROUPS = {
    "core0": [{"rows": 2, "cols": 1, "weights": [[1], [2]], "shift": 3, "bias": [7], "spare": 0}]
}


def word(text):
    data = assemble_text(
        SOFTWARE, ".group 0, rows=1, cols=1\n.core 3\n.group 0, rows=1, cols=1\n" + text
    ).data
    return int(words_of(image_of(data)[0].cores[3].code, 0)[0][0])


def encode(entry, raw=False):
    return Encoder(raw).word(entry)


def program(tmp_path, cores, config=None, groups=None, name="x.json"):
    whole = {
        "config": {"core_cnt": len(cores)} if config is None else config,
        **{f"core{k}": c for k, c in enumerate(cores)},
    }
    text = json.dumps(whole).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    if groups is not None:
        (tmp_path / "groups.json").write_text(json.dumps(groups))
    return tmp_path / name


def load(path, params=None):
    return image_of(load_program(SOFTWARE, path, params).data)[0]


def error(path, params=None):
    with pytest.raises(AsmError) as info:
        load_program(SOFTWARE, path, params)
    return str(info.value).replace(str(path.parent), "D")


@pytest.mark.parametrize(
    "entry, text",
    [
        ({"op": "sldi", "rd": 3, "imm": -5}, "sldi $3, -5"),
        ({"op": "sldi", "rd": 3, "imm": 7.0}, "sldi $3, 7"),
        ({"op": "nop", "imm": 3}, "nop"),
        ({"op": "sadd", "rd": 1, "rs1": 2, "rs2": 3}, "sadd $1, $2, $3"),
        ({"op": "sld", "rd": 1, "rs1": 2, "offset_value": -8}, "sld $1, $2, -8"),
        ({"op": "setbw", "ibiw": 32, "obiw": 8}, "setbw 32, 8"),
        (
            {"op": "mvmul", "rd": 1, "rs1": 2, "mbiw": 8, "relu": True, "group": 0},
            "mvmul $1, $2, 8, 1, 0",
        ),
        (
            {
                "op": "vvsb",
                "rd": 1,
                "rs1": 2,
                "rs2": 3,
                "len": 9,
                "offset": {"offset_value": -3, "offset_select": 5},
            },
            "vvsub $1, $2, $3, 9, @-3:d2",
        ),
        (
            {"op": "vvdml", "rd": 1, "rs1": 2, "rs2": 3, "len": 9, "offset": {}},
            "vvdmul $1, $2, $3, 9",
        ),
        (
            {"op": "vvadd", "rd": 1, "rs1": 2, "rs2": 3, "len": 9, "offset": {"offset_value": 3}},
            "vvadd $1, $2, $3, 9, offset=0x18",
        ),
        (
            {
                "op": "vavg",
                "rd": 1,
                "rs1": 2,
                "rs2": 3,
                "len": 9,
                "offset": {"offset_value": 2, "offset_select": 7},
            },
            "vavg $1, $2, $3, 9, 2",
        ),
        (
            {"op": "vmv", "rd": 1, "rs1": 2, "rs2": 3, "len": 9, "offset": {"offset_value": 2}},
            "vmv $1, $2, $3, 9",
        ),
        ({"op": "vrelu", "rd": 1, "rs1": 2, "rs2": 9, "len": 4}, "vrelu $1, $2, 4"),
        ({"op": "ld", "rd": 1, "rs1": 2, "size": 5}, "ld $1, $2, 5"),
        ({"op": "ld", "rd": 1, "rs1": 2, "len": 5}, "ld $1, $2, 5"),
        ({"op": "st", "rd": 2, "rs1": 1, "size": 5, "len": 5}, "st $2, $1, 5"),
        (
            {
                "op": "lmv",
                "rd": 1,
                "rs1": 2,
                "len": 5,
                "offset": {"offset_value": 1, "offset_select": 2},
            },
            "lmv $1, $2, 5, @1:1",
        ),
        (
            {
                "op": "ldi",
                "rd": 1,
                "imm": 200,
                "len": 5,
                "offset": {"offset_value": 4, "offset_select": 7},
            },
            "lldi $1, 200, 5, 4",
        ),
        ({"op": "send", "rd": 4, "core": 1, "size": 5}, "send $4, 1, 5"),
        ({"op": "send", "rs1": 4, "core": 1, "size": 5}, "send $4, 1, 5"),
        ({"op": "send", "rs1": 4, "rd": 4, "core": 1, "size": 5}, "send $4, 1, 5"),
        (
            {"op": "recv", "rd": 4, "core": 1, "size": 5, "offset": {"offset_value": 6}},
            "recv $4, 1, 5, 6",
        ),
        ({"op": "wait", "event_register": 5, "wait_value": 1}, "wait 5, 1"),
        ({"op": "sync", "event_register": 5, "core": 1}, "sync 5, 1"),
    ],
)
def test_dialect(entry, text):
    assert encode(entry) == word(text)


@pytest.mark.parametrize(
    "entry, message",
    [
        ({"op": "vsoftmax"}, "op is 'vsoftmax', which is no instruction"),
        ({"op": 5}, "op is 5, which is no instruction"),
        ({"op": "sldi", "rd": 32}, "rd is 32, expected 0 to 31"),
        ({"op": "sldi", "rd": "1"}, "rd is '1', expected a whole number"),
        ({"op": "sldi", "rd": 1.5}, "rd is 1.5, expected a whole number"),
        ({"op": "sldi", "imm": 0.25}, "imm is a fraction"),
        ({"op": "sldi", "imm": 1 << 32}, "imm does not fit 32 bits"),
        ({"op": "sldi", "imm": None}, "imm is None, expected a number"),
        ({"op": "sldi", "imm": float("nan")}, "imm is nan, expected a number"),
        ({"op": "lldi", "imm": 256}, "imm does not fit 8 bits"),
        ({"op": "ld", "rs1": 3}, "a pair's register is odd"),
        ({"op": "st", "rd": 3}, "a pair's register is odd"),
        ({"op": "sld", "rs1": 1}, "a pair's register is odd"),
        ({"op": "ld", "size": 4, "len": 5}, "size is 4 and len 5, expected one of them"),
        ({"op": "ld", "size": 2048}, "size is 2048, expected 0 to 2047"),
        ({"op": "send", "rd": 1, "rs1": 2}, "rd is 1 and rs1 2, expected one of them"),
        ({"op": "send", "rs1": 40}, "rs1 is 40, expected 0 to 31"),
        ({"op": "mvmul", "group": 4096, "mbiw": 8}, "group is 4096, expected 0 to 1023"),
        ({"op": "mvmul", "mbiw": 0}, "mbiw is 0, expected 1 to 32"),
        ({"op": "mvmul", "mbiw": 8, "relu": 2}, "relu is 2, expected 0 or 1"),
        ({"op": "vvadd", "offset": 3}, "offset is 3, expected offset_value and offset_select"),
        (
            {"op": "vvadd", "offset": {"offset_value": 1 << 28}},
            "offset_value is 268435456, expected -268435456 to 268435455",
        ),
        ({"op": "vvadd", "offset": {"offset_select": 8}}, "offset_select is 8, expected 0 to 7"),
        (
            {"op": "ld", "offset": {"offset_select": 4}},
            "offset_select names an operand that the instruction does not have",
        ),
        ({"op": "wait", "wait_value": 1024}, "wait_value is 1024, expected 0 to 1023"),
    ],
)
def test_dialect_errors(entry, message):
    with pytest.raises(Problem) as info:
        encode(entry)
    assert str(info.value) == message


def test_raw_streams_are_encoded_as_they_are():
    assert encode({"op": "sldi", "imm": -2.75}, True) >> 32 == 0xFFFFFFFE
    assert encode({"op": "sldi", "imm": (1 << 32) + 5}, True) >> 32 == 5
    assert (
        encode({"op": "ld", "rd": 1, "rs1": 3, "size": 4}, True)
        == ISA.encode("ld", rd=1, rs1=2, size=4) | 1 << 11
    )
    assert (
        ISA.decode(encode({"op": "ld", "offset": {"offset_select": 4}}, True)).fault
        == "illegal_field"
    )


def test_json_files(tmp_path):
    cores = [
        [
            {"op": "mvmul", "rd": 1, "rs1": 0, "mbiw": 8, "group": 0},
            {"op": "sync", "event_register": 1, "core": 1},
        ],
        [],
    ]
    for name in ("x.json", "x.json.gz"):
        image = load(
            program(
                tmp_path,
                cores,
                {"core_cnt": 2, "xbar_size": [32, 64], "array_group_map": {"core0": [1]}},
                GROUPS,
                name,
            )
        )
        assert (image.xb_rows, image.xb_cols, len(image.cores)) == (32, 64, 2) and image.cores[
            0
        ].count == 2
        group = image.cores[0].groups[0]
        assert (
            group.weights.tolist() == [[1], [2]]
            and group.bias.tolist() == [7]
            and (group.shift, group.round) == (3, 1)
        )


def test_a_short_source_with_import(tmp_path):
    path = program(
        tmp_path,
        [
            [
                {"op": "sldi", "rd": 1, "imm": 1.5},
                {"op": "sldi", "imm": 0.5},
                {"op": "ld", "rd": 0, "rs1": 1, "size": 1},
                {"op": "mvmul", "mbiw": 8, "group": 300},
            ]
        ],
    )
    (tmp_path / "g.json").write_text(json.dumps(GROUPS))
    source = tmp_path / "x.s"
    source.write_text('.gmem 64, 128\n.groups "g.json"\n.import "x.json", raw\n.core 1\nnop\n')
    done = load_program(SOFTWARE, source)
    image = image_of(done.data)[0]
    assert (
        image.gmem_size == 128
        and image.cores[0].count == 4
        and image.cores[1].count == 1
        and image.cores[0].groups
    )
    assert [str(w) for w in done.warnings] == [
        f"{source}:3:9: warning: {path}: 2 times: imm is a fraction",
        f"{source}:3:9: warning: {path}: 1 times: a pair's register is odd",
    ]
    source.write_text('.import "x.json"')
    with pytest.raises(AsmError) as info:
        load_program(SOFTWARE, source)
    assert str(info.value) == f"{source}:1:9: {path}: core0, instruction 0: imm is a fraction"


GOOD = [{"op": "nop"}]


@pytest.mark.parametrize(
    "whole, message",
    [
        ([], "D/x.json: no program, expected one object with config and core0, core1, .."),
        ({}, "D/x.json: no program, expected core0, core1, .."),
        ({"core0": 5}, "D/x.json: core0 is no list of instructions"),
        (
            {"core0": [{"op": "nop"}, 5]},
            "D/x.json: core0, instruction 1: no instruction, expected an object with op",
        ),
        (
            {"core0": [{}]},
            "D/x.json: core0, instruction 0: no instruction, expected an object with op",
        ),
        (
            {"core0": [[]]},
            "D/x.json: core0, instruction 0: no instruction, expected an object with op",
        ),
        (
            {"core0": [{"op": "nop"}, {"op": "sldi", "rd": 40}]},
            "D/x.json: core0, instruction 1: rd is 40, expected 0 to 31",
        ),
        ({"config": 3, "core0": GOOD}, "D/x.json: config is no object"),
        (
            {"config": {"core_cnt": "two"}, "core0": GOOD},
            "D/x.json: core_cnt is two, expected 0 to 1024",
        ),
        (
            {"config": {"core_cnt": 2}, "core0": GOOD},
            "D/x.json: core1 is missing and core_cnt is 2",
        ),
        ({"config": {"core_cnt": 1}, "core1": GOOD}, "D/x.json: core1 is there and core_cnt is 1"),
        (
            {"core0": GOOD, "core40": GOOD, "config": {"core_cnt": 41}},
            "D/x.json: core1 is missing and core_cnt is 41",
        ),
        (
            {"config": {"xbar_size": [64]}, "core0": GOOD},
            "D/x.json: xbar_size is [64], expected rows and columns",
        ),
        ({"config": {"quintet": {}}, "core0": GOOD}, "D/x.json: config.quintet is damaged"),
        (
            {"config": {"quintet": {"cores": [{"mode": 3}]}}, "core0": GOOD},
            "D/x.json: config.quintet is damaged",
        ),
        (
            {"config": {"array_group_map": {"core0": [2]}}, "core0": GOOD},
            "D/x.json: D/x.json: array_group_map of core 0: group 0 has 2 arrays, the declared "
            "groups say 0",
        ),
        (
            {"core0": [{"op": "mvmul", "mbiw": 8, "group": 2}]},
            "D/x.json: core 0, instruction 0: core 0 has no group 2: fault group",
        ),
        (
            {"core0": [{"op": "sync", "core": 2}]},
            "D/x.json: core 0, instruction 0: the program has no core 2: fault core_range",
        ),
    ],
)
def test_json_errors(tmp_path, whole, message):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(whole))
    assert error(path) == message


def test_files_that_are_damaged(tmp_path):
    path = tmp_path / "x.json"
    for data, message in (
        (b"{", "D/x.json: no JSON at line 1, column 2"),
        (b"\xff", "D/x.json: byte 0 is not UTF-8 text"),
        (b"[" * 100000, "D/x.json: JSON nested too deeply"),
        (b"\x1f\x8b\x08", "D/x.json is damaged (gzip)"),
        (gzip.compress(b"{}")[:-9] + b"x" * 9, "D/x.json is damaged (gzip)"),
        (b'{"core0": [' + b"1" * 5000 + b"]}", "D/x.json: no JSON: a number is too long"),
    ):
        path.write_bytes(data)
        assert error(path).startswith(message)
    assert error(tmp_path / "none.json") == "D/none.json cannot be read (No such file or directory)"
    assert error(tmp_path / "x.pim") == "D/x.pim: of which core? expected a name core_<id>.pim"
    path.write_text(json.dumps({"core0": GOOD, "config": {"core_cnt": 1}}))
    assert "has a core" not in str(load_program(SOFTWARE, path).data)
    path.write_text(json.dumps({f"core{k}": GOOD for k in range(3)}))
    assert error(path, SPACE.resolve("sim")) == "D/x.json has a core 2, expected 0 to 1"


@pytest.mark.parametrize(
    "group, message",
    [
        (5, "group 0 of core 0: no object"),
        ({"cols": 1}, "group 0 of core 0: rows is missing"),
        ({"rows": 0, "cols": 1}, "group 0 of core 0: rows is 0, expected 1 to 1024"),
        ({"rows": 1, "cols": 1, "shift": 48}, "group 0 of core 0: shift is 48, expected 0 to 47"),
        ({"rows": 1, "cols": 1, "arrays": 3}, "group 0 of core 0: arrays is no list of array ids"),
        (
            {"rows": 1, "cols": 1, "weights": 3},
            "group 0 of core 0: weights is no list and no name of a .npy file",
        ),
        (
            {"rows": 1, "cols": 2, "weights": [[1], [2]]},
            "weights of group 0 of core 0 are 2 x 1, expected 1 x 2",
        ),
        (
            {"rows": 1, "cols": 2, "weights": [[1, "x"]]},
            "weights of group 0 of core 0 must be whole numbers, 1 x 2 of them",
        ),
        (
            {"rows": 1, "cols": 2, "weights": [[1], [1, 2]]},
            "weights of group 0 of core 0 must be whole numbers, 1 x 2 of them",
        ),
        (
            {"rows": 1, "cols": 1, "mbiw": 2, "weights": [[2]]},
            "weight 2 of group 0 of core 0 does not fit mbiw = 2 bits, expected -2 to 1",
        ),
        (
            {"rows": 1, "cols": 1, "bias": [1 << 31]},
            "bias 2147483648 of group 0 of core 0 does not fit 32 bits",
        ),
        (
            {"rows": 1, "cols": 1, "weights": "no.npy"},
            "D/no.npy cannot be read (No such file or directory)",
        ),
    ],
)
def test_errors_of_companions(tmp_path, group, message):
    path = program(tmp_path, [GOOD], groups={"core0": [group]})
    assert error(path) in (f"D/groups.json: {message}", message)


def test_containers(tmp_path):
    words = [
        word("setbw 8, 32"),
        word("sadd $1, $2, $3"),
        word("send $4, 1, 5, 6"),
        word("lldi $1, 200, 5, -4"),
    ]
    data = container_of(words)
    records = [struct.unpack_from("<4B4i", data, 12 + 20 * k) for k in range(4)]
    assert data[:12] == b"PIMB" + struct.pack("<II", 1, 4)
    assert records == [
        (8, 0, 0, 0, 0, 8, 32, 0),
        (3, 1, 2, 0, 3, 0, 0, 0),
        (29, 4, 0, 0, 1, 0, 6, 5),
        (27, 1, 0, 0, 200, 0, -4, 5),
    ]
    assert words_of_container(data).tolist() == words
    # What the published writers leave behind is ignored where the table says so.
    other = struct.pack(
        "<4sII4B4i4B4i", b"PIMB", 1, 2, 32, 9, 9, 0, 1, 5, 77, 9, 30, 4, 7, 0, 1, 5, 6, 5
    )
    assert words_of_container(other).tolist() == [word("sync 5, 1"), word("recv $4, 1, 5, 6")]


@pytest.mark.parametrize(
    "data, message, index",
    [
        (b"PIM", "3 bytes are no container, expected at least 12", None),
        (b"PIMC" + bytes(8), "no container, expected it to begin with PIMB", None),
        (b"PIMB" + struct.pack("<II", 2, 0), "version 2 of the container, expected 1", None),
        (b"PIMB" + struct.pack("<II", 1, 1), "12 bytes for 1 records, expected 32", None),
        (b"PIMB" + struct.pack("<II", 1, 0) + b"x", "13 bytes for 0 records, expected 12", None),
        (
            b"PIMB" + struct.pack("<II40x", 1, 2)[:-20] + struct.pack("<4B16x", 21, 0, 0, 0),
            "op is 21, which is no instruction",
            1,
        ),
        (b"PIMB" + struct.pack("<II4B16x", 1, 1, 1, 0, 0, 9), "flags is 9, expected 0", 0),
        (b"PIMB" + struct.pack("<II4B16x", 1, 1, 1, 32, 0, 0), "rd is 32, expected 0 to 31", 0),
        (
            b"PIMB" + struct.pack("<II4B4i", 1, 1, 10, 1, 0, 0, -1, 0, 0, 0),
            "rs2 is -1, expected 0 to 31",
            0,
        ),
        (
            b"PIMB" + struct.pack("<II4B4i", 1, 1, 10, 1, 0, 0, 0, 8, 0, 0),
            "offset_select is 8, expected 0 to 7",
            0,
        ),
        (
            b"PIMB" + struct.pack("<II4B4i", 1, 1, 25, 1, 3, 0, 0, 0, 0, 9),
            "a pair's register is odd",
            0,
        ),
        (
            b"PIMB" + struct.pack("<II4B4i", 1, 1, 8, 1, 3, 0, 0, 33, 8, 0),
            "ibiw is 33, expected 1 to 32",
            0,
        ),
    ],
)
def test_container_errors(tmp_path, data, message, index):
    with pytest.raises(RecordError) as info:
        words_of_container(data)
    assert (str(info.value), info.value.index) == (message, index)
    (tmp_path / "core_0.pim").write_bytes(data)
    where = "" if index is None else f"instruction {index}: "
    assert error(tmp_path / "core_0.pim") == f"D/core_0.pim: {where}{message}"


def test_every_legal_word_through_every_form():
    rng = random.Random(4)
    words = [w for i in ISA.instructions for w in extreme_words(ISA, i)]
    words += [random_word(ISA, rng) for _ in range(2000)]
    words = [w for w in words if ISA.decode(w).fault is None]
    # The forms do not hold bits that mean nothing.
    assert words_of_container(container_of(words), Encoder(True)).tolist() == words
    from quintet.gateware.cores.pim.asm.listing import fields_of
    from quintet.gateware.cores.pim.exchange.dialect import instruction_text

    texts = map(instruction_text, *fields_of(np.array(words, np.uint64)))
    assert [encode(json.loads(t), True) for t in texts] == words


@pytest.mark.parametrize("out", ["y.json", "y.json.gz", "folder/"])
def test_images_through_files(tmp_path, out):
    for seed in range(fewer(12)):
        case = pim_programs.random_case(seed, SPACE.resolve("sim"))
        data = case.image.data()
        target = tmp_path / str(seed)
        target.mkdir()
        save_program(SOFTWARE, Program(data), f"{target}/{out}")
        again = load_program(SOFTWARE, target / out).data
        # Packed code is written in its shortest form, as it was.
        assert again == data, case.name
        assert assemble_text(SOFTWARE, disassemble(SOFTWARE, again)).data == data


def test_what_cannot_be_exported(tmp_path):
    data = Image([CoreProgram(code_of([0, 21], 0), 2)]).data()
    with pytest.raises(
        AsmError, match="core 0, instruction 1: no legal instruction, this form cannot hold it"
    ):
        save_program(SOFTWARE, Program(data), tmp_path / "x.json")
    with pytest.raises(AsmError, match="no program image"):
        save_program(SOFTWARE, Program(bytes(64)), tmp_path / "x.json")
    with pytest.raises(AsmError, match="this form is only read"):
        save_program(SOFTWARE, Program(data), tmp_path / "core_0.pim")
    assert not list(tmp_path.iterdir())


def test_a_folder(tmp_path):
    (tmp_path / "core_0.pim").write_bytes(container_of([word("sldi $1, 5")]))
    (tmp_path / "core_1.json").write_text(json.dumps([{"op": "nop"}]))
    (tmp_path / "config.json").write_text(json.dumps({"core_cnt": 2}))
    assert [c.count for c in load(tmp_path).cores] == [1, 1]
    (tmp_path / "core_1.pim").write_bytes(container_of([]))
    assert error(tmp_path).endswith("has core 1 twice")
    (tmp_path / "core_1.pim").unlink()
    (tmp_path / "core_1.json").unlink()
    assert error(tmp_path).endswith("core1 is missing and core_cnt is 2")
    (tmp_path / "core_0.pim").unlink()
    assert error(tmp_path).endswith("holds no program, expected core_0.pim, core_1.pim, ..")


def damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(4)
        at = rng.randrange(len(data)) if data else 0
        if kind == 0 and data:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randint(1, 9)]
        elif kind == 2:
            data[at:at] = rng.choice(
                (b"0", b"-", b'"', b"[", b"{", b"999999999999", b"null", b"1e999", b",")
            )
        elif data:
            data[at:at] = data[rng.randrange(len(data)) :][: rng.randint(1, 40)]
    return bytes(data)


@pytest.mark.parametrize("form", ["json", "gz", "pim", "groups", "s", "bin"])
def test_fuzzing_gives_one_clear_error(tmp_path, form):
    rng = random.Random(f"fuzz {form}")
    case = next(
        c
        for c in (
            pim_programs.random_case(s, SPACE.resolve("sim"), cores=1, budget=300)
            for s in range(99)
        )
        if c.image.cores[0].groups
    )
    case.image.cores[0].groups = case.image.cores[0].groups[:1]
    image = case.image
    image.cores[0].groups[0] = Group(
        2, 2, (1,), 8, weights=np.array([[1, 2], [3, 4]]), bias=np.array([5, 6])
    )
    words, _ = words_of(image.cores[0].code, image.cores[0].mode)
    words = words[words & np.uint64(63) != 9][:40]
    image.cores[0].code, image.cores[0].mode, image.cores[0].count = (
        code_of(words, 0),
        0,
        len(words),
    )
    data, folder = image.data(), tmp_path / "f"
    save_program(SOFTWARE, Program(data), f"{folder}/")
    save_program(SOFTWARE, Program(data), tmp_path / "x.json")
    (tmp_path / "x.s").write_text(disassemble(SOFTWARE, data))
    path, target = {
        "json": (tmp_path / "x.json",) * 2,
        "gz": (tmp_path / "x.json.gz",) * 2,
        "pim": (folder / "core_0.pim", folder),
        "groups": (tmp_path / "groups.json", tmp_path / "x.json"),
        "s": (tmp_path / "x.s",) * 2,
        "bin": (tmp_path / "x.bin",) * 2,
    }[form]
    good = {
        "gz": lambda: gzip.compress((tmp_path / "x.json").read_bytes(), mtime=0),
        "bin": lambda: data,
    }.get(form, path.read_bytes)()
    refused = 0
    for _ in range(150):
        path.write_bytes(damaged(good, rng))
        try:
            if form == "bin":
                disassemble(SOFTWARE, path.read_bytes())
            else:
                load_program(SOFTWARE, target)
        except ValueError as problem:  # AsmError or TableError
            refused += 1
            assert "\n" not in str(problem) and str(problem)
    assert refused > 20
