# SPDX-License-Identifier: BSD-2-Clause
"""The command line: what commands print, and the exit code of every way they can fail."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest


def one_line(ran, code, *words):
    """It failed with ``code`` and one line on standard error that holds ``words``; nothing on
    standard output."""
    assert ran.code == code, (ran.code, ran.err)
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("quintet: "), ran.err
    for word in words:
        assert word in lines[0], lines[0]
    assert ran.out == ""


# The front


def test_help_and_version(quintet):
    for args in ((), ("--help",), ("-h",), ("help",)):
        ran = quintet(*args)
        assert ran.code == 0
        for name in (
            "demo",
            "boards",
            "cores",
            "asm",
            "disasm",
            "build",
            "verilog",
            "flash",
            "run",
            "verify",
            "matrix",
            "serve",
            "doctor",
        ):
            assert f"\n  {name} " in ran.out
    assert quintet("--version").out.startswith("quintet 0.")


@pytest.mark.parametrize("command", ["cores", "asm", "disasm", "run", "verify"])
def test_help_of_commands(quintet, command):
    ran = quintet(command, "--help")
    assert ran.code == 0 and f"usage: quintet {command}" in ran.out and "--json" in ran.out


def test_unknown_command(quintet):
    one_line(quintet("rnu"), 2, "no command 'rnu'", "did you mean run?")


@pytest.mark.parametrize(
    "args, word",
    [
        (("run",), "required: job"),
        (("run", "a.toml", "--off"), "--off"),
        (("verify", "a.toml"), "--on"),
        (("asm", "opentpu"), "required"),
        (("disasm",), "required"),
    ],
)
def test_usage(quintet, args, word):
    one_line(quintet(*args), 2, word, "--help")


@pytest.mark.parametrize(
    "line, found",
    [
        ("verilog --core opu --preset 85f-p65 -o x.v", "no preset '85f-p65'; did you mean 85f-p64"),
        ("build ulx3s-85f opu -P pii=4", "opu has no parameter 'pii'; did you mean pi?"),
        ("matrix --preset 85f-p65", "--preset 85f-p65: none of these boards and cores has it; did"),
        (
            "matrix --board icebreaker --link usb",
            "the options select no board with a core that fits it",
        ),
        ("build icebreaker opu --lin uart", "arguments: --lin uart; did you mean --link? (see"),
        ("run a.toml --vdc=x.vcd", "arguments: --vdc=x.vcd; did you mean --vcd? (see"),
        ("run a.toml b.toml", "unrecognized arguments: b.toml (see"),
    ],
)
def test_what_may_have_been_meant(quintet, line, found):
    one_line(quintet(*line.split()), 2, found)


def test_errors_as_json(quintet):
    ran = quintet("run", "none.toml", "--json")
    assert ran.code == 2 and ran.json == {"error": "none.toml: no such job file", "exit": 2}


def test_run_help_starts_fast():
    """Neither Amaranth nor the link or numpy are imported to say what `run` does, nor Amaranth to
    run a model."""
    code = (
        "import sys; from quintet.tools.cli import main; main(sys.argv[1:]); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'amaranth', 'numpy', 'serial', "
        "'rich'}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr.strip().endswith("[]"), done.stderr


def test_run_on_the_model_needs_no_amaranth(small):
    code = (
        "import sys; sys.modules['amaranth'] = sys.modules['serial'] = None; from "
        "quintet.tools.cli import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(small), "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "done"


# cores


def test_cores(quintet):
    cores = {core["name"]: core for core in quintet("cores", "--json").json["cores"]}
    opentpu = cores["opentpu"]
    assert opentpu["tag"] == "OTPU" and opentpu["program_align"] == 16
    presets = {preset["name"]: preset for preset in opentpu["presets"]}
    assert presets["85f-8x8"]["default"] and presets["85f-8x8"]["params"]["ub_rows"] == 8192
    n = next(p for p in opentpu["parameters"] if p["name"] == "n")
    assert n["job"] == "equal" and "even number" in n["legal"]
    assert "85f-8x8*" in quintet("cores").out
    ran = quintet("cores", "opentpu")
    assert "side of the square array" in ran.out and "ext_norm" in ran.out
    one_line(quintet("cores", "none"), 2, "no ISA named 'none'")


# asm, disasm


def test_asm_and_back(quintet, small):
    out = small.folder / "small.out"
    ran = quintet("asm", "opentpu", small.folder / "small.a", "-o", out, "--json")
    assert (
        ran.code == 0
        and ran.json["bytes"] == 168
        and out.read_bytes()[:14].hex() == "0600030000000000000000000000"
    )
    text = small.folder / "again.s"
    assert quintet("disasm", "opentpu", out, "-o", text).code == 0
    assert (
        quintet("asm", "opentpu", text, "-o", small.folder / "again.bin", "--preset", "sim").code
        == 0
    )
    assert (small.folder / "again.bin").read_bytes() == out.read_bytes()
    assert "MMC.SO 4, 8, 3" in quintet("disasm", "opentpu", out).out
    assert quintet("disasm", "opentpu", out, "--json").json["lines"][-1] == "HLT"


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("RW  0", "RX  0", [":2:1:", "RX"]),
        ("ACT.Q  8, 8, 3", "ACT.Q  8, 8, 257", [":8:14:", "256"]),
        ("ACT.Q  8, 8, 3", "ACT.Q  8, 8", [":8:"]),
        ("RW  1", "RW  1 2", [":3:"]),
    ],
)
def test_asm_errors(quintet, small, old, new, words):
    small.program(old, new)
    one_line(
        quintet("asm", "opentpu", small.folder / "small.a", "-o", small.folder / "o.out"),
        2,
        "small.a",
        *words,
    )
    assert not (small.folder / "o.out").exists()
    one_line(quintet("run", small), 2, "small.a", *words)


def test_asm_bad_arguments(quintet, small):
    source, out = small.folder / "small.a", small.folder / "o.out"
    one_line(quintet("asm", "opentpv", source, "-o", out), 2, "no ISA named 'opentpv'")
    one_line(quintet("asm", "opentpu", source, "-o", small.folder / "o.hex"), 2, "o.hex", ".out")
    one_line(quintet("asm", "opentpu", source, "-o", small.folder / "o.s"), 2, "o.s", "only read")
    one_line(quintet("asm", "opentpu", small.folder / "none.a", "-o", out), 2, "none.a")
    one_line(quintet("asm", "opentpu", source, "-o", small.folder / "none" / "o.out"), 2, "o.out")
    one_line(
        quintet("asm", "opentpu", source, "-o", out, "--preset", "86f"),
        2,
        "no preset '86f'",
        "85f-8x8",
    )
    one_line(quintet("asm", "opentpu", source, "-o", out, "-P", "n"), 2, "-P n", "name=value")
    one_line(
        quintet("asm", "opentpu", source, "-o", out, "-P", "n=4", "-P", "n=8"),
        2,
        "n is given twice",
    )
    one_line(quintet("asm", "opentpu", source, "-o", out, "-P", "m=4"), 2, "no parameter 'm'")
    one_line(
        quintet("asm", "opentpu", source, "-o", out, "-P", "n=5"), 2, "parameter n must be", "not 5"
    )
    small.program("RHM 0, 0, 3", "RHM 0, 510, 3")
    one_line(
        quintet("asm", "opentpu", source, "-o", out, "--preset", "sim"), 2, "small.a:1:", "0 to 511"
    )
    assert not out.exists()
    (small.folder / "odd.out").write_bytes(bytes(15))
    one_line(quintet("disasm", "opentpu", small.folder / "odd.out"), 2, "odd.out", "14")


def test_empty_programs(quintet, tmp_path):
    for isa, form in (
        ("opentpu", "a"),
        ("opu", "s"),
        ("pim", "s"),
        ("imagine", "s"),
        ("cherry", "s"),
    ):
        for text in ("", "\n\n"):
            (tmp_path / f"e.{form}").write_text(text)
            one_line(
                quintet("asm", isa, tmp_path / f"e.{form}", "-o", tmp_path / "e.bin"),
                2,
                f"e.{form}: the source is empty",
                "expected at least one instruction",
            )
        assert not (tmp_path / "e.bin").exists()
    (tmp_path / "e.s").write_text(".equ a, 1\n")
    one_line(
        quintet("asm", "imagine", tmp_path / "e.s", "-o", tmp_path / "e.bin"),
        2,
        "e.s:1:10: the source has no instruction",
    )
    (tmp_path / "e.out").touch()
    one_line(quintet("disasm", "opentpu", tmp_path / "e.out"), 2, "e.out: the program is empty")


def test_programs_that_are_no_regular_files(quintet, tmp_path):
    for isa, form in (
        ("opentpu", ".a"),
        ("opentpu", ".out"),
        ("opu", ".s"),
        ("pim", ".json"),
        ("pim", ".json.gz"),
        ("cherry", ".bin"),
    ):
        pipe, zero = tmp_path / f"pipe{form}", tmp_path / f"zero{form}"
        if not pipe.exists():
            os.mkfifo(pipe)
            zero.symlink_to("/dev/zero")
        for path, what in ((pipe, "a pipe"), (zero, "a device")):
            one_line(
                quintet("disasm", isa, path),
                2,
                path.name,
                f"cannot be read ({what}, expected a regular file)",
            )
    (tmp_path / "i.a").write_text('.include "pipe.a"\n')
    one_line(
        quintet("asm", "opentpu", tmp_path / "i.a", "-o", tmp_path / "i.out"), 2, "there is no file"
    )
    (tmp_path / "i.a").write_text('.include "pi\0pe.a"\n')
    one_line(quintet("asm", "opentpu", tmp_path / "i.a", "-o", tmp_path / "i.out"), 2, "i.a:1:")


def test_a_program_that_unpacks_to_too_much(quintet, tmp_path, monkeypatch):
    import gzip

    from quintet.gateware.cores.pim.exchange import foreign

    monkeypatch.setattr(foreign, "MOST_TEXT", 1 << 20)
    for name in ("x.json.gz", "x.json"):
        (tmp_path / name).write_bytes(gzip.compress(bytes(16 << 20), 9))
        one_line(
            quintet("disasm", "pim", tmp_path / name),
            2,
            f"{name} unpacks to more than 1048576 bytes",
        )


def test_disasm_names_the_file(quintet, tmp_path):
    (tmp_path / "x.bin").write_bytes(b"CHRY" + bytes(40))
    one_line(quintet("disasm", "cherry", tmp_path / "x.bin"), 2, f"quintet: {tmp_path / 'x.bin'}: ")


def test_asm_of_a_program_that_needs_more(quintet, tmp_path):
    (tmp_path / "p.s").write_text(".needs contexts=2 acc_frac=17\nadd\n")
    asm = ("asm", "cherry", tmp_path / "p.s", "-o", tmp_path / "p.bin")
    one_line(
        quintet(*asm, "-P", "contexts=1"),
        2,
        "p.s:1:8: the program needs contexts = 2, and contexts = 1 with these parameters",
        "expected at least contexts = 2",
    )
    one_line(
        quintet(*asm, "-P", "acc_frac=9"),
        2,
        "p.s:1:19: the program needs acc_frac = 17, and acc_frac = 9",
    )
    assert (
        quintet(*asm, "-P", "contexts=2", "-P", "acc_frac=17").code == 0 and quintet(*asm).code == 0
    )


# run


def test_run(quintet, small):
    ran = quintet("run", small, "--json")
    assert ran.code == 0
    values = ran.json
    assert (values["isa"], values["target"], values["status"], values["fault"]) == (
        "opentpu",
        "model",
        "done",
        None,
    )
    assert (
        values["cycles"] is None
        and values["counters"]["operations"] == 144
        and values["params"]["n"] == 4
    )
    assert values["outputs"] == [str(small.folder / "y.npy")]
    saved = np.load(small.folder / "y.npy")
    assert saved.dtype == np.int8 and saved.shape == (6, 4) and saved.tobytes() == small.expected
    assert (small.folder / "y.npy").stat().st_mode & 0o444 == 0o444 & ~_umask()
    assert sorted(path.name for path in small.folder.iterdir()) == [
        "job.toml",
        "small.a",
        "w.npy",
        "x.npy",
        "y.npy",
    ]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_run_for_people(quintet, small):
    ran = quintet(
        "run", small, "--on", "model:opentpu?preset=sim", "--out", small.folder / "deep" / "er"
    )
    assert (
        ran.code == 0
        and (small.folder / "deep" / "er" / "y.npy").exists()
        and not (small.folder / "y.npy").exists()
    )
    assert "opentpu sim on model:opentpu?preset=sim (32,768 KiB): done" in ran.out
    assert "operations" in ran.out and "MACs" in ran.out and "saved" in ran.out


def test_saves_as_raw_bytes(quintet, small):
    small.edit('file = "y.npy"', 'file = "y.bin"').edit(
        'dtype = "int8"\nshape = [6, 4]', "size = 24"
    )
    assert (
        quintet("run", small).code == 0 and (small.folder / "y.bin").read_bytes() == small.expected
    )


def fault(quintet, small, name, code, pc, detail):
    ran = quintet("run", small, "--json")
    assert ran.code == 5
    values = ran.json
    found = values["fault"]
    assert values["status"] == "fault"
    assert (found["name"], found["code"], found["pc"], found["detail"]) == (name, code, pc, detail)
    assert not (small.folder / "y.npy").exists() and values["outputs"] == []
    return found, ran


def test_faults(quintet, small):
    found, ran = fault(
        quintet,
        small.edit("hostmem_limit = 0x2040", "hostmem_limit = 0x2027"),
        "host_range",
        20,
        0x108C,
        9,
    )
    assert found["file"].endswith("small.a") and found["line"] == 11
    assert (
        "host_range (20) at pc 0x108c, small.a line 11, detail 9" in ran.err
        and "nothing was saved" in ran.err
    )


def test_no_hlt(quintet, small):
    _, ran = fault(quintet, small.program("HLT\n"), "program_end", 7, 0x109A, 154)
    assert "no HLT" in ran.err


def test_underflow(quintet, small):
    fault(quintet, small.program("RW  1\n"), "weight_underflow", 23, 0x1038, 0)


def test_illegal_opcode(quintet, small):
    fault(
        quintet,
        small.program("ACT 8, 12, 3", ".word 0x0800000000000000000000000000"),
        "illegal_opcode",
        1,
        0x107E,
        8,
    )


def test_limit(quintet, small):
    ran = quintet("run", small.edit("cycles = 10000", "cycles = 5"), "--json")
    assert (
        ran.code == 5 and ran.json["status"] == "aborted" and ran.json["fault"]["name"] == "aborted"
    )
    assert "limit of 5 instructions" in ran.err and not (small.folder / "y.npy").exists()


@pytest.mark.parametrize(
    "target, code, words",
    [
        ("model:none", 2, ["no ISA named 'none'"]),
        ("model:opentpu?preset=none", 2, ["no preset 'none'"]),
        ("model:opentpu?n=5", 2, ["parameter n"]),
        ("model:opentpu?n=8", 2, ["params.n = 4", "n = 8"]),
        ("sim:ulx3s-85f", 2, ["sim:<board>/<isa>"]),
        ("model:opentpu?preset=", 2, ["preset is empty; expected preset=VALUE"]),
        ("model:opentpu?n=", 2, ["n is empty"]),
        ("sim:ulx3s-85f/opentpu?preset=", 2, ["preset is empty"]),
        ("sim:ulx3s-85f/opentpu?link=", 2, ["link is empty"]),
        (
            "socket://:x",
            2,
            ["target socket://:x: expected socket://HOST:PORT with a port from 1 to 65535"],
        ),
        ("socket://", 2, ["expected socket://HOST:PORT"]),
        ("socket://host", 2, ["expected socket://HOST:PORT"]),
        ("socket://host:0", 2, ["expected socket://HOST:PORT"]),
        ("socket://host:65536", 2, ["expected socket://HOST:PORT"]),
        ("socket://host:1/x", 2, ["expected socket://HOST:PORT"]),
        ("socket://[::1:5", 2, ["expected socket://HOST:PORT"]),
        ("", 2, ["expected"]),
        ("/dev/ttyQUINTET", 3, ["/dev/ttyQUINTET"]),
        ("socket://127.0.0.1:1", 3, ["socket://127.0.0.1:1"]),
    ],
)
def test_targets_refused(quintet, small, target, code, words):
    one_line(quintet("run", small, "--on", target), code, *words)
    assert not (small.folder / "y.npy").exists()


@pytest.mark.parametrize(
    "name, words",
    [("none/x.vcd", ["trace", "no such folder"]), ("a\0b.vcd", ["the name holds a NUL"])],
)
def test_traces_that_cannot_be_written_are_refused_before_anything_is_compiled(
    quintet, small, monkeypatch, name, words
):
    from quintet.boards.virtual import board

    monkeypatch.setattr(board, "open_virtual", lambda *args, **options: pytest.fail("compiles"))
    one_line(
        quintet("run", small, "--on", f"sim:ulx3s-85f/opentpu?trace={small.folder}/{name}"),
        2,
        *words,
    )


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ("--vcd", "a.vcd"),
            "--vcd a.vcd: only a virtual board writes a trace (--on sim:BOARD/ISA), not model",
        ),
        (
            ("--on", "sim:icebreaker/opentpu", "--vcd", "a.fst"),
            "--vcd a.fst: expected a name that ends in .vcd",
        ),
        (
            ("--on", "sim:icebreaker/opentpu", "--fst", "a"),
            "--fst a: expected a name that ends in .fst",
        ),
        (
            ("--on", "sim:icebreaker/opentpu", "--fst", "a.fst", "--vcd", "a.vcd"),
            "--vcd and --fst: expected one of them",
        ),
        (("--on", "sim:icebreaker/opentpu", "--fst", "none/a.fst"), "no such folder: none"),
        (("--on", "sim:icebreaker/opentpu?trace=b.vcd", "--vcd", "a.vcd"), "trace is given twice"),
    ],
)
def test_traces_that_are_refused(quintet, small, monkeypatch, words, message):
    from quintet.boards.virtual import board

    monkeypatch.setattr(board, "open_virtual", lambda *args, **options: pytest.fail("compiles"))
    one_line(quintet("run", small, *words), 2, message)


@pytest.mark.parametrize(
    "target, name",
    [("sim:icebreaker/opentpu", "a.vcd"), ("sim:icebreaker/opentpu?n=4", "a &b.fst")],
)
def test_traces_that_are_asked_for(quintet, small, monkeypatch, target, name):
    from quintet.boards.virtual import board, fst
    from quintet.tools.errors import InputError

    asked = []

    def opened(*_, trace, **__):
        asked.append(trace)
        raise InputError("stop here")

    monkeypatch.setattr(board, "open_virtual", opened)
    monkeypatch.setattr(fst, "check_fst", lambda: None)
    quintet("run", small, "--on", target, f"--{name[-3:]}", f"{small.folder}/{name}")
    assert asked == [(f"{small.folder}/{name}", 0)]


@pytest.mark.parametrize("name", ["x.npy", "x.npy/folder"])
def test_a_cache_that_cannot_be_written(quintet, small, monkeypatch, name):
    from quintet.boards.virtual import board, compile

    monkeypatch.setenv("QUINTET_CACHE", str(small.folder / name))
    monkeypatch.setattr(
        board,
        "open_virtual",
        lambda *args, **options: compile.build_library("attribute \\top 1\nmodule \\top\nend\n"),
    )
    one_line(
        quintet("run", small, "--on", "sim:icebreaker/opentpu"),
        2,
        f"cannot keep compiled designs in {small.folder / name}",
        "QUINTET_CACHE",
    )


def test_out_is_a_file(quintet, small):
    one_line(quintet("run", small, "--out", small.folder / "x.npy"), 2, "--out", "is a file")


def test_results_that_cannot_be_written(quintet, small):
    (small.folder / "y.npy").mkdir()
    one_line(quintet("run", small), 2, "cannot write", "y.npy")
    assert sorted(path.name for path in small.folder.iterdir()) == [
        "job.toml",
        "small.a",
        "w.npy",
        "x.npy",
        "y.npy",
    ]


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("at = 0x3000", "at = 0x2004", ["overlaps", "load[0]", "load[1]"]),
        ("at = 0x3000", "at = 0x1FFFFF0", ["ends past the main memory of model", "0x2000000"]),
        ("at = 0x2010", "at = 0x1FFFFF0", ["save[0]", "ends past"]),
        ("at = 0x2000", "at = 0x1004", ["overlaps the program"]),
        ("x.npy", "none.npy", ["no such file"]),
        ("small.a", "none.a", ["no such file"]),
        ("n = 4", "n = 3", ["params.n = 3"]),
    ],
)
def test_bad_jobs(quintet, small, old, new, words):
    one_line(quintet("run", small.edit(old, new)), 2, str(small), *words)
    assert not (small.folder / "y.npy").exists()


# verify


def test_verify(quintet, small):
    ran = quintet(
        "verify", small, "--on", "model", "--against", "model:opentpu?preset=sim", "--json"
    )
    assert ran.code == 0 and ran.json["equal"] and ran.json["difference"] is None
    assert "equal: all 24 bytes" in quintet("verify", small, "--on", "model").out
    assert not (small.folder / "y.npy").exists()


def test_verify_same_fault(quintet, small):
    ran = quintet("verify", small.program("HLT\n"), "--on", "model")
    assert ran.code == 5 and "equal: the way the run ended" in ran.out


def test_verify_differs(quintet, small, monkeypatch):
    """Two models of one name whose second sees other weights."""
    from quintet.tools.targets.model import ModelTarget

    run, count = ModelTarget.run, []

    def changed(self, *args, **options):
        count.append(1)
        if len(count) == 1:
            self.memory[0x3000] ^= 1
        return run(self, *args, **options)

    monkeypatch.setattr(ModelTarget, "run", changed)
    ran = quintet("verify", small, "--on", "model", "--json")
    assert ran.code == 1 and not ran.json["equal"]
    found = ran.json["difference"]
    assert found["element"] == "y.npy[3, 0]" and found["address"] == 0x201C and found["line"] == 11


@pytest.mark.parametrize("core, other", [("opu", "up5k"), ("imagine", "up5k"), ("cherry", "sim")])
def test_verify_of_builds_of_other_sizes(quintet, tmp_path, core, other):
    """What was built is in read-only registers; it is no result of the program."""
    from quintet.gateware.cores import open_core

    source = {"opu": None, "imagine": "vv_nop\nmv_SYNC\n", "cherry": "add\n"}[core]
    job = tmp_path / "job.toml"
    if source is None:
        from quintet.firmware.opu.small import FOLDER

        job = FOLDER / "small.toml"
    else:
        (tmp_path / "p.s").write_text(source)
        job.write_text(
            f'core = "{core}"\nprogram = "p.s"\nprogram_at = 0\nlimits = {{ cycles = 1000 }}\n'
        )
    space = open_core(core).params.SPACE
    assert other in space.presets, list(space.presets)
    ran = quintet(
        "verify",
        job,
        "--on",
        f"model:{core}",
        "--against",
        f"model:{core}?preset={other}",
        "--json",
    )
    assert (
        ran.json["a"]["params"] != ran.json["b"]["params"]
        and ran.json["a"]["values"] != ran.json["b"]["values"]
    )
    assert (ran.code, ran.json["troubles"]) == (0, [])


def test_verify_compares_what_was_built_of_like_builds(quintet, tmp_path, monkeypatch):
    from quintet.gateware.cores.imagine.model.model import Model

    (tmp_path / "p.s").write_text("vv_nop\nmv_SYNC\n")
    (tmp_path / "job.toml").write_text('core = "imagine"\nprogram = "p.s"\nprogram_at = 0\n')
    run, count = Model.run, []

    def changed(self, *args, **options):
        outcome = run(self, *args, **options)
        count.append(1)
        outcome.values["geometry"] += len(count)
        return outcome

    monkeypatch.setattr(Model, "run", changed)
    ran = quintet("verify", tmp_path / "job.toml", "--on", "model", "--json")
    assert ran.code == 1 and "register geometry differs" in ran.json["troubles"][0]


def test_verify_bad_target(quintet, small):
    one_line(
        quintet("verify", small, "--on", "model", "--against", "/dev/ttyQUINTET"),
        3,
        "/dev/ttyQUINTET",
    )
    one_line(quintet("verify", small, "--on", "model:x"), 2, "no ISA named 'x'")


# Signals and pipes


def heed_interrupts():
    """A test run that was started in the background ignores interrupts, and its children would with
    it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt(small, tmp_path):
    code = (
        "import sys, time; import quintet.tools.targets.model as m; from quintet.tools.cli "
        "import main\n"
        "def run(*args, **options):\n    print('running', file=sys.stderr, flush=True); "
        "time.sleep(60)\n"
        "m.ModelTarget.run = run; sys.exit(main(sys.argv[1:]))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, "run", str(small)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert child.stderr.readline() == "running\n"
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (130, "", "quintet: interrupted\n")


def test_reader_that_goes_away():
    done = subprocess.run(
        f"{sys.executable} -m quintet.tools.cli cores opentpu | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("opentpu")


def test_a_defect_of_ours_is_said_to_be(capsys, monkeypatch, small):
    from quintet.tools.cli import main
    from quintet.tools.targets.model import ModelTarget

    def broken(*args, **options):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(ModelTarget, "run", broken)
    assert main(["run", str(small)]) == 70
    assert capsys.readouterr().err.startswith(
        "quintet: internal error: ZeroDivisionError: division by zero"
    )
    monkeypatch.setenv("QUINTET_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["run", str(small)])
