// SPDX-License-Identifier: BSD-2-Clause
// The host's side of an SPI link, mode 0: one transfer at a time, edge by edge, at any rate and phase. Times are cycles of the main clock.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace quintet {

struct SpiMaster {
	double half = 1;             // half a period of its clock
	double jitter = 0;           // by which part of it each edge comes late at most
	double lead = 2, gap = 2;    // halves of a period from selection to the first edge, and at least between two transfers
	uint64_t stop_bit = ~0ull;   // the clock rests before this bit of a transfer,
	double stop = 0;             // for so many cycles
	uint64_t chance = 1;
	// Pins.
	bool sck = false, cs = false, copi = false;
	// The transfer.
	enum Phase { IDLE, SELECT, RISE, FALL, DESELECT, REST } phase = IDLE;
	std::vector<uint8_t> out, in;
	uint64_t bits = 0, done = 0;
	double next = 0;

	double spread() {
		chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
		return double(chance >> 11) * 0x1p-53;
	}

	bool bit(uint64_t number) const { return number / 8 < out.size() && out[number / 8] >> (7 - number % 8) & 1; }

	// Clocks `count` bits; the transfer begins in cycle `now`, at any part of it.
	void begin(uint64_t now, const uint8_t *data, uint64_t count) {
		out.assign(data, data + (count + 7) / 8);
		in.assign(out.size(), 0);
		bits = count, done = 0, phase = SELECT;
		next = std::max(next, double(now) + spread());
	}

	bool busy() const { return phase != IDLE; }

	// Everything up to the time `end`. `level(edge)` gives the pins to the board, with `edge` those of a change of the clock, and returns `cipo`
	// as it was before that.
	template <typename F> void until(double end, F &&level) {
		while (phase != IDLE && next <= end) switch (phase) {
			case SELECT:
				cs = true, copi = bit(0);
				level(false);
				next += lead * half;
				phase = bits ? RISE : DESELECT;
				if (bits && stop_bit == 0) next += stop;
				break;
			case RISE:
				sck = true;
				if (level(true)) in[done / 8] |= uint8_t(0x80 >> done % 8);
				advance(), phase = FALL;
				break;
			case FALL:
				sck = false;
				copi = bit(++done);
				level(true);
				advance(), phase = done == bits ? DESELECT : RISE;
				if (done == stop_bit) next += stop;
				break;
			case DESELECT:
				cs = false;
				level(false);
				next += gap * half;
				phase = REST;
				break;
			default: phase = IDLE;
		}
	}

	// The exact rate, and each edge late by up to `jitter` of half a period.
	void advance() {
		next += half - late;
		late = jitter * half * spread();
		next += late;
	}
	double late = 0;
};

} // namespace quintet
