// SPDX-License-Identifier: BSD-2-Clause
// SPI flash memory that checks its rules: the C++ twin of gateware/standalone/chip.py.
//
// One call of cycle() belongs between two rising edges of the main clock; its levels are those that the FPGA drives in that
// cycle. What it returns are the four data lines at the next edge.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

struct SpiFlash {
    // Times and clocks of a Winbond W25Q128JV (data sheet, section 9.6).
    static constexpr uint64_t wake_ps = 3000000, deselected_ps = 50000;
    static constexpr unsigned read_mhz = 50, other_mhz = 133;

    uint64_t period_ps = 1;
    uint64_t dies_after = ~0ull;         // bytes of data after which it has no power
    uint64_t read_bytes = 0;
    bool asleep = true, quad_enabled = false;
    bool quad = true;                    // four data lines are enabled by status register 2

    SpiFlash(const uint8_t *contents, uint64_t count, uint64_t size, uint64_t cycle_ps)
        : period_ps(cycle_ps), bytes(contents, contents + count), size(size) {}

    unsigned cycle(bool selected, bool clk, unsigned o, unsigned oe) {
        time += period_ps;
        if (selected && !was_selected) {
            if (deselected_once && time - deselected_at < deselected_ps) fail("it is selected again too soon");
            if (clk) fail("it is selected while its clock is high");
            count = 0, sent = 0, byte = 0, address = 0, drives = 0, level = 0, left = 0;
        } else if (was_selected && !selected) {
            end();
            deselected_at = time, deselected_once = true, drives = 0;
        } else if (selected && clk && !was_clk) {
            rise(o, oe);
        } else if (selected && was_clk && !clk) {
            fall();
        }
        if (selected && (drives & oe)) fail("a data line is driven from both sides");
        was_selected = selected, was_clk = clk;
        if (read_bytes > dies_after) return 0;
        return (level & drives) | (o & oe & ~drives) | (15 & ~drives & ~oe);
    }

    // First rule broken, nullptr if none.
    const char *violation() const { return message.empty() ? nullptr : message.c_str(); }

private:
    std::vector<uint8_t> bytes;
    uint64_t size, time = 0, ready_at = 0, deselected_at = 0, rose_at = 0, address = 0;
    bool was_selected = false, was_clk = false, deselected_once = false, rose_once = false, volatile_write = false;
    unsigned count = 0;                  // bits of the byte that comes in
    unsigned sent = 0;                   // bytes that came in
    uint8_t byte = 0, head[5] = {};
    unsigned drives = 0, level = 0;      // of the data lines
    unsigned left = 0;                   // bits of `out` that are still to be sent
    uint8_t out = 0;
    std::string message;
    void fail(const char *what) { if (message.empty()) message = what; }

    unsigned command_bytes() const {
        if (!sent) return 1;
        return head[0] == 0x03 || head[0] == 0x0B || head[0] == 0x6B ? 4 : head[0] == 0x31 ? 2 : 1;
    }
    unsigned dummy_bytes() const { return sent && (head[0] == 0x0B || head[0] == 0x6B); }

    void rise(unsigned o, unsigned oe) {
        uint64_t period = time - rose_at;
        bool first = !rose_once;
        rose_at = time, rose_once = true;
        if (sent < command_bytes()) {
            if (!(oe & 1)) fail("a bit of a command, and nothing drives line 0");
            if (!quad_enabled && (o & oe & 12) != (oe & 12)) fail("write protection or hold is low");
            byte = uint8_t(byte << 1 | (o & 1));
            if (++count == 8) head[sent++] = byte, count = 0;
        } else if (sent < command_bytes() + dummy_bytes()) {
            if (++count == 8) sent++, count = 0;
        }
        unsigned most = sent && head[0] == 0x03 ? read_mhz : other_mhz;
        if (!first && period + 1 < 1000000 / most) fail("its clock is too fast");
    }

    void fall() {
        bool whole = sent == command_bytes() + dummy_bytes() && sent;
        if (asleep || !whole || time < ready_at) return;
        unsigned lines = head[0] == 0x03 || head[0] == 0x0B ? 1 : head[0] == 0x6B && quad_enabled ? 4 : 0;
        if (!lines) return;
        if (!left) {
            uint64_t at = ((uint64_t(head[1]) << 16 | head[2] << 8 | head[3]) + address++) % size;
            out = at < bytes.size() ? bytes[at] : 0xFF;
            read_bytes++, left = 8;
        }
        left -= lines;
        if (lines == 1) drives = 2, level = (out >> left & 1) << 1;
        else drives = 15, level = out >> left & 15;
    }

    void end() {
        if (!sent) return;
        if (head[0] == 0xAB) {
            if (asleep) ready_at = time + wake_ps;
            asleep = false;
            return;
        }
        if (asleep) return;
        if (time < ready_at) fail("a command too soon after its release from power-down");
        if (head[0] == 0xB9) asleep = true;
        if (head[0] == 0x31 && volatile_write && sent == 2) quad_enabled = quad && head[1] & 2;
        volatile_write = head[0] == 0x50;
    }
};
