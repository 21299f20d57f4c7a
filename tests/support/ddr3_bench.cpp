// SPDX-License-Identifier: BSD-2-Clause
// Compares the virtual board's model of LiteDRAM's controller with the generated one, in each cycle, under commands of a
// pattern: random, read (one stream) or write. Arguments: the controller's waits, cycles, seed, pattern.
#include "Vddr3_model.h"
#include "verilated.h"
#include "ddr3_port.hpp"
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace quintet;

// Commands in bursts of consecutive beats, with pauses.
struct Traffic {
	std::mt19937 random;
	std::string pattern;
	bool valid = false, write = false;
	uint32_t address = 0, left = 0, pause = 20;     // the controller's timers begin with a count of their own
	std::deque<std::array<uint32_t, 5>> data;       // of writes: four words, and the mask

	uint32_t below(uint32_t limit) { return random() % limit; }

	void choose() {
		if (pattern != "random") {
			write = pattern == "write", left = 1;
			return;
		}
		write = below(3) == 0;
		left = below(4) ? 1 + below(40) : 1;
		switch (below(4)) {
		case 0: address = below(64); break;                         // one row: what was written is read
		case 1: address = below(4) * 128 + below(4); break;         // some banks
		default: address = below(1 << 21);
		}
		if (!below(10)) pause = below(60);
	}

	void step() {
		if (valid) return;
		if (!pause && !left) choose();
		if (pause) {
			pause--;
			return;
		}
		valid = true, left--;
		if (write) data.push_back({uint32_t(random()), uint32_t(random()), uint32_t(random()), uint32_t(random()), uint32_t(random() & 0xffff)});
	}
};

int main(int count, char **arguments) {
	if (count != 15) return 2;
	DDR3Port::Config c;
	c.row_bits = 11;
	unsigned *const waits[] = {&c.t_rp, &c.t_rcd, &c.t_wr, &c.t_refi, &c.t_rfc, &c.t_wtr, &c.t_ccd, &c.t_rc, &c.t_ras, &c.read, &c.write};
	for (int i = 0; i < 11; i++) *waits[i] = unsigned(std::atoi(arguments[1 + i]));
	const uint64_t cycles = std::strtoull(arguments[12], nullptr, 0);
	Traffic traffic{std::mt19937(unsigned(std::atoi(arguments[13]))), arguments[14]};

	DDR3Port model(c);
	Vddr3_model real;
	auto edge = [&] { real.sys_clk = 1, real.eval(), real.sys_clk = 0, real.eval(); };
	real.sys_rst = 1, real.rdata_ready = 1;
	edge(), edge();
	real.sys_rst = 0, real.eval();
	uint64_t beats = 0;
	for (uint64_t cycle = 0; cycle < cycles; cycle++) {
		traffic.step();
		real.cmd_valid = traffic.valid, real.cmd_we = traffic.write, real.cmd_addr = traffic.address;
		real.wdata_valid = !traffic.data.empty();
		if (!traffic.data.empty()) {
			for (int i = 0; i < 4; i++) real.wdata_data[i] = traffic.data.front()[i];
			real.wdata_we = uint16_t(traffic.data.front()[4]);
		}
		real.eval();
		const bool ready = model.cmd_ready(traffic.address), takes_data = model.wdata_ready(), answers = model.rdata_valid();
		if ((traffic.valid && ready != real.cmd_ready) || takes_data != real.wdata_ready || answers != real.rdata_valid ||
		    (answers && std::memcmp(model.rdata_data(), &real.rdata_data, DDR3Port::BEAT))) {
			std::printf("cycle %llu, beat %#x: cmd_ready %d, LiteDRAM's %d; wdata_ready %d, %d; rdata_valid %d, %d\n",
			            (unsigned long long)cycle, traffic.address, ready, real.cmd_ready, takes_data, real.wdata_ready, answers, real.rdata_valid);
			return 1;
		}
		const bool takes = traffic.valid && ready;
		uint8_t data[DDR3Port::BEAT];
		std::memcpy(data, &real.wdata_data, sizeof data);
		const uint16_t mask = real.wdata_we;
		edge();
		model.edge(takes, traffic.write, traffic.address, data, mask);
		if (takes_data) traffic.data.pop_front();
		if (takes) traffic.valid = false, traffic.address = (traffic.address + 1) & ((1 << 21) - 1), beats++;
	}
	std::printf("%llu beats, %llu refreshes, %llu rows\n", (unsigned long long)beats, (unsigned long long)model.refreshes, (unsigned long long)model.activates);
	return 0;
}
