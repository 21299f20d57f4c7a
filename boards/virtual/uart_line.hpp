// SPDX-License-Identifier: BSD-2-Clause
// The other end of a serial line: 8 data bits, no parity, one stop bit, any rate from any clock.
#pragma once
#include <cstdint>
#include <deque>

namespace quintet {

struct UartLine {
	double cycles_per_bit = 1;
	// What is so near to a cycle is in it: sums of fractions are a little off, and by how much depends on how late it is.
	static constexpr double NEAR = 1e-6;
	// sending: nothing, or bit number and when it ends
	int send_bit = -1;
	uint16_t send_frame = 0;
	double send_end = 0;
	// receiving
	int take_bit = -1;
	uint16_t take_frame = 0;
	double take_at = 0;
	bool before = true;
	uint64_t framing_errors = 0;

	// Level towards the board in cycle `now`; bytes come from `bytes`.
	bool send(uint64_t now, std::deque<uint8_t> &bytes) {
		if (send_bit >= 0 && double(now) + NEAR >= send_end) {
			if (++send_bit == 10) send_bit = -1;
			else send_end += cycles_per_bit;
		}
		if (send_bit < 0) {
			if (bytes.empty()) return true;
			send_frame = uint16_t(0x200 | bytes.front() << 1);
			bytes.pop_front();
			// Back to back, bit edges keep the exact rate.
			if (double(now) - send_end > 1) send_end = double(now);
			send_bit = 0;
			send_end += cycles_per_bit;
		}
		return send_frame >> send_bit & 1;
	}

	bool sending() const { return send_bit >= 0; }

	// The board's level in cycle `now`; true when `byte` was completed.
	bool take(uint64_t now, bool level, uint8_t &byte) {
		bool done = false;
		if (take_bit < 0) {
			if (before && !level) take_bit = 0, take_frame = 0, take_at = double(now) + cycles_per_bit / 2;
		} else if (double(now) + NEAR >= take_at) {
			take_frame |= uint16_t(level) << take_bit;
			take_at += cycles_per_bit;
			if (take_bit++ == 9) {
				take_bit = -1;
				if ((take_frame & 1) || !(take_frame & 0x200)) framing_errors++;
				else byte = uint8_t(take_frame >> 1), done = true;
			}
		}
		before = level;
		return done;
	}
};

} // namespace quintet
