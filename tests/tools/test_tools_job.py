# SPDX-License-Identifier: BSD-2-Clause
"""Jobs: what they mean, and one clear line for each way they can be wrong."""

import dataclasses
import os
import tracemalloc

import numpy as np
import pytest

from quintet.tools import Job
from quintet.tools.errors import JobError
from quintet.tools.jobs.job import Load, Save


def refuse(small, *words):
    """The job is refused in one line that begins with its file and holds ``words``."""
    with pytest.raises(JobError) as info:
        Job.load(small.path)
    message = str(info.value)
    assert message.startswith(str(small.path)) and "\n" not in message
    for word in words:
        assert word in message, message


def test_meaning(small):
    job = Job.load(small.path)
    assert (job.core, job.program_at, job.params, job.cycle_limit) == (
        "opentpu",
        0x1000,
        {"n": 4},
        10_000,
    )
    assert job.registers == {
        "hostmem_base": 0x2000,
        "hostmem_limit": 0x2040,
        "weights_base": 0x3000,
        "weights_limit": 0x3020,
    }
    assert [(load.at, load.size, load.what) for load in job.loads] == [
        (0x2000, 12, "int8 [3, 4]"),
        (0x3000, 32, "int8 [2, 4, 4]"),
    ]
    assert (job.saves[0].size, job.saves[0].shape) == (24, (6, 4))


@pytest.mark.parametrize(
    "old, new, words",
    [
        ('core = "opentpu"\n', "", ["core is missing", "a string"]),
        ('core = "opentpu"', 'core = "opentpv"', ['core = "opentpv"', "no ISA named", "opentpu"]),
        ('core = "opentpu"', "core = 5", ["core = 5", "a string"]),
        ('program = "small.a"', 'program = "none.a"', ["none.a", "no such file"]),
        ('program = "small.a"', 'program = ""', ["program", "the path of a program"]),
        ("program_at = 0x1000\n", "", ["program_at is missing", "an integer"]),
        ("program_at = 0x1000", "program_at = 0x1008", ["program_at = 0x1008", "a multiple of 16"]),
        ("program_at = 0x1000", "program_at = -16", ["program_at = -16", "0 to 0xffffffff"]),
        ("program_at = 0x1000", "program_at = true", ["program_at = true", "an integer"]),
        ("program_at = 0x1000", "program_at = 4096.0", ["program_at = 4096.0", "an integer"]),
        (
            "program_at = 0x1000",
            "progam_at = 0x1000",
            ["progam_at: unknown key", "did you mean program_at?"],
        ),
        ("n = 4", "n = 5", ["params.n = 5", "an even number from 2 to 256"]),
        ("n = 4", "n = 4.0", ["params.n = 4.0", "an even number"]),
        (
            "n = 4",
            "ub_row = 4",
            ["params.ub_row = 4", "no such parameter", "did you mean ub_rows?"],
        ),
        (
            "hostmem_base = 0x2000",
            "hostmembase = 0x2000",
            ["registers.hostmembase", "no such register", "did you mean hostmem_base?"],
        ),
        ("hostmem_base = 0x2000", "sync_tag = 1", ["registers.sync_tag = 1", "read-only"]),
        (
            "hostmem_base = 0x2000",
            "program_length = 14",
            ["registers.program_length", "set by the loader"],
        ),
        (
            "hostmem_base = 0x2000",
            "hostmem_base = 0x1_0000_0000",
            ["registers.hostmem_base = 0x100000000", "32 bits"],
        ),
        ("hostmem_base = 0x2000", "hostmem_base = -1", ["registers.hostmem_base = -1", "32 bits"]),
        (
            "hostmem_base = 0x2000",
            'hostmem_base = "8192"',
            ['registers.hostmem_base = "8192"', "an integer"],
        ),
        (
            "hostmem_base = 0x2000",
            '"hostmem_base[0]" = 1',
            ["hostmem_base is one register, not an array"],
        ),
        ("hostmem_base = 0x2000", "sigmoid_compat = 2", ["registers.sigmoid_compat = 2", "keeps"]),
        (
            "hostmem_base = 0x2000",
            "hostmem_base = 0x2008",
            ["registers.hostmem_base = 0x2008", "expected a multiple of 16"],
        ),
        (
            "weights_base = 0x3000",
            "weights_base = 0x3004",
            ["registers.weights_base = 0x3004", "expected a multiple of 16"],
        ),
        (
            "hostmem_base = 0x2000",
            "window_base = 0x1001",
            ["registers.window_base = 0x1001", "multiples of 64"],
        ),
        (
            "hostmem_base = 0x2000",
            "window_base = 0x4000\nwindow_limit = 0x2000",
            ["registers.window_limit = 0x2000", "lies below window_base 0x4000"],
        ),
        ('file = "x.npy"', 'file = "none.npy"', ["load[0].file", "no such file", "none.npy"]),
        (
            'file = "x.npy"',
            'file = "x.csv"',
            ["load[0].file", "unknown suffix '.csv'", ".npy, .npz:key or .bin"],
        ),
        ('file = "x.npy"', 'file = "x.npz"', ["load[0].file", "name one"]),
        ('file = "x.npy"\nat = 0x2000', 'file = "x.npy"', ["load[0].at is missing", "an integer"]),
        (
            'file = "x.npy"\nat = 0x2000',
            'file = "x.npy"\nat = 0x2000\nsize = 4',
            ["load[0].size: unknown key"],
        ),
        (
            'file = "x.npy"\nat = 0x2000',
            'file = "x.npy"\nat = 0x2FF8',
            ["load[1] (w.npy) at 0x3000..0x301f overlaps load[0] (x.npy) at 0x2ff8..0x3003"],
        ),
        (
            'file = "y.npy"',
            'file = "y.txt"',
            ["save[0].file", ".npy (with dtype and shape) or .bin (with size)"],
        ),
        ('file = "y.npy"', 'file = "x.npy"', ["save[0].file", "another name", "a load"]),
        ('file = "y.npy"', 'file = "y.bin"', ["save[0].dtype: unknown key"]),
        ('dtype = "int8"', 'dtype = "int9"', ['save[0].dtype = "int9"', "int8"]),
        ('dtype = "int8"', 'dtype = "float128"', ['save[0].dtype = "float128"', "number type"]),
        ('dtype = "int8"', 'dtype = "complex256"', ['save[0].dtype = "complex256"', "number type"]),
        (
            "shape = [6, 4]",
            f"shape = {[1] * 70}",
            ["save[0].shape = ...", "at most 32 dimensions, not 70"],
        ),
        (
            'program = "small.a"',
            r'program = "sm\u0000all.a"',
            [r'program = "sm\x00all.a"', "the path of a program, without control characters"],
        ),
        (
            'file = "x.npy"',
            r'file = "x\u0000.npy"',
            [r'load[0].file = "x\x00.npy"', "the path of a file, without control characters"],
        ),
        (
            'file = "y.npy"',
            r'file = "y\n.npy"',
            [r'save[0].file = "y\n.npy"', "without control characters"],
        ),
        ('file = "x.npy"', 'file = ""', ['load[0].file = ""', "the path of a file"]),
        ('dtype = "int8"', 'dtype = ">i2"', ['save[0].dtype = ">i2"', "little-endian"]),
        ('dtype = "int8"', 'dtype = "object"', ['save[0].dtype = "object"', "number type"]),
        ('dtype = "int8"', 'dtype = "U4"', ['save[0].dtype = "U4"', "number type"]),
        ('dtype = "int8"\n', "", ["save[0].dtype is missing"]),
        ("shape = [6, 4]", "shape = [6, 0]", ["save[0].shape = [6, 0]", "at least 1"]),
        ("shape = [6, 4]", "shape = 24", ["save[0].shape = 24", "an array"]),
        ("cycles = 10000", "cycles = 0", ["limits.cycles = 0", "at least 1"]),
        ("cycles = 10000", "cycle = 1", ["limits.cycle: unknown key", "did you mean cycles?"]),
        ("[limits]", "[limit]", ["limit: unknown key", "did you mean limits?"]),
        ("[params]", "[params", ["not TOML", "line 4"]),
        ("n = 4", "n = 4\nn = 4", ["not TOML"]),
        ("n = 4", f"n = {'9' * 5000}", ["not TOML", "digits"]),
        ("n = 4", f"n = {'[' * 5000}", ["not TOML"]),
    ],
)
def test_refused(small, old, new, words):
    refuse(small.edit(old, new), *words)


def test_load_must_be_tables(small):
    small.path.write_text(
        small.path.read_text().split("[[load]]")[0].replace("[params]", "load = [3]\n[params]")
    )
    refuse(small, "load[0] = 3", "a table")


def test_two_saves_of_one_name(small):
    refuse(
        small.append('[[save]]\nfile = "./y.npy"\nat = 0\ndtype = "int8"\nshape = [1]\n'),
        "save[1].file",
        "save[0]",
    )


def test_missing_job(tmp_path):
    with pytest.raises(JobError, match="none.toml: no such job file"):
        Job.load(tmp_path / "none.toml")


def test_directory_and_bytes_as_job(tmp_path):
    with pytest.raises(JobError, match="cannot be read"):
        Job.load(tmp_path)
    path = tmp_path / "b.toml"
    path.write_bytes(b"core = \xff\xfe")
    with pytest.raises(JobError, match="not UTF-8"):
        Job.load(path)


def test_windows_line_ends_and_byte_order_mark(small):
    text = small.path.read_text()
    small.path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert Job.load(small.path).program_at == 0x1000


def test_truncated_npy(small):
    whole = (small.folder / "w.npy").read_bytes()
    for size, word in (
        (len(whole) - 1, "truncated"),
        (20, "truncated"),
        (4, "no .npy file"),
        (0, "no .npy file"),
    ):
        (small.folder / "w.npy").write_bytes(whole[:size])
        refuse(small, "load[1].file", "w.npy", word)


def test_no_regular_files(small):
    os.mkfifo(small.folder / "pipe.npy")
    os.mkfifo(small.folder / "pipe.a")
    (small.folder / "zero.bin").symlink_to("/dev/zero")
    (small.folder / "circle.npy").symlink_to("circle.npy")
    for old, new, *words in (
        ("x.npy", "pipe.npy", "load[0].file", "a pipe, expected a regular file"),
        ("pipe.npy", "zero.bin", "load[0].file", "a device, expected a regular file"),
        ("zero.bin", "circle.npy", "load[0].file", "Too many levels of symbolic links"),
    ):
        refuse(small.edit(old, new), *words)
    refuse(small.edit("circle.npy", "x.npy").edit("small.a", "pipe.a"), 'pipe.a": no regular file')


def test_a_job_that_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "huge.toml").write_bytes(bytes(1 << 20) + b"#")
    for name, text in (
        ("pipe", "a pipe"),
        ("zero", "a device"),
        ("huge", "has 1048577 bytes, expected at most 1048576"),
    ):
        with pytest.raises(JobError, match=f"{name}.toml: .*{text}"):
            Job.load(tmp_path / f"{name}.toml")


def test_contents_are_read_when_their_size_is_known_to_fit(small):
    """Half a gigabyte of nothing, for a memory of 32 MiB."""
    with open(small.folder / "x.bin", "wb") as file:
        file.truncate(1 << 29)
    small.edit("x.npy", "x.bin").edit("at = 0x3000", "at = 0x30000000")
    tracemalloc.start()
    try:
        job = Job.load(small.path)
        with pytest.raises(
            JobError,
            match=r"load\[0\] \(x.bin\) at 0x2000..0x20001fff ends past the main memory of T",
        ):
            job.image(job.package.params.SPACE.resolve(), 32 << 20, "T")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_program_larger_than_memory(small):
    with open(small.folder / "p.out", "wb") as file:
        file.truncate(14 << 20)
    job = Job.load(small.edit("small.a", "p.out").path)
    with pytest.raises(ValueError, match="p.out: has 14680064 bytes, expected at most 1048576"):
        job.image(job.package.params.SPACE.resolve(), 1 << 20)


def test_a_load_that_changes_or_is_damaged(small):
    np.savez_compressed(
        small.folder / "all.npz", x=np.random.default_rng(1).integers(0, 99, 4000, np.int8)
    )
    job = Job.load(small.edit("x.npy", "all.npz:x").edit("at = 0x3000", "at = 0x8000").path)
    data = bytearray((small.folder / "all.npz").read_bytes())
    data[2000] ^= 255
    (small.folder / "all.npz").write_bytes(data)
    with pytest.raises(
        JobError, match=r'job.toml: load\[0\].file = "all.npz:x": .*truncated or damaged'
    ):
        job.image(job.package.params.SPACE.resolve(), 1 << 20)


def test_random_bytes_are_no_archive(small):
    (small.folder / "r.npz").write_bytes(np.random.default_rng(1).bytes(500))
    refuse(small.edit("x.npy", "r.npz:x"), "load[0].file", "r.npz is no .npz archive")


def test_a_wide_float_from_python():
    if np.dtype(np.longdouble).itemsize > 8:
        with pytest.raises(JobError, match="a holds float128; expected .* of at most 64 bits"):
            Load(0, np.zeros(2, np.longdouble), "a")


def test_pickle_is_never_read(small):
    np.save(small.folder / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refuse(small, "load[0].file", "pickled")


def test_text_is_no_number(small):
    np.save(small.folder / "x.npy", np.array(["abc"]))
    refuse(small, "load[0].file", "<U3", "integers, floats or booleans")


def test_empty_load(small):
    (small.folder / "x.bin").write_bytes(b"")
    refuse(small.edit("x.npy", "x.bin"), "load[0].file", "is empty")


def test_byte_order_and_fortran(small):
    values = np.arange(24).reshape(2, 3, 4)
    for array in (
        values.astype(">i2"),
        np.asfortranarray(values.astype("<i2")),
        values.astype(">i2").T.copy().T,
    ):
        np.save(small.folder / "x.npy", array)
        load = Job.load(small.path).loads[0]
        assert load.data == values.astype("<i2").tobytes() and load.what == "int16 [2, 3, 4]"


def test_npz(small):
    np.savez(
        small.folder / "all.npz",
        x=np.arange(12, dtype=np.int8),
        **{"a:b": np.arange(3, dtype=np.uint8)},
    )
    small.edit('"x.npy"', '"all.npz:x"')
    assert Job.load(small.path).loads[0].data == bytes(range(12))
    small.edit("all.npz:x", "all.npz:a:b")
    assert Job.load(small.path).loads[0].data == bytes(range(3))
    small.edit("all.npz:a:b", "all.npz:z")
    refuse(small, "no array 'z'", "x, a:b")
    whole = (small.folder / "all.npz").read_bytes()
    (small.folder / "all.npz").write_bytes(whole[:-30])
    refuse(small, "load[0].file", "all.npz")


def test_memory_ends(small):
    job = Job.load(small.edit("at = 0x3000", "at = 0x7FF0").path)
    job.program = bytes(14)
    with pytest.raises(
        JobError,
        match=(
            r"load\[1\] \(w.npy\) at 0x7ff0..0x800f ends past the main memory of B, which has "
            r"0x8000"
        ),
    ):
        job.image(job.package.params.SPACE.resolve(), 0x8000, "B")
    assert job.image(job.package.params.SPACE.resolve(), 0x8010).parts[2].at == 0x7FF0


def test_save_past_the_end(small):
    job = Job.load(small.path)
    job.program = bytes(14)
    job.saves = [Save(0x7FFF, "y.bin", size=2)]
    with pytest.raises(JobError, match=r"save\[0\] \(y.bin\) at 0x7fff..0x8000 ends past"):
        job.image(job.package.params.SPACE.resolve(), 0x8000)


def test_program_overlaps_a_load(small):
    job = Job.load(small.edit("at = 0x2000", "at = 0x100D").path)
    job.program = bytes(14)
    with pytest.raises(
        JobError,
        match=r"load\[0\] \(x.npy\) at 0x100d..0x1018 overlaps the program at 0x1000..0x100d",
    ):
        job.image(job.package.params.SPACE.resolve(), 1 << 20)


def test_window_past_memory(small):
    job = Job.load(small.edit("hostmem_base", "window_limit = 0x10000\nhostmem_base").path)
    job.program = bytes(14)
    with pytest.raises(JobError, match="window_limit = 0x10000: lies past the main memory"):
        job.image(job.package.params.SPACE.resolve(), 0x8000)


def test_register_of_an_extension_that_is_not_built(small):
    job = Job.load(small.edit("hostmem_base", "cfg_conv = 0x101\nhostmem_base").path)
    job.program = bytes(14)
    params = job.package.params.SPACE.resolve("sim")
    with pytest.raises(
        JobError,
        match=(
            "registers.cfg_conv = 0x101: the register needs ext_conv = true, and T was built with"
        ),
    ):
        job.image(params, 0x8000, "T")
    job.registers["cfg_conv"] = 0x100
    assert job.image(params, 0x8000).registers["cfg_conv"] == 0x100


@pytest.mark.parametrize(
    "wanted, build, accepted",
    [
        ({"n": 4}, {"n": 4}, True),
        ({"n": 4}, {"n": 8}, False),
        ({"n": 8}, {"n": 4}, False),
        ({"ub_rows": 1024}, {"ub_rows": 4096}, True),
        ({"ub_rows": 4096}, {"ub_rows": 1024}, False),
        ({"ext_conv": True}, {"ext_conv": False}, False),
        ({"ext_conv": False}, {"ext_conv": True}, True),
        ({"banks": 1}, {"banks": 2}, True),
        ({"multiplier": "lut"}, {"multiplier": "dsp"}, True),
    ],
)
def test_params_rules(wanted, build, accepted):
    job = Job(core="opentpu", program=bytes(14), program_at=0, params=wanted)
    params = job.package.params.SPACE.resolve(None, build)
    if accepted:
        job.check_params(params, "T")
        return
    name, value = next(iter(wanted.items()))
    with pytest.raises(JobError) as info:
        job.check_params(params, "T")
    text = str(info.value)
    assert (
        f"params.{name} = {str(value).lower()}" in text
        and f"{name} = {str(build[name]).lower()}" in text
        and "T" in text
    )


def test_what_the_isa_itself_refuses(small):
    job = Job.load(small.path)
    job.program = bytes(14)

    def check(program, registers, params):
        raise ValueError(
            f"{len(program.data)} bytes at {registers['program_address']:#x}, n = {params['n']}"
        )

    job.software = dataclasses.replace(job.software, check_job=check)
    with pytest.raises(JobError, match="job.toml: 14 bytes at 0x1000, n = 8"):
        job.image(job.package.params.SPACE.resolve(), 0x8000)


def test_from_python():
    job = Job(
        core="opentpu",
        program=bytes(14),
        program_at=0x40,
        loads=[Load(0x80, np.arange(4, dtype=">i4"), "a")],
        saves=[Save(0x100, "b", dtype="int16", shape=[2, 3]), Save(0x200, "c", size=7)],
    )
    assert job.loads[0].data == np.arange(4, dtype="<i4").tobytes()
    assert (
        job.saves[0].size == 12
        and job.saves[0].element(9) == "b[1, 1]"
        and job.saves[1].element(3) == "c byte 3"
    )
    assert job.saves[0].decode(bytes(range(12))).tolist() == [
        [0x100, 0x302, 0x504],
        [0x706, 0x908, 0xB0A],
    ]
    with pytest.raises(JobError, match=r"job: load\[0\].at = 4294967296"):
        Job(core="opentpu", program=b"", program_at=0, loads=[Load(1 << 32, b"a")])
