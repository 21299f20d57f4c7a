# SPDX-License-Identifier: BSD-2-Clause
"""A second model of OpenTPU, in plain Python integers and straight from the text of section 4.
Legal programs only."""

import math


def _signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def sigmoid(v, compat=False):
    if v < 0:
        return 255 if compat else 255 - sigmoid(-v)
    return math.ceil(255 / (1 + math.exp(-v))) if v < 6 else 255


def activate(v, func, norm, compat=False):
    """The byte 0..255 that ACT makes of an accumulator."""
    shift = norm & 31
    if norm >> 8 & 1 and shift:
        v += 2 ** (shift - 1)
    v = v >> shift
    if func == 2:
        return sigmoid(v, compat)
    if func == 1 and v < 0:
        v = 0
    mode = norm >> 16 & 3
    if mode == 1:
        v = min(max(v, -128), 127)
    elif mode == 2:
        v = min(max(v, 0), 255)
    return v & 255


def run(params, memory, registers):
    """Execute the program in ``memory`` (a bytearray), changing it; returns the number of
    instructions and MACs."""
    n = params["n"]
    ub = [[0] * n for _ in range(params["ub_rows"])]
    acc = [[0] * n for _ in range(params["acc_rows"])]
    queue, tile, compat = [], None, registers.get("sigmoid_compat", 0)
    cfg = [
        registers.get("cfg_norm", params["norm_reset"]),
        registers.get("cfg_conv", 0x100),
        registers.get("cfg_pool", 0x10011),
        registers.get("cfg_poolrow", 0),
    ]
    pc, retired, macs = registers["program_address"], 0, 0
    while True:
        word = int.from_bytes(memory[pc : pc + 14], "big")
        opcode, flags, length = word >> 104, word >> 96 & 255, word >> 88 & 255
        addr, row = word >> 24 & 2**64 - 1, word & 0xFFFFFF
        count = length if length else 256
        pc += 14
        retired += 1
        host = registers["hostmem_base"] + n * addr
        if opcode == 7:
            return retired, macs
        if opcode == 6:
            for i in range(count):
                ub[row + i] = [_signed(b, 8) for b in memory[host + n * i : host + n * i + n]]
        elif opcode == 1:
            for i in range(count):
                memory[host + n * i : host + n * i + n] = bytes(v & 255 for v in ub[row + i])
        elif opcode == 2:
            if flags & 64:  # only the diagonal lies in memory
                base = registers["weights_base"] + n * addr
                queue.append(
                    [[_signed(memory[base + k], 8) * (k == j) for j in range(n)] for k in range(n)]
                )
            else:
                base = registers["weights_base"] + n * n * addr
                queue.append(
                    [[_signed(memory[base + n * k + j], 8) for j in range(n)] for k in range(n)]
                )
        elif opcode == 3:
            if flags & 1:
                tile = queue.pop(0)
            last = acc[addr + count - 1]
            for i in range(count):
                source, before = row + i, last if flags & 128 else acc[addr + i]
                if flags & 2 and params["ext_conv"]:
                    width = cfg[1] & 255 or 256
                    source = row + i // width * (cfg[1] >> 16) + i % width * (cfg[1] >> 8 & 255)
                x, sums = ub[source], []
                for j in range(n):
                    y = sum(x[k] * tile[k][j] for k in range(n))
                    sums.append(_signed(y if flags & 4 else before[j] + y, 32))
                acc[addr + i] = sums
                macs += n * n
        elif opcode == 4:
            results = []
            for i in range(count):
                values = acc[addr + i] if not flags & 32 else None
                if values is None:
                    width = cfg[2] >> 8 & 255 or 256
                    first = addr + i // width * (cfg[3] >> 16) + i % width * (cfg[2] >> 16 & 255)
                    rows = [
                        first + r * (cfg[3] & 0xFFFF) + c
                        for r in range(cfg[2] >> 4 & 15)
                        for c in range(cfg[2] & 15)
                    ]
                    values = [max(acc[k][j] for k in rows) for j in range(n)]
                results.append(
                    [_signed(activate(v, flags >> 3 & 3, cfg[0], compat), 8) for v in values]
                )
            for i, result in enumerate(results):
                ub[row + i] = result
        elif opcode == 16:
            cfg[row] = addr
