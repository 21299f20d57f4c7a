# SPDX-License-Identifier: BSD-2-Clause
"""Files that would hang their reader or take its memory, and files that lie: each refused in one
line, without either."""

import gzip
import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.isa.files import (
    LARGEST,
    FileError,
    gunzip,
    load_archive,
    load_array,
    read_bytes,
    stored_array,
    stored_bytes,
    write_whole,
)


def refused(read, *words):
    """``read()`` says no in one line that holds ``words``, and takes no memory to speak of."""
    tracemalloc.start()
    try:
        with pytest.raises(FileError) as info:
            read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(info.value)
    assert "\n" not in message and peak < 8 << 20, (message, peak)
    for word in words:
        assert word in message, message
    return info.value


def header(shape, descr="'|i1'", version=1, order="False"):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + len(text).to_bytes(2 if version == 1 else 4, "little")
        + text
    )


READERS = (
    read_bytes,
    stored_bytes,
    stored_array,
    lambda path: stored_array(path, "a"),
    load_archive,
)


@pytest.mark.parametrize("read", READERS)
def test_no_regular_file(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "circle").symlink_to("circle")
    refused(
        lambda: read(tmp_path / "pipe"), "pipe cannot be read (a pipe, expected a regular file)"
    )
    refused(
        lambda: read(tmp_path / "zero"), "zero cannot be read (a device, expected a regular file)"
    )
    refused(lambda: read(tmp_path / "circle"), "circle cannot be read (Too many levels")
    refused(lambda: read(tmp_path), "cannot be read (Is a directory)")
    refused(lambda: read(f"{tmp_path}/a\0b"), "a\\0b cannot be read (the name holds a NUL)")
    assert refused(lambda: read(tmp_path / "none"), "No such file").missing


@pytest.mark.parametrize("read", READERS)
def test_a_huge_file_is_not_read(tmp_path, read):
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(LARGEST + 1)
    refused(lambda: read(tmp_path / "huge"), f"huge has {LARGEST + 1} bytes, expected at most ")


def test_limit(tmp_path):
    (tmp_path / "a").write_bytes(bytes(9))
    assert read_bytes(tmp_path / "a", 9) == bytes(9) and stored_bytes(
        tmp_path / "a", 9
    ).read() == bytes(9)
    refused(lambda: read_bytes(tmp_path / "a", 8), "a has 9 bytes, expected at most 8")


def test_a_file_that_changes(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(4))
    array, raw = stored_array(path), stored_bytes(path)
    np.save(path, np.arange(5))
    refused(array.read, "a.npy changed while it was read")
    refused(raw.read, "a.npy changed while it was read")


@pytest.mark.parametrize(
    "data, words",
    [
        (
            header((10**12,)),
            ["of shape [1000000000000] takes 1000000000000 bytes, expected at most"],
        ),
        (header((10**12, 0)), None),
        (header((1,) * 70) + b"\0", ["has 70 dimensions, expected at most 32"]),
        (header((1 << 20,)), ["is truncated (0 bytes of 1048576)"]),
        (header((2,)) + bytes(3), ["has 1 bytes too many for its shape [2]"]),
        (header((-1,)), ["has a shape that is none: (-1,)"]),
        (header("[2]") + bytes(2), ["has a shape that is none: [2]"]),
        (header((True,)) + bytes(1), ["has a shape that is none"]),
        (
            header((1,), "'|O'") + bytes(8),
            ["holds pickled objects instead of numbers; they are never unpickled"],
        ),
        (
            header((1,), "[('a', '|O')]") + bytes(8),
            ["holds [('a', '|O')]; expected integers, floats or booleans"],
        ),
        (
            header((1,), "'<f16'") + bytes(16),
            ["holds <f16; expected integers, floats or booleans of at most 64 bits"],
        ),
        (header((1,), "'<i3'") + bytes(3), ["holds <i3;"]),
        (header((1,), "'<M8'") + bytes(8), ["holds <M8;"]),
        (header("().__class__"), ["has a header that is no array's"]),
        (header("(" * 900 + ")" * 900), ["is"]),
        (
            b"\x93NUMPY\1\0\xff\xff" + b" " * 65535,
            ["has a header of 65535 bytes, expected at most 10000"],
        ),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff", ["has a header of 4294967295 bytes"]),
        (b"\x93NUMPY\4\0", ["the unknown version 4"]),
        (b"\x93NUMPY", ["is truncated"]),
        (b"\x93NUMPY\1\0\x05", ["is truncated"]),
        (b"", ["is no .npy file"]),
        (b"PK\3\4", ["is no .npy file"]),
    ],
)
def test_headers(tmp_path, data, words):
    (tmp_path / "a.npy").write_bytes(data)
    if words is None:
        assert load_array(tmp_path / "a.npy").shape == (10**12, 0)
        return
    refused(lambda: load_array(tmp_path / "a.npy"), "a.npy", *(words if words != ["is"] else ()))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    "dtype", ["?", "|i1", ">i2", "<u4", "<i8", "<f2", "<f4", ">f8", "<c8", "<c16"]
)
def test_arrays_are_read_as_numpy_reads_them(tmp_path, dtype, version):
    for array in (
        np.arange(24).reshape(2, 3, 4).astype(dtype),
        np.asfortranarray(np.arange(6).reshape(2, 3)).astype(dtype),
        np.array(3).astype(dtype),
        np.zeros((0, 4), dtype),
    ):
        with open(tmp_path / "a.npy", "wb") as file:
            np.lib.format.write_array(file, array, (version, 0))
        got = load_array(tmp_path / "a.npy")
        want = np.load(tmp_path / "a.npy")
        assert (
            got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
        )


def test_archives(tmp_path):
    arrays = {"a": np.arange(5, dtype="<i2"), "b:c": np.ones((2, 2)), "d.e": np.zeros(3, np.uint8)}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        found = load_archive(tmp_path / "a.npz")
        assert set(found) == set(arrays) and all(
            (found[k] == v).all() and found[k].dtype == v.dtype for k, v in arrays.items()
        )
        assert (load_array(tmp_path / "a.npz", "b:c") == 1).all()
    error = refused(
        lambda: load_array(tmp_path / "a.npz", "z"), "has no array 'z'; it has a, b:c, d.e"
    )
    assert list(error.keys) == ["a", "b:c", "d.e"]
    refused(lambda: load_array(tmp_path / "a.npz"), "is no .npy file")


def archive(path, data, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("a.npy", data)
    return bytearray(path.read_bytes())


def test_a_bomb(tmp_path):
    """64 MiB of zeros in 64 KiB, where 1 MiB is allowed; 3 GB by the directory's word."""
    path = tmp_path / "a.npz"
    data = archive(path, header((64 << 20,)) + bytes(64 << 20))
    refused(
        lambda: load_array(path, "a", 1 << 20),
        "array 'a' of shape [67108864] takes 67108864 bytes, expected at most 1048576",
    )
    refused(lambda: load_archive(path, 1 << 20), "more than 1048576 bytes")
    data = archive(path, header((3_000_000_000,)) + bytes(64))
    for at in (data.index(b"PK\1\2") + 24, 22):
        struct.pack_into("<I", data, at, 3_000_000_000 + len(header((3_000_000_000,))))
    path.write_bytes(data)
    refused(lambda: load_array(path, "a"), "array 'a' of shape [3000000000] takes 3000000000 bytes")


def test_a_member_larger_than_the_directory_says(tmp_path):
    path = tmp_path / "a.npz"
    small = header((99,))
    data = archive(path, small + bytes(64 << 20))
    for at in (data.index(b"PK\1\2") + 24, 22):
        struct.pack_into("<I", data, at, len(small) + 99)
    path.write_bytes(data)
    refused(lambda: load_array(path, "a"), "array 'a' is truncated or damaged")


def test_damaged_archives(tmp_path):
    path = tmp_path / "a.npz"
    data = archive(path, header((4000,)) + np.random.default_rng(1).bytes(4000))
    for changed, words in (
        (data[:-30], "is no .npz archive"),
        (b"", "is no .npz archive"),
        (b"PK\5\6", "is no .npz archive"),
        (np.random.default_rng(2).bytes(999), "is no .npz archive (or is truncated)"),
        (data[:2000] + b"\xff" * 9 + data[2009:], "array 'a' is truncated or damaged"),
        (b"\0" + data[1:], "array 'a' is truncated or damaged"),
    ):
        path.write_bytes(changed)
        refused(lambda: load_array(path, "a"), "a.npz", words)
    for offset, value, words in (
        (12, 5 << 20, "directory of 5242880 bytes"),
        (12, 1 << 30, "directory of 1073741824 bytes"),
    ):
        changed = bytearray(data)
        struct.pack_into("<I", changed, data.rindex(b"PK\5\6") + offset, value)
        path.write_bytes(changed)
        refused(lambda: load_array(path, "a"), words)
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        archive(path, header((4,)) + bytes(4), method)
        refused(lambda: load_array(path, "a"), "packed by a method other than deflate")


def test_a_directory_of_the_long_form(tmp_path):
    """Its own sizes would be those that are read."""
    path = tmp_path / "a.npz"
    data = archive(path, header((4,)) + bytes(4))
    at = data.rindex(b"PK\5\6")
    path.write_bytes(data[:at] + b"PK\6\7" + bytes(16) + data[at:])
    refused(lambda: load_array(path, "a"), "is no .npz archive of fewer than 65,535 arrays")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_in_an_archive(tmp_path_factory, data):
    """Any change of a whole archive, and any bytes at all: the array, or one line."""
    path = tmp_path_factory.mktemp("any") / "a.npz"
    whole = bytes(archive(path, header((40,)) + bytes(range(40))))
    at = data.draw(st.integers(0, len(whole)))
    path.write_bytes(
        whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 8)) :]
    )
    try:
        assert load_array(path, "a").size <= len(whole) + 8
    except FileError as error:
        assert "\n" not in str(error)


def test_gzip(tmp_path):
    text = np.random.default_rng(3).bytes(300_000) + bytes(1 << 20)
    for data in (
        gzip.compress(text),
        gzip.compress(text[:1000]) + gzip.compress(text[1000:]),
        gzip.compress(text) + bytes(700),
    ):
        assert gunzip("x", data, len(text)) == text
        refused(
            lambda data=data: gunzip("x", data, len(text) - 1),
            f"x unpacks to more than {len(text) - 1} bytes",
        )
        for bad in (data[:5], data[:200_000], b"\x1f\x8b" + data[9:]):
            refused(lambda bad=bad: gunzip("x", bad), "x is damaged (gzip)")
    refused(lambda: gunzip("x", gzip.compress(b"{}") + b"junk"), "x is damaged (gzip)")
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    refused(
        lambda: gunzip("bomb", buffer.getvalue(), 1 << 20),
        "bomb unpacks to more than 1048576 bytes",
    )


def test_written_whole_or_not_at_all(tmp_path):
    write_whole(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text() == "text"
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError):
        write_whole(tmp_path / "b", b"text")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
