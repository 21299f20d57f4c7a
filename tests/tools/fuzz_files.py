# SPDX-License-Identifier: BSD-2-Clause
"""Files of every kind that commands read, whole and broken, for the fuzzer of the command line."""

import gzip
import json
import os
import random
import re
import shutil
from pathlib import Path

import numpy as np

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"
#: ISA -> (folder of a small job, the job, its program, forms of a program that the corpus has
#: besides).
JOBS = {
    "opentpu": ("opentpu/programs", "small.toml", "small.a", (".bin", ".out", ".s")),
    "opu": ("opu/small", "small.toml", "small.s", (".bin",)),
    "cherry": ("cherry/small", "relu_matmul.toml", "relu_matmul.s", (".bin",)),
    "imagine": ("imagine/small", "small.toml", "small.s", (".bin", ".mem", ".c", ".h", ".hex")),
    "pim": ("pim/small", "two.toml", "two.s", (".bin", ".json", ".json.gz", "/")),
}
#: Words that no one means, and values at the ends of ranges.
NONSENSE = (
    "",
    " ",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "65536",
    "4294967295",
    "4294967296",
    "1e999",
    "nan",
    "inf",
    "-0.0",
    "9" * 40,
    "0x",
    "0xffffffff",
    "é中🂡",
    "\0",
    "a\0b",
    "..",
    "/",
    "//",
    "~",
    "*",
    "\n",
    "--",
    "-",
    "%s%n",
    "{}",
    "\udcff",
    "model:",
    "true",
    "none",
    "x" * 5000,
    "'",
    '"',
    "&",
    "=",
    "?",
    "[",
    "]",
    "{",
    "}",
    "#",
    ";",
    ",",
    "\\",
    "$(",
    "\t",
    "\r",
    "\ufeff",
    "٣",
    "½",
    "1_0",
    "+1",
    "0b1",
    "1.5",
    "@",
    "!",
)
_CYCLES = 2_000


def make_corpus(folder, quintet):
    """Fills ``folder`` with a folder for each ISA: its small job and the program in every form.
    ``quintet`` runs a command."""
    for isa, (where, job, program, forms) in JOBS.items():
        target = folder / isa
        target.mkdir(parents=True)
        for path in sorted((FIRMWARE / where).iterdir()):
            if path.suffix in (".toml", ".a", ".s", ".npy", ".bin") and path.stem.removeprefix(
                "small"
            ).lstrip("_") in (
                "",
                "x",
                "w",
                "a",
                "b",
                "ifm",
                "ker",
                "bias",
                "fill",
                "two",
                "relu_matmul",
            ):
                shutil.copy(path, target / path.name)
        text = (target / job).read_text()
        # A broken program may run for ever: that is no defect, and is stopped.
        text = re.sub(r"cycles = [\d_]+", f"cycles = {_CYCLES}", text)
        if "cycles" not in text:
            text += f"\n[limits]\ncycles = {_CYCLES}\n"
        (target / "job.toml").write_text(text)
        (target / "binary.toml").write_text(text.replace(program, "program.bin"))
        (target / job).unlink()
        for form in forms:
            out = "folder/" if form == "/" else f"program{form}"
            if form == ".s" and isa == "opentpu":
                shutil.copy(target / program, target / "program.s")
            elif code := quintet("asm", isa, target / program, "-o", f"{target}/{out}"):
                raise AssertionError(f"asm {isa} to {form}: exit {code}")
    (folder / "imagine" / "params.yaml").write_text(
        "regCnt: 14\nresvRegCnt: 2\nmaxLevel: 0\nfracWidth: 4\nmvBlockDim: [4, 2]\npimDepth: 256\n"
    )
    (folder / "imagine" / "yaml.s").write_text('.setupParams "params.yaml"\nvv_serialEn\nmv_SYNC\n')
    archive = folder / "opentpu" / "arrays.npz"
    np.savez(
        archive,
        x=np.load(folder / "opentpu" / "small_x.npy"),
        w=np.load(folder / "opentpu" / "small_w.npy"),
    )
    text = (folder / "opentpu" / "job.toml").read_text()
    (folder / "opentpu" / "npz.toml").write_text(
        text.replace("small_x.npy", "arrays.npz:x").replace("small_w.npy", "arrays.npz:w")
    )
    built = folder / "built"
    built.mkdir()
    (built / "top.bin").write_bytes(bytes(range(256)))
    (built / "top.bit").write_bytes(bytes(range(256)))
    (built / "report.json").write_text(
        json.dumps(
            {"board": "icebreaker", "isa": "opentpu", "preset": "up5k-4x4", "bitstream": "top.bin"}
        )
    )
    (built / "matrix.json").write_text(
        json.dumps(
            {
                "cells": {
                    "icebreaker/opentpu/up5k-4x4/1": {
                        "board": "icebreaker",
                        "isa": "opentpu",
                        "preset": "up5k-4x4",
                        "seed": 1,
                        "state": "built",
                        "luts": 10,
                        "digest": "0",
                    }
                }
            }
        )
    )


# Mutations

#: Bytes of files that are neither read nor broken here.
LARGE = 1 << 24


def mutate(rnd, path):
    """Breaks the file at ``path`` in one of many ways, or puts something else in its place."""
    if path.is_dir():
        files = [p for p in sorted(path.iterdir()) if p.is_file() and p.stat().st_size < LARGE]
        if files and rnd.random() < 0.9:
            return mutate(rnd, rnd.choice(files))
        shutil.rmtree(path)
        return _other(rnd, path)
    if rnd.random() < 0.08:
        path.unlink()
        return _other(rnd, path)
    data = path.read_bytes()
    packed = path.name.endswith(".gz")
    if packed and rnd.random() < 0.7:
        data = gzip.compress(_broken(rnd, gzip.decompress(data), ".json"), mtime=0)
    else:
        data = _broken(rnd, data, path.suffix)
    path.write_bytes(data)


def _other(rnd, path):
    """Something that is no regular file with contents."""
    kind = rnd.choice(("nothing", "empty", "folder", "fifo", "loop", "dangling", "device", "large"))
    if kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "device":
        path.symlink_to(rnd.choice(("/dev/zero", "/dev/null", "/dev/full", "/dev/tty")))
    elif kind == "large":
        with open(path, "wb") as file:
            file.truncate(3 << 30)  # a hole: it takes no space


def _broken(rnd, data, suffix):
    for _ in range(rnd.choice((1, 1, 1, 2, 4))):
        text = suffix in (".toml", ".s", ".a", ".json", ".yaml", ".mem", ".c", ".h", ".hex")
        data = rnd.choice(_OF_TEXT if text and rnd.random() < 0.85 else _OF_BYTES)(rnd, data)
    return data


def _flip(rnd, data):
    data = bytearray(data or b"x")
    for _ in range(rnd.choice((1, 2, 8))):
        data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
    return bytes(data)


def _cut(rnd, data):
    return data[: rnd.randrange(len(data) + 1)]


def _drop(rnd, data):
    at = rnd.randrange(len(data) + 1)
    return data[:at] + data[at + rnd.choice((1, 2, 4, 14, 100)) :]


def _insert(rnd, data):
    at = rnd.randrange(len(data) + 1)
    return data[:at] + rnd.randbytes(rnd.choice((1, 2, 4, 14, 100))) + data[at:]


def _word(rnd, data):
    """A word of a binary with a value at the end of a range."""
    at = rnd.randrange(0, len(data) + 1, 4)
    return (
        data[:at]
        + rnd.choice((0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF, 0x10000)).to_bytes(
            4, "little"
        )
        + data[at + 4 :]
    )


def _noise(rnd, data):
    return rnd.randbytes(rnd.choice((0, 1, 3, 64, 1000)))


def _twice(rnd, data):
    return data + data


def _tokens(rnd, data, change):
    """``data`` with one of its words, numbers and signs changed; the limit of a job's cycles
    stays."""
    text = data.decode("utf-8", "surrogateescape")
    places = list(re.finditer(r"\w+|[^\w\s]", text))
    if places:
        place = rnd.choice(places)
        if "cycles" not in text[text.rfind("\n", 0, place.start()) + 1 : place.end()]:
            text = (
                text[: place.start()]
                + change(place[0], rnd.choice(places)[0])
                + text[place.end() :]
            )
    return text.encode("utf-8", "surrogateescape")


def _nonsense(rnd, data):
    return _tokens(rnd, data, lambda old, other: rnd.choice(NONSENSE))


def _exchange(rnd, data):
    return _tokens(rnd, data, lambda old, other: other)


def _number(rnd, data):
    return _tokens(
        rnd,
        data,
        lambda old, other: str(
            rnd.choice(
                (
                    -1,
                    0,
                    1,
                    2,
                    5,
                    255,
                    256,
                    1 << 14,
                    1 << 16,
                    1 << 18,
                    1 << 31,
                    1 << 32,
                    1 << 63,
                    1 << 64,
                )
            )
        ),
    )


def _lines(rnd, data):
    lines = data.split(b"\n")
    line = lines.pop(rnd.randrange(len(lines)))
    how = rnd.choice(("drop", "move", "repeat"))
    if b"cycles" in line and how == "drop":
        how = "move"
    for _ in range({"drop": 0, "move": 1, "repeat": rnd.choice((2, 3, 300))}[how]):
        lines.insert(rnd.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _ends(rnd, data):
    return rnd.choice(
        (
            data.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + data,
            data.decode("latin-1").encode("utf-16"),
            data.rstrip(b"\n"),
            data + b"\0",
        )
    )


def _deep(rnd, data):
    """Brackets inside brackets, further than a reader may recurse."""
    at = rnd.randrange(len(data) + 1)
    sign = rnd.choice((b"[", b"(", b"{", b"-", b"[[", b'{"a":', b"("))
    return data[:at] + sign * rnd.choice((3, 2000, 100_000)) + data[at:]


_OF_BYTES = (_flip, _cut, _drop, _insert, _word, _noise, _twice)
_OF_TEXT = (
    _nonsense,
    _nonsense,
    _exchange,
    _exchange,
    _number,
    _number,
    _number,
    _lines,
    _lines,
    _ends,
    _deep,
    _flip,
    _cut,
    _drop,
)


def random_of(seed, *words):
    """A generator of random numbers of its own for each purpose."""
    return random.Random(" ".join(map(str, (seed, *words))))
