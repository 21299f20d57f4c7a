# SPDX-License-Identifier: BSD-2-Clause
"""The C host library compiled as a shared object, called from Python; its port is a Python pipe, so
that its time is the pipe's."""

import ctypes
import shutil
import subprocess
from pathlib import Path

__all__ = [
    "ACCESS",
    "HOST",
    "WARNINGS",
    "BootState",
    "CHost",
    "HostError",
    "List",
    "ListState",
    "compiled",
    "compilers",
    "load",
]

HOST = Path(__file__).resolve().parents[3] / "firmware" / "host"

#: What every file of C has to pass.
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]

#: What Python cannot reach of the library: sizes and members of its struct.
ACCESS = """
#include "quintet.c"
size_t access_size(void) { return sizeof(struct quintet); }
void access_times(struct quintet *b, uint32_t timeout, uint32_t retry, uint32_t rate)
{ b->timeout_ms = timeout; b->retry_ms = retry; b->bytes_per_second = rate; }
uint32_t access_repeats(const struct quintet *b) { return b->repeats; }
uint32_t access_error_address(const struct quintet *b) { return b->error_address; }
const struct quintet_info *access_info(const struct quintet *b) { return &b->info; }
"""

_WRITE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t
)
_READ = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint8),
    ctypes.c_size_t,
    ctypes.c_uint32,
)
_NOW = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)

#: ``enum quintet_status``, in its order.
STATUSES = (
    "ok timeout port_failed not_a_board version bus_error refused unsure argument no_core "
    "other_build memory checksum busy fault aborted not_loaded no_lists list"
).split()


class HostError(Exception):
    """``status``: the name of what a function of the library returned."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class _Port(ctypes.Structure):
    _fields_ = [("write", _WRITE), ("read", _READ), ("now", _NOW), ("user", ctypes.c_void_p)]


class Info(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint16),
        ("isa", ctypes.c_char * 5),
        ("board", ctypes.c_char * 17),
        *(
            (name, ctypes.c_uint32)
            for name in "params_hash memory_size control_base soc_base clock_hz".split()
        ),
    ]


class State(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_bool) for name in "busy done fault aborted".split()),
        *((name, ctypes.c_uint32) for name in "fault_code fault_pc fault_detail".split()),
        *((name, ctypes.c_uint64) for name in "cycles instructions operations".split()),
    ]


class BootState(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_bool) for name in "busy ready refused".split()),
        ("reason", ctypes.c_uint8),
    ]


class ListState(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_bool) for name in "busy ended fault error stopped".split()),
        ("runs", ctypes.c_uint16),
        ("position", ctypes.c_uint32),
    ]


class List(ctypes.Structure):
    _fields_ = [
        ("network", ctypes.c_void_p),
        *((name, ctypes.c_uint32) for name in "runs address end".split()),
        ("overlapped", ctypes.c_bool),
        ("first", ctypes.c_uint32),
    ]


class Register(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint16), ("value", ctypes.c_uint32)]


def compilers():
    """C compilers that this machine has."""
    return [name for name in ("gcc", "clang") if shutil.which(name)]


def compiled(folder, *, compiler="cc", flags=()):
    """Path of the library as a shared object, made in ``folder``."""
    source, out = folder / "access.c", folder / "host.so"
    source.write_text(ACCESS)
    command = [compiler, *WARNINGS, "-O1", "-g", "-shared", "-fPIC", *flags, "-I", HOST, source]
    subprocess.run([*command, "-o", out], check=True)
    return out


def load(path):
    """A shared object that :func:`compiled` made."""
    loaded = ctypes.CDLL(str(path))
    loaded.access_size.restype = ctypes.c_size_t
    loaded.access_info.restype = ctypes.POINTER(Info)
    loaded.quintet_status_text.restype = ctypes.c_char_p
    for name in ("access_repeats", "access_error_address", "quintet_crc32"):
        getattr(loaded, name).restype = ctypes.c_uint32
    return loaded


class CHost:
    """The library at one end of ``pipe``; functions as ``LinkClient`` names them.

    Raises :class:`HostError` for every status but ``ok``.
    """

    def __init__(self, loaded, pipe, *, timeout_ms=2000, retry_ms=100):
        self.pipe, self._loaded = pipe, loaded
        self._line = bytearray()  # of a frame that is not whole yet
        self._received = bytearray()
        # Python must keep the functions for as long as C may call them.
        self._port = _Port(_WRITE(self._write), _READ(self._read), _NOW(self._now), None)
        self.board = ctypes.create_string_buffer(loaded.access_size())
        loaded.quintet_init(self.board, ctypes.byref(self._port))
        rate = int(pipe.bytes_per_second or 0)
        loaded.access_times(self.board, timeout_ms, retry_ms, rate)

    def _write(self, _, data, size):
        try:
            self._line += ctypes.string_at(data, size)
            *frames, self._line = self._line.split(b"\0")
            for frame in frames:
                self.pipe.write(bytes(frame) + b"\0")
        except OSError:
            return -1
        return 0

    def _read(self, _, data, size, timeout_ms):
        try:
            if not self._received:
                self._received += self.pipe.read(65536, timeout_ms / 1000)
        except OSError:
            return -1
        part = bytes(self._received[:size])
        del self._received[:size]
        ctypes.memmove(data, part, len(part))
        return len(part)

    def _now(self, _):
        # Begins before the end of 32 bits, which every wait has to bear.
        return int(self.pipe.now() * 1000) + 0xFFFF_F000 & 0xFFFF_FFFF

    def call(self, name, *arguments):
        """``quintet_<name>(board, ...)``."""
        status = getattr(self._loaded, f"quintet_{name}")(self.board, *arguments)
        if status:
            raise HostError(STATUSES[status])

    @property
    def repeats(self):
        return self._loaded.access_repeats(self.board)

    @property
    def error_address(self):
        return self._loaded.access_error_address(self.board)

    @property
    def info(self):
        return self._loaded.access_info(self.board).contents

    def identify(self):
        self.call("identify")

    def read(self, address, size, run=None, stride=0):
        data, place = ctypes.create_string_buffer(max(size, 1)), ctypes.c_uint32(address)
        if run is None:
            self.call("read", place, data, ctypes.c_size_t(size))
        else:
            self.call("read_strided", place, data, run, stride, size // run)
        return data.raw[:size]

    def write(self, address, data, run=None, stride=0):
        place, data = ctypes.c_uint32(address), bytes(data)
        if run is None:
            self.call("write", place, data, ctypes.c_size_t(len(data)))
        else:
            self.call("write_strided", place, data, run, stride, len(data) // run)

    def write_word(self, address, value):
        self.write(address, value.to_bytes(4, "little"))

    def read_word(self, address):
        return int.from_bytes(self.read(address, 4), "little")

    def fill(self, address, size, value):
        self.call("fill", ctypes.c_uint32(address), ctypes.c_size_t(size), ctypes.c_uint8(value))

    def checksum(self, address, size):
        crc = ctypes.c_uint32()
        self.call("checksum", ctypes.c_uint32(address), ctypes.c_size_t(size), ctypes.byref(crc))
        return crc.value

    def state(self):
        state = State()
        self.call("state", ctypes.byref(state))
        return state

    def boot(self):
        state = BootState()
        self.call("boot", ctypes.byref(state))
        return state

    def list_state(self):
        state = ListState()
        self.call("list_state", ctypes.byref(state))
        return state

    def run(self, registers, limit_ms=0):
        table = (Register * len(registers))(*sorted(registers.items()))
        self.call("run", table, len(registers), limit_ms)

    def reset_core(self):
        self.call("reset_core")
