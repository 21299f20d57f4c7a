// SPDX-License-Identifier: BSD-2-Clause
// What registers of a simulation hold, cycle by cycle: a sum of each cycle, kept or held against that of another simulation, and copies in a few cycles.
//
// Cycles are ages: clock edges since the end of the reset. A sum is the exclusive-or of the weights of all bits that are 1, so that two simulations have
// the same sum where the same bits are 1, whatever keeps them.
#pragma once
#include <cstdint>
#include <vector>

namespace quintet {

struct RegisterRecord {
	static constexpr uint64_t NEVER = ~uint64_t(0);
	uint64_t sum = 0;
	std::vector<uint64_t> sums;                 // by age, where they are kept
	std::vector<uint64_t> expected;             // what they are held against, by age
	uint64_t begin = 0;                         // the first age of which `expected` says something
	uint64_t differs = NEVER;                   // the first age at which it was another
	std::vector<uint64_t> ages;                 // at which all bits are copied, ascending
	uint64_t copied = 0;                        // how many of them
	std::vector<uint8_t> copies;                // one byte a bit; where it first differs, there is one, too
	bool keeps = false;

	// At an age; `level` tells whether bit number i of `count` is 1.
	template <typename Level> void step(uint64_t age, uint64_t count, Level level) {
		if (keeps) {
			sums.resize(age);
			sums.push_back(sum);
		}
		bool copy = copied < ages.size() && ages[copied] == age;
		if (copy) copied++;
		if (age >= begin && age < expected.size() && sum != expected[age] && differs == NEVER) differs = age, copy = true;
		for (uint64_t i = 0; copy && i < count; i++) copies.push_back(level(i));
	}
};

} // namespace quintet
