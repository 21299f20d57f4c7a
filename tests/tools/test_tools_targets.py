# SPDX-License-Identifier: BSD-2-Clause
"""Targets: names, the model, and a board behind a link (a fake one, whose core is the golden
model)."""

import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from quintet.tools import Job, open_target
from quintet.tools.errors import NoDeviceError, TargetError
from quintet.tools.jobs.job import Load, Save
from quintet.tools.jobs.runner import run_job
from quintet.tools.jobs.verify import compare, verify_job
from quintet.tools.link.errors import LinkError
from quintet.tools.targets.link import LinkTarget
from quintet.tools.targets.model import ModelTarget
from quintet.tools.targets.names import parse_target
from tests.tools.tools_fake_board import CLOCK, CONTROL, INFO, FakeBoard
from tests.tools.tools_small_job import W, X

WORDS = bytes.fromhex(
    "0600030000000000000000000000"
    "0200000000000000000000000000"
    "0200000000000000000001000000"
    "0305030000000000000000000000"
    "0408030000000000000000000004"
    "0305030000000000000008000004"
    "0300030000000000000008000000"
    "0410030000000000000008000008"
    "0100030000000000000004000008"
    "040003000000000000000800000c"
    "010003000000000000000700000c"
    "0700000000000000000000000000"
)
REGISTERS = {
    "hostmem_base": 0x2000,
    "hostmem_limit": 0x2040,
    "weights_base": 0x3000,
    "weights_limit": 0x3020,
}


def small_job(program=WORDS, **options):
    options = {"params": {"n": 4}, "registers": REGISTERS, "cycle_limit": 10_000, **options}
    return Job(
        core="opentpu",
        program=program,
        program_at=0x1000,
        loads=[Load(0x2000, X, "x"), Load(0x3000, W, "w")],
        saves=[Save(0x2010, "y.npy", dtype="int8", shape=[6, 4])],
        **options,
    )


def board_target(**options):
    return LinkTarget(client=FakeBoard(**options), name="/dev/fake")


# Names


def test_names():
    name = parse_target("sim:ulx3s-85f/opentpu?preset=85f-8x8&ub_rows=1024&link=wire")
    assert (name.kind, name.board, name.isa, name.preset, name.params, name.options) == (
        "sim",
        "ulx3s-85f",
        "opentpu",
        "85f-8x8",
        {"ub_rows": "1024"},
        {"link": "wire"},
    )
    assert parse_target("model").isa is None and parse_target("model:opentpu?n=8").params == {
        "n": "8"
    }
    for port in ("/dev/ttyUSB0", "COM3", "socket://localhost:7000", "auto"):
        assert parse_target(port).kind == "board" and parse_target(port).port == port


@pytest.mark.parametrize(
    "text, word",
    [
        ("", "expected model"),
        (" model", "expected model"),
        ("model:", "expected an ISA"),
        ("model:opv", "no ISA named 'opv'; did you mean opu?"),
        ("model:opentpu?", "after the question mark, found nothing"),
        ("model:opentpu?n", "name=value"),
        ("model:opentpu?n=4&n=8", "n is given twice"),
        ("model:opentpu?preset=a&preset=b", "preset is given twice"),
        ("sim:", "sim:<board>/<isa>"),
        ("sim:ulx3s-85f", "sim:<board>/<isa>"),
        ("sim:/opentpu", "sim:<board>/<isa>"),
        ("sim:ulx3s-85f/none", "no ISA named 'none'"),
        ("sim:ulx3s-85f/opentpu?link=usb", "expected pipe, wire, uartbone or spi"),
        ("sim:ulx3s-85f/opentpu?trace_from=x", "a number of cycles"),
        ("sim:ulx3s-85f/opentpu?load=foo", "load = foo: expected link or direct"),
        ("sim:ulx3s-85f/opentpu?load=direct&load=link", "load is given twice"),
        ("/dev/ttyQUINTET9?load=direct", "expected baud=N or timeout=SECONDS for a port"),
        ("socket://127.0.0.1:1?load=direct", "expected baud=N or timeout=SECONDS for a port"),
    ],
)
def test_bad_names(text, word):
    with pytest.raises(TargetError) as info:
        open_target(text)
    assert word in str(info.value) and "\n" not in str(info.value)


@pytest.mark.parametrize("port", ["/dev/ttyQUINTET9", "COM993", "socket://127.0.0.1:1"])
def test_no_such_port(port):
    with pytest.raises(NoDeviceError, match=port):
        open_target(port)


# The model


def test_model_runs_the_job(small):
    job = small_job()
    with open_target("model") as target:
        result = run_job(job, target)
        assert result.raw["y.npy"] == small.expected and result.tensors["y.npy"].shape == (6, 4)
        assert (
            result.outcome.counters["instructions"] == 12
            and result.outcome.counters["operations"] == 144
        )
        assert target.info.params["n"] == 4 and target.info.memory_size == 32 << 20
        assert (
            target.read_register("status") == 2 and target.read_register("cnt_instructions") == 12
        )
        assert target.read_register("ident") == int.from_bytes(b"OTPU", "little")
        again = target.run({})  # registers are kept
        assert again.status == "done" and again.counters["instructions"] == 12
        assert target.checksum(0x2010, 24) == zlib.crc32(small.expected)


def test_model_keeps_registers_until_reset():
    with open_target("model:opentpu?preset=sim") as target:
        target.write_register("hostmem_base", 0x120)
        assert (
            target.read_register("hostmem_base") == 0x120
            and target.read_register("window_limit") == 32 << 20
        )
        target.reset_core()
        assert target.read_register("hostmem_base") == 0 and target.read_register("status") == 0
        for name, word in (
            ("none", "no such register"),
            ("status", "cannot be written"),
            ("control", "cannot be written"),
        ):
            with pytest.raises(TargetError, match=word):
                target.write_register(name, 1)
        with pytest.raises(TargetError, match="does not know counter cycles"):
            target.read_register("cnt_cycles")


def test_model_memory_ends():
    with open_target("model:opentpu") as target:
        with pytest.raises(TargetError, match="outside main memory"):
            target.write((32 << 20) - 1, b"ab")
        with pytest.raises(TargetError, match="outside main memory"):
            target.read(32 << 20, 1)


def test_model_without_isa():
    with pytest.raises(TargetError, match="sizes need an ISA"):
        open_target("model?n=8")
    with open_target("model") as target, pytest.raises(TargetError, match="no ISA chosen"):
        target.read(0, 1)


def test_model_sizes():
    from quintet.gateware.isa.parameters import ParameterError

    job = small_job()
    with open_target("model:opentpu?preset=sim&ub_rows=1024") as target:
        run_job(job, target)
        assert (target.info.params["ub_rows"], target.info.params["acc_rows"]) == (1024, 256)
    with open_target("model:opentpu?n=8") as target, pytest.raises(Exception, match="n = 4.*n = 8"):
        run_job(job, target)
    with pytest.raises(ParameterError, match="no preset 'none'"):
        open_target("model:opentpu?preset=none")
    with pytest.raises(ParameterError, match="no parameter 'load'"):
        open_target("model:opentpu?load=direct")
    with pytest.raises(ParameterError, match="no parameter 'rows'"):
        open_target("model:opentpu?rows=1")
    with pytest.raises(ParameterError, match="parameter n must be"):
        open_target("model:opentpu?n=5")


def test_model_fault_and_limit():
    with open_target("model") as target:
        result = run_job(small_job(WORDS[:-14]), target)
        assert (result.outcome.status, result.outcome.fault.name, result.outcome.fault.pc) == (
            "fault",
            "program_end",
            0x109A,
        )
        assert not result.tensors
        result = run_job(small_job(cycle_limit=5), target)
        assert (result.outcome.status, result.outcome.fault.name) == (
            "aborted",
            "aborted",
        ) and not result.raw


# A board


def test_board_info():
    target = board_target()
    assert (target.info.kind, target.info.board, target.info.isa, target.info.preset) == (
        "board",
        "fake",
        "opentpu",
        "sim",
    )
    assert (
        target.info.memory_size == 1 << 20
        and target.info.clock_hz == CLOCK
        and target.info.params["n"] == 4
    )
    target.close()
    target.close()


def test_board_runs_the_job(small):
    moved = []
    with board_target() as target:
        board = target.client
        result = run_job(small_job(), target, progress=lambda *args: moved.append(args))
        assert result.raw["y.npy"] == small.expected
        assert (
            result.outcome.counters["cycles"] == 5000
            and result.outcome.counters["instructions"] == 12
        )
        assert result.outcome.values == {"sync_tag": 0} and board.resets == 1
        assert ("write the program", 168, 168) in moved and ("read y.npy", 24, 24) in moved
        written = [
            address - CONTROL + at
            for address, data in board.writes
            if address >= CONTROL
            for at in range(0, len(data), 4)
        ]
        assert written[-1] == 0x10 and set(written[:-1]) == {0x20, 0x24, 0x100, 0x104, 0x108, 0x10C}
        assert (
            target.read_register("hostmem_limit") == 0x2040
            and target.read_register("cnt_work") == 4993
        )
    assert board.closed


def test_board_fault_saves_nothing(tmp_path):
    with board_target() as target:
        result = run_job(small_job(WORDS[:28] + WORDS[42:]), target)
        fault = result.outcome.fault
        assert result.outcome.status == "fault" and (fault.code, fault.name, fault.pc) == (
            23,
            "weight_underflow",
            0x1038,
        )
        assert not result.tensors


def test_cycle_limit_is_kept_by_the_host():
    with board_target(cycles=None) as target:
        seconds = []
        result = run_job(small_job(cycle_limit=1_000_000), target, tick=seconds.append)
        assert result.outcome.status == "aborted" and result.outcome.fault.name == "aborted"
        assert result.outcome.fault.pc == 0x1234 and seconds
        waited = target.client.time
        assert 1_000_000 / CLOCK <= waited < 1.2 * 1_000_000 / CLOCK + 0.01
        assert not result.raw
    # A run that ended by itself, past its limit, before the host looked: the limit counts all the
    # same.
    with board_target(cycles=20_000, call_seconds=0.01) as target:
        result = run_job(small_job(cycle_limit=19_999), target)
        assert result.outcome.status == "aborted" and result.outcome.counters["cycles"] == 20_000
    with board_target(cycles=20_000, call_seconds=0.01) as target:
        assert run_job(small_job(cycle_limit=20_000), target).outcome.status == "done"


def test_a_slow_answer_does_not_abort_a_run():
    """The host looks before the limit, and the answer (still busy) comes after it: that is no
    reason to abort."""
    with board_target(cycles=9_000, call_seconds=1.2e-4) as target:
        board = target.client
        read = board.read

        def late(address, size, progress=None):
            data = read(address, size)
            board.time += 1e-3
            return data

        board.read = late
        assert run_job(small_job(cycle_limit=10_000), target).outcome.status == "done"


def test_registers_that_hold_are_not_written_again():
    with board_target() as target:
        target.write(0x1000, WORDS)
        registers = {
            "program_address": 0x1000,
            "program_length": 168,
            "hostmem_base": 0x2000,
            "hostmem_limit": 0x2040,
        }

        def written(values):
            before = len(target.client.writes)
            target.start(values)
            target.wait()
            return [
                address - CONTROL + at
                for address, data in target.client.writes[before:]
                for at in range(0, len(data), 4)
            ]

        assert written(registers) == [0x20, 0x24, 0x100, 0x104, 0x10]
        assert written(registers) == [0x10] and written({**registers, "hostmem_limit": 0x2080}) == [
            0x104,
            0x10,
        ]
        target.write_register("hostmem_base", 0x2010)
        assert written(registers) == [0x100, 0x104, 0x10]
        target.reset_core()
        assert written(registers) == [0x20, 0x24, 0x100, 0x104, 0x10]


def test_run_that_is_given_up_leaves_the_core_idle():
    with board_target(cycles=None) as target:
        target.start({})
        target.stop()
        assert (
            target.client.writes[-1] == (CONTROL + 0x10, b"\x02\0\0\0") and not target._status() & 1
        )
        count = len(target.client.writes)
        target.stop()
        assert len(target.client.writes) == count


def test_interrupt_aborts_the_core():
    with board_target(cycles=None) as target:

        def stop(_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_job(small_job(cycle_limit=None), target, tick=stop)
        assert target.client.writes[-1] == (CONTROL + 0x10, b"\x02\0\0\0")


def test_memory_that_does_not_keep_what_was_written():
    target = board_target()
    board = target.client
    whole = board.checksum
    board.checksum = lambda address, size: whole(address, size) ^ (address == 0x3000)
    with pytest.raises(LinkError, match=r"load\[1\] \(w\) at 0x3000 does not read back as written"):
        run_job(small_job(), target)
    assert all(data[0] != 1 for address, data in board.writes if address == CONTROL + 0x10)


def test_board_refuses_other_params():
    with board_target() as target:
        for params, word in (
            ({"n": 8}, "params.n = 8: /dev/fake was built with n = 4"),
            ({"ub_rows": 1024}, "ub_rows = 1024: /dev/fake was built with ub_rows = 512"),
            ({"ext_conv": True}, "ext_conv = true: /dev/fake was built with ext_conv = false"),
        ):
            with pytest.raises(Exception, match=word):
                run_job(small_job(params=params), target)
        assert not target.client.writes and target.client.resets == 0


def test_board_without_core():
    with board_target(isa=None) as target:
        with pytest.raises(TargetError, match="holds no core"):
            run_job(small_job(), target)
        with pytest.raises(TargetError, match="holds no core"):
            target.read_register("status")
        target.write(0, b"abc")
        assert target.read(0, 3) == b"abc"


def test_busy_core_is_not_started():
    with board_target(cycles=None) as target:
        target.write_register("control", 1)
        with pytest.raises(TargetError, match="busy"):
            target.run({})


def test_core_that_never_leaves_its_reset():
    target = board_target(cycles=None)
    target.client.reset_core = lambda: target.client._put(0x14, 1)
    with pytest.raises(LinkError, match="did not come out of its reset"):
        target.reset_core()


@pytest.mark.parametrize(
    "damage, word",
    [
        (lambda header: b"NONE" + header[4:], "not the info header of a quintet board"),
        (lambda header: header[:40], "header has 40 bytes"),
        (lambda header: header[:12] + b"\0\0\0\0" + header[16:], "parameter hash disagree"),
        (lambda header: header[:40] + struct.pack("<I", 1 << 20) + header[44:], "1048576 bytes"),
        (lambda header: header[:40] + struct.pack("<I", 10) + header[44:], "info text is damaged"),
    ],
)
def test_damaged_header(damage, word):
    with pytest.raises(LinkError, match=word):
        board_target(header=damage(FakeBoard().header))


def test_unknown_core_on_the_board():
    values = {"board": "b", "isa": "sixth", "params": {}, "clock_hz": 1}
    with pytest.raises(
        TargetError, match="core sixth, which this quintet does not know; it knows .*opentpu"
    ):
        board_target(values=values)


def test_unknown_registers():
    with board_target() as target:
        with pytest.raises(TargetError, match="no such register"):
            target.read_register("none")
        with pytest.raises(TargetError, match="read-only"):
            target.write_register("cnt_cycles", 1)
        with pytest.raises(TargetError, match="32 bits"):
            target.write_register("hostmem_base", 1 << 32)


@pytest.mark.parametrize("open_it", [board_target, lambda: open_target("model:opentpu?preset=sim")])
def test_values_that_a_core_would_fault_on_are_not_written(open_it):
    with open_it() as target:
        target.write_register("hostmem_base", 0x2010)
        for name, value in (("hostmem_base", 0x2008), ("weights_base", 0x3001)):
            with pytest.raises(
                TargetError, match=f"register {name} = {value:#x}: expected a multiple of 16$"
            ):
                target.write_register(name, value)
            with pytest.raises(
                TargetError, match=f"register {name} = {value:#x}: expected a multiple of 16$"
            ):
                target.run({name: value})
        assert (
            target.read_register("hostmem_base") == 0x2010
            and target.read_register("weights_base") == 0
        )


def test_info_text_lies_behind_the_header():
    assert FakeBoard().read(INFO + 64, 4) == FakeBoard().text[:4]


# Comparison


def opener(make, kind):
    opened = SimpleNamespace(kind=kind, targets=[])

    class Opener:
        def __call__(self):
            opened.targets.append(make())
            return opened.targets[-1]

    Opener.kind = kind
    return Opener()


def test_verify_equal():
    a = opener(board_target, "board")
    b = opener(ModelTarget, "model")
    for pair in ((a, b), (b, a), (b, b), (a, a)):
        comparison = verify_job(small_job(), *pair)
        assert comparison.equal, comparison.troubles
        if pair == (a, b):
            assert (
                comparison.b.info.memory_size == 1 << 20
                and comparison.b.info.params == comparison.a.info.params
            )
            assert comparison.counters["operations"] == {"a": 144, "b": 144, "must_agree": True}
            assert comparison.as_dict()["equal"] is True


def test_verify_names_the_first_difference():
    def broken():
        target = board_target()
        run = target.run

        def changed(*args, **options):
            outcome = run(*args, **options)
            target.client.memory[0x2010 + 9] ^= 0x40
            target.client.memory[0x2010 + 20] ^= 1
            return outcome

        target.run = changed
        return target

    comparison = verify_job(small_job(), opener(broken, "board"), opener(ModelTarget, "model"))
    difference = comparison.difference
    assert (
        not comparison.equal
        and difference.element == "y.npy[2, 1]"
        and difference.address == 0x2019
    )
    assert (difference.a, difference.b, difference.bytes_different) == ("64", "0", 2)
    assert difference.pc == 0x1000 + 14 * 8  # the first WHM
    assert (
        "y.npy[2, 1] at 0x2019 differs: 64 and 0" in comparison.troubles[0]
        and "pc 0x1070" in comparison.troubles[0]
    )


def test_verify_counters_and_status():
    good = board_target()
    result = run_job(small_job(), good)
    with open_target("model") as model:
        other = run_job(small_job(), model)
    result.outcome.counters["bytes_read"] += 1
    comparison = compare(small_job(), result, other)
    assert (
        comparison.troubles == ["counter bytes_read differs: 245 on /dev/fake, 244 on model"]
        or "counter bytes_read differs" in comparison.troubles[0]
    )
    result.outcome.counters["bytes_read"] -= 1
    result.outcome.values["sync_tag"] = 5
    assert compare(small_job(), result, other).troubles == [
        "register sync_tag differs: 0x5 on /dev/fake, 0x0 on model"
    ]
    other.outcome.status = "aborted"
    assert "ended done" in compare(small_job(), result, other).troubles[0]


def test_verify_faults():
    short = small_job(WORDS[:-14])
    a, b = opener(board_target, "board"), opener(ModelTarget, "model")
    comparison = verify_job(short, a, b)
    assert comparison.equal and comparison.a.outcome.status == "fault"
    other = comparison.a.outcome
    comparison.a.outcome = type(other)(
        "fault", type(other.fault)(1, "illegal_opcode", 0, 0), {}, {}
    )
    assert (
        "faults differ: illegal_opcode (1)"
        in compare(short, comparison.a, comparison.b).troubles[0]
    )


def test_unwritten_memory_of_an_array():
    assert np.asarray(FakeBoard().memory).sum() == 0


def test_a_virtual_board_reports_itself_before_it_is_elaborated(monkeypatch):
    steps = []

    def open_virtual(*_, **__):
        raise TargetError(f"after {steps}")

    monkeypatch.setattr("quintet.boards.virtual.board.open_virtual", open_virtual)
    with pytest.raises(TargetError, match=r"after \['opening the virtual board'\]"):
        open_target("sim:ulx3s-85f/opentpu", steps.append)
