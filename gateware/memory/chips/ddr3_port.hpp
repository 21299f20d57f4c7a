// SPDX-License-Identifier: BSD-2-Clause
// Behavioural model of LiteDRAM's controller with one native port and a DDR3 chip of 16 bits, by cycles of the controller's
// clock. It has the waits of the controller (bank machine, multiplexer and refresher of release 2024.12), not the chip's
// commands: tests/gateware/memory/test_ddr3_model.py compares it with the generated controller, cycle by cycle.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace quintet {

class DDR3Port {
public:
	struct Config {
		unsigned row_bits = 13, bank_bits = 3, column_bits = 10;
		unsigned t_rp = 2, t_rcd = 2, t_wr = 2, t_refi = 500, t_rfc = 18, t_wtr = 2, t_ccd = 2, t_rc = 4, t_ras = 3;
		unsigned read = 13, write = 3;      // cycles from a command at the PHY to its data there
		uint64_t ready_after = 0;           // cycles of initialisation and calibration
		bool fails = false;                 // no read delay works
	};

	static constexpr unsigned BEAT = 16;    // bytes of a burst

	// Pages of the chip's contents that nobody touches take no memory of the host.
	explicit DDR3Port(const Config &config)
		: c(config), banks(1u << c.bank_bits), refresh_left(c.t_refi - 1),
		  bytes(uint64_t(BEAT) << (c.row_bits + c.bank_bits + c.column_bits - 3)),
		  memory(static_cast<uint8_t *>(std::calloc(bytes, 1)), std::free) {}

	// Begins anew, as after a reset of the SoC; the chip keeps its contents, but for the calibration's pattern.
	void restart() {
		auto contents = std::move(memory);
		const uint64_t counts[] = {reads, writes, activates, precharges, refreshes};
		const uint16_t kept = keep, stuck = set;
		*this = DDR3Port(c);
		memory = std::move(contents);
		reads = counts[0], writes = counts[1], activates = counts[2], precharges = counts[3], refreshes = counts[4];
		keep = kept, set = stuck;
		std::memset(memory.get(), 0x55, 64);
	}

	uint64_t reads = 0, writes = 0, activates = 0, precharges = 0, refreshes = 0;

	uint8_t *data() { return memory.get(); }
	uint64_t size() const { return bytes; }

	bool ready() const { return cycles >= c.ready_after && !c.fails; }
	bool failed() const { return cycles >= c.ready_after && c.fails; }

	// Outputs in this cycle; `cmd_ready` depends on the address that is offered.
	bool cmd_ready(uint64_t address) const {
		if (!ready()) return false;
		return (!locked() || active == bank_of(address)) && queue.size() < DEPTH;
	}
	bool wdata_ready() const { return wdata >> (c.write) & 1; }
	bool rdata_valid() const { return rdata >> (c.read) & 1; }
	const uint8_t *rdata_data() const { return answers.front().bytes; }

	// What a test spoils: data lines as masks, both ways, on each of the burst's eight words.
	uint16_t keep = 0xffff, set = 0;

	// The edge at the end of the cycle: `valid` of a command that is taken, and the data if `wdata_ready`.
	void edge(bool valid, bool write, uint64_t address, const uint8_t *wdata_data, uint16_t wdata_we) {
		cycles++;
		if (wdata_ready()) store(wdata_data, wdata_we);
		if (rdata_valid()) answers.pop_front();
		step();
		if (valid) {
			active = bank_of(address);
			queue.push_back({write, address});
		}
	}

private:
	static constexpr unsigned DEPTH = 8;
	enum class State { REGULAR, PRECHARGE, AUTOPRECHARGE, TRP, ACTIVATE, TRCD, REFRESH };
	enum class Bus { READ, WRITE, RTW, WTR, REFRESH };
	enum class Refresh { IDLE, WAIT, BUSY };

	struct Command { bool write; uint64_t address; };
	struct Beat { uint8_t bytes[BEAT]; };

	// Wait between two commands, as LiteDRAM's tXXDController.
	struct Wait {
		unsigned left = 0;
		bool over() const { return left == 0; }
		void start(unsigned cycles) { left = cycles; }
		void step() { if (left) left--; }
	};

	struct Bank {
		State state = State::REGULAR;
		bool open = false;
		uint64_t row = 0;
		unsigned wait = 0;      // cycles left in TRP or TRCD
		Wait wtp, rc, ras;
	};

	Config c;
	std::vector<Bank> banks;
	uint64_t cycles = 0;
	unsigned active = 0;            // the bank that has commands: the crossbar gives them to no other before it has none
	std::deque<Command> queue;      // of the active bank, without its buffer
	bool held = false;              // the bank's buffer holds a command
	Command head{};
	Bus bus = Bus::READ;
	unsigned bus_wait = 0, time = 0;
	unsigned cmd_grant = 0, req_grant = 0;
	Wait ccd, wtr;
	Refresh refresh = Refresh::IDLE;
	unsigned refresh_left, refresh_busy = 0;
	bool refresh_due = false;
	uint64_t wdata = 0, rdata = 0;  // bits: accesses whose data move so many cycles later
	std::deque<uint64_t> targets;   // addresses of writes whose data have not come
	std::deque<Beat> answers;
	uint64_t bytes;
	std::unique_ptr<uint8_t, void (*)(void *)> memory;

	unsigned bank_of(uint64_t address) const { return address >> (c.column_bits - 3) & ((1u << c.bank_bits) - 1); }
	uint64_t row_of(uint64_t address) const { return address >> (c.column_bits - 3 + c.bank_bits); }
	bool locked() const { return held || !queue.empty(); }

	uint16_t line(uint16_t word) const { return uint16_t((word & keep) | set); }

	void store(const uint8_t *from, uint16_t mask) {
		uint8_t *at = memory.get() + BEAT * (targets.front() % (bytes / BEAT));
		targets.pop_front();
		for (unsigned i = 0; i < BEAT; i += 2) {
			uint16_t word = line(uint16_t(from[i] | from[i + 1] << 8));
			if (mask >> i & 1) at[i] = uint8_t(word);
			if (mask >> (i + 1) & 1) at[i + 1] = uint8_t(word >> 8);
		}
	}

	void load(uint64_t address) {
		Beat beat;
		std::memcpy(beat.bytes, memory.get() + BEAT * (address % (bytes / BEAT)), BEAT);
		// Writes before this read whose data have not come yet do not exist: the bus turns round in between.
		for (unsigned i = 0; i < BEAT; i += 2) {
			uint16_t word = line(uint16_t(beat.bytes[i] | beat.bytes[i + 1] << 8));
			beat.bytes[i] = uint8_t(word), beat.bytes[i + 1] = uint8_t(word >> 8);
		}
		answers.push_back(beat);
	}

	void step() {
		wdata <<= 1, rdata <<= 1;
		const bool requested = refresh != Refresh::IDLE && !refresh_ends();
		Bank &b = banks[active];
		const bool hit = held && b.open && b.row == row_of(head.address);
		const bool access = b.state == State::REGULAR && !requested && hit;
		const bool may_close = b.wtp.over() && b.ras.over();
		const bool command = (b.state == State::PRECHARGE && may_close) || (b.state == State::ACTIVATE && b.rc.over());
		const bool moving = bus == Bus::READ || bus == Bus::WRITE;
		const bool right_way = access && head.write == (bus == Bus::WRITE);
		const bool taken = moving && right_way && req_grant == active && ccd.over();
		const bool given = moving && command && cmd_grant == active;

		bool granted = true;
		for (const Bank &bank : banks) granted = granted && bank.state == State::REFRESH && bank.wtp.over();

		// Choosers move to the bank that asks, if they show no command that waits.
		const bool req_asks = moving ? right_way : command;
		if (req_asks && req_grant != active) req_grant = active;
		if (command && cmd_grant != active) cmd_grant = active;

		// Bus
		const bool waits = access && head.write != (bus == Bus::WRITE);
		Bus next = bus;
		unsigned next_wait = bus_wait ? bus_wait - 1 : 0;
		switch (bus) {
		case Bus::READ:
			if (waits) next = Bus::RTW, next_wait = c.read - 2;
			if (granted) next = Bus::REFRESH;
			break;
		case Bus::WRITE:
			if (waits) next = Bus::WTR;
			if (granted) next = Bus::REFRESH;
			break;
		case Bus::RTW:
			if (!bus_wait) next = Bus::WRITE;
			break;
		case Bus::WTR:
			if (wtr.over()) next = Bus::READ;
			break;
		case Bus::REFRESH:
			if (refresh_ends()) next = Bus::READ;
			break;
		}
		const bool start_refresh = bus == Bus::REFRESH && refresh == Refresh::WAIT;

		for (Bank &bank : banks) bank.wtp.step(), bank.rc.step(), bank.ras.step();
		ccd.step(), wtr.step();

		// Banks
		bool precharge_next = false;
		if (taken) {
			const unsigned other = !queue.empty() && row_of(queue.front().address) != row_of(head.address);
			precharge_next = other;
			ccd.start(c.t_ccd - 1);
			if (head.write) {
				writes++, wdata |= 1, targets.push_back(head.address);
				b.wtp.start(c.write + c.t_wr + c.t_ccd - 1), wtr.start(c.t_wtr + c.write + c.t_ccd - 1);
			} else {
				reads++, rdata |= 1, load(head.address);
			}
		}
		for (Bank &bank : banks) {
			if (bank.state == State::REGULAR) {
				if (requested) bank.state = State::REFRESH;
				else if (&bank == &b && held && !b.open) bank.state = State::ACTIVATE;
				else if (&bank == &b && held && !hit) bank.state = State::PRECHARGE;
				else if (&bank == &b && precharge_next) bank.state = State::AUTOPRECHARGE;
			} else if (bank.state == State::REFRESH) {
				bank.open = false;
				if (!requested) bank.state = State::REGULAR;
			} else if (bank.state == State::PRECHARGE) {
				bank.open = false;
				if (given) precharges++, to_trp(bank);
			} else if (bank.state == State::AUTOPRECHARGE) {
				bank.open = false;
				if (may_close) precharges++, to_trp(bank);
			} else if (bank.state == State::TRP) {
				if (!--bank.wait) bank.state = State::ACTIVATE;
			} else if (bank.state == State::ACTIVATE) {
				if (given) {
					activates++;
					bank.open = true, bank.row = row_of(head.address);
					bank.rc.start(c.t_rc - 1), bank.ras.start(c.t_ras - 1);
					bank.wait = c.t_rcd - 1;
					bank.state = bank.wait ? State::TRCD : State::REGULAR;
				}
			} else if (bank.state == State::TRCD) {
				if (!--bank.wait) bank.state = State::REGULAR;
			}
		}
		bus = next, bus_wait = next_wait;

		// Queue and buffer of the active bank
		if (taken) held = false;
		if (!held && !queue.empty()) head = queue.front(), queue.pop_front(), held = true;

		// Refresher
		if (refresh == Refresh::BUSY) {
			if (refresh_ends()) refresh = Refresh::IDLE;
			else refresh_busy--;
		} else if (start_refresh) {
			refreshes++;
			refresh = Refresh::BUSY, refresh_busy = c.t_rp + c.t_rfc;
		} else if (refresh == Refresh::IDLE && refresh_due) {
			refresh = Refresh::WAIT;
		}
		refresh_due = refresh_left == 0;
		refresh_left = refresh_left ? refresh_left - 1 : c.t_refi - 1;
	}

	bool refresh_ends() const { return refresh == Refresh::BUSY && refresh_busy == 0; }

	void to_trp(Bank &bank) {
		bank.wait = c.t_rp - 1;
		bank.state = bank.wait ? State::TRP : State::ACTIVATE;
	}
};

} // namespace quintet
