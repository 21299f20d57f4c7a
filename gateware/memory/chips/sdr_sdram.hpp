// SPDX-License-Identifier: BSD-2-Clause
// SDR SDRAM chip that checks every timing rule: the C++ twin of gateware/memory/sdram/chip.py.
//
// One call of edge() belongs between two rising edges of the main clock ("sync"), whatever the phase of the chip's clock:
//
//     for every cycle k:
//         rising edge k of sync; settle             // registers of the SDRAMPhy (pads) take their new values
//         chip.edge(pads as they are now)           // the chip's rising edge of cycle k
//         pads.dq.i = chip.dq(); settle             // what the input register of the SDRAMPhy takes at edge k + 1
//
// When the chip's clock really rises after its lines have changed, and when its data are back at the FPGA, `rises` and `returns` say
// (ClockPath of phase.py). Lines that change within the set-up or hold time break a rule. dq() is what stands on the bus at the FPGA's inputs
// from this call to the next: a READ given to call n of edge() reaches it with the call n + CL - 1 + d, where d is the one number of
// cycles for which the data are in time, the controller's `capture` (docs/how/memory.md). If there is none, dq() never shows any data.
//
// A chip whose clock is twice as fast gets two calls in a cycle of sync, one for each half; all of the above holds for halves then.
// Bursts have one or two words, as the mode register says. A command within a burst is not modelled and breaks a rule.
//
// Bytes lie in data() in the order of the controller's addresses: row, bank, column, byte.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

struct SdrSdram {
    struct Config {
        unsigned data_bits = 16;      // 8, 16 or 32
        unsigned bank_bits = 2;
        unsigned row_bits = 13;
        unsigned column_bits = 9;
        uint64_t period_ps = 10000;   // of the clock
        uint64_t cl2_period_ps = 10000, cl3_period_ps = 7000;  // shortest periods for each CAS latency
        uint64_t t_rcd_ps = 20000, t_rp_ps = 20000, t_ras_ps = 45000, t_rc_ps = 65000, t_rfc_ps = 70000;
        uint64_t t_wr_ps = 20000, t_rrd_ps = 15000;
        uint64_t t_ras_max_ps = 100000000;
        unsigned t_mrd = 2;           // cycles
        uint64_t powerup_ps = 200000000;
        unsigned init_refreshes = 8;
        uint64_t refresh_ps = 7812500;  // average interval
        unsigned postponed = 8;         // refreshes that may be owed
        int64_t t_is_ps = 1500, t_ih_ps = 1000, t_ac2_ps = 6000, t_ac3_ps = 5400, t_oh_ps = 2500;
        // Least and most: from the lines' change at the chip to the clock's edge; from the edge of sync that made the lines change
        // to when a chip without access time would be in time for an input register.
        int64_t rises_ps[2] = {5000, 5000}, returns_ps[2] = {13000, 13000};
    };

    explicit SdrSdram(const Config &c)
        : config(c), banks(size_t(1) << c.bank_bits),
          bytes((size_t(c.data_bits / 8)) << (c.bank_bits + c.row_bits + c.column_bits), 0) {}

    // One rising edge of the chip's clock. Levels as on the pins: _n lines are low-active, dqm 1 masks a byte.
    // dq is what the FPGA drives, dq_oe whether it does.
    void edge(bool cke, bool cs_n, bool ras_n, bool cas_n, bool we_n, uint32_t ba, uint32_t a, uint32_t dqm,
              uint32_t dq, bool dq_oe) {
        // The bus from the previous edge to this one, and the one before: the chip needs a cycle to let go.
        now++;
        if (dq_oe && drive[0]) fail("both sides drive DQ");
        else if (dq_oe && drive[1]) fail("DQ driven without a turn-around cycle after a read");
        if (!cke && started) fail("CKE low");
        uint32_t mask = dqm_before;
        dqm_before = dqm;
        const bool within_burst = busy, writes_second = second;
        busy = second = false;
        if (!cs_n && cke) {
            unsigned command = (ras_n ? 4 : 0) | (cas_n ? 2 : 0) | (we_n ? 1 : 0);
            if (command != 7) {
                if (within_burst) fail("a command within a burst is not modelled");
                execute(command, ba & (banks.size() - 1), a, dqm, dq, dq_oe);
            }
        }
        if (writes_second) write_word(second_bank, second_column, dqm, dq, dq_oe);
        // Data of a READ of CL edges ago are valid at this edge; drive[] describes the interval that begins here.
        drive[1] = drive[0];
        Slot due = pipe[0];
        pipe[0] = pipe[1];
        pipe[1] = pipe[2];
        pipe[2] = pipe[3];
        pipe[3] = Slot();
        drive[0] = due.valid;
        uint32_t value = due.value;
        for (unsigned i = 0; i < config.data_bits / 8; i++)
            if (mask >> i & 1) value = (value & ~(0xffu << 8 * i)) | (0x5au << 8 * i);  // DQM: two edges of latency
        late[3] = late[2];
        late[2] = late[1];
        late[1] = late[0];
        late[0] = due.valid ? value : 0xa5a5a5a5u;
        if (started && now - start > 0) {
            uint64_t elapsed = (now - start) * config.period_ps;
            if (elapsed > (refreshes + config.postponed + 1) * config.refresh_ps) fail("refresh overdue");
        }
    }

    // DQ at the FPGA's inputs until the next edge; rubbish where the chip does not drive.
    uint32_t dq() const {
        return (seen_after < 4 ? late[seen_after] : 0xa5a5a5a5u) & (config.data_bits == 32 ? 0xffffffffu : (1u << config.data_bits) - 1);
    }

    // First rule that was broken, with the number of the edge, or nullptr.
    const char *violation() const { return broken.empty() ? nullptr : broken.c_str(); }

    uint8_t *data() { return bytes.data(); }
    size_t size() const { return bytes.size(); }

    // Commands seen, for statistics.
    uint64_t edges() const { return now; }
    uint64_t reads = 0, writes = 0, activates = 0, precharges = 0, refreshes = 0;

private:
    struct Bank {
        bool open = false;
        uint32_t row = 0;
        uint64_t activated = NEVER, precharged = NEVER, written = NEVER, read = NEVER;
    };
    struct Slot {
        bool valid = false;
        uint32_t value = 0;
    };
    static constexpr uint64_t NEVER = ~uint64_t(0);

    Config config;
    std::vector<Bank> banks;
    std::vector<uint8_t> bytes;
    uint64_t now = 0, start = 0;
    uint64_t refreshed = NEVER, mode_set = NEVER, activated = NEVER;
    bool precharged_all = false, started = false;
    unsigned init_count = 0, cas_latency = 0;
    unsigned seen_after = 4;        // calls until data are in time; 4: never
    unsigned burst = 1;             // words of a READ or WRITE
    bool busy = false;              // the next edge belongs to a burst
    bool second = false;            // the next edge writes the second word of a burst, there:
    unsigned second_bank = 0;
    uint32_t second_column = 0;
    Slot pipe[4];
    bool drive[2] = {false, false};
    uint32_t late[4] = {0, 0, 0, 0};
    uint32_t dqm_before = 0;
    std::string broken;

    void fail(const char *rule) {
        if (!broken.empty()) return;
        char text[160];
        std::snprintf(text, sizeof text, "SDRAM: %s (edge %llu)", rule, (unsigned long long)now);
        broken = text;
    }
    // Whether less than `ps` has passed since the edge `then`.
    bool within(uint64_t then, uint64_t ps) const { return then != NEVER && (now - then) * config.period_ps < ps; }
    unsigned find_seen_after() const {
        const int64_t period = int64_t(config.period_ps);
        const int64_t first = config.returns_ps[1] + (cas_latency == 2 ? config.t_ac2_ps : config.t_ac3_ps);
        unsigned n = 0;
        while (n < 4 && (first > int64_t(n + 1) * period || int64_t(n) * period > config.returns_ps[0] + config.t_oh_ps)) n++;
        return n;
    }
    void after_mode_and_refresh() {
        if (within(refreshed, config.t_rfc_ps)) fail("tRFC");
        if (mode_set != NEVER && now - mode_set < config.t_mrd) fail("tMRD");
    }
    void all_idle(const char *rule) {
        for (Bank &bank : banks) {
            if (bank.open) fail(rule);
            if (within(bank.precharged, config.t_rp_ps)) fail("tRP");
        }
    }
    uint8_t *cell(unsigned ba, uint32_t a) {
        size_t column = a & ((1u << config.column_bits) - 1);
        size_t word = ((size_t(banks[ba].row) << config.bank_bits | ba) << config.column_bits) | column;
        return &bytes[word * (config.data_bits / 8)];
    }

    void write_word(unsigned ba, uint32_t a, uint32_t dqm, uint32_t dq, bool dq_oe) {
        if (!dq_oe) fail("WRITE without data");
        uint8_t *at = cell(ba, a);
        for (unsigned i = 0; i < config.data_bits / 8; i++)
            if (!(dqm >> i & 1)) at[i] = uint8_t(dq >> 8 * i);
        banks[ba].written = now;
    }

    void execute(unsigned command, unsigned ba, uint32_t a, uint32_t dqm, uint32_t dq, bool dq_oe) {
        Bank &bank = banks[ba];
        if (config.rises_ps[0] < config.t_is_ps) fail("set-up time of the lines");
        if (config.rises_ps[1] + config.t_ih_ps > int64_t(config.period_ps)) fail("hold time of the lines");
        if (now * config.period_ps < config.powerup_ps) fail("command before the power-up time");
        if (!started && (command == 3 || command == 4 || command == 5)) fail("command before initialisation");
        after_mode_and_refresh();
        switch (command) {
        case 3:  // ACTIVATE
            if (bank.open) fail("ACTIVATE of an open bank");
            if (within(bank.precharged, config.t_rp_ps)) fail("tRP");
            if (within(bank.activated, config.t_rc_ps)) fail("tRC");
            if (within(activated, config.t_rrd_ps)) fail("tRRD");
            if (a >> config.row_bits) fail("row out of range");
            bank.open = true;
            bank.row = a & ((1u << config.row_bits) - 1);
            bank.activated = activated = now;
            activates++;
            break;
        case 5:  // READ
        case 4:  // WRITE
            if (!bank.open) fail(command == 5 ? "READ of a closed bank" : "WRITE to a closed bank");
            if (within(bank.activated, config.t_rcd_ps)) fail("tRCD");
            if (a >> 10 & 1) fail("auto-precharge is not modelled");
            if ((a & ~(1u << 10)) >> (config.column_bits > 10 ? 12 : config.column_bits)) fail("column out of range");
            busy = burst > 1;
            if (command == 5) {
                for (unsigned n = 0; n < burst && cas_latency; n++) {
                    // A burst of two stays within a pair of columns.
                    uint8_t *at = cell(ba, a ^ n);
                    Slot &slot = pipe[cas_latency - 1 + n];
                    slot.valid = true, slot.value = 0;
                    for (unsigned i = 0; i < config.data_bits / 8; i++) slot.value |= uint32_t(at[i]) << 8 * i;
                }
                bank.read = now;
                reads++;
            } else {
                write_word(ba, a, dqm, dq, dq_oe);
                second = burst > 1, second_bank = ba, second_column = a ^ 1;
                writes++;
            }
            break;
        case 2:  // PRECHARGE
            for (unsigned i = 0; i < banks.size(); i++) {
                Bank &each = banks[i];
                if (!(a >> 10 & 1) && i != ba) continue;
                if (!each.open) {
                    if (!started) each.precharged = now;
                    continue;
                }
                if (within(each.activated, config.t_ras_ps)) fail("tRAS");
                if (!within(each.activated, config.t_ras_max_ps)) fail("tRAS(max)");
                if (within(each.written, config.t_wr_ps)) fail("tWR");
                each.open = false;
                each.precharged = now;
            }
            if (a >> 10 & 1) precharged_all = true;
            precharges++;
            break;
        case 1:  // REFRESH
            if (!precharged_all) fail("REFRESH before PRECHARGE ALL");
            all_idle("REFRESH with an open bank");
            refreshed = now;
            if (started) refreshes++;
            else init_count++;
            break;
        case 0:  // MODE REGISTER SET
            if (!precharged_all) fail("MODE REGISTER SET before PRECHARGE ALL");
            if (init_count < config.init_refreshes) fail("MODE REGISTER SET before the initial refreshes");
            all_idle("MODE REGISTER SET with an open bank");
            if (a & 14 || ba) fail("only bursts of one or two words are modelled");
            burst = a & 1 ? 2 : 1;
            cas_latency = a >> 4 & 7;
            if (cas_latency != 2 && cas_latency != 3) {
                fail("CAS latency");
                cas_latency = 2;
            }
            seen_after = find_seen_after();
            if (config.period_ps < (cas_latency == 2 ? config.cl2_period_ps : config.cl3_period_ps))
                fail("clock too fast for the CAS latency");
            mode_set = now;
            if (!started) {
                started = true;
                start = now;
            }
            break;
        default:
            fail("command is not modelled");
        }
    }
};
