// SPDX-License-Identifier: BSD-2-Clause
// Memories as the chips have them. What a data sheet leaves open is random: outputs before the first read, contents that no bitstream sets,
// and a read of bits that another port writes at the same moment.
#pragma once
#include "engine.hpp"
#include <algorithm>

namespace quintet {

// ECP5's block RAM: 512 rows of 36 bits, two ports, each of a width of its own; a width of 36 joins the data pins of both.
struct Dp16kd : Cell {
	// Pins: of each port clock, enable, output enable, write enable, reset, chip selects 0..2, address 0..13, data in 0..17, data out 0..17.
	enum { CLOCK, ENABLE, OUTPUT_ENABLE, WRITE, RESET, SELECT, ADDRESS = 8, IN = 22, OUT = 40, PINS = 58 };
	static constexpr uint32_t LATCHES = 512;    // as rows behind all others
	enum WriteMode { NORMAL, WRITE_THROUGH, READ_BEFORE_WRITE };
	struct Port {
		unsigned width, registered, write_mode, select;
		uint64_t latch = 0, out = 0;
		bool fired = false;
	} ports[2];
	uint64_t rows[512];

	// Parameters: of each port width, output register, write mode, the chip selects it answers to; whether it has a twin. Contents: 1024 words of 18 bits.
	Dp16kd(const int64_t *parameters, const uint32_t *contents) {
		for (int i = 0; i < 2; i++, parameters += 4)
			ports[i] = {unsigned(parameters[0]), unsigned(parameters[1]), unsigned(parameters[2]), unsigned(parameters[3])};
		for (int i = 0; i < 512; i++) rows[i] = uint64_t(contents[2 * i + 1]) << 18 | contents[2 * i];
		twin = parameters[0];
		read_first.assign(512, 0);
	}

	Net pin(int port, int which) const { return pins[port * PINS + which]; }
	std::vector<Net> clocks() const override {
		if (pin(0, CLOCK) == pin(1, CLOCK)) return {pin(0, CLOCK)};
		return {pin(0, CLOCK), pin(1, CLOCK)};
	}
	std::vector<Net> outputs() const override {
		std::vector<Net> all;
		for (int i = 0; i < 2; i++) all.insert(all.end(), &pins[i * PINS + OUT], &pins[i * PINS + OUT] + 18);
		return all;
	}
	void start(Engine &e) override {
		for (int i = 0; i < 2; i++) {
			ports[i].latch = e.undefined(), ports[i].out = e.undefined();
			if (ports[i].registered) stored(e, LATCHES + i, 0, ports[i].latch);
			show(e, i, false);
		}
		for (uint32_t i = 0; i < 512; i++) stored(e, i, 0, rows[i]);
	}
	void edge(Engine &e, Net net) override {
		for (int i = 0; i < 2; i++) if (pin(i, CLOCK) == net) ports[i].fired = true;
		e.fire(this);
	}

	static uint64_t ones(unsigned width) { return (uint64_t(1) << width) - 1; }
	static unsigned place(unsigned width, unsigned address) {
		switch (width) {
		case 36: return 0;
		case 18: return 18 * (address >> 4 & 1);
		case 9: return 9 * (address >> 3 & 3);
		case 4: return 9 * (address >> 3 & 3) + 4 * (address >> 2 & 1);
		case 2: return 9 * (address >> 3 & 3) + 2 * (address >> 1 & 3);
		default: return 9 * (address >> 3 & 3) + (address & 7);
		}
	}
	// Bits that a write sets: byte enables are the lowest bits of the address.
	static uint64_t enabled(unsigned width, unsigned address) {
		if (width < 18) return ones(width);
		uint64_t mask = 0;
		for (unsigned i = 0; i < width / 9; i++) if (address >> i & 1) mask |= uint64_t(0x1ff) << 9 * i;
		return mask;
	}

	void finish(Engine &e) override {
		struct Access { bool on, write; unsigned row, at; uint64_t read, mask, data; } accesses[2] = {};
		for (int i = 0; i < 2; i++) {
			if (!ports[i].fired) continue;
			Access &a = accesses[i];
			unsigned width = ports[i].width, address = unsigned(e.number(&pins[i * PINS + ADDRESS], 14));
			a.on = e.get(pin(i, ENABLE)) && e.number(&pins[i * PINS + SELECT], 3) == ports[i].select;
			// Of 36 bits port A writes and port B reads.
			a.write = a.on && e.get(pin(i, WRITE)) && !(width == 36 && i == 1);
			a.row = address >> 5, a.at = place(width, address);
			a.read = ones(width) << a.at;
			if (a.write) {
				uint64_t in = e.number(&pins[i * PINS + IN], 18);
				if (width == 36) in |= e.number(&pins[PINS + IN], 18) << 18;
				a.mask = enabled(width, address) << a.at, a.data = in << a.at & a.mask;
			}
		}
		uint64_t before[2] = {rows[accesses[0].row], rows[accesses[1].row]};
		for (Access &a : accesses) if (a.on && !a.write) row_read(a.row);
		for (Access &a : accesses)
			if (a.write) {
				row_written(a.row);
				const uint64_t row = rows[a.row];
				rows[a.row] = (row & ~a.mask) | a.data;
				stored(e, a.row, row, rows[a.row]);
			}
		for (int i = 0; i < 2; i++) {
			if (!ports[i].fired) continue;
			Access &a = accesses[i], &other = accesses[1 - i];
			Port &port = ports[i];
			const uint64_t latch = port.latch;
			const bool reset = e.get(pin(i, RESET));
			if (port.registered) {
				if (reset) port.out = 0;
				else if (e.get(pin(i, OUTPUT_ENABLE))) port.out = port.latch;
			} else if (reset) port.latch = 0;
			if (a.on && !(a.write && port.write_mode == NORMAL) && !(reset && !port.registered)) {
				uint64_t word = a.write && port.write_mode == WRITE_THROUGH ? rows[a.row] : before[i];
				if (other.write && other.row == a.row) word ^= e.collision(twin) & other.mask & ~(a.write ? a.mask : 0);
				port.latch = (word & a.read) >> a.at;
			} else if (e.calm && twin && a.write && !(reset && !port.registered))
				// The chip keeps what stood there; a twin turns over what was written over, so that nobody counts on either.
				port.latch = ((before[i] ^ a.read) & a.read) >> a.at;
			port.fired = false;
			if (port.registered) stored(e, LATCHES + i, latch, port.latch);
			show(e, i, true);
		}
	}

	void show(Engine &e, int i, bool after) {
		const Port &port = ports[i];
		if (port.width == 36 && i == 0) return;
		uint64_t word = port.registered ? port.out : port.latch;
		auto put = [&](const Net *nets, uint64_t bits) {
			for (unsigned k = 0; k < 18; k++)
				if (nets[k] <= HIGH) continue;
				else if (after) e.later(nets[k], bits >> k & 1);
				else e.value[nets[k]] = bits >> k & 1;
		};
		if (port.width == 36) put(&pins[OUT], word & 0x3ffff), word >>= 18;
		put(&pins[i * PINS + OUT], word);
	}
};

// iCE40's block RAM: 256 rows of 16 bits, one port that writes, one that reads.
struct Ram40 : Cell {
	enum { READ_CLOCK, READ_CLOCK_ENABLE, READ, WRITE_CLOCK, WRITE_CLOCK_ENABLE, WRITE, READ_ADDRESS, WRITE_ADDRESS = 17, MASK = 28, IN = 44,
	       OUT = 60, PINS = 76 };
	unsigned read_mode, write_mode;
	uint16_t rows[256];
	uint32_t latch = 0;
	bool reads = false, writes = false;
	// Picoseconds after configuration in which it cannot be read.
	static constexpr double ASLEEP = 3e6;

	// Parameters: read mode, write mode, whether it has a twin.
	Ram40(const int64_t *parameters, const uint32_t *contents) : read_mode(unsigned(parameters[0])), write_mode(unsigned(parameters[1])) {
		std::copy(contents, contents + 256, rows);
		twin = parameters[2];
		read_first.assign(256, 0);
	}

	std::vector<Net> clocks() const override {
		if (pins[READ_CLOCK] == pins[WRITE_CLOCK]) return {pins[READ_CLOCK]};
		return {pins[READ_CLOCK], pins[WRITE_CLOCK]};
	}
	std::vector<Net> outputs() const override { return {&pins[OUT], &pins[OUT] + 16}; }
	void start(Engine &e) override {
		for (unsigned i = 0; i < 16; i++) if (pins[OUT + i] > HIGH) e.value[pins[OUT + i]] = e.undefined() & 1;
		for (uint32_t i = 0; i < 256; i++) stored(e, i, 0, rows[i]);
	}
	void edge(Engine &e, Net net) override {
		reads = reads || (net == pins[READ_CLOCK] && e.get(pins[READ_CLOCK_ENABLE]) && e.get(pins[READ]));
		writes = writes || (net == pins[WRITE_CLOCK] && e.get(pins[WRITE_CLOCK_ENABLE]) && e.get(pins[WRITE]));
		if (reads || writes) e.fire(this);
	}
	// Pin that carries the data of a group of cells of which the address' upper bits choose one.
	static unsigned data_pin(unsigned mode, unsigned group) { return (group << mode) + (mode == 0 ? 0 : mode == 1 ? 0 : mode == 2 ? 1 : 3); }

	void finish(Engine &e) override {
		unsigned into = unsigned(e.number(&pins[WRITE_ADDRESS], 11)), from = unsigned(e.number(&pins[READ_ADDRESS], 11));
		uint16_t mask = 0, data = 0;
		if (writes)
			for (unsigned group = 0; group < 16u >> write_mode; group++) {
				unsigned bit = (group << write_mode) + (into >> 8 & ((1u << write_mode) - 1));
				if (write_mode == 0 && e.get(pins[MASK + bit])) continue;
				mask |= uint16_t(1u << bit), data |= uint16_t(e.get(pins[IN + data_pin(write_mode, group)]) << bit);
			}
		if (reads) {
			uint16_t row = rows[from & 255];
			row_read(from & 255);
			if (writes && (into & 255) == (from & 255)) row ^= uint16_t(e.collision(twin)) & mask;
			if (e.now < ASLEEP && !e.calm) row = uint16_t(e.random()), awake = RESTLESS;
			for (unsigned i = 0; i < 16; i++) {
				bool level = false;
				for (unsigned group = 0; group < 16u >> read_mode; group++)
					if (data_pin(read_mode, group) == i) level = row >> ((group << read_mode) + (from >> 8 & ((1u << read_mode) - 1))) & 1;
				e.later(pins[OUT + i], level);
			}
		}
		if (mask) {
			row_written(into & 255);
			const uint16_t row = rows[into & 255];
			rows[into & 255] = uint16_t((row & ~mask) | data);
			stored(e, into & 255, row, rows[into & 255]);
		}
		reads = writes = false;
	}
};

// iCE40 UltraPlus' single-port RAM; a bitstream sets none of its contents.
struct Spram : Cell {
	enum { CLOCK, SELECT, WRITE, STANDBY, SLEEP, POWER, MASK, ADDRESS = 10, IN = 24, OUT = 40, PINS = 56 };
	std::vector<uint16_t> words;
	Spram() : words(16384) {}
	std::vector<Net> clocks() const override { return {pins[CLOCK]}; }
	std::vector<Net> outputs() const override { return {&pins[OUT], &pins[OUT] + 16}; }
	void start(Engine &e) override {
		for (uint32_t i = 0; i < words.size(); i++) stored(e, i, 0, words[i] = uint16_t(e.undefined()));
		for (unsigned i = 0; i < 16; i++) if (pins[OUT + i] > HIGH) e.value[pins[OUT + i]] = e.undefined() & 1;
	}
	void edge(Engine &e, Net) override {
		if (e.get(pins[STANDBY]) || e.get(pins[SLEEP]) || !e.get(pins[POWER])) {
			e.error = "a single-port RAM is clocked while it sleeps";
			return;
		}
		if (!e.get(pins[SELECT])) return;
		const uint32_t at = uint32_t(e.number(&pins[ADDRESS], 14));
		uint16_t &word = words[at];
		if (!e.get(pins[WRITE])) {
			e.later(&pins[OUT], 16, word);
			return;
		}
		uint16_t mask = 0;
		for (unsigned i = 0; i < 4; i++) if (e.get(pins[MASK + i])) mask |= uint16_t(15u << 4 * i);
		const uint16_t before = word;
		word = uint16_t((word & ~mask) | (e.number(&pins[IN], 16) & mask));
		stored(e, at, before, word);
		if (!e.calm) e.later(&pins[OUT], 16, e.random());
	}
};

} // namespace quintet
