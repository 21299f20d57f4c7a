# SPDX-License-Identifier: BSD-2-Clause
"""Record container of one core, ``core_<id>.pim`` (specification, section 3.7), a whole file at
a time."""

import struct

import numpy as np

from ..isa import SELECTED
from .dialect import Encoder, Problem

__all__ = ["RecordError", "container_of", "words_of_container"]

_RECORD = np.dtype(
    [
        ("op", "u1"),
        ("rd", "u1"),
        ("rs1", "u1"),
        ("flags", "u1"),
        ("a", "<i4"),
        ("g1", "<i4"),
        ("g2", "<i4"),
        ("g3", "<i4"),
    ]
)
_HEADER = struct.Struct("<4sII")
_VECTOR = np.array([*range(10, 21), 22, 23, 24])
_OFFSET = np.array(sorted(SELECTED))
_NO_THIRD = np.array([op for op, mask in SELECTED.items() if mask < 4])


class RecordError(ValueError):
    """Error in a container; ``index``: number of the record at fault, if there is one."""

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


def _records(data):
    if len(data) < _HEADER.size:
        raise RecordError(f"{len(data)} bytes are no container, expected at least {_HEADER.size}")
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"PIMB":
        raise RecordError("no container, expected it to begin with PIMB")
    if version != 1:
        raise RecordError(f"version {version} of the container, expected 1")
    wanted = _HEADER.size + _RECORD.itemsize * count
    if len(data) != wanted:
        raise RecordError(f"{len(data)} bytes for {count} records, expected {wanted}")
    return np.frombuffer(data, _RECORD, count, _HEADER.size)


def words_of_container(data: bytes, encoder: Encoder | None = None) -> np.ndarray:
    """Decodes the words of a container, uint64.

    Parameters
    ----------
    data : bytes
    encoder : Encoder, optional
        Says whether oddities are tolerated, and counts them.

    Raises
    ------
    RecordError
    """
    encoder = encoder or Encoder()
    r = _records(data)
    op = r["op"].astype(np.int64)
    names = ("rd", "rs1", "a", "g1", "g2", "g3")
    rd, rs1, a, g1, g2, g3 = (r[name].astype(np.int64) for name in names)
    word = op.copy()

    def need(good, message):
        if not good.all():
            index = int(np.argmin(good))
            raise RecordError(message(index), index)

    def put(some, value, low, most, name, least=0):
        need(
            ~some | (value >= least) & (value <= most),
            lambda k: f"{name} is {value[k]}, expected {least} to {most}",
        )
        word[some] |= (value[some] & (1 << int(most).bit_length()) - 1) << low

    need((op <= 32) & (op != 21), lambda k: f"op is {op[k]}, which is no instruction")
    need(r["flags"] == 0, lambda k: f"flags is {r['flags'][k]}, expected 0")
    plain = np.isin(op, (0, 8, 31, 32))
    put(~plain, rd, 6, 31, "rd")
    put(~plain & ~np.isin(op, (1, 27, 29, 30)), rs1, 11, 31, "rs1")
    three = np.isin(op, (3, 4, 5)) | np.isin(op, _VECTOR) & ~np.isin(op, (18, 19, 20))
    put(three, a, 16, 31, "rs2")
    put(np.isin(op, _VECTOR), g3, 21, 2047, "len")
    sized = (op >= 25) & (op <= 30)
    put(sized, g3, 21, 2047, "size")
    for some, value, low, name in (
        (op == 8, g1, 6, "ibiw"),
        (op == 8, g2, 11, "obiw"),
        (op == 9, a, 16, "mbiw"),
    ):
        need(
            ~some | (value >= 1) & (value <= 32),
            lambda k, v=value, n=name: f"{n} is {v[k]}, expected 1 to 32",
        )
        word[some] |= (value[some] & 31) << low
    put(op == 9, g1, 31, 1, "relu")
    put(op == 9, g2, 21, 1023, "group")
    put(np.isin(op, (29, 30)), a, 11, 1023, "core")
    put(op == 31, g1, 6, 31, "event")
    put(op == 31, g2, 11, 1023, "value")
    put(op == 32, g1, 6, 31, "event")
    put(op == 32, a, 11, 1023, "core")
    word = word.view(np.uint64)
    immediate = np.isin(op, (1, 6, 7))
    word[immediate] |= (a[immediate] & 0xFFFF_FFFF).view(np.uint64) << np.uint64(32)
    fill = op == 27
    _tolerate(encoder, fill & ((a < -128) | (a > 255)), "imm does not fit 8 bits")
    word[fill] |= ((a[fill] & 255) << 11).view(np.uint64)
    offset = np.isin(op, _OFFSET)
    value = offset | np.isin(op, (2, 17, 27, 29, 30))
    need(
        ~value | (g2 >= -1 << 28) & (g2 < 1 << 28),
        lambda k: f"offset_value is {g2[k]}, expected -268435456 to 268435455",
    )
    word[value] |= (g2[value] & (1 << 29) - 1).view(np.uint64) << np.uint64(35)
    need(~offset | (g1 >= 0) & (g1 < 8), lambda k: f"offset_select is {g1[k]}, expected 0 to 7")
    _tolerate(
        encoder,
        np.isin(op, _NO_THIRD) & (g1 & 4 != 0),
        "offset_select names an operand that the instruction does not have",
    )
    word[offset] |= g1[offset].view(np.uint64) << np.uint64(32)
    _tolerate(
        encoder,
        np.isin(op, (2, 25)) & (rs1 & 1 != 0) | (op == 26) & (rd & 1 != 0),
        "a pair's register is odd",
    )
    return word


def _tolerate(encoder, some, kind):
    count = int(some.sum())
    if count:
        try:
            encoder.tolerate(kind)
        except Problem as problem:
            raise RecordError(str(problem), int(some.argmax())) from None
        encoder.kinds[kind] += count - 1


def container_of(words: np.ndarray) -> bytes:
    """Encodes legal ``words`` (uint64) as a container."""
    words = np.asarray(words, np.uint64)
    r = np.zeros(len(words), _RECORD)

    def bits(low, count):
        return (words >> np.uint64(low) & np.uint64((1 << count) - 1)).astype(np.int64)

    op = bits(0, 6)
    r["op"] = op
    plain = np.isin(op, (0, 8, 31, 32))
    r["rd"] = np.where(plain, 0, bits(6, 5))
    r["rs1"] = np.where(plain | np.isin(op, (1, 27, 29, 30)), 0, bits(11, 5))
    high = (words >> np.uint64(32)).astype(np.uint32).view(np.int32).astype(np.int64)
    long = np.isin(op, (29, 30, 32))
    width = np.where(bits(16, 5) == 0, 32, bits(16, 5))
    three = np.isin(op, (3, 4, 5)) | np.isin(op, _VECTOR) & ~np.isin(op, (18, 19, 20))
    r["a"] = np.select(
        [np.isin(op, (1, 6, 7)), three, op == 9, op == 27, long],
        [high, bits(16, 5), width, bits(11, 8), bits(11, 10)],
        0,
    )
    five, ten = bits(6, 5), bits(11, 5)
    offset = np.isin(op, _OFFSET)
    r["g1"] = np.select(
        [op == 8, op == 9, offset, op >= 31],
        [np.where(five == 0, 32, five), bits(31, 1), high & 7, five],
        0,
    )
    value = offset | np.isin(op, (2, 17, 27, 29, 30))
    r["g2"] = np.select(
        [op == 8, op == 9, op == 31, value],
        [np.where(ten == 0, 32, ten), bits(21, 10), bits(11, 10), high >> 3],
        0,
    )
    r["g3"] = np.where(np.isin(op, _VECTOR) | (op >= 25) & (op <= 30), bits(21, 11), 0)
    return _HEADER.pack(b"PIMB", 1, len(words)) + r.tobytes()
