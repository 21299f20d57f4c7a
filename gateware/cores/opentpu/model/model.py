# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of OpenTPU: sequential semantics with all extensions and faults (specification,
sections 2 to 7).

Two units of unified buffer and accumulators with one interface (sections 4.5, 4.6, 4.9):
:class:`IntegerUnit` is the gateware's arithmetic, bit for bit; :class:`FloatUnit` is the source's
32-bit float mode (section 5, erratum 19).
"""

import math
import struct
from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from ....isa.model import Model as GoldenModel
from ....isa.outcome import Outcome, RunFault
from ....isa.parameters import Params
from ..isa import CFG_NAMES, ISA, cfg_built, cfg_legal

__all__ = ["FloatUnit", "IntegerUnit", "Model", "conv_rows", "pool_rows", "sigmoid_table"]


#: S(v) for v = 0..7; 255 above (section 4.6).
_SIGMOID = (128, 187, 225, 243, 251, 254, 255, 255)


def sigmoid_table(compat: bool = False) -> np.ndarray:
    """Sigmoid table of 18 bytes for v = -9..8, to which v is clamped: S(v) for v >= 0, else 255 -
    S(-v).

    With ``compat`` every negative v gives 255, as the published hardware does.
    """
    positive = [*_SIGMOID, 255]
    negative = [255 if compat else 255 - (_SIGMOID[-v] if -v < 8 else 255) for v in range(-9, 0)]
    return np.array(negative + positive, dtype=np.uint8)


def conv_rows(conv: int, first: int, count: int) -> np.ndarray:
    """Rows of the unified buffer that a convolving MMC reads, in order, as int64 (section 4.9).

    ``conv`` is the CFG register: OW in bits 7:0 (0: 256), STEP 15:8, ROW 31:16.
    """
    i = np.arange(count, dtype=np.int64)
    width = conv & 0xFF or 256
    return first + (i // width) * (conv >> 16) + (i % width) * (conv >> 8 & 0xFF)


def pool_rows(pool: int, poolrow: int, first: int, count: int) -> np.ndarray:
    """Accumulator rows that a pooling ACT reads: int64 [count, PH * PW], in the order read (r
    outside, c inside).

    ``pool``: PW in bits 3:0, PH 7:4, OW 15:8 (0: 256), STEP 23:16; ``poolrow``: ROW 15:0, OROW
    31:16. Rows are relative to ``first``, which may be too large for int64 to be the caller's
    concern.
    """
    i = np.arange(count, dtype=np.int64)
    width = pool >> 8 & 0xFF or 256
    origin = first + (i // width) * (poolrow >> 16) + (i % width) * (pool >> 16 & 0xFF)
    r, c = np.meshgrid(np.arange(pool >> 4 & 0xF), np.arange(pool & 0xF), indexing="ij")
    return origin[:, None] + (r * (poolrow & 0xFFFF) + c).ravel()[None, :]


def _added(acc, count, bias):
    """Accumulator rows that an MMC adds its products to: those that it writes, or with B the
    last."""
    return slice(acc + count - 1 if bias else acc, acc + count)


class IntegerUnit:
    """Integer datapath of the model: int8 vectors, int32 accumulators.

    Parameters
    ----------
    n, ub_rows, acc_rows : sizes
    compat : register ``sigmoid_compat``

    Attributes
    ----------
    ub : int8 [ub_rows, n]
    acc : int32 [acc_rows, n]
    tile : the current weights, float32 [n, n], or ``None``
    """

    def __init__(self, *, n: int, ub_rows: int, acc_rows: int, compat: bool = False) -> None:
        self.ub = np.zeros((ub_rows, n), dtype=np.int8)
        self.acc = np.zeros((acc_rows, n), dtype=np.int32)
        self.tile: np.ndarray | None = None
        self._sigmoid = sigmoid_table(compat).view(np.int8)

    @staticmethod
    def load_tile(tile: np.ndarray) -> np.ndarray:
        # A sum is 256 * 2**14 = 2**22 at most: float32 holds it exactly, and its product is much
        # faster than int's.
        """Converts a tile of weights, int8 [n, n], to the form that :meth:`multiply` uses."""
        return tile.astype(np.float32)

    def multiply(
        self, rows: slice | np.ndarray, acc: int, count: int, overwrite: bool, bias: bool = False
    ) -> None:
        """Matrix product: ``ACC[acc+i] (+)= UB[rows] @ tile``; ``rows`` is a slice or an index
        array of ``count`` rows. With ``bias`` each sum begins with the last accumulator row."""
        assert self.tile is not None, "a tile is switched in before the first product"
        product = (self.ub[rows].astype(np.float32) @ self.tile).astype(np.int32)
        if not overwrite:  # numpy's int32 wraps, as the accumulators do
            product += self.acc[_added(acc, count, bias)]
        self.acc[acc : acc + count] = product

    def activate(self, values: np.ndarray, ub: int, func: int, norm: int) -> None:
        """Activation: ``UB[ub+i] = f(values[i])``; ``values``: int32 [count, n]; ``func``: 0 and 3
        none, 1 ReLU, 2 sigmoid."""
        if norm & 0x1F:
            shift = norm & 0x1F
            half = 1 << (shift - 1) if norm >> 8 & 1 else 0
            values = (values.astype(np.int64) + half) >> shift
        if func == 2:
            result = self._sigmoid[np.clip(values, -9, 8) + 9]
        else:
            if func == 1:
                values = np.maximum(values, 0)
            mode = norm >> 16
            if mode:
                values = np.clip(values, -128, 127) if mode == 1 else np.clip(values, 0, 255)
            result = values.astype(np.int8)  # drops the upper bits
        self.ub[ub : ub + len(result)] = result


class FloatUnit:
    """Float datapath of the model: like :class:`IntegerUnit` in float32, without truncation,
    rounding or saturation.

    None and ReLU are themselves, sigmoid is 255 / (1 + e^-v), normalisation divides by 2^s and does
    nothing else.
    """

    def __init__(self, *, n: int, ub_rows: int, acc_rows: int, compat: bool = False) -> None:
        self.ub = np.zeros((ub_rows, n), dtype=np.float32)
        self.acc = np.zeros((acc_rows, n), dtype=np.float32)
        self.tile: np.ndarray | None = None

    @staticmethod
    def load_tile(tile: np.ndarray) -> np.ndarray:
        """Converts a tile of weights to float32."""
        return tile.astype(np.float32)

    def multiply(
        self, rows: slice | np.ndarray, acc: int, count: int, overwrite: bool, bias: bool = False
    ) -> None:
        """Matrix product in float32, as :meth:`IntegerUnit.multiply`."""
        assert self.tile is not None, "a tile is switched in before the first product"
        product = self.ub[rows] @ self.tile
        if not overwrite:
            product += self.acc[_added(acc, count, bias)]
        self.acc[acc : acc + count] = product

    def activate(self, values: np.ndarray, ub: int, func: int, norm: int) -> None:
        """Activation in float32: ``UB[ub+i] = f(values[i])``."""
        values = values / np.float32(math.ldexp(1.0, norm & 0x1F))
        if func == 1:
            values = np.maximum(values, np.float32(0))
        elif func == 2:
            with np.errstate(
                over="ignore"
            ):  # e^-v of a large negative v: infinite, and the result is 0
                values = np.float32(255) / (np.float32(1) + np.exp(-values))
        self.ub[ub : ub + len(values)] = values


WORD_BYTES = 14

_UNITS: dict[str, type[IntegerUnit] | type[FloatUnit]] = {"int8": IntegerUnit, "float32": FloatUnit}
_SATURATED = 0xFFFF_FFFF
_LOW32 = 0xFFFF_FFFF


class Model(GoldenModel):
    """Golden model of OpenTPU, which executes instructions one by one.

    Parameters
    ----------
    params, memory
        As of the base.
    mode : str
        ``"int8"``, the gateware's arithmetic, or ``"float32"`` (section 5, erratum 19): vectors,
        tiles and accumulators are float32, nothing is truncated. Programs and registers are the
        same, also the range checks; vectors and tiles come from, and go to, ``hostmem`` and
        ``weights`` instead of ``memory``.
    hostmem, weights : numpy.ndarray
        Only in float32 mode: float32 [vectors, n] (written in place) and [tiles, n, n].

    Counters of a run (section 7.2), over the instructions completed, NOP and HLT included; an
    instruction that faults counts nothing (gateware may have counted the part of it that ran: MACs
    of an MMC.C, bytes before a bus error):

    * ``instructions``: 1 each.
    * ``operations``: n*n for each vector of an MMC.
    * ``bytes_read``: 14 for each instruction + n for each vector of a RHM + n*n for each RW, n for
      each RW.D.
    * ``bytes_written``: n for each vector of a WHM.

    Cycles are unknown here: ``cycle_limit`` counts instructions instead, and a run that would issue
    more ends with status ``"aborted"``, fault code 8, pc the next word. (A core takes at least one
    cycle for an instruction.)

    A ``bus_error`` arises where memory ends: its detail is the first address past the end that the
    instruction (or the fetch) needs; the address of a core's request depends on how it cuts its
    bursts.
    """

    ISA = ISA

    def __init__(
        self,
        params: Params,
        memory: np.ndarray,
        *,
        mode: str = "int8",
        hostmem: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        if mode not in _UNITS:
            raise ValueError(f"mode must be one of int8, float32, not {mode!r}")
        super().__init__(params, memory)
        n = params["n"]
        if mode == "float32":
            for name, array, shape in (("hostmem", hostmem, (n,)), ("weights", weights, (n, n))):
                if (
                    not isinstance(array, np.ndarray)
                    or array.dtype != np.float32
                    or array.shape[1:] != shape
                    or array.ndim != len(shape) + 1
                ):
                    raise ValueError(
                        f"{name} must be a float32 array of shape [..., "
                        f"{', '.join(map(str, shape))}]"
                    )
        elif hostmem is not None or weights is not None:
            raise ValueError("hostmem and weights belong to mode float32")
        self.mode = mode
        self._hostmem = hostmem
        self._weights = weights
        self._n = n
        self._execute = {
            ISA.opcodes["NOP"]: self._nop,
            ISA.opcodes["WHM"]: self._whm,
            ISA.opcodes["RW"]: self._rw,
            ISA.opcodes["MMC"]: self._mmc,
            ISA.opcodes["ACT"]: self._act,
            ISA.opcodes["RHM"]: self._rhm,
            ISA.opcodes["HLT"]: self._hlt,
            ISA.opcodes["SYNC"]: self._sync if params["ext_sync"] else self._unbuilt_sync,
        }
        if params["ext_norm"] or params["ext_conv"] or params["ext_pool"]:
            self._execute[ISA.opcodes["CFG"]] = self._cfg_instruction

    def reset(self) -> None:
        """Core reset. The core keeps no state between runs except ``sync_tag``, which the next
        start clears too."""
        self._sync_tag = 0
        self._unit: IntegerUnit | FloatUnit | None = None
        self._queue: deque[np.ndarray] = deque()

    @property
    def ub(self) -> np.ndarray | None:
        """Contents of the unified buffer after the last run, [ub_rows, n]; ``None`` before the
        first. For tools; a core does not expose it."""
        return None if self._unit is None else self._unit.ub

    @property
    def acc(self) -> np.ndarray | None:
        """Contents of the accumulators after the last run, [acc_rows, n]; see :attr:`ub`."""
        return None if self._unit is None else self._unit.acc

    # Start

    def _check_start(self):
        reg, offset = self.reg, {name: r.offset for name, (r, _) in self._writable.items()}
        program, length = reg["program_address"], reg["program_length"]
        if length == 0 or length % WORD_BYTES:
            raise RunFault("bad_register", offset["program_length"])
        base, limit = reg["hostmem_base"], reg["hostmem_limit"]
        overlap = base < limit and program < limit and base < program + length
        if base % 16 or overlap:
            raise RunFault("bad_register", offset["hostmem_base"])
        if limit < base:
            raise RunFault("bad_register", offset["hostmem_limit"])
        if reg["weights_base"] % 16:
            raise RunFault("bad_register", offset["weights_base"])
        if reg["weights_limit"] < reg["weights_base"]:
            raise RunFault("bad_register", offset["weights_limit"])
        for number, name in enumerate(CFG_NAMES):
            if cfg_built(number, self.params) and not cfg_legal(number, reg[f"cfg_{name}"]):
                raise RunFault("bad_config", number)
        self._check_window(program, length)

    def _check_window(self, address, size):
        outside = self.window.outside(address, size)
        if outside is not None:
            raise RunFault("window", outside)

    def _check_bus(self, address, size):
        beyond = self.window.beyond(address, size)
        if beyond is not None:
            raise RunFault("bus_error", beyond)

    # A run

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        """Executes one run; see docs/how/contracts.md, section 6."""
        self.take_registers(registers, trace, cfg_norm=self.params["norm_reset"])
        params = self.params
        self._unit = _UNITS[self.mode](
            n=self._n,
            ub_rows=params["ub_rows"],
            acc_rows=params["acc_rows"],
            compat=bool(self.reg["sigmoid_compat"]),
        )
        self._queue.clear()
        self._sync_tag = 0
        self._cfg = [self.reg[f"cfg_{name}"] for name in CFG_NAMES]
        self._operations = self._bytes_read = self._bytes_written = 0
        retired = 0
        self._pc = self.reg["program_address"]
        fault = None
        try:
            self._check_start()
            end = self._pc + self.reg["program_length"]
            running = True
            while running:
                if cycle_limit is not None and retired >= cycle_limit:
                    raise RunFault("aborted", 0)
                if self._pc == end:
                    raise RunFault("program_end", self.reg["program_length"])
                running = self._step()
                retired += 1
                self._pc += WORD_BYTES
        except RunFault as stop:
            fault = stop
        counters = {
            "instructions": retired,
            "operations": self._operations,
            "bytes_read": self._bytes_read + WORD_BYTES * retired,
            "bytes_written": self._bytes_written,
        }
        return self.outcome(fault, self._pc, counters, {"sync_tag": self._sync_tag})

    def _step(self):
        """Executes the word at pc; returns false after HLT."""
        pc = self._pc
        self._check_bus(pc, WORD_BYTES)
        opcode, flags, length, addr, high, low = struct.unpack_from(">BBBQBH", self.memory, pc)
        execute = self._execute.get(opcode)
        if execute is None:
            raise RunFault("illegal_opcode", opcode)
        return execute(flags, length, addr, high << 16 | low)

    # Checks, in the order of the table of section 6

    @staticmethod
    def _must_be_zero(flags=0, length=0, addr=0, ub=0):
        for number, bits in enumerate((flags, length, addr, ub), 1):
            if bits:
                raise RunFault("bad_field", number)

    def _check_ub(self, ub, count):
        if ub + count > self.params["ub_rows"]:
            raise RunFault("ub_range", ub + count - 1)

    def _check_acc(self, addr, count):
        if addr + count > self.params["acc_rows"]:
            raise RunFault("acc_range", min(addr + count - 1, _SATURATED))

    def _check_host(self, addr, count):
        """Checks host vectors ``addr`` .. ``addr + count - 1`` and returns their byte address and
        size."""
        address, size = self.reg["hostmem_base"] + self._n * addr, self._n * count
        if address + size > self.reg["hostmem_limit"]:
            raise RunFault("host_range", addr + count - 1)
        self._check_window(address, size)
        return address, size

    # Instructions: each returns whether the run goes on

    def _nop(self, flags, length, addr, ub):
        self._must_be_zero(flags, length, addr, ub)
        return True

    def _hlt(self, flags, length, addr, ub):
        self._must_be_zero(flags, length, addr, ub)
        return False

    def _unbuilt_sync(self, flags, length, addr, ub):
        return True

    def _sync(self, flags, length, addr, ub):
        self._must_be_zero(flags & ~1, length, addr >> 16, ub)
        self._sync_tag = addr
        return True

    def _cfg_instruction(self, flags, length, addr, ub):
        value = addr & _LOW32
        if not cfg_built(ub, self.params) or not cfg_legal(ub, value):
            raise RunFault("bad_config", ub)
        self._must_be_zero(flags, length, addr >> 32)
        self._cfg[ub] = value
        return True

    def _rhm(self, flags, length, addr, ub):
        count = length or 256
        self._must_be_zero(flags)
        self._check_ub(ub, count)
        address, size = self._check_host(addr, count)
        if self._hostmem is None:
            self._check_bus(address, size)
            data = self.memory[address : address + size].view(np.int8).reshape(count, self._n)
        else:
            data = self._hostmem[addr : addr + count]
        self._unit.ub[ub : ub + count] = data
        self._bytes_read += size
        return True

    def _whm(self, flags, length, addr, ub):
        count = length or 256
        self._must_be_zero(flags)
        self._check_ub(ub, count)
        address, size = self._check_host(addr, count)
        data = self._unit.ub[ub : ub + count]
        if self._hostmem is None:
            self._check_bus(address, size)
            self.window.write(self._pc, address, data.reshape(-1).view(np.uint8))
        else:
            self._hostmem[addr : addr + count] = data
        self._bytes_written += size
        return True

    def _rw(self, flags, length, addr, ub):
        diagonal = flags & 0x40 and self.params["ext_diag"]
        self._must_be_zero(flags & ~0x40 if diagonal else flags, length, ub=ub)
        n = self._n
        size = n if diagonal else n * n
        address = self.reg["weights_base"] + size * addr
        if address + size > self.reg["weights_limit"]:
            raise RunFault("weight_range", addr)
        capacity = self.params["wfifo_tiles"] + 1
        if len(self._queue) >= capacity:
            raise RunFault("weight_overflow", capacity)
        self._check_window(address, size)
        if self._weights is None:
            self._check_bus(address, size)
            weights = self.memory[address : address + size].view(np.int8)
        else:
            weights = self._weights.reshape(-1)[size * addr : size * (addr + 1)]
        tile = np.diag(weights) if diagonal else weights.reshape(n, n)
        self._queue.append(self._unit.load_tile(tile))
        self._bytes_read += size
        return True

    def _mmc(self, flags, length, addr, ub):
        count = length or 256
        self._must_be_zero(flags & ~(0x87 if self.params["ext_bias"] else 7))
        convolve = flags & 2 and self.params["ext_conv"]
        if not convolve:
            self._check_ub(ub, count)
        self._check_acc(addr, count)
        if flags & 1:
            if not self._queue:
                raise RunFault("weight_underflow", 0)
            self._unit.tile = self._queue.popleft()
        elif self._unit.tile is None:
            raise RunFault("no_weights", 0)
        rows = slice(ub, ub + count)
        if convolve:
            rows = conv_rows(self._cfg[1], ub, count)
            outside = rows[rows >= self.params["ub_rows"]]
            if outside.size:
                raise RunFault("ub_range", int(outside[0]))
        self._unit.multiply(rows, addr, count, flags & 4, flags & 0x80)
        self._operations += self._n * self._n * count
        return True

    def _act(self, flags, length, addr, ub):
        count = length or 256
        pool = flags & 0x20 and self.params["ext_pool"]
        self._must_be_zero(flags & ~(0x38 if self.params["ext_pool"] else 0x18))
        self._check_ub(ub, count)
        if pool:
            if addr >= self.params["acc_rows"]:
                raise RunFault("acc_range", min(addr, _SATURATED))
            rows = pool_rows(self._cfg[2], self._cfg[3], addr, count)
            outside = rows[rows >= self.params["acc_rows"]]
            if outside.size:
                raise RunFault("acc_range", int(outside[0]))
            values = self._unit.acc[rows].max(axis=1)
        else:
            self._check_acc(addr, count)
            values = self._unit.acc[addr : addr + count]
        self._unit.activate(values, ub, flags >> 3 & 3, self._cfg[0])
        return True
