// SPDX-License-Identifier: BSD-2-Clause
// Asynchronous SRAM chip that checks its rules: the C++ twin of gateware/memory/sram/chip.py.
//
// One call of cycle() belongs between two rising edges of the main clock; its levels are those behind the registers of the
// I/O cells, the write enable's for both halves of the cycle. What it returns is what the input registers take at the next edge.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct AsyncSram {
    AsyncSram(unsigned address_bits, bool too_fast) : bytes(size_t(2) << address_bits, 0), words(size_t(1) << address_bits) {
        if (too_fast) fail("the cycle is too short");
    }

    uint32_t cycle(uint32_t a, bool oe, uint32_t we, uint32_t be, uint32_t d, bool d_oe) {
        bool pulse = before.we >> 1 & 1;
        if (pulse && !(we & 1)) fail("a write pulse ends when address and data may change");
        if ((we & 1) && !pulse) fail("a write pulse begins when the address may change");
        if (pulse && (a != before.a || be != before.be || d != before.d))
            fail("address, byte enables or data change during a write pulse");
        if (we && (oe || !d_oe)) fail("a write pulse without driven data, or with the output enabled");
        if ((oe && (d_oe || before.d_oe)) || (d_oe && before.oe))
            fail("both sides drive the data lines, or change without an idle cycle");
        if (we == 3) fail("a write pulse longer than a cycle");
        before = {a, oe, we, be, d, d_oe};
        uint8_t *at = &bytes[2 * (a % words)];
        if (we & 1) {
            writes++;
            for (int i = 0; i < 2; i++)
                if (be >> i & 1) at[i] = uint8_t(d >> 8 * i);
        }
        if (!oe) return 0xA55A;
        reads++;
        return uint32_t(be & 1 ? at[0] : 0x5A) | uint32_t(be & 2 ? at[1] : 0xA5) << 8;
    }

    // First rule broken, nullptr if none.
    const char *violation() const { return message.empty() ? nullptr : message.c_str(); }
    uint8_t *data() { return bytes.data(); }
    size_t size() const { return bytes.size(); }

    uint64_t reads = 0, writes = 0;

private:
    struct Levels { uint32_t a; bool oe; uint32_t we, be, d; bool d_oe; } before = {};
    std::vector<uint8_t> bytes;
    size_t words;
    std::string message;
    void fail(const char *what) { if (message.empty()) message = what; }
};
