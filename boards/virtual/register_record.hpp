// SPDX-License-Identifier: BSD-2-Clause
// What registers of a simulation hold, cycle by cycle: a sum of each cycle, kept or held against that of another simulation, and copies in a few cycles.
//
// Cycles are counted from power-up. A sum is the exclusive-or of the weights of all bits that are 1, so that two simulations have
// the same sum where the same bits are 1, whatever keeps them.
#pragma once
#include <cstdint>
#include <vector>

namespace quintet {

struct RegisterRecord {
	static constexpr uint64_t NEVER = ~uint64_t(0);
	uint64_t sum = 0;
	std::vector<uint64_t> sums;                 // by cycle, where they are kept
	std::vector<uint64_t> expected;             // what they are held against, by cycle
	uint64_t begin = 0;                         // the first cycle of which `expected` says something
	uint64_t differs = NEVER;                   // the first cycle in which it was another
	std::vector<uint64_t> cycles;               // in which all bits are copied, ascending
	uint64_t copied = 0;                        // how many of them
	std::vector<uint8_t> copies;                // one byte a bit; where it first differs, there is one, too
	bool keeps = false;

	// In a cycle; `level` tells whether bit number i of `count` is 1.
	template <typename Level> void step(uint64_t cycle, uint64_t count, Level level) {
		if (keeps) {
			sums.resize(cycle);
			sums.push_back(sum);
		}
		bool copy = copied < cycles.size() && cycles[copied] == cycle;
		if (copy) copied++;
		if (cycle >= begin && cycle < expected.size() && sum != expected[cycle] && differs == NEVER) differs = cycle, copy = true;
		for (uint64_t i = 0; copy && i < count; i++) copies.push_back(level(i));
	}
};

} // namespace quintet
