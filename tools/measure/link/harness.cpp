// SPDX-License-Identifier: BSD-2-Clause
// Bytes (or a serial line) into the link, and what lies on its bus besides main memory: words from 0x8000_0000 on.
#include "design.cc"
#include "simulation.hpp"
#include "uart_line.hpp"
#include <deque>
#include <vector>

struct Harness : quintet::Simulation {
	std::deque<uint8_t> in, out;
	std::vector<uint32_t> space = std::vector<uint32_t>(1 << 16), log;
	std::vector<uint8_t> memory;
	uint64_t chance = 1, stall_percent = 0;
	bool answered = false;
#ifdef LINK_WIRE
	quintet::UartLine line;
#endif

	bool stalls() {
		if (!stall_percent) return false;
		chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
		return chance % 100 < stall_percent;
	}

	void observe() {
#ifdef LINK_WIRE
		uint8_t byte;
		if (line.take(cycle, quintet::flag(top.p_line__out), byte)) out.push_back(byte);
		quintet::flag(top.p_line__in, line.send(cycle, in));
#else
		bool valid = quintet::flag(top.p_rx____valid), ready = quintet::flag(top.p_tx____ready);
		if (valid && quintet::flag(top.p_rx____ready)) in.pop_front(), valid = false;
		if (ready && quintet::flag(top.p_tx____valid)) out.push_back(quintet::chunks(top.p_tx____payload)[0]), ready = false;
		// An offer stays until it is taken.
		valid = valid || (!in.empty() && !stalls());
		quintet::flag(top.p_rx____valid, valid);
		if (valid) quintet::chunks(top.p_rx____payload)[0] = in.front();
		quintet::flag(top.p_tx____ready, ready || !stalls());
#endif
		bool asked = quintet::flag(top.p_registers____cyc) && quintet::flag(top.p_registers____stb);
		bool answer = asked && !answered && !stalls();
		bool fails = false;
		if (answer) {
			uint32_t word = quintet::chunks(top.p_registers____adr)[0], at = word & 0x1FFFFFFF;
			fails = at >= space.size();
			if (fails) {
			} else if (quintet::flag(top.p_registers____we)) {
				uint32_t sel = quintet::chunks(top.p_registers____sel)[0], mask = 0;
				uint32_t data = quintet::chunks(top.p_registers____dat__w)[0];
				for (int lane = 0; lane < 4; lane++) mask |= (sel >> lane & 1) * 0xFFu << lane * 8;
				space[at] = (space[at] & ~mask) | (data & mask);
				log.push_back(word << 2), log.push_back(data & mask), log.push_back(sel);
			} else {
				quintet::chunks(top.p_registers____dat__r)[0] = space[at];
			}
		}
		quintet::flag(top.p_registers____ack, answer && !fails);
		quintet::flag(top.p_registers____err, answer && fails);
		answered = answer;
	}
};

#define HARNESS Harness
#include "exports.hpp"

extern "C" {
void link_setup(Harness *h, uint64_t seed, uint64_t stall_percent, double cycles_per_bit) {
	h->chance = seed * 0x9E3779B97F4A7C15u | 1, h->stall_percent = stall_percent;
#ifdef LINK_WIRE
	h->line.cycles_per_bit = cycles_per_bit;
	quintet::flag(h->top.p_line__in, true);
#endif
	(void)cycles_per_bit;
}
void link_push(Harness *h, const uint8_t *data, uint64_t count) { h->in.insert(h->in.end(), data, data + count); }
uint64_t link_pop(Harness *h, uint8_t *data, uint64_t limit) {
	uint64_t count = 0;
	for (; count < limit && !h->out.empty(); count++) data[count] = h->out.front(), h->out.pop_front();
	return count;
}
void link_space(Harness *h, uint64_t word, uint32_t value) { h->space[word] = value; }
uint64_t link_log(Harness *h, uint32_t *entries, uint64_t limit) {
	uint64_t count = h->log.size() < limit ? h->log.size() : limit;
	std::memcpy(entries, h->log.data(), count * 4);
	h->log.erase(h->log.begin(), h->log.begin() + count);
	return count;
}
uint64_t link_waiting(Harness *h) { return h->in.size(); }
// Until a whole frame has come out, or `count` cycles.
void link_run(Harness *h, uint64_t count, int to_frame) {
	size_t seen = 0;
	h->enter();
	while (count-- && h->error.empty()) {
		h->tick([h] { h->observe(); });
		if (!to_frame) continue;
		for (; seen < h->out.size(); seen++)
			if (!h->out[seen]) return;
	}
}
}
